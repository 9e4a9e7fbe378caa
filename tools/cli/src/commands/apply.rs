//! `apply`: makes the tables as the layout file declares them.

use clap::Args;

use super::block_on;
use crate::change::DeclaredArgs;
use crate::exit::Outcome;

/// Make the tables as the layout file declares them, as far as nothing is lost
///
///     keyderive apply
///     keyderive apply events --yes
///
/// It creates tables and column families, changes garbage collection rules that a row type declares, and stamps a table that has no stamp if
/// a sample of its keys fits. Without `--yes` it says what it would do, and on a terminal asks. It drops nothing. Families, splits, and
/// rules that no row type declares stay.
///
/// A rule by which the service removes cells that are kept now is listed, and changed with `--allow-removal` alone.
///
/// A table with a difference that cannot be changed in place, such as keys of another layout or a family of another type, stays as it is. Exits
/// with 1 if something stays that is not as declared.
///
/// It does what it lists, and no more: if a table changes in the meantime so that it needs another change, the command stops with exit
/// code 3. All families and rules of a table change by one request. It may run twice, and beside another one.
#[derive(Args, Debug)]
#[command(verbatim_doc_comment)]
pub(crate) struct Apply {
    #[command(flatten)]
    of: DeclaredArgs,
    /// Also change rules by which the service removes cells that are kept now; they cannot be brought back
    #[arg(long, help_heading = "Change")]
    allow_removal: bool,
}

impl Apply {
    pub(crate) fn run(self) -> Outcome {
        let Self { of, allow_removal } = self;
        block_on(of.run(|change| {
            (change.removes_more() && !allow_removal).then_some("`--allow-removal` changes it")
        }))
    }
}
