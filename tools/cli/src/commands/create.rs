//! `create`: the tables of the layout file that are missing.

use clap::Args;
use keyderive::table::TableChange;

use super::block_on;
use crate::change::DeclaredArgs;
use crate::exit::Outcome;

/// Create the missing tables of the layout file
///
///     keyderive create
///     keyderive create events --yes
///
/// A table gets the families of its row types with their garbage collection rules, the stamp of its keys, the row key schema, and a tablet
/// for each salt bucket. Without `--yes` the command says what it would create, and on a terminal asks.
///
/// A table that exists is compared, and stays as it is: `keyderive apply` changes it. Exits with 1 if one is not as declared. It may run
/// twice, and beside another one: a table that another program creates in the meantime is compared then.
#[derive(Args, Debug)]
#[command(verbatim_doc_comment)]
pub(crate) struct Create {
    #[command(flatten)]
    of: DeclaredArgs,
}

impl Create {
    pub(crate) fn run(self) -> Outcome {
        block_on(self.of.run(|change| match change {
            TableChange::Create { .. } => None,
            _ => Some("`keyderive apply` does that"),
        }))
    }
}
