//! What a row becomes by mutations.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use bytes::Bytes;
use prost::Message as _;

use super::encode::Mutations;
use crate::row::{RawRow, RowBuilder, SERVER_TIME};
use keyderive_proto::data::{self, mutation::Mutation as Kind};

/// The versions of a column, the newest first.
type CellVersions = BTreeMap<Reverse<i64>, Bytes>;

impl Mutations {
    /// Applies the mutations to `row` as the server would at `now`, without additions to aggregates and garbage collection.
    /// None if no cell remains.
    pub(crate) fn applied_to(
        &self,
        row: Option<&RawRow>,
        key: &[u8],
        now: i64,
    ) -> Result<Option<RawRow>, String> {
        let mut columns: BTreeMap<(String, Bytes), CellVersions> = BTreeMap::new();
        for cell in row.into_iter().flat_map(RawRow::cells) {
            let column = (cell.family().to_owned(), Bytes::copy_from_slice(cell.qualifier()));
            let version = (Reverse(cell.timestamp_micros()), Bytes::copy_from_slice(cell.value()));
            columns.entry(column).or_default().extend([version]);
        }
        let entry =
            data::mutate_rows_request::Entry::decode(self.bytes()).map_err(|error| error.to_string())?;
        for change in entry.mutations.into_iter().filter_map(|mutation| mutation.mutation) {
            match change {
                Kind::SetCell(set) => {
                    let time = if set.timestamp_micros == SERVER_TIME { now } else { set.timestamp_micros };
                    let column = (set.family_name, set.column_qualifier);
                    columns.entry(column).or_default().insert(Reverse(time), set.value);
                }
                Kind::DeleteFromColumn(delete) => {
                    let range = delete.time_range.unwrap_or_default();
                    let is_deleted = |time: i64| {
                        time >= range.start_timestamp_micros
                            && (range.end_timestamp_micros == 0 || time < range.end_timestamp_micros)
                    };
                    if let Some(versions) = columns.get_mut(&(delete.family_name, delete.column_qualifier)) {
                        versions.retain(|Reverse(time), _| !is_deleted(*time));
                    }
                }
                Kind::DeleteFromFamily(delete) => {
                    columns.retain(|(family, _), _| *family != delete.family_name);
                }
                Kind::DeleteFromRow(_) => columns.clear(),
                Kind::AddToCell(_) | Kind::MergeToCell(_) => {}
            }
        }
        let mut built = RowBuilder::new(key).map_err(|_| "a row has at most 4 GiB".to_owned())?;
        let mut is_empty = true;
        for ((family, qualifier), versions) in &columns {
            for (Reverse(time), value) in versions {
                let cell = built.cell(Some(family.as_bytes()), Some(qualifier), *time);
                let cell = cell.and_then(|()| built.value(value));
                cell.map_err(|_| "a row has at most 4 GiB".to_owned())?;
                is_empty = false;
            }
        }
        Ok((!is_empty).then(|| built.build()))
    }
}
