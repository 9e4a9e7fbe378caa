//! `sql`: the shell, a program of its own, so that nothing here depends on DataFusion.

use std::ffi::OsString;
use std::io;

use clap::Args;

use crate::exit::{Failure, Outcome};
use crate::external;

const PROGRAM: &str = "keyderive-sql";

/// Query tables by SQL, in a shell or by `-c`, and write and read Parquet
///
///     keyderive sql -c "SELECT site, count(*) FROM events WHERE user_id = 'alice' GROUP BY site"
///
/// `keyderive-sql` is a program of its own, which is built with DataFusion: `cargo install --path tools/sql/shell`.
#[derive(Args, Debug)]
#[command(verbatim_doc_comment, disable_help_flag = true, disable_version_flag = true)]
pub(crate) struct Sql {
    /// What `keyderive-sql` gets; `--help` is its help
    #[arg(value_name = "ARGUMENTS", trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<OsString>,
}

impl Sql {
    pub(crate) fn run(self) -> Outcome {
        external::start(PROGRAM, self.arguments).unwrap_or_else(|error| match error.kind() {
            io::ErrorKind::NotFound => Err(Failure::refused(format_args!(
                "`{PROGRAM}` is not on `PATH`; in the repository of keyderive, `cargo install --path tools/sql/shell` installs it"
            ))),
            _ => Err(external::not_run(PROGRAM, &error)),
        })
    }
}
