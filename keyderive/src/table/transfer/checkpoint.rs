//! How far a transfer is, as it is stored: the version of the format, which tables it is of, and what is left.

use std::collections::BTreeSet;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::additions::StoredAdditions;
use super::keys::Mapping;
use super::numbers::{count, hex_id};
use super::tracker::Done;
use crate::client::Error;
use crate::plan::KeyRange;
use crate::table::UntypedTable;

/// The version of the stored formats. Later releases read it too.
const FORMAT: u32 = 1;

/// A stored format, after its version.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Versioned<T> {
    format: u32,
    #[serde(flatten)]
    stored: T,
}

impl<T> Versioned<T> {
    pub(crate) fn new(stored: T) -> Self {
        Self { format: FORMAT, stored }
    }

    /// What is stored.
    ///
    /// # Errors
    /// For another version, what the checkpoint has.
    pub(crate) fn read(self) -> Result<T, String> {
        match self.format {
            FORMAT => Ok(self.stored),
            format => Err(format!(
                "has the format {format}, and this release of keyderive reads the format {FORMAT}; resume with the release that \
                 stored it"
            )),
        }
    }
}

/// How far a copy or the pass of a re-keying is: the ranges of the old table that are left, and how many rows of the others were
/// copied and left out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PartsLeft {
    old: TableIdentity,
    new: TableIdentity,
    #[serde(deserialize_with = "count")]
    copied: u64,
    #[serde(deserialize_with = "count")]
    left_out: u64,
    left: Vec<KeyRange>,
}

impl PartsLeft {
    /// A request must have shown that both tables exist.
    pub(crate) fn new(mapping: &Mapping<'_>, left: Vec<KeyRange>) -> Self {
        let (old, new) = (TableIdentity::of(&mapping.old), TableIdentity::of(&mapping.new));
        Self { old, new, copied: 0, left_out: 0, left }
    }

    /// The same tables, at another time.
    pub(crate) fn at(&self, done: &Done) -> Self {
        let (copied, left_out, left) = (done.moved(), done.left_out(), done.left());
        Self { copied, left_out, left, ..self.clone() }
    }

    pub(crate) fn done(&self) -> Done {
        Done::all_but(self.left.clone(), self.copied, self.left_out)
    }

    pub(crate) fn copied(&self) -> u64 {
        self.copied
    }

    /// The first of the two tables that is not the checkpoint's, and why not, in words.
    pub(crate) fn fault<'m>(&self, mapping: &'m Mapping<'_>) -> Option<(&'m UntypedTable, String)> {
        [(&self.old, &mapping.old), (&self.new, &mapping.new)].into_iter().find_map(|(identity, table)| {
            let fault = match identity.difference(table) {
                Some(difference) => format!("is of another copy: {difference}"),
                None if identity.is_of_this(table) => return None,
                None => {
                    "is of another table of this name: this one was created since, or is in another Bigtable"
                        .to_owned()
                }
            };
            Some((table, fault))
        })
    }
}

/// How far a load has come: the first [`items`](Self::items) items of its input are processed, each written or among the
/// [`failed`](Self::failed) ones. [`Load::resume`](crate::table::load::Load::resume) retries the failed ones and continues after the items.
///
/// ```
/// # use keyderive::{Client, Row, RowKey};
/// # #[derive(RowKey)] struct UserKey { id: u64 }
/// # #[derive(Row)] struct User { age: u32 }
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use keyderive::table::load::Checkpoint;
///
/// # let users = Client::embedded().table::<UserKey, User>("users");
/// # users.create_if_absent().await?;
/// let report = users.load_iter((0..1000).map(|id| (UserKey { id }, User { age: 42 }))).await?;
/// let stored = serde_json::to_string(report.checkpoint())?;
/// let checkpoint: Checkpoint = serde_json::from_str(&stored)?;
/// assert_eq!(checkpoint.items(), 1000);
/// # Ok(())
/// # }
/// ```
///
/// Serialize it by serde: some 250 bytes of JSON, and a few more for each failed row. It holds the version of its format, the
/// number of items, the places of the failed rows, the name of the table and the fingerprint of the key type. A release that
/// does not know the version rejects it.
///
/// # Which tables accept it
///
/// A load into another table or instance, or by another key type, rejects the checkpoint. The tables of an embedded
/// Bigtable have a number too, so a table that was deleted and created again, or is in another
/// [`Client::embedded`](crate::Client::embedded), rejects a checkpoint that has items. The service and the emulator
/// have no such number: there, a table created again under its name accepts the checkpoint of the one before, and so does
/// another emulator. Load such a table from the beginning.
///
/// The caller must resume with the same input, in the same order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "Versioned<Items>", try_from = "Versioned<Items>")]
pub struct Checkpoint {
    items: u64,
    failed: Vec<u64>,
    table: TableIdentity,
    /// What a load that adds sums must know of them.
    sums: Option<StoredAdditions>,
}

