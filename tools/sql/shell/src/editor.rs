//! The shell on a terminal: a line editor with history and completion.

use std::env;
use std::fs;
use std::path::PathBuf;

use keyderive_command::confirm::name_production;
use keyderive_command::exit::{Exit, Failure, Outcome};
use keyderive_command::output::{self, Safe, counted};
use rustyline::completion::{Completer, Pair};
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::FileHistory;
use rustyline::validate::{ValidationContext, ValidationResult, Validator};
use rustyline::{CompletionType, Config, Context, Editor, Helper};

use crate::catalog::{CATALOG, SCHEMA, quoted};
use crate::session::{Session, help};
use crate::statement::is_complete;

const KEYWORDS: &[&str] = &[
    "ALL",
    "AND",
    "AS",
    "ASC",
    "BETWEEN",
    "BY",
    "CASE",
    "CAST",
    "COPY",
    "CREATE EXTERNAL TABLE",
    "CREATE VIEW",
    "CROSS JOIN",
    "DESC",
    "DISTINCT",
    "DROP TABLE",
    "ELSE",
    "END",
    "EXCEPT",
    "EXISTS",
    "EXPLAIN",
    "EXPLAIN ANALYZE",
    "FALSE",
    "FROM",
    "FULL JOIN",
    "GROUP BY",
    "HAVING",
    "IN",
    "INNER JOIN",
    "INSERT INTO",
    "INTERSECT",
    "INTERVAL",
    "IS NOT NULL",
    "IS NULL",
    "JOIN",
    "LEFT JOIN",
    "LIKE",
    "LIMIT",
    "LOCATION",
    "NOT",
    "NULL",
    "OFFSET",
    "ON",
    "OR",
    "ORDER BY",
    "OVER",
    "PARTITION BY",
    "RIGHT JOIN",
    "SELECT",
    "SET",
    "SHOW COLUMNS FROM",
    "SHOW TABLES",
    "STORED AS PARQUET",
    "THEN",
    "TIMESTAMP",
    "TRUE",
    "UNION ALL",
    "USING",
    "VALUES",
    "WHEN",
    "WHERE",
    "WITH",
];

/// After these words only a table can follow.
const BEFORE_TABLES: &[&str] = &["FROM", "JOIN", "INTO", "TABLE", "\\D"];

/// Completes words, and continues a statement on the next line.
struct Words {
    tables: Vec<String>,
    /// Columns and functions.
    others: Vec<String>,
}

impl Words {
    async fn of(session: &Session) -> Self {
        let schema = session.context.catalog(CATALOG).and_then(|catalog| catalog.schema(SCHEMA));
        let (mut tables, mut others) = (Vec::new(), Vec::new());
        if let Some(schema) = schema {
            for name in schema.table_names() {
                if let Ok(Some(table)) = schema.table(&name).await {
                    others.extend(table.schema().fields().iter().map(|field| quoted(field.name())));
                }
                tables.push(quoted(&name));
            }
        }
        let state = session.context.state();
        let functions = state.scalar_functions().keys().chain(state.aggregate_functions().keys());
        others.extend(
            functions
                .filter(|name| name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_'))
                .cloned(),
        );
        for words in [&mut tables, &mut others] {
            // The terminal would obey a name of a layout file.
            words.retain(|word| Safe(word).to_string() == *word);
            words.sort_unstable();
            words.dedup();
        }
        Self { tables, others }
    }

    /// Where the word at the end of the text begins, and what it can become.
    fn complete(&self, text: &str) -> (usize, Vec<String>) {
        let is_part = |char: char| char.is_alphanumeric() || matches!(char, '_' | '"' | ':');
        let start = text
            .char_indices()
            .rev()
            .take_while(|(_, char)| is_part(*char))
            .last()
            .map_or(text.len(), |(at, _)| at);
        let (before, word) = (text[..start].trim_end(), &text[start..]);
        let last = before.rsplit(char::is_whitespace).next().unwrap_or_default();
        let tables_only = BEFORE_TABLES.iter().any(|word| word.eq_ignore_ascii_case(last));
        let bare = word.trim_start_matches('"').to_lowercase();
        let begins = |name: &&String| name.trim_start_matches('"').to_lowercase().starts_with(&bare);
        let mut found: Vec<String> = self.tables.iter().filter(begins).cloned().collect();
        if !tables_only && !word.is_empty() {
            found.extend(self.others.iter().filter(begins).cloned());
            let is_upper = !word.chars().any(char::is_lowercase);
            let keywords = KEYWORDS
                .iter()
                .filter(|keyword| keyword.to_lowercase().starts_with(&bare) && !word.starts_with('"'));
            found.extend(
                keywords.map(|keyword| if is_upper { (*keyword).to_owned() } else { keyword.to_lowercase() }),
            );
        }
        (start, found)
    }
}

impl Completer for Words {
    type Candidate = Pair;

