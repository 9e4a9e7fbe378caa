//! `man`: the manual page.

use clap::Args;

use crate::arguments;
use crate::exit::{Exit, Outcome};
use crate::output::Out;

/// Print the manual page, for `man -l -`
#[derive(Args, Debug)]
pub(crate) struct Man {
    /// The command that the page is about
    command: Option<String>,
}

impl Man {
    pub(crate) fn run(self) -> Outcome {
        let mut cli = arguments();
        cli.build();
        let command = match &self.command {
            None => cli,
            Some(name) => match cli.find_subcommand(name) {
                Some(command) => command.clone(),
                None => {
                    return Err(crate::exit::Failure::usage(format_args!("there is no command `{name}`")));
                }
            },
        };
        let mut out = Out::new();
        clap_mangen::Man::new(command).render(&mut out)?;
        out.finish()?;
        Ok(Exit::Done)
    }
}
