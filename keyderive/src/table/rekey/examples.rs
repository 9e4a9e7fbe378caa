//! Which keys a re-keying gives some rows, as its driver records it: so that programs and drivers with another mapping find out.
//!
//! Conversions are code, which cannot be compared. So the driver that begins records some keys of the old table with the keys that its own
//! mapping gives them, with the first state: until the first copy, the leases on the state before have ended. A process that
//! reads the state compares the keys that its own mapping gives the same rows. There is nothing to compare for an empty
//! table, or where new keys are made of rows, since rows change.

use std::fmt;

use futures_util::TryStreamExt as _;

use super::keys::PairKeys;
use super::state::{Example, Side};
use crate::client::{Error, ReadRows, Route};
use crate::key::ShownKey;
use crate::row::{RawRow, RowFilter};
use crate::table::UntypedTable;
use crate::table::handle::windows;

/// How many rows are recorded, at most.
const MAX_EXAMPLES: usize = 16;
/// How many bytes their keys have together, at most: a change of the state sends them twice in a filter, which may have 20
/// kB.
const MAX_BYTES: usize = 2048;

/// The first rows of some partitions of the old table.
pub(super) async fn of_table(old: &UntypedTable, keys: &dyn PairKeys) -> Result<Vec<Example>, Error> {
    if keys.reads_rows() {
        return Ok(Vec::new());
    }
    let starts = old.partition_starts().await?;
    let step = starts.len().div_ceil(MAX_EXAMPLES).max(1);
    let parts = windows(starts.into_iter().step_by(step).collect());
    let rows_of_part = MAX_EXAMPLES.div_ceil(parts.len().max(1));
    let (mut examples, mut bytes) = (Vec::new(), 0);
    for part in parts {
        let request = ReadRows {
            ranges: old.ranges_within(part),
            limit: Some(rows_of_part as u64),
            filter: Some(RowFilter::chain(RowFilter::existence())),
            ..ReadRows::default()
        };
        let mut rows = old.client.read_rows(&old.name, request);
        while let Some(row) = rows.try_next().await? {
            // A row that has no new key ends the copy, and is named there.
            let Ok(new) = keys.new_of(row.key(), &RawRow::default()) else { continue };
            let example = Example { old: row.key().to_vec(), new: new.to_vec() };
            bytes += example.old.len() + example.new.len();
            if examples.len() == MAX_EXAMPLES || bytes > MAX_BYTES {
                return Ok(examples);
            }
            examples.push(example);
        }
    }
    Ok(examples)
}

/// Fails unless a mapping gives the rows of these examples the same keys. It leads back to their old keys, which the keys check.
pub(super) fn check(
    examples: &[Example],
    keys: &dyn PairKeys,
    [old_table, new_table]: [&Route; 2],
) -> Result<(), Error> {
    for Example { old, new } in examples {
        let own = keys.new_of(old, &RawRow::default());
        if own.as_ref().is_ok_and(|own| own == new) {
            continue;
        }
        let shown = |side, key: &[u8]| {
            let (text, stored) = (keys.show(side, key), ShownKey(key));
            fmt::from_fn(move |f| match &text {
                Some(text) => write!(f, "{text} (`{stored}`)"),
                None => write!(f, "`{stored}`"),
            })
            .to_string()
        };
        let own = match &own {
            Ok(own) => format!("the key {}", shown(Side::New, own)),
            Err(error) => format!("none: {error}"),
        };
        return Err(Error::mismatch(
            old_table,
            format!(
                "its re-keying to `{}` has another mapping of keys: it gives the row {} the key {}, and the mapping here {own}; nothing was read \
                 or written by this one. Use the mapping that began the re-keying, or take it back by `roll_back()` with that one, and begin \
                 again with another new table",
                &**new_table,
                shown(Side::Old, old),
                shown(Side::New, new),
            ),
        ));
    }
    Ok(())
}
