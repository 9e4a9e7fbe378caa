//! Before a change: production is named, and a terminal asked.

use std::io::{self, BufRead as _, IsTerminal as _, Write as _};

use anstyle::AnsiColor;

use crate::exit::Outcome;
use crate::instance::Target;
use crate::output::{self, Safe};

/// Says in red that the change is one of production, if it is.
pub fn name_production(target: &Target) {
    if let Some(name) = production(target) {
        let style = AnsiColor::Red.on_default().bold();
        // A standard error that is closed is no reason to fail.
        let _ = writeln!(anstream::stderr(), "{style}production:{style:#} {}", Safe(name));
    }
}

fn production(target: &Target) -> Option<&str> {
    target.name.as_deref().filter(|_| target.is_production)
}

/// Whether the change may begin, without `--yes`: by the answer on a terminal, which for production is its name.
pub fn is_agreed(target: &Target, question: &str) -> Outcome<bool> {
    if !io::stdin().is_terminal() || !io::stderr().is_terminal() {
        output::note("dry run: pass `--yes` to apply");
        return Ok(false);
    }
    let expected = production(target);
    let mut terminal = anstream::stderr();
    match expected {
        Some(name) => write!(terminal, "{question} Type `{}` to go on: ", Safe(name))?,
        None => write!(terminal, "{question} [y/N] ")?,
    }
    terminal.flush()?;
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer)?;
    let answer = answer.trim();
    let is_agreed = match expected {
        Some(name) => answer == name,
        None => answer.eq_ignore_ascii_case("y") || answer.eq_ignore_ascii_case("yes"),
    };
    if !is_agreed {
        output::note("nothing was changed");
    }
    Ok(is_agreed)
}
