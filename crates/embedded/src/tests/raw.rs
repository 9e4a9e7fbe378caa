//! The services without a client, with one table and a manual clock.

use std::sync::atomic::{AtomicI64, Ordering};

use futures_util::TryStreamExt as _;
use keyderive_proto::admin::bigtable_table_admin_server::BigtableTableAdmin as _;
use keyderive_proto::admin::modify_column_families_request::Modification;
use keyderive_proto::admin::modify_column_families_request::modification::Mod;
use keyderive_proto::admin::{
    self, ColumnFamily, CreateTableRequest, DeleteTableRequest, ModifyColumnFamiliesRequest,
};
use keyderive_proto::data::bigtable_server::Bigtable as _;
use keyderive_proto::data::mutation::{self, DeleteFromColumn, DeleteFromRow, SetCell, TimestampOrigin};
use keyderive_proto::data::row_filter::Filter;
use keyderive_proto::data::{
    self, MutateRowRequest, ReadModifyWriteRowRequest, ReadModifyWriteRule, ReadRowsRequest,
    ReadRowsResponse, TimestampRange,
};
use keyderive_proto::values::FieldMask;
use tonic::{Code, Request, Response, Status};

use super::*;
use crate::admin::Admin;
use crate::data::Data;
use crate::store::Clock;
use crate::store::Store;
use crate::worker::Worker;

pub(super) const INSTANCE: &str = "projects/p/instances/i";
pub(super) const NAME: &str = "projects/p/instances/i/tables/t";

/// The time at which every test begins.
pub(super) const START: i64 = 1_700_000_000_000_000;

/// A manual clock.
#[derive(Clone)]
pub(super) struct Stopped(Arc<AtomicI64>);

impl Stopped {
    pub(super) fn at(micros: i64) -> Self {
        Self(Arc::new(AtomicI64::new(micros)))
    }

    pub(super) fn set(&self, micros: i64) {
        self.0.store(micros, Ordering::Relaxed);
    }
}

impl Clock for Stopped {
    fn now_micros(&self) -> i64 {
        self.0.load(Ordering::Relaxed)
    }
}

pub(super) struct Servers {
    pub(super) store: Arc<Store>,
    pub(super) data: Data,
    pub(super) admin: Admin,
    pub(super) clock: Stopped,
}

impl Servers {
    /// Servers with a table that has the family `f` and splits at `c` and `m`.
    pub(super) async fn new() -> Self {
        Self::with([("f", ColumnFamily::default())]).await
    }

    /// Servers with a table of these families.
    pub(super) async fn with<const N: usize>(families: [(&str, ColumnFamily); N]) -> Self {
        Self::without_tables().with_table(families).await
    }

    /// Servers with a table that has the family `f`, and rows of at most `bytes`.
    pub(super) async fn with_max_row_bytes(bytes: usize) -> Self {
        let change = |store: Store| store.with_max_row_bytes(bytes);
        Self::over(change).with_table([("f", ColumnFamily::default())]).await
    }

    pub(super) async fn with_table<const N: usize>(self, families: [(&str, ColumnFamily); N]) -> Self {
        let families = families.map(|(name, family)| (name.to_owned(), family));
        let table = admin::Table { column_families: families.into(), ..admin::Table::default() };
        self.create(table).await.unwrap();
        self
    }

    /// Creates the table, with splits at `c` and `m`.
    pub(super) async fn create(&self, table: admin::Table) -> Result<admin::Table, Status> {
        let split = |key: &'static str| admin::create_table_request::Split { key: key.into() };
        let request = CreateTableRequest {
            parent: INSTANCE.to_owned(),
            table_id: "t".to_owned(),
            table: Some(table),
            initial_splits: vec![split("m"), split("c"), split("m")],
        };
        self.admin.create_table(Request::new(request)).await.map(Response::into_inner)
    }

    pub(super) fn without_tables() -> Self {
        Self::over(|store| store)
    }

