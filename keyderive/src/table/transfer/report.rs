//! What a comparison of two tables has found.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;

use super::progress::counted;
use crate::key::ShownKey;
use crate::row::{CellType, Shown};

/// How many bytes of a value a text shows.
const SHOWN_BYTES: usize = 64;

/// How two tables differ, from [`Table::diff`](crate::Table::diff) and [`Migration::verify`](crate::table::rekey::Migration::verify): counts,
/// and the first rows that differ. Print it with `{}`.
///
/// ```
/// # use keyderive::{Client, Row, RowKey};
/// # #[derive(RowKey, Debug)] struct UserKey { id: u64 }
/// # #[derive(RowKey, Debug)] #[salt(range = 4)] struct SaltedKey { id: u64 }
/// # #[derive(Row)] struct User { age: u32 }
/// # async fn sample(client: Client) -> Result<(), Box<dyn std::error::Error>> {
/// # let (old, new) = (client.table::<UserKey, User>("users"), client.table::<SaltedKey, User>("users-4"));
/// use keyderive::table::diff::RowDifference;
///
/// let diff = old.diff(&new, |key, _| SaltedKey { id: key.id }).first(1000).await?;
/// println!("{} of {} rows are missing", diff.missing(), diff.compared());
/// for difference in diff.first() {
///     if let RowDifference::Missing { old_key, .. } = difference {
///         let key = UserKey::decode(old_key.as_bytes())?;
///     }
/// }
/// # Ok(())
/// # }
/// ```
///
/// For a re-keying, the old table is the source of the copy: a roll-back copies from the new table, so there that one is
/// "old". Rows that were written through [`Rekeyed`](crate::table::rekey::Rekeyed) since may differ, and are counted as
/// [`written`](Self::written).
///
/// The text is for people: its wording may change in any release. It shows keys and values.
#[derive(Clone, Debug)]
#[must_use = "differences are no error; `is_equal` says whether there are any"]
pub struct TableDiff {
    pub(super) old: Arc<str>,
    pub(super) new: Arc<str>,
    pub(super) counts: Counts,
    pub(super) first: Vec<RowDifference>,
    pub(super) is_lower_bound: bool,
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    pub(super) compared: u64,
    pub(super) left_out: u64,
    pub(super) foreign: u64,
    pub(super) counted: u64,
    pub(super) cells: u64,
    pub(super) missing: u64,
    pub(super) extra: u64,
    pub(super) collisions: u64,
    pub(super) differing: u64,
    pub(super) without_origin: u64,
    pub(super) equal: u64,
    pub(super) written: u64,
    pub(super) expired: u64,
}

impl Counts {
    pub(super) fn add(&mut self, other: &Self) {
        self.compared += other.compared;
        self.left_out += other.left_out;
        self.foreign += other.foreign;
        self.counted += other.counted;
        self.cells += other.cells;
        self.missing += other.missing;
        self.extra += other.extra;
        self.collisions += other.collisions;
        self.differing += other.differing;
        self.without_origin += other.without_origin;
        self.equal += other.equal;
        self.written += other.written;
        self.expired += other.expired;
    }

    pub(super) fn different(&self) -> u64 {
        self.missing + self.extra + self.collisions + self.differing + self.without_origin + self.foreign
    }
}

impl TableDiff {
    pub(super) fn of(old: Arc<str>, new: Arc<str>) -> Self {
        Self { old, new, counts: Counts::default(), first: Vec::new(), is_lower_bound: false }
    }

    /// Whether each row that was compared is in the new table, cell by cell, under a key of its own, and the new table has no
    /// other row.
    #[must_use]
    pub fn is_equal(&self) -> bool {
        self.counts.different() == 0 && !self.is_lower_bound
    }

    /// How many rows of the old table were compared: those that the closure gave a key.
    #[must_use]
    pub fn compared(&self) -> u64 {
        self.counts.compared
    }

    /// How many rows of the old table were not compared: those that the closure gave no key, or that are not to be copied.
    #[must_use]
    pub fn left_out(&self) -> u64 {
        self.counts.left_out
    }