/// Which table a checkpoint is of.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct TableIdentity {
    /// The full name, with the instance.
    table: String,
    /// Distinguishes tables of one name, in an embedded Bigtable.
    #[serde(with = "hex_id")]
    table_id: Option<u64>,
    fingerprint: String,
}

impl TableIdentity {
    /// Its number is known once a request has shown that the table exists.
    fn of(table: &UntypedTable) -> Self {
        Self {
            table: table.client.table_name(&table.name),
            table_id: table.client.table_id(&table.name),
            fingerprint: table.key.schema().fingerprint().to_string(),
        }
    }

    /// How a table with another name or key type differs, in words.
    fn difference(&self, table: &UntypedTable) -> Option<String> {
        let here = Self::of(table);
        let differs = |what: &str, found: &str, expected: &str| {
            Some(format!("expected {what} `{expected}`, found `{found}`"))
        };
        if self.table != here.table {
            return differs("the table", &self.table, &here.table);
        }
        if self.fingerprint != here.fingerprint {
            let what = format!("the fingerprint of `{}`", table.key.schema().key_type());
            return differs(&what, &self.fingerprint, &here.fingerprint);
        }
        None
    }

    /// Whether it is of the table that has this name now.
    fn is_of_this(&self, table: &UntypedTable) -> bool {
        self.table_id == table.client.table_id(&table.name)
    }
}

/// A checkpoint of a load as it is stored.
#[derive(Serialize, Deserialize)]
struct Items {
    #[serde(deserialize_with = "count")]
    items: u64,
    failed: Vec<u64>,
    #[serde(flatten)]
    table: TableIdentity,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sums: Option<StoredAdditions>,
}

impl From<Checkpoint> for Versioned<Items> {
    fn from(checkpoint: Checkpoint) -> Self {
        let Checkpoint { items, failed, table, sums } = checkpoint;
        Self::new(Items { items, failed, table, sums })
    }
}

impl TryFrom<Versioned<Items>> for Checkpoint {
    type Error = String;

    fn try_from(stored: Versioned<Items>) -> Result<Self, String> {
        let Items { items, failed, table, sums } =
            stored.read().map_err(|fault| format!("the checkpoint {fault}"))?;
        if let Some(place) = failed.iter().find(|place| **place >= items) {
            return Err(format!(
                "the checkpoint is damaged: item {place} failed, and only {items} were processed"
            ));
        }
        // Sorted and distinct, as we store them.
        let failed: Vec<_> = failed.into_iter().collect::<BTreeSet<_>>().into_iter().collect();
        match &sums {
            Some(sums) if !sums.fits(items, &failed) => {
                Err("the checkpoint is damaged: its sums are of other items".to_owned())
            }
            _ => Ok(Self { items, failed, table, sums }),
        }
    }
}

impl Checkpoint {
    /// The checkpoint before the first item.
    pub(crate) fn begin(table: &UntypedTable) -> Self {
        Self { items: 0, failed: Vec::new(), table: TableIdentity::of(table), sums: None }
    }

    /// The checkpoint before the first item of a load that adds sums.
    pub(crate) fn adding_sums(self) -> Self {
        Self { sums: Some(StoredAdditions::begin()), ..self }
    }

    /// What it has of the sums, if its load adds them.
    pub(crate) fn sums(&self) -> Option<&StoredAdditions> {
        self.sums.as_ref()
    }

    /// Rejects a checkpoint of a load that adds sums for one that does not, and the reverse.
    pub(crate) fn check_sums(&self, adds: bool, table: &UntypedTable) -> Result<(), Error> {
        let text = match (&self.sums, adds) {
            (None, true) => {
                "the checkpoint is of a load without `.add_sums()`, which added nothing for the items before it; resume without \
                 `.add_sums()`, or load from the beginning: leave `.resume(…)` out"
            }
            (Some(_), false) => {
                "the checkpoint is of a load with `.add_sums()`, and without it the items that are left would not be added; resume it with \
                 `.add_sums()`"
            }
            _ => return Ok(()),
        };
        Err(Error::mismatch(&table.name, text))
    }

    /// The checkpoint of the same load at another time: after the last item that is done without a gap.
    pub(crate) fn at(&self, done: &Done) -> Self {
        let (items, failed) = (done.rows(), done.failed());
        let sums = done.additions.as_ref().map(|additions| additions.stored(items, &failed));
        Self { items, failed, sums: sums.or_else(|| self.sums.clone()), ..self.clone() }
    }

    /// The items before it.
    pub(crate) fn done(&self) -> Done {
        Done::stream(self.items, &self.failed)
    }

    /// How many items from the start of the input are processed: each is written, or among the [`failed`](Self::failed) ones.
    #[must_use]
    pub fn items(&self) -> u64 {
        self.items
    }

    /// The places in the input, counted from 0 and in order, of the failed rows that a resumed load retries: the first 1000.
    /// The checkpoint stays before the next one that fails, so it forgets none.
    #[must_use]
    pub fn failed(&self) -> &[u64] {
        &self.failed
    }

