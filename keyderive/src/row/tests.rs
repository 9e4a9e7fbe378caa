//! Rows as values and back.

mod encodings;
mod families;
mod faults;
mod flattened;
mod round_trip;
mod shape;
mod shapes;
mod versions;

use std::cmp::Reverse;
use std::sync::Arc;

use bytes::Bytes;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{Cell, Change, Mutation, Row, RowError, Shape, Write, from_row, to_mutations};

const FAMILY: &str = "cf";
const NOW: i64 = 1_700_000_000_000_000;

fn write<R: Serialize>(row: &R) -> Result<Vec<Mutation>, RowError> {
    write_as(row, &Shape::Unknown, false)
}

/// The mutations of a row whose type is of this shape.
fn write_as<R: Serialize>(row: &R, shape: &Shape, merges: bool) -> Result<Vec<Mutation>, RowError> {
    to_mutations(row, Write { family: &Arc::from(FAMILY), shape, timestamp_micros: NOW, merges })
}

fn read<R: DeserializeOwned>(cells: Vec<Cell>) -> Result<R, RowError> {
    from_row(&Row::new(Bytes::from_static(b"key"), cells), FAMILY, &Shape::of::<R>())
}

fn set(qualifier: &'static str, value: &'static [u8]) -> Mutation {
    Mutation::set(FAMILY, qualifier, NOW, value)
}

fn delete(qualifier: &'static str) -> Mutation {
    Mutation::delete_column(FAMILY, qualifier)
}

fn cell(qualifier: &'static str, value: &'static [u8]) -> Cell {
    Cell {
        family: FAMILY.into(),
        qualifier: qualifier.into(),
        timestamp_micros: NOW,
        value: value.into(),
        labels: Vec::new(),
    }
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
                Some(Cell { family, qualifier, timestamp_micros, value, labels: Vec::new() })
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