    /// How many rows of the old table have a key that is not of its key type, and were not compared; 0 unless
    /// [`Diff::report_foreign`](crate::table::diff::Diff::report_foreign) is set.
    #[must_use]
    pub fn foreign(&self) -> u64 {
        self.counts.foreign
    }

    /// How many rows of the new table were counted after that: all, or none for a re-keying that is rolled back.
    #[must_use]
    pub fn counted(&self) -> u64 {
        self.counts.counted
    }

    /// How many cells of the old table were compared.
    #[must_use]
    pub fn cells(&self) -> u64 {
        self.counts.cells
    }

    /// How many rows the new table lacks.
    #[must_use]
    pub fn missing(&self) -> u64 {
        self.counts.missing
    }

    /// How many rows only the new table has; at least this many if [`is_lower_bound`](Self::is_lower_bound).
    #[must_use]
    pub fn extra(&self) -> u64 {
        self.counts.extra
    }

    /// How many keys of the new table belong to several rows of the old one; at least this many if
    /// [`is_lower_bound`](Self::is_lower_bound).
    #[must_use]
    pub fn collisions(&self) -> u64 {
        self.counts.collisions
    }

    /// How many rows are in both tables with different cells.
    #[must_use]
    pub fn differing(&self) -> u64 {
        self.counts.differing
    }

    /// How many rows of the new table have no origin: a program that knows nothing of the re-keying wrote them.
    #[must_use]
    pub fn without_origin(&self) -> u64 {
        self.counts.without_origin
    }

    /// How many rows are in both tables with the same cells, apart from cells that may be removed.
    #[must_use]
    pub fn equal(&self) -> u64 {
        self.counts.equal
    }

    /// How many rows of the new table were written through [`Rekeyed`](crate::table::rekey::Rekeyed) since, so that they may differ.
    #[must_use]
    pub fn written(&self) -> u64 {
        self.counts.written
    }

    /// How many rows differ: those that are missing, extra, foreign or without an origin, or have other cells, and the keys of several
    /// rows.
    #[must_use]
    pub fn different(&self) -> u64 {
        self.counts.different()
    }

    /// How many cells are in one table alone, where its garbage collection rule allows their removal. They are no differences.
    #[must_use]
    pub fn expired(&self) -> u64 {
        self.counts.expired
    }

    /// Whether [`extra`](Self::extra) and [`collisions`](Self::collisions) may be more than their numbers: the keys that differ
    /// were too many to be held in memory.
    #[must_use]
    pub fn is_lower_bound(&self) -> bool {
        self.is_lower_bound
    }

    /// The first rows that differ, as they were found, up to [`Diff::first`](crate::table::diff::Diff::first), or 100 of a re-keying.
    #[must_use]
    pub fn first(&self) -> &[RowDifference] {
        &self.first
    }
}

/// A row that two tables do not share.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RowDifference {
    /// The new table lacks the row.
    #[non_exhaustive]
    Missing {
        /// Its key in the old table.
        old_key: DifferentKey,
        /// The key that it should have in the new one.
        new_key: DifferentKey,
    },
    /// No row of the old table has this key in the new one.
    #[non_exhaustive]
    Extra {
        /// Its key in the new table.
        new_key: DifferentKey,
    },
    /// Several rows of the old table have one key in the new one.
    #[non_exhaustive]
    Collision {
        /// The keys of the first two in the old table.
        old_keys: [DifferentKey; 2],
        /// Their key in the new one.
        new_key: DifferentKey,
    },
    /// The row has different cells in the two tables.
    #[non_exhaustive]
    Cells {
        /// Its key in the old table.
        old_key: DifferentKey,
        /// Its key in the new one.
        new_key: DifferentKey,
        /// The first 10 cells that differ.
        cells: Vec<CellDifference>,
        /// How many cells differ.
        count: usize,
    },
    /// The key of a row of the old table is not of its key type, so that the row was not compared.
    #[non_exhaustive]
    Foreign {
        /// Its key in the old table.
        old_key: DifferentKey,
    },
    /// The row of the new table was written without an origin, by a program that knows nothing of the re-keying.
    #[non_exhaustive]
    WithoutOrigin {
        /// Its key in the new table.
        new_key: DifferentKey,
    },
}

