//! The same random changes of tables and their families on both sides, and what tables, rows and errors are then.

use std::collections::BTreeSet;

use bytes::Bytes;
use fastrand::Rng;
use keyderive_proto::admin::drop_row_range_request::Target;
use keyderive_proto::admin::gc_rule::{Intersection, Rule, Union};
use keyderive_proto::admin::modify_column_families_request::Modification;
use keyderive_proto::admin::modify_column_families_request::modification::Mod;
use keyderive_proto::admin::{
    ColumnFamily, CreateTableRequest, DeleteTableRequest, DropRowRangeRequest, GcRule, GetTableRequest,
    ListTablesRequest, ModifyColumnFamiliesRequest, Table, create_table_request,
};
use keyderive_proto::data::mutation::{Mutation as Kind, SetCell};
use keyderive_proto::data::{MutateRowRequest, Mutation, ReadRowsRequest, SampleRowKeysRequest};
use keyderive_proto::values::Duration;
use tonic::Status;

use super::operations::Operation;
use super::side::{Outcome, Side};

const PARENT: &str = "projects/p/instances/i";
const TABLES: [&str; 3] = ["one", "two", "three"];
const FAMILIES: [&str; 3] = ["f", "g", "h"];
const KEYS: [&str; 5] = ["a", "a#1", "a#2", "ab", "b"];

#[derive(Clone, Debug)]
pub(super) enum Change {
    Create(CreateTableRequest),
    Delete(String),
    Get(String),
    List,
    Modify(ModifyColumnFamiliesRequest),
    Drop(DropRowRangeRequest),
    Set(MutateRowRequest),
    Sample(String),
    Read(String),
}

/// What both sides must answer alike.
#[derive(Debug, PartialEq)]
pub(super) enum Answer {
    Done,
    /// The families, with their rules and types.
    Table(Vec<(String, ColumnFamily)>),
    Tables(BTreeSet<String>),
    Rows(Outcome),
    /// With any code: the emulator has its own.
    Rejected,
}

