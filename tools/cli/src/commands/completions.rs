//! `completions`: scripts for shells.

use clap::Args;
use clap_complete::Shell;

use crate::arguments;
use crate::exit::{Exit, Outcome};
use crate::output::Out;

/// Print a script that completes arguments in a shell
#[derive(Args, Debug)]
pub(crate) struct Completions {
    shell: Shell,
}

impl Completions {
    pub(crate) fn run(self) -> Outcome {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut arguments(), "keyderive", &mut script);
        let mut out = Out::new();
        std::io::Write::write_all(&mut out, &script)?;
        out.finish()?;
        Ok(Exit::Done)
    }
}