    /// The items, counted from 0, whose additions may have been counted twice, since a load was resumed that
    /// [may](crate::table::load::Load::may_count_twice).
    #[must_use]
    pub fn may_be_counted_twice(&self) -> &[Range<u64>] {
        self.sums.as_ref().map_or(&[], StoredAdditions::twice)
    }

    /// Rejects another table.
    pub(crate) fn check(&self, table: &UntypedTable) -> Result<(), Error> {
        match self.table.difference(table) {
            None => Ok(()),
            Some(difference) => Err(Error::mismatch(
                &table.name,
                format!(
                    "the checkpoint is of another load: {difference}; resume it there, or load this table from the \
                     beginning: leave `.resume(…)` out"
                ),
            )),
        }
    }

    /// Binds the checkpoint to the table that has this name now; fails if its rows went to another one.
    pub(crate) fn bound_to(&self, table: &UntypedTable) -> Result<Self, Error> {
        if self.items > 0 && !self.table.is_of_this(table) {
            return Err(Error::mismatch(
                &table.name,
                "the checkpoint is of another table of this name: this one was created since, or is in another Bigtable, \
                 and lacks the rows before the checkpoint; load it from the beginning: leave `.resume(…)` out",
            ));
        }
        Ok(Self { table: TableIdentity::of(table), ..self.clone() })
    }
}

#[cfg(test)]
mod tests {
    use super::super::numbers::MOST_ROWS;
    use super::*;

    const STORED: &str = r#"{"format":1,"items":100,"failed":[3,7],"table":"projects/p/instances/i/tables/t","table_id":"00000000000000ff","fingerprint":"6c1705375cfbd9b0"}"#;

    #[test]
    fn the_stored_format_stays() {
        let checkpoint: Checkpoint = serde_json::from_str(STORED).unwrap();
        assert_eq!((checkpoint.items(), checkpoint.failed()), (100, &[3, 7][..]));
        assert_eq!(serde_json::to_string(&checkpoint).unwrap(), STORED);
    }

    const SUMS: &str = r#","sums":{"load":"00000000000000ff","sent":130,"since":1700000000,"failed":[[7,1690000000]],"counted":[3],"twice":[{"start":1,"end":3}]}}"#;

    #[test]
    fn the_stored_format_of_sums_stays() {
        let stored = STORED.trim_end_matches('}').to_owned() + SUMS;
        let checkpoint: Checkpoint = serde_json::from_str(&stored).unwrap();
        assert_eq!(checkpoint.may_be_counted_twice().first(), Some(&(1..3)));
        assert_eq!(serde_json::to_string(&checkpoint).unwrap(), stored);
        // Of the run before it, until its own additions are known.
        assert_eq!(checkpoint.at(&checkpoint.done()), checkpoint);
        for (from, to) in [
            ("[[7,", "[[8,"),
            (r#""counted":[3]"#, r#""counted":[4]"#),
            (r#""sent":130"#, r#""sent":99"#),
            ("0000ff\",\"sent", "0000xx\",\"sent"),
        ] {
            let damaged = stored.replace(from, to);
            assert_ne!(damaged, stored);
            let error = serde_json::from_str::<Checkpoint>(&damaged).unwrap_err().to_string();
            assert!(error.contains("the checkpoint is damaged"), "{error}");
        }
    }

    #[test]
    fn damaged_checkpoints_are_rejected() {
        let rejected = |from: &str, to: &str| {
            serde_json::from_str::<Checkpoint>(&STORED.replace(from, to)).unwrap_err().to_string()
        };
        let later = rejected(r#""format":1"#, r#""format":2"#);
        assert!(
            later.starts_with("the checkpoint has the format 2, and this release of keyderive reads"),
            "{later}"
        );
        assert!(rejected("[3,7]", "[3,100]").contains("item 100 failed, and only 100 were processed"));
        assert!(rejected("00000000000000ff", "x").contains("`x` is not the number of a table"));
        assert!(rejected(r#""failed":[3,7],"#, "").contains("missing field `failed`"));
        let endless = rejected(r#""items":100"#, r#""items":18446744073709551615"#);
        assert!(endless.contains("it counts 18446744073709551615 rows"), "{endless}");
    }

    /// Their sum is a number too.
    #[test]
    fn counts_that_no_table_has_are_rejected() {
        let parts = |copied: u64, left_out: u64| {
            let identity = r#"{"table":"t","table_id":null,"fingerprint":"0c"}"#;
            let stored = format!(
                r#"{{"format":1,"old":{identity},"new":{identity},"copied":{copied},"left_out":{left_out},"left":[]}}"#
            );
            serde_json::from_str::<Versioned<PartsLeft>>(&stored)
                .map(|stored| stored.read().unwrap().done().rows())
        };
        assert_eq!(parts(MOST_ROWS, MOST_ROWS).unwrap(), 2 * MOST_ROWS);
        for stored in [parts(u64::MAX, 1), parts(1, u64::MAX)] {
            assert!(stored.unwrap_err().to_string().contains("it counts 18446744073709551615 rows"));
        }
    }
}
