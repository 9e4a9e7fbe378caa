//! `get`: one row by the fields of its key.

use std::io::Write as _;

use clap::Args;
use keyderive::dynamic::{DynKey, DynRow, TableLayout};
use keyderive::key::{Field, RawKey, Salt};
use keyderive::row::RawRow;
use keyderive::{Client, ErrorKind};

use super::rows::{FlatRow, PlacedRow, StoredRow, shown, write_stored};
use super::{block_on, encode::hex};
use crate::conditions::assignments;
use crate::exit::{Exit, Failure, Outcome};
use crate::layout::{TableArgs, note_no_row_type, note_raw};
use crate::output::{Out, Safe, TextFormat, json_line};

/// Show one row: its key, its bucket and its columns
///
///     keyderive get events user_id=alice site=home at=2026-11-25T03:00:00Z seq=42
#[derive(Args, Debug)]
#[command(verbatim_doc_comment)]
pub(crate) struct Get {
    #[command(flatten)]
    of: TableArgs,
    /// The value of each field, as `field=value`
    #[arg(required_unless_present = "key", conflicts_with = "key", value_name = "FIELD=VALUE")]
    fields: Vec<String>,
    /// The row key, as `decode` takes it; a row whose key is not of the layout is shown as it is stored
    #[arg(long)]
    key: Option<String>,
    /// Show all cells as they are stored
    #[arg(long)]
    raw: bool,
    /// How the row is printed
    #[arg(long, value_enum, value_name = "FORMAT", default_value = "text")]
    format: TextFormat,
}

impl Get {
    pub(crate) fn run(self) -> Outcome {
        let mut connection = self.of.connection()?;
        block_on(async {
            let layout = self.of.find_one(&mut connection).await?;
            let key = self.encoded(layout.as_ref())?;
            let client = connection.client().await?;
            self.show(&client, layout.as_ref(), &key).await
        })
    }

    /// The row key that the arguments say.
    fn encoded(&self, layout: Option<&TableLayout>) -> Outcome<Vec<u8>> {
        if let Some(key) = &self.key {
            return Ok(RawKey::parse(key).map_err(Failure::usage)?.as_bytes().to_vec());
        }
        let layout = layout.ok_or_else(|| self.of.no_layout())?;
        layout.key().encode(assignments(layout.key(), &self.fields)?).map_err(Failure::usage)
    }

    async fn show(&self, client: &Client, layout: Option<&TableLayout>, key: &[u8]) -> Outcome {
        let stored = || async {
            let row = client.raw_table(&self.of.table).read_row(key.to_vec(), None).await?;
            Ok::<_, Failure>(row)
        };
        let Some(layout) = layout else {
            note_raw(&self.of.table);
            let row = stored().await?.ok_or_else(|| self.missing(key))?;
            return self.print_stored(None, None, &row, None);
        };
        let decoded = match layout.key().decode(key) {
            Ok(decoded) => decoded,
            // As `verify` finds it.
            Err(why) => {
                let missing = || self.missing(key).after(format_args!("the key is not of the layout: {why}"));
                let row = stored().await?.ok_or_else(missing)?;
                return self.print_stored(None, None, &row, Some(&why.to_string()));
            }
        };
        let bucket = bucket(layout, &decoded);
        let is_raw = self.raw || layout.row_type().is_none();
        if is_raw && !self.raw {
            note_no_row_type(layout);
        }
        let read = client.dynamic_table(layout).get(key).await;
        match read {
            Err(error) if error.kind() != ErrorKind::InvalidRow => Err(error.into()),
            Ok(Some(row)) if !is_raw => self.print(&decoded, bucket, key, &row),
            read => {
                let error = read.err().map(|error| format!("{error:#}"));
                let row = stored().await?.ok_or_else(|| self.missing(key))?;
                self.print_stored(Some(&decoded), bucket, &row, error.as_deref().filter(|_| !is_raw))
            }
        }
    }

    /// Names the key as it was given.
    fn missing(&self, key: &[u8]) -> Failure {
        let key = self.key.clone().unwrap_or_else(|| shown(key));
        Failure::not_there(format_args!("table `{}` has no row `{key}`", self.of.table))
    }

    fn print(&self, decoded: &DynKey, bucket: Option<Bucket>, key: &[u8], row: &DynRow) -> Outcome {
        let mut out = Out::new();
        if self.format.is_json() {
            let bucket = bucket.map(|bucket| bucket.number);
            json_line(&mut out, &PlacedRow { key: shown(key), bucket, row: FlatRow { key: decoded, row } })?;
        } else {
            write_head(&mut out, Some(decoded), bucket.as_ref(), key)?;
            for line in row.to_string().lines() {
                writeln!(out, "{}", Safe(line))?;
            }
        }
        out.finish()?;
        Ok(Exit::Done)
    }

    fn print_stored(
        &self,
        key: Option<&DynKey>,
        bucket: Option<Bucket>,
        row: &RawRow,
        why: Option<&str>,
    ) -> Outcome {
        let mut out = Out::new();
        if self.format.is_json() {
            let bucket = bucket.map(|bucket| bucket.number);
            json_line(&mut out, &StoredRow { key, bucket, row, why })?;
        } else {
            write_head(&mut out, key, bucket.as_ref(), row.key())?;
            if let Some(why) = why {
                writeln!(out, "not read, and shown as stored: {}", Safe(why))?;
            }
            write_stored(&mut out, row)?;
        }
        out.finish()?;
        Ok(Exit::found(why.is_some()))
    }
}

/// The bucket of a key, and the fields that choose it.
struct Bucket {
    number: i32,
    over: Vec<&'static str>,
}

/// The bucket of a key, if keys have a salt.
fn bucket(layout: &TableLayout, key: &DynKey) -> Option<Bucket> {
    let scan = key.iter().try_fold(layout.key().scan(), |scan, (name, value)| scan.fix(name, value));
    let number = scan.ok()?.plan().ok()?.requests().first()?.bucket()?;
    let (schema, fields) = (layout.key().schema(), layout.key().schema().fields());
    // If the salt changes at a date, the last salt may be over other fields than this key's.
    let salt = schema.salt().filter(|_| schema.epochs().is_empty());
    let over = salt.into_iter().flat_map(Salt::over).filter_map(|at| fields.get(*at));
    Some(Bucket { number, over: over.map(Field::name).collect() })
}

fn write_head(
    out: &mut Out,
    decoded: Option<&DynKey>,
    bucket: Option<&Bucket>,
    key: &[u8],
) -> std::io::Result<()> {
    if let Some(decoded) = decoded {
        writeln!(out, "{decoded}")?;
    }
    writeln!(out, "key: {}", Safe(&shown(key)))?;
    if key.iter().any(|byte| !byte.is_ascii_graphic()) {
        writeln!(out, "hex: {}", hex(key))?;
    }
    if let Some(Bucket { number, over }) = bucket {
        match &over[..] {
            [] => writeln!(out, "bucket: {number}")?,
            fields => writeln!(out, "bucket: {number}, by the hash of {}", fields.join(", "))?,
        }
    }
    Ok(())
}
