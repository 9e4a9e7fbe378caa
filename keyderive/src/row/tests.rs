//! Rows as values and back.

mod encodings;
mod families;
mod faults;
mod flattened;
mod lost;
mod renamed;
mod round_trip;
mod shape;
mod shapes;
mod versions;

use std::cmp::Reverse;
use std::sync::Arc;

use bytes::Bytes;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{Change, Mutation, RowBuilder, RowError, SERVER_TIME, Shape, Sink, Write, from_row, write_row};

const FAMILY: &str = "cf";
/// The server's time.
const NOW: i64 = 1_700_000_000_000_000;

fn write<R: Serialize>(row: &R) -> Result<Vec<Mutation>, RowError> {
    write_as(row, &Shape::unknown(), false)
}

/// The mutations of a row whose type is of this shape.
fn write_as<R: Serialize>(row: &R, shape: &Shape, merges: bool) -> Result<Vec<Mutation>, RowError> {
    let mut written = Written::default();
    write_row(row, Write { family: FAMILY, shape, merges }, &mut written)?;
    Ok([written.deletes, written.sets].concat())
}

/// The changes to a row, as mutations.
#[derive(Default)]
struct Written {
    deletes: Vec<Mutation>,
    sets: Vec<Mutation>,
}

impl Sink for Written {
    fn set(&mut self, family: &str, qualifier: &[u8], timestamp_micros: i64, value: &[u8]) {
        let value = value.to_vec();
        let timestamp_micros = if timestamp_micros == SERVER_TIME { NOW } else { timestamp_micros };
        self.sets.push(Mutation::set(family, qualifier.to_vec(), timestamp_micros, value));
    }

    fn delete_column(&mut self, family: &str, qualifier: &[u8]) {
        self.deletes.push(Mutation::delete_column(family, qualifier.to_vec()));
    }

    fn delete_family(&mut self, family: &str) {
        self.deletes.push(Mutation::delete_family(family));
    }
}

/// A cell by itself.
#[derive(Clone)]
struct Cell {
    family: Arc<str>,
    qualifier: Bytes,
    timestamp_micros: i64,
    value: Bytes,
}

fn read<R: DeserializeOwned>(cells: Vec<Cell>) -> Result<R, RowError> {
    read_of(cells, &Shape::of::<R>())
}

/// Reads a row of a table whose row type is of this shape.
fn read_of<R: DeserializeOwned>(cells: Vec<Cell>, shape: &Shape) -> Result<R, RowError> {
    let mut row = RowBuilder::new(b"key").unwrap();
    for cell in cells {
        row.cell(Some(cell.family.as_bytes()), Some(&cell.qualifier), cell.timestamp_micros).unwrap();
        row.value(&cell.value).unwrap();
    }
    from_row(&row.build(), FAMILY, shape)
}

fn set(qualifier: &'static str, value: &'static [u8]) -> Mutation {
    Mutation::set(FAMILY, qualifier, NOW, value)
}

fn delete(qualifier: &'static str) -> Mutation {
    Mutation::delete_column(FAMILY, qualifier)
}

fn cell(qualifier: &'static str, value: &'static [u8]) -> Cell {
    Cell { family: FAMILY.into(), qualifier: qualifier.into(), timestamp_micros: NOW, value: value.into() }
}

fn set_in(family: &'static str, qualifier: &'static str, value: &'static [u8]) -> Mutation {
    Mutation::set(family, qualifier, NOW, value)
}

fn cell_in(family: &'static str, qualifier: &'static str, value: &'static [u8]) -> Cell {
    Cell { family: family.into(), ..cell(qualifier, value) }
}

/// The cells of a row that did not exist before `mutations`, in the table's order.
fn store(mutations: Vec<Mutation>) -> Vec<Cell> {
    let mut cells: Vec<_> = mutations
        .into_iter()
        .filter_map(|mutation| match mutation.0 {
            Change::SetCell { family, qualifier, timestamp_micros, value } => {
                Some(Cell { family, qualifier, timestamp_micros, value })
            }
            _ => None,
        })
        .collect();
    cells.sort_by(|a, b| {
        let place =
            |cell: &Cell| (Arc::clone(&cell.family), cell.qualifier.clone(), Reverse(cell.timestamp_micros));
        place(a).cmp(&place(b))
    });
    cells
}