/// The key of a row that differs. Its text has the decoded key and the stored bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DifferentKey {
    pub(super) stored: Bytes,
    /// None for a key that is not of its table's key type.
    pub(super) decoded: Option<String>,
}

impl DifferentKey {
    /// The row key, as stored; [`RowKey::decode`](crate::RowKey::decode) decodes it.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.stored
    }
}

/// A cell that two rows do not share: a column at a timestamp, with its values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CellDifference {
    pub(super) family: String,
    pub(super) qualifier: Bytes,
    pub(super) timestamp_micros: i64,
    pub(super) old: Option<Bytes>,
    pub(super) new: Option<Bytes>,
    /// How the row type stores it, if it has the column.
    pub(super) stored: Option<CellType>,
}

impl CellDifference {
    /// The column family.
    #[must_use]
    pub fn family(&self) -> &str {
        &self.family
    }

    /// The column's qualifier.
    #[must_use]
    pub fn qualifier(&self) -> &[u8] {
        &self.qualifier
    }

    /// The cell's timestamp, in microseconds since the epoch.
    #[must_use]
    pub fn timestamp_micros(&self) -> i64 {
        self.timestamp_micros
    }

    /// The value in the old table; none if it has no such cell.
    #[must_use]
    pub fn old_value(&self) -> Option<&[u8]> {
        self.old.as_deref()
    }

    /// The value in the new table; none if it has no such cell.
    #[must_use]
    pub fn new_value(&self) -> Option<&[u8]> {
        self.new.as_deref()
    }
}

impl fmt::Display for TableDiff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f, usize::MAX, true)
    }
}

impl TableDiff {
    /// The text with up to `rows` rows and without values, for an error.
    pub(crate) fn without_values(&self, rows: usize) -> impl fmt::Display {
        fmt::from_fn(move |f| self.write(f, rows, false))
    }

    fn write(&self, f: &mut fmt::Formatter<'_>, rows: usize, has_values: bool) -> fmt::Result {
        let Self { old, new, counts, first, is_lower_bound } = self;
        let Counts { compared, left_out, missing, extra, collisions, differing, without_origin, .. } =
            *counts;
        let Counts { written, expired, cells, foreign, .. } = *counts;
        if self.is_equal() {
            write!(
                f,
                "tables `{old}` and `{new}` are equal: {}, {}",
                counted(compared, "row"),
                counted(cells, "cell")
            )?;
        } else {
            write!(f, "tables `{old}` and `{new}` differ: of {} compared", counted(compared, "row"))?;
            let are = |count| if count == 1 { "is" } else { "are" };
            let has = |count| if count == 1 { "has" } else { "have" };
            if missing > 0 {
                write!(f, ", {missing} {} missing in `{new}`", are(missing))?;
            }
            if differing > 0 {
                write!(f, ", {differing} {} different cells", has(differing))?;
            }
            let at_least = if *is_lower_bound { "at least " } else { "" };
            if extra > 0 || *is_lower_bound {
                write!(f, ", {at_least}{} {} in `{new}` alone", counted(extra, "row"), are(extra))?;
            }
            if foreign > 0 {
                let verb = if foreign == 1 { "has a key" } else { "have keys" };
                write!(f, ", {} of `{old}` {verb} of another layout", counted(foreign, "row"))?;
            }
            if without_origin > 0 {
                let (rows, verb) = (counted(without_origin, "row"), has(without_origin));
                write!(f, ", {rows} of `{new}` {verb} no origin")?;
            }
            if collisions > 0 {
                let verb = if collisions == 1 { "is that" } else { "are those" };
                write!(f, ", {at_least}{} {verb} of several rows", counted(collisions, "key"))?;
            }
        }
        if written > 0 {
            write!(f, "; {} written since", counted(written, "row"))?;
        }
        if left_out > 0 {
            write!(f, "; {} left out", counted(left_out, "row"))?;
        }
        if expired > 0 {
            write!(f, "; {} in one table alone may be garbage collected", counted(expired, "cell"))?;
        }
        let shown = first.get(..rows).unwrap_or(first);
        for difference in shown {
            write!(f, "\n  {}", Named { difference, old, new, has_values })?;
        }
        match counts.different().saturating_sub(shown.len() as u64) {
            0 => Ok(()),
            more if shown.is_empty() => write!(f, "\n  {more} rows differ"),
            more => write!(f, "\n  and {more} more"),
        }
    }
}