    pub(super) fn over(change: impl FnOnce(Store) -> Store) -> Self {
        let clock = Stopped::at(START);
        Self { clock: clock.clone(), ..Self::of(change(store(clock))) }
    }

    /// Servers over this store, whose clock is not the one in `Servers`.
    pub(super) fn of(store: Store) -> Self {
        let (clock, store) = (Stopped::at(START), Arc::new(store));
        let worker = Arc::new(Worker::new(Arc::clone(&store)).unwrap());
        Self { data: Data::new(Arc::clone(&worker), None), admin: Admin::new(worker), store, clock }
    }

    pub(super) async fn mutate(&self, key: &str, mutation: mutation::Mutation) -> Result<(), Status> {
        self.mutate_by(key, [mutation]).await
    }

    pub(super) async fn mutate_by<const N: usize>(
        &self,
        key: &str,
        mutations: [mutation::Mutation; N],
    ) -> Result<(), Status> {
        let mutations = mutations
            .map(|mutation| data::Mutation { mutation: Some(mutation), ..data::Mutation::default() });
        let request = MutateRowRequest {
            table_name: NAME.to_owned(),
            row_key: Bytes::copy_from_slice(key.as_bytes()),
            mutations: mutations.into(),
            ..MutateRowRequest::default()
        };
        self.data.mutate_row(Request::new(request)).await.map(|_| ())
    }

    /// Mutates the row `a` by a mutation with a timestamp of this origin.
    pub(super) async fn mutate_from(
        &self,
        origin: TimestampOrigin,
        mutation: mutation::Mutation,
    ) -> Result<(), Status> {
        let request = MutateRowRequest {
            table_name: NAME.to_owned(),
            row_key: "a".into(),
            mutations: vec![data::Mutation { mutation: Some(mutation), timestamp_origin: origin.into() }],
            ..MutateRowRequest::default()
        };
        self.data.mutate_row(Request::new(request)).await.map(|_| ())
    }

    pub(super) async fn set(
        &self,
        key: &str,
        family: &str,
        qualifier: &str,
        timestamp_micros: i64,
        value: impl Into<Bytes>,
    ) -> Result<(), Status> {
        self.mutate(key, set_cell(family, qualifier, timestamp_micros, value)).await
    }

    /// Applies rules to the row `a`, and returns the cells that they wrote.
    pub(super) async fn modify(&self, rules: Vec<ReadModifyWriteRule>) -> Result<Vec<String>, Status> {
        self.modify_row("a", rules).await
    }

    /// The same, of the row with this key.
    pub(super) async fn modify_row(
        &self,
        key: &str,
        rules: Vec<ReadModifyWriteRule>,
    ) -> Result<Vec<String>, Status> {
        let request = ReadModifyWriteRowRequest {
            table_name: NAME.to_owned(),
            row_key: key.to_owned().into(),
            rules,
            ..ReadModifyWriteRowRequest::default()
        };
        let row = self.data.read_modify_write_row(Request::new(request)).await?.into_inner().row.unwrap();
        assert_eq!(row.key, key);
        let mut shown = Vec::new();
        for family in row.families {
            for column in family.columns {
                for cell in column.cells {
                    shown.push(show(&family.name, &column.qualifier, cell.timestamp_micros, &cell.value));
                }
            }
        }
        Ok(shown)
    }

    pub(super) async fn read(&self, request: ReadRowsRequest) -> Result<Vec<ReadRowsResponse>, Status> {
        let request = ReadRowsRequest { table_name: NAME.to_owned(), ..request };
        let responses = self.data.read_rows(Request::new(request)).await?.into_inner();
        responses.map_ok(|response| response.decoded().unwrap()).try_collect().await
    }

    /// All cells of the table, formatted by `show`.
    pub(super) async fn cells(&self) -> Vec<String> {
        let responses = self.read(ReadRowsRequest::default()).await.unwrap();
        let (mut family, mut qualifier) = (String::new(), Bytes::new());
        let mut shown = Vec::new();
        for chunk in responses.into_iter().flat_map(|response| response.chunks) {
            family = chunk.family_name.map_or(family, |name| name.value);
            qualifier = chunk.qualifier.map_or(qualifier, |name| name.value);
            shown.push(show(&family, &qualifier, chunk.timestamp_micros, &chunk.value));
        }
        shown
    }

