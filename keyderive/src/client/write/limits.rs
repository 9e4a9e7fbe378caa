//! What Bigtable rejects is rejected here, before sending; what it advises against is logged.
//!
//! The limits are those of Bigtable's page "Quotas and limits".

use bytes::Bytes;

use super::Mutations;
use crate::client::Error;
use crate::key::{MAX_KEY_LEN, ShownKey};

/// How many mutations Bigtable takes in one request.
pub(super) const MAX_MUTATIONS: usize = 100_000;
const MAX_QUALIFIER_BYTES: usize = 16 * 1024;
const MAX_VALUE_BYTES: usize = 100 * 1024 * 1024;

/// Above these sizes, Bigtable advises against.
const ADVISED_VALUE_BYTES: usize = 10 * 1000 * 1000;
const ADVISED_ROW_BYTES: usize = 100 * 1000 * 1000;

/// Whether a change of this column is as small as Bigtable advises.
#[inline]
pub(super) fn is_advised(qualifier: &[u8], value: &[u8]) -> bool {
    qualifier.len() <= MAX_QUALIFIER_BYTES && value.len() <= ADVISED_VALUE_BYTES
}

/// A change that is larger than Bigtable advises, or than it takes.
#[derive(Clone, Debug)]
pub(super) struct Large {
    family: String,
    qualifier: Vec<u8>,
    value_bytes: usize,
}

impl Large {
    #[cold]
    pub(super) fn new(family: &str, qualifier: &[u8], value: &[u8]) -> Self {
        Self { family: family.to_owned(), qualifier: qualifier.to_owned(), value_bytes: value.len() }
    }

    pub(super) fn is_allowed(&self) -> bool {
        self.qualifier.len() <= MAX_QUALIFIER_BYTES && self.value_bytes <= MAX_VALUE_BYTES
    }

    /// Warns of it, or says why it is refused.
    fn check(&self, table: &str) -> Result<(), String> {
        let Self { family, qualifier, value_bytes } = self;
        let shown = ShownKey(qualifier);
        if qualifier.len() > MAX_QUALIFIER_BYTES {
            return Err(format!(
                "the qualifier {shown} in the family `{family}` has {} bytes, and at most {MAX_QUALIFIER_BYTES} are \
                 allowed: make the name or the map's key shorter, and store the long text as a value",
                qualifier.len()
            ));
        }
        if *value_bytes > MAX_VALUE_BYTES {
            return Err(format!(
                "the value of the column {shown} in the family `{family}` has {value_bytes} bytes, and at most \
                 {MAX_VALUE_BYTES} are allowed: split it over several columns or rows"
            ));
        }
        tracing::warn!(
            table,
            %family,
            bytes = value_bytes,
            "a value is larger than the 10 MB that Bigtable advises"
        );
        Ok(())
    }
}

/// Whether a write is as nearly all are: far from every limit.
#[inline]
pub(super) fn is_usual(key: &[u8], mutations: &Mutations) -> bool {
    (1..=MAX_KEY_LEN).contains(&key.len())
        && (1..=MAX_MUTATIONS).contains(&mutations.count())
        && mutations.large().is_empty()
        && mutations.bytes().len() < ADVISED_ROW_BYTES / 2
}

/// Fails for what Bigtable would refuse, naming it. It is one write, of one row, of which each list may be empty.
pub(crate) fn check(table: &str, key: &[u8], mutations: &[&Mutations]) -> Result<(), Error> {
    check_key(table, key)?;
    let count: usize = mutations.iter().map(|mutations| mutations.count()).sum();
    let refuse = |message: String| Err(refused(table, key, message));
    if count == 0 {
        return refuse("the write has no mutation".to_owned());
    }
    if count > MAX_MUTATIONS {
        return refuse(format!(
            "the write has {count} mutations, and a request at most {MAX_MUTATIONS}: a row with so many columns is set in \
             parts, with `merge` or `update`, or is better stored as several rows"
        ));
    }
    for large in mutations.iter().flat_map(|mutations| mutations.large()) {
        large.check(table).or_else(refuse)?;
    }
    let bytes = key.len() + mutations.iter().map(|mutations| mutations.bytes().len()).sum::<usize>();
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
pub(super) fn check_key(table: &str, key: &[u8]) -> Result<(), Error> {
    let message = match key.len() {
        0 => "the row key is empty, and a row key has at least one byte".to_owned(),
        1..=MAX_KEY_LEN => return Ok(()),
        len => format!("the row key has {len} bytes, and at most {MAX_KEY_LEN} are allowed"),
    };
    Err(refused(table, key, message))
}

#[cold]
fn refused(table: &str, key: &[u8], message: String) -> Error {
    Error::limit(table, &Bytes::copy_from_slice(key), message)
}
