//! What Bigtable refuses is refused here, before it is sent; what it advises against is told.
//!
//! The limits are those of Bigtable's page "Quotas and limits".

use bytes::Bytes;

use super::batch::entry_bytes;
use crate::client::Error;
use crate::key::{MAX_KEY_LEN, ShownKey};
use crate::row::{Change, Mutation};

/// How many mutations Bigtable takes in one request.
pub(super) const MAX_MUTATIONS: usize = 100_000;
const MAX_QUALIFIER_BYTES: usize = 16 * 1024;
const MAX_VALUE_BYTES: usize = 100 * 1024 * 1024;

/// Above these sizes, Bigtable advises against.
const ADVISED_VALUE_BYTES: usize = 10 * 1000 * 1000;
const ADVISED_ROW_BYTES: usize = 100 * 1000 * 1000;

/// Fails for what Bigtable would refuse, naming it.
pub(crate) fn check(table: &str, key: &Bytes, mutations: &[Mutation]) -> Result<(), Error> {
    let refuse = |message: String| Err(Error::limit(table, key, message));
    check_key(table, key)?;
    if mutations.is_empty() {
        return refuse("the write has no mutation".to_owned());
    }
    if mutations.len() > MAX_MUTATIONS {
        return refuse(format!(
            "the write has {} mutations, and a request at most {MAX_MUTATIONS}: a row with so many columns is set in \
             parts, with `merge` or `update`, or is better stored as several rows",
            mutations.len()
        ));
    }
    for mutation in mutations {
        let (family, qualifier, value): (_, &[u8], &[u8]) = match &mutation.0 {
            Change::SetCell { family, qualifier, value, .. } => (family, qualifier, value),
            Change::MergeToCell { family, qualifier, state, .. } => (family, qualifier, state),
            Change::AddToCell { family, qualifier, .. } | Change::DeleteColumn { family, qualifier, .. } => {
                (family, qualifier, b"")
            }
            Change::DeleteFamily { .. } | Change::DeleteRow => continue,
        };
        if qualifier.len() > MAX_QUALIFIER_BYTES {
            let (len, shown) = (qualifier.len(), ShownKey(qualifier));
            return refuse(format!(
                "the qualifier {shown} in the family `{family}` has {len} bytes, and at most {MAX_QUALIFIER_BYTES} \
                 are allowed: make the name or the map's key shorter, and store the long text as a value"
            ));
        }
        if value.len() > MAX_VALUE_BYTES {
            let (len, shown) = (value.len(), ShownKey(qualifier));
            return refuse(format!(
                "the value of the column {shown} in the family `{family}` has {len} bytes, and at most \
                 {MAX_VALUE_BYTES} are allowed: split it over several columns or rows"
            ));
        }
        if value.len() > ADVISED_VALUE_BYTES {
            let bytes = value.len();
            tracing::warn!(table, %family, bytes, "a value is larger than the 10 MB that Bigtable advises");
        }
    }
    let bytes = entry_bytes(key, mutations);
    if bytes > ADVISED_ROW_BYTES {
        tracing::warn!(
            table,
            bytes,
            "a write to one row is larger than the 100 MB that Bigtable advises for a row"
        );
    }
    Ok(())
}

/// Fails for a key that no row has.
pub(super) fn check_key(table: &str, key: &Bytes) -> Result<(), Error> {
    match key.len() {
        0 => Err(Error::limit(
            table,
            key,
            "the row key is empty, and a row key has at least one byte".to_owned(),
        )),
        len if len > MAX_KEY_LEN => Err(Error::limit(
            table,
            key,
            format!("the row key has {len} bytes, and at most {MAX_KEY_LEN} are allowed"),
        )),
        _ => Ok(()),
    }
}