/// A change; `families` are those of each table, if it is there.
pub(super) fn change(rng: &mut Rng, families: &[Option<BTreeSet<&'static str>>; TABLES.len()]) -> Change {
    let at = rng.usize(..TABLES.len());
    let name = format!("{PARENT}/tables/{}", TABLES[at]);
    match rng.u8(..20) {
        0 | 1 => {
            let families = FAMILIES.iter().filter(|_| rng.bool()).collect::<Vec<_>>();
            let column_families = families.into_iter().map(|id| ((*id).to_owned(), family(rng))).collect();
            let splits = KEYS.iter().filter(|_| rng.u8(..4) == 0);
            let split =
                |key: &&str| create_table_request::Split { key: Bytes::copy_from_slice(key.as_bytes()) };
            Change::Create(CreateTableRequest {
                parent: PARENT.to_owned(),
                table_id: TABLES[at].to_owned(),
                table: Some(Table { column_families, ..Table::default() }),
                initial_splits: splits.map(split).collect(),
            })
        }
        2 => Change::Delete(name),
        3 => Change::Get(name),
        4 => Change::List,
        5..=9 => Change::Modify(ModifyColumnFamiliesRequest {
            name,
            modifications: modifications(rng, families[at].as_ref()),
            ignore_warnings: true,
        }),
        10 => Change::Drop(DropRowRangeRequest {
            name,
            target: Some(match rng.u8(..3) {
                0 => Target::DeleteAllDataFromTable(true),
                _ => Target::RowKeyPrefix(Bytes::from_static(
                    rng.choice(["a", "a#", "ab", "c"]).unwrap_or("a").as_bytes(),
                )),
            }),
        }),
        11 => Change::Sample(name),
        12 | 13 => Change::Read(name),
        _ => {
            let set = SetCell {
                family_name: rng.choice(FAMILIES).unwrap_or_default().to_owned(),
                column_qualifier: "q".into(),
                timestamp_micros: i64::from(rng.u8(..3)) * 1000,
                value: vec![rng.u8(..)].into(),
            };
            Change::Set(MutateRowRequest {
                table_name: name,
                row_key: rng.choice(KEYS).unwrap_or_default().into(),
                mutations: vec![Mutation { mutation: Some(Kind::SetCell(set)), ..Mutation::default() }],
                ..MutateRowRequest::default()
            })
        }
    }
}

/// One modification, or several that are all valid: the emulator keeps those before the one that it rejects.
fn modifications(rng: &mut Rng, families: Option<&BTreeSet<&'static str>>) -> Vec<Modification> {
    let mut there = families.cloned().unwrap_or_default();
    let mut modifications = Vec::new();
    for at in 0..rng.usize(1..5) {
        let id = rng.choice(FAMILIES).unwrap_or_default();
        let (kind, is_valid) = match rng.u8(..3) {
            0 => (Mod::Create(family(rng)), there.insert(id)),
            1 => (Mod::Update(ColumnFamily { gc_rule: rule(rng, 0), value_type: None }), there.contains(id)),
            _ => (Mod::Drop(true), there.remove(id)),
        };
        let modification = Modification { id: id.to_owned(), r#mod: Some(kind), update_mask: None };
        if is_valid {
            modifications.push(modification);
        } else if at == 0 {
            return vec![modification];
        } else {
            break;
        }
    }
    modifications
}

fn family(rng: &mut Rng) -> ColumnFamily {
    ColumnFamily { gc_rule: rule(rng, 0), value_type: None }
}

/// A rule that keeps every cell of this test, since both sides collect at times of their own.
fn rule(rng: &mut Rng, depth: u8) -> Option<GcRule> {
    let rule = match rng.u8(..if depth < 2 { 6 } else { 3 }) {
        0 => return None,
        1 => Rule::MaxNumVersions(rng.i32(100..200)),
        2 => Rule::MaxAge(Duration { seconds: rng.i64(3_000_000_000..4_000_000_000), nanos: 0 }),
        kind => {
            let rules: Vec<_> = (0..4).filter_map(|_| self::rule(rng, depth + 1)).take(2).collect();
            match (rules.len(), kind) {
                (2, 3) => Rule::Intersection(Intersection { rules }),
                (2, _) => Rule::Union(Union { rules }),
                _ => return None,
            }
        }
    };
    Some(GcRule { rule: Some(rule) })
}

impl Change {
    /// Keeps account of the families, after a change that was accepted.
    pub(super) fn account(&self, families: &mut [Option<BTreeSet<&'static str>>; TABLES.len()]) {
        let of = |name: &str| {
            TABLES.iter().position(|table| name.ends_with(&format!("/{table}")) || name == *table)
        };
        let known = |id: &str| FAMILIES.into_iter().find(|family| *family == id);
        match self {
            Self::Create(request) => {
                let table = request.table.as_ref();
                let ids = table.into_iter().flat_map(|table| table.column_families.keys());
                families[of(&request.table_id).unwrap_or_default()] =
                    Some(ids.filter_map(|id| known(id)).collect());
            }
            Self::Delete(name) => families[of(name).unwrap_or_default()] = None,
            Self::Modify(request) => {
                let Some(there) = &mut families[of(&request.name).unwrap_or_default()] else { return };
                for Modification { id, r#mod, .. } in &request.modifications {
                    match (r#mod, known(id)) {
                        (Some(Mod::Create(_)), Some(id)) => drop(there.insert(id)),
                        (Some(Mod::Drop(_)), Some(id)) => drop(there.remove(id)),
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }
}

impl Side {
    /// Makes a change of tables.
    pub(super) async fn change(&self, change: Change) -> Answer {
        self.changed(change).await.unwrap_or_else(|_| Answer::Rejected)
    }

    async fn changed(&self, change: Change) -> Result<Answer, Status> {
        let mut client = self.client.clone();
        let of_table = |table: Table| Answer::Table(table.column_families.into_iter().collect());
        Ok(match change {
            Change::Create(request) => of_table(client.create_table(request).await?.into_inner()),
            Change::Delete(name) => {
                client.delete_table(DeleteTableRequest { name }).await?;
                Answer::Done
            }
            Change::Get(name) => of_table(
                client.get_table(GetTableRequest { name, ..GetTableRequest::default() }).await?.into_inner(),
            ),
            Change::List => {
                let request = ListTablesRequest { parent: PARENT.to_owned(), ..ListTablesRequest::default() };
                let tables = client.list_tables(request).await?.into_inner().tables;
                Answer::Tables(tables.into_iter().map(|table| table.name).collect())
            }
            Change::Modify(request) => of_table(client.modify_column_families(request).await?.into_inner()),
            Change::Drop(request) => {
                client.drop_row_range(request).await?;
                Answer::Done
            }
            Change::Set(request) => {
                client.mutate_row(request).await?;
                Answer::Done
            }
            Change::Sample(table_name) => {
                let request = SampleRowKeysRequest { table_name, ..SampleRowKeysRequest::default() };
                let mut samples = client.sample_row_keys(request).await?.into_inner();
                while samples.message().await?.is_some() {}
                Answer::Done
            }
            Change::Read(table_name) => {
                let read = ReadRowsRequest { table_name, ..ReadRowsRequest::default() };
                let mut rows = self.run(&Operation::Read(read)).await;
                if let Outcome::Read(rows, _) = &mut rows {
                    rows.iter_mut().for_each(|(_, cells)| cells.sort_by(|left, right| left.0.cmp(&right.0)));
                }
                Answer::Rows(rows)
            }
        })
    }
}
