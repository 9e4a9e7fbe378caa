//! What the programs have in common: their arguments, their tables in Markdown, and how they end.

use std::error::Error as StdError;
use std::process::ExitCode;
use std::str::FromStr;

use lexopt::{Arg, Parser, ValueExt as _};

/// Any error that ends a program.
pub type Failure = Box<dyn StdError + Send + Sync>;

/// What a program was called with: `--name value` and words.
pub struct Arguments {
    options: Vec<(String, String)>,
    words: Vec<String>,
}

/// Runs a program, and says why it failed.
pub fn run(program: impl FnOnce(Arguments) -> Result<(), Failure>) -> ExitCode {
    match Arguments::read().map_err(Failure::from).and_then(program) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

impl Arguments {
    fn read() -> Result<Self, lexopt::Error> {
        let (mut options, mut words, mut parser) = (Vec::new(), Vec::new(), Parser::from_env());
        while let Some(argument) = parser.next()? {
            match argument {
                Arg::Long(name) => {
                    let name = name.to_owned();
                    options.push((name, parser.value()?.string()?));
                }
                Arg::Value(word) => words.push(word.string()?),
                Arg::Short(_) => return Err(argument.unexpected()),
            }
        }
        Ok(Self { options, words })
    }

    /// Takes the value of an option.
    ///
    /// # Errors
    /// When it has another type.
    pub fn option<T: FromStr<Err: Into<Failure>>>(&mut self, name: &str) -> Result<Option<T>, Failure> {
        let Some(at) = self.options.iter().position(|(option, _)| option == name) else { return Ok(None) };
        self.options.swap_remove(at).1.parse().map(Some).map_err(Into::into)
    }

    /// The words, once all options are taken.
    ///
    /// # Errors
    /// When there are other options.
    pub fn words(self) -> Result<Vec<String>, Failure> {
        match self.options.first() {
            None => Ok(self.words),
            Some((name, _)) => Err(format!("there is no option `--{name}`, or it is given twice").into()),
        }
    }

    /// What the words name, or all if there is no word.
    ///
    /// # Errors
    /// When there are other options, or other words.
    pub fn chosen<T: Copy>(self, all: &[(&str, T)]) -> Result<Vec<T>, Failure> {
        let words = self.words()?;
        if words.is_empty() {
            return Ok(all.iter().map(|(_, section)| *section).collect());
        }
        words.iter().map(|word| named(all, word)).collect()
    }
}

/// What has this name.
///
/// # Errors
/// When nothing has.
pub fn named<T: Copy>(all: &[(&str, T)], name: &str) -> Result<T, Failure> {
    let found = all.iter().find(|(known, _)| *known == name);
    found.map(|(_, one)| *one).ok_or_else(|| format!("there is no `{name}`").into())
}

/// Prints the head of a table.
pub fn print_head(columns: &[&str]) {
    println!("| {} |\n|{}", columns.join(" | "), "---|".repeat(columns.len()));
}

/// Prints a line of a table.
pub fn print_line(cells: &[&str]) {
    println!("| {} |", cells.join(" | "));
}

/// The lines of the tables in a text, as their cells, each with the heading above it.
pub fn lines_of_tables(text: &str) -> impl Iterator<Item = (&str, Vec<&str>)> {
    let mut title = "";
    text.lines().filter_map(move |line| {
        if let Some(heading) = line.strip_prefix("## ") {
            title = heading;
        }
        let cells = line.strip_prefix('|')?.strip_suffix('|')?;
        Some((title, cells.split('|').map(str::trim).collect()))
    })
}