    fn complete(&self, line: &str, pos: usize, _: &Context<'_>) -> rustyline::Result<(usize, Vec<Pair>)> {
        let (start, found) = self.complete(line.get(..pos).unwrap_or_default());
        Ok((start, found.into_iter().map(|word| Pair { display: word.clone(), replacement: word }).collect()))
    }
}

impl Validator for Words {
    fn validate(&self, context: &mut ValidationContext<'_>) -> rustyline::Result<ValidationResult> {
        Ok(match is_complete(context.input()) {
            true => ValidationResult::Valid(None),
            false => ValidationResult::Incomplete,
        })
    }
}

impl Hinter for Words {
    type Hint = String;
}

impl Highlighter for Words {}

impl Helper for Words {}

/// Reads statements until the input ends.
pub(crate) async fn run(session: &mut Session) -> Outcome {
    session.listen();
    name_production(&session.target);
    let config = Config::builder().completion_type(CompletionType::List).auto_add_history(true).build();
    let mut editor: Editor<Words, FileHistory> =
        Editor::with_config(config).map_err(|error| unread(&error))?;
    let history = history();
    if let Some(path) = &history {
        // The file does not exist before the first session.
        let _ = editor.load_history(path);
    }
    let name = session.target.name.clone().unwrap_or_else(|| "sql".to_owned());
    let prompt = format!("{}> ", Safe(&name));
    loop {
        editor.set_helper(Some(Words::of(session).await));
        let text = match editor.readline(prompt.as_str()) {
            Ok(text) => text,
            Err(ReadlineError::Interrupted) => continue,
            Err(ReadlineError::Eof) => break,
            Err(error) => return Err(unread(&error)),
        };
        if let Some(path) = &history
            && let Err(error) = editor.append_history(path)
        {
            output::note(format_args!("the history `{}` is not written: {error}", path.display()));
        }
        let text = text.trim();
        if matches!(text.trim_end_matches(';').trim_end(), "\\q" | "quit" | "exit") {
            break;
        }
        if let Err(failure) = answer(session, text).await {
            output::error(&failure);
        }
    }
    Ok(Exit::Done)
}

async fn answer(session: &mut Session, text: &str) -> Outcome<()> {
    match text.strip_prefix('\\') {
        Some(command) => session.describe(command).await,
        None if text.trim_end_matches(';').eq_ignore_ascii_case("help") => help(),
        None => {
            for statement in session.parsed(text)? {
                let printed = session.run(statement).await?;
                output::note(format_args!("{} in {:.1?}", counted(printed.rows, "row"), printed.took));
            }
            Ok(())
        }
    }
}

/// The file of the history, in the user's folder for state, which is made; `None` if the environment names no such folder.
fn history() -> Option<PathBuf> {
    let folder = |name| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let state = folder("XDG_STATE_HOME")
        .or_else(|| folder("LOCALAPPDATA"))
        .or_else(|| Some(folder("HOME")?.join(".local").join("state")))?
        .join("keyderive");
    fs::create_dir_all(&state).ok()?;
    Some(state.join("sql-history"))
}

fn unread(error: &ReadlineError) -> Failure {
    Failure::failed(format_args!("the terminal is not read: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_completed() {
        let strings = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        let words = Words {
            tables: strings(&["\"cf:events\"", "events", "users"]),
            others: strings(&["\"user\"", "email", "user_id"]),
        };
        for (text, start, expected) in [
            ("SELECT ev", 7, &["events"][..]),
            (
                "SELECT E",
                7,
                &["events", "email", "ELSE", "END", "EXCEPT", "EXISTS", "EXPLAIN", "EXPLAIN ANALYZE"],
            ),
            ("sel", 0, &["select"]),
            ("SELECT * FROM ", 14, &["\"cf:events\"", "events", "users"]),
            ("SELECT * from us", 14, &["users"]),
            ("SELECT us", 7, &["users", "\"user\"", "user_id", "using"]),
            ("SELECT \"us", 7, &["users", "\"user\"", "user_id"]),
            ("\\d e", 3, &["events"]),
            ("SELECT 'é", 8, &[]),
            ("SELECT ", 7, &["\"cf:events\"", "events", "users"]),
        ] {
            assert_eq!(words.complete(text), (start, strings(expected)), "{text}");
        }
    }
}
