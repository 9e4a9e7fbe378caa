//! How far a load has come, as data that outlives it.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::super::Table;
use crate::client::Error;
use crate::key::TableKey;

/// The form in which a checkpoint is stored. A release that reads another one reads this one too.
const FORMAT: u32 = 1;

/// How far a load has come: the first [`items`](Self::items) items of its input are all dealt with, each written or among
/// the [`failed`](Self::failed) ones. [`Load::resume`](super::Load::resume) tries these again, and goes on after them.
///
/// ```
/// # use keyderive::{Client, RowKey};
/// # #[derive(RowKey)] struct UserKey { id: u64 }
/// # #[derive(serde::Serialize, serde::Deserialize)] struct User { age: u32 }
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use keyderive::load::Checkpoint;
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
/// It is data of serde, some 250 bytes of JSON, and a few more for each failed row: the version of its form, the number of
/// items, the places of the failed rows, the name of the table and the fingerprint of the key type. A release that does not know the form refuses to deserialize it.
///
/// # What it is of
///
/// A load into another table, of another instance, or by another key type refuses it, once it has a row in it. The tables
/// of an embedded Bigtable have a number of their own too, so that one which was deleted and made anew, or is in another
/// [`Client::embedded`](crate::Client::embedded), is another table. The service and the emulator tell nothing of the kind:
/// there, a table that was made anew under its name takes the checkpoint of the one before, and so does another emulator.
/// Load such a table from the beginning.
///
/// That the input is the same one, in the same order, is the caller's to see to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "Stored", try_from = "Stored")]
pub struct Checkpoint {
    items: u64,
    failed: Vec<u64>,
    /// By its full name, so that a table of the same name in another instance is another one.
    table: String,
    /// What tells it from others of its name, where something does.
    table_id: Option<u64>,
    fingerprint: String,
}

/// A checkpoint as it is stored.
#[derive(Serialize, Deserialize)]
struct Stored {
    format: u32,
    items: u64,
    failed: Vec<u64>,
    table: String,
    /// In hexadecimal, since there are readers of JSON whose numbers are floats.
    table_id: Option<String>,
    fingerprint: String,
}

impl From<Checkpoint> for Stored {
    fn from(checkpoint: Checkpoint) -> Self {
        let Checkpoint { items, failed, table, table_id, fingerprint } = checkpoint;
        let table_id = table_id.map(|id| format!("{id:016x}"));
        Self { format: FORMAT, items, failed, table, table_id, fingerprint }
    }
}

impl TryFrom<Stored> for Checkpoint {
    type Error = String;

    fn try_from(stored: Stored) -> Result<Self, String> {
        let Stored { format, items, failed, table, table_id, fingerprint } = stored;
        if format != FORMAT {
            return Err(format!(
                "the checkpoint has the form {format}, and this release of keyderive reads the form {FORMAT}; resume by \
                 the release that stored it"
            ));
        }
        if let Some(place) = failed.iter().find(|place| **place >= items) {
            return Err(format!(
                "the checkpoint is damaged: item {place} has failed, and only {items} were dealt with"
            ));
        }
        let read_id = |id: String| {
            u64::from_str_radix(&id, 16)
                .map_err(|_| format!("the checkpoint is damaged: `{id}` is no number of a table"))
        };
        let table_id = table_id.map(read_id).transpose()?;
        // In order, and each once, as they are written.
        let failed = failed.into_iter().collect::<BTreeSet<_>>().into_iter().collect();
        Ok(Self { items, failed, table, table_id, fingerprint })
    }
}

impl Checkpoint {
    /// That of a load which has not begun.
    pub(super) fn begin<K: TableKey, R>(table: &Table<K, R>) -> Self {
        Self {
            items: 0,
            failed: Vec::new(),
            table: table.client.table_name(&table.name),
            table_id: table.client.table_id(&table.name),
            fingerprint: K::fingerprint().to_string(),
        }
    }

    /// The same load, when so many items are dealt with, of which these have failed.
    pub(super) fn at(&self, items: u64, failed: Vec<u64>) -> Self {
        Self { items, failed, ..self.clone() }
    }

    /// How many items of the input are dealt with, from its first one on: each is written, or among the
    /// [`failed`](Self::failed) ones.
    #[must_use]
    pub fn items(&self) -> u64 {
        self.items
    }

    /// The places in the input, counted from 0 and in order, of the rows that failed and are to be tried again: the first
    /// 1000. The checkpoint stays before the next one that fails, so that it forgets none.
    #[must_use]
    pub fn failed(&self) -> &[u64] {
        &self.failed
    }

    /// Fails for a table that the checkpoint is not of, by its name or its key type.
    pub(super) fn check<K: TableKey, R>(&self, table: &Table<K, R>) -> Result<(), Error> {
        let here = Self::begin(table);
        let differs = |what: &str, found: &str, expected: &str| {
            Err(Error::mismatch(
                &table.name,
                format!(
                    "the checkpoint is of another load: expected {what} `{expected}`, found `{found}`; resume it \
                     there, or load this table from the beginning: leave `.resume(…)` out"
                ),
            ))
        };
        if self.table != here.table {
            return differs("the table", &self.table, &here.table);
        }
        if self.fingerprint != here.fingerprint {
            let what = format!("the fingerprint of `{}`", K::SCHEMA.key_type());
            return differs(&what, &self.fingerprint, &here.fingerprint);
        }
        Ok(())
    }

    /// The same, of the table that has this name now; fails where the rows before it went to another one.
    pub(super) fn bound_to<K: TableKey, R>(&self, table: &Table<K, R>) -> Result<Self, Error> {
        let table_id = table.client.table_id(&table.name);
        if self.items > 0 && self.table_id != table_id {
            return Err(Error::mismatch(
                &table.name,
                "the checkpoint is of another table of this name: this one has been made since, or is in another \
                 Bigtable, so that the rows before the checkpoint are not in it; load it from the beginning: leave \
                 `.resume(…)` out",
            ));
        }
        Ok(Self { table_id, ..self.clone() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STORED: &str = r#"{"format":1,"items":100,"failed":[3,7],"table":"projects/p/instances/i/tables/t","table_id":"00000000000000ff","fingerprint":"6c1705375cfbd9b0"}"#;

    /// What is stored by one release is read by the next.
    #[test]
    fn the_stored_form_stays() {
        let checkpoint: Checkpoint = serde_json::from_str(STORED).unwrap();
        assert_eq!((checkpoint.items(), checkpoint.failed()), (100, &[3, 7][..]));
        assert_eq!(serde_json::to_string(&checkpoint).unwrap(), STORED);
    }

    #[test]
    fn what_is_no_checkpoint_is_refused() {
        let refused = |from: &str, to: &str| {
            serde_json::from_str::<Checkpoint>(&STORED.replace(from, to)).unwrap_err().to_string()
        };
        let later = refused(r#""format":1"#, r#""format":2"#);
        assert!(
            later.starts_with("the checkpoint has the form 2, and this release of keyderive reads"),
            "{later}"
        );
        assert!(refused("[3,7]", "[3,100]").contains("item 100 has failed, and only 100 were dealt with"));
        assert!(refused("00000000000000ff", "x").contains("`x` is no number of a table"));
        assert!(refused(r#""failed":[3,7],"#, "").contains("missing field `failed`"));
    }
}