/// A difference with the names of both tables.
struct Named<'a> {
    difference: &'a RowDifference,
    old: &'a str,
    new: &'a str,
    has_values: bool,
}

impl fmt::Display for Named<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let new = self.new;
        match self.difference {
            RowDifference::Missing { old_key, new_key } => {
                write!(f, "{old_key}: `{new}` has no row {new_key}")
            }
            RowDifference::Extra { new_key } => write!(f, "`{new}` alone has the row {new_key}"),
            RowDifference::Collision { old_keys: [one, other], new_key } => {
                write!(f, "{one} and {other}: in `{new}` both are the row {new_key}")
            }
            RowDifference::Foreign { old_key } => {
                write!(
                    f,
                    "{old_key}: the key is not of the layout of `{}`; the row is not compared",
                    self.old
                )
            }
            RowDifference::WithoutOrigin { new_key } => {
                write!(
                    f,
                    "the row {new_key} of `{new}` has no origin: a program that knows nothing of the re-keying wrote it"
                )
            }
            RowDifference::Cells { old_key, new_key, cells, count } => {
                let verb = if *count == 1 { "differs" } else { "differ" };
                write!(f, "{old_key}, {new_key}: {} {verb}", counted(*count as u64, "cell"))?;
                if !self.has_values {
                    return Ok(());
                }
                for cell in cells {
                    write!(f, "\n    {cell}")?;
                }
                match count.saturating_sub(cells.len()) {
                    0 => Ok(()),
                    more => write!(f, "\n    and {more} more"),
                }
            }
        }
    }
}

impl fmt::Display for DifferentKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.decoded {
            Some(decoded) => write!(f, "{decoded} ({})", ShownKey(&self.stored)),
            None => write!(f, "{}", ShownKey(&self.stored)),
        }
    }
}

impl fmt::Display for CellDifference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { family, qualifier, timestamp_micros, old, new, stored } = self;
        write!(f, "{family}:{} at {timestamp_micros}: ", qualifier.escape_ascii())?;
        let side = |f: &mut fmt::Formatter<'_>, value: &Option<Bytes>| match value {
            Some(value) => write!(f, "{}", ShownValue { value, stored: *stored }),
            None => f.write_str("no cell"),
        };
        side(f, old)?;
        f.write_str(", and ")?;
        side(f, new)
    }
}

/// A value, as its type stores it.
struct ShownValue<'a> {
    value: &'a [u8],
    stored: Option<CellType>,
}

impl fmt::Display for ShownValue<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { value, stored } = *self;
        let integer = || value.try_into().ok().map(i64::from_be_bytes);
        let shown = match stored {
            Some(
                CellType::Integer { .. }
                | CellType::NonZero { .. }
                | CellType::Code(_)
                | CellType::UnixTime(_),
            ) => integer().map(|number| number.to_string()),
            Some(CellType::Bool) => integer().map(|number| (number != 0).to_string()),
            Some(CellType::F64) => value.try_into().ok().map(|bytes| f64::from_be_bytes(bytes).to_string()),
            Some(CellType::F32) => value.try_into().ok().map(|bytes| f32::from_be_bytes(bytes).to_string()),
            _ => None,
        };
        if let Some(shown) = shown {
            return f.write_str(&shown);
        }
        let start = value.get(..SHOWN_BYTES).unwrap_or(value);
        let start = match str::from_utf8(start) {
            // Without a truncated character at its end.
            Err(cut) if cut.error_len().is_none() && start.len() < value.len() => &start[..cut.valid_up_to()],
            _ => start,
        };
        let is_bytes = matches!(stored, Some(CellType::Bytes | CellType::Array(_) | CellType::Proto));
        match str::from_utf8(start) {
            Ok(text) if !is_bytes && !text.contains('\0') => write!(f, "{text:?}")?,
            _ => write!(f, "{}", Shown(start))?,
        }
        match start.len() < value.len() {
            true => write!(f, "… ({} bytes)", value.len()),
            false => Ok(()),
        }
    }
}
