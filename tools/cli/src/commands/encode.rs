//! `encode`: the row key of field values.

use std::io::Write as _;

use clap::Args;
use keyderive::key::RawKey;
use serde::Serialize;

use super::block_on;
use crate::conditions::assignments;
use crate::exit::{Exit, Failure, Outcome};
use crate::layout::TableArgs;
use crate::output::{Out, Safe, TextFormat, json_line};

/// Encode a row key from the values of its fields
///
///     keyderive encode events user_id=alice site=home at=2026-11-25T03:00:00Z seq=42
#[derive(Args, Debug)]
#[command(verbatim_doc_comment)]
pub(crate) struct Encode {
    #[command(flatten)]
    of: TableArgs,
    /// The value of each field, as `field=value`; a time is RFC 3339 or the stored number, bytes are hexadecimal
    #[arg(required = true, value_name = "FIELD=VALUE")]
    fields: Vec<String>,
    /// Print the bytes themselves, without a line end
    #[arg(long)]
    raw: bool,
    /// How the key is printed; JSON has it as text and in hexadecimal
    #[arg(long, value_enum, value_name = "FORMAT", default_value = "text")]
    format: TextFormat,
}

#[derive(Serialize)]
struct Encoded<'a> {
    key: &'a str,
    hex: String,
}

impl Encode {
    pub(crate) fn run(self) -> Outcome {
        let mut connection = self.of.connection()?;
        let layout = block_on(self.of.require_one(&mut connection))?;
        let key = layout.key().encode(assignments(layout.key(), &self.fields)?).map_err(Failure::usage)?;
        let mut out = Out::new();
        if self.raw && self.format.is_json() {
            return Err(Failure::usage(
                "`--raw` prints the bytes themselves: give no `--format json` beside it",
            ));
        }
        if self.raw {
            out.write_all(&key)?;
        } else {
            let text = RawKey::new(&key).to_string();
            match self.format.is_json() {
                true => json_line(&mut out, &Encoded { key: &text, hex: hex(&key) })?,
                false => writeln!(out, "{}", Safe(&text))?,
            }
        }
        out.finish()?;
        Ok(Exit::Done)
    }
}

/// Two digits for each byte.
pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