    /// The timestamps of all cells of the table.
    pub(super) async fn timestamps(&self) -> Vec<i64> {
        let responses = self.read(ReadRowsRequest::default()).await.unwrap();
        responses.iter().flat_map(|response| &response.chunks).map(|chunk| chunk.timestamp_micros).collect()
    }

    pub(super) async fn modify_families<const N: usize>(
        &self,
        modifications: [(&str, Mod); N],
    ) -> Result<admin::Table, Status> {
        self.modify_each(modifications.into()).await
    }

    pub(super) async fn modify_each(&self, modifications: Vec<(&str, Mod)>) -> Result<admin::Table, Status> {
        let modifications = modifications.into_iter().map(|(id, change)| Modification {
            id: id.to_owned(),
            r#mod: Some(change),
            update_mask: None,
        });
        self.apply_modifications(modifications.collect()).await
    }

    /// Updates the fields of a family that `paths` name.
    pub(super) async fn update_family(
        &self,
        id: &str,
        family: ColumnFamily,
        paths: &[&str],
    ) -> Result<admin::Table, Status> {
        let paths = paths.iter().map(|path| (*path).to_owned()).collect();
        let update = Modification {
            id: id.to_owned(),
            r#mod: Some(Mod::Update(family)),
            update_mask: Some(FieldMask { paths }),
        };
        self.apply_modifications(vec![update]).await
    }

    async fn apply_modifications(&self, modifications: Vec<Modification>) -> Result<admin::Table, Status> {
        let request =
            ModifyColumnFamiliesRequest { name: NAME.to_owned(), modifications, ignore_warnings: false };
        self.admin.modify_column_families(Request::new(request)).await.map(Response::into_inner)
    }

    pub(super) async fn delete_table(&self) -> Result<(), Status> {
        let request = DeleteTableRequest { name: NAME.to_owned() };
        self.admin.delete_table(Request::new(request)).await.map(|_| ())
    }
}

/// `f:q@START+0=v` for a cell, or the timestamp itself if it is before `START`. Eight bytes are shown as a number.
fn show(family: &str, qualifier: &Bytes, timestamp_micros: i64, value: &Bytes) -> String {
    let value = match value[..].try_into() {
        Ok(bytes) => i64::from_be_bytes(bytes).to_string(),
        Err(_) => value.escape_ascii().to_string(),
    };
    let time = match timestamp_micros - START {
        since @ 0.. => format!("START+{since}"),
        _ => timestamp_micros.to_string(),
    };
    format!("{family}:{}@{time}={value}", qualifier.escape_ascii())
}

pub(super) fn set_cell(
    family: &str,
    qualifier: &str,
    timestamp_micros: i64,
    value: impl Into<Bytes>,
) -> mutation::Mutation {
    mutation::Mutation::SetCell(SetCell {
        family_name: family.to_owned(),
        column_qualifier: Bytes::copy_from_slice(qualifier.as_bytes()),
        timestamp_micros,
        value: value.into(),
    })
}

/// Deletes the versions of `f:q` in a range.
pub(super) fn delete_versions(start: i64, end: i64) -> mutation::Mutation {
    mutation::Mutation::DeleteFromColumn(DeleteFromColumn {
        family_name: "f".to_owned(),
        column_qualifier: "q".into(),
        time_range: Some(TimestampRange { start_timestamp_micros: start, end_timestamp_micros: end }),
    })
}

pub(super) fn delete_row() -> mutation::Mutation {
    mutation::Mutation::DeleteFromRow(DeleteFromRow {})
}

pub(super) fn message(filter: Filter) -> Option<data::RowFilter> {
    Some(data::RowFilter { filter: Some(filter) })
}

pub(super) fn code<T>(outcome: Result<T, Status>) -> Code {
    outcome.err().map_or(Code::Ok, |status| status.code())
}
