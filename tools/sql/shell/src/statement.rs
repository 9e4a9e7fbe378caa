//! Where statements end, which must be known before they are parsed.

/// A part of a script.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Part<'t> {
    Statements(String),
    /// A line with a backslash, which is left out.
    Command(&'t str),
}

/// The parts of a text: a line that begins with a backslash, where a statement can begin, is a command.
pub(crate) fn parts(text: &str) -> Vec<Part<'_>> {
    let (mut parts, mut statements) = (Vec::new(), String::new());
    for line in text.lines() {
        match line.trim().strip_prefix('\\').filter(|_| is_complete(&statements)) {
            Some(command) => {
                parts.push(Part::Statements(std::mem::take(&mut statements)));
                parts.push(Part::Command(command));
            }
            None => {
                statements.push_str(line);
                statements.push('\n');
            }
        }
    }
    parts.push(Part::Statements(statements));
    parts.retain(|part| !matches!(part, Part::Statements(text) if text.trim().is_empty()));
    parts
}

/// Whether the text is empty, a command with a backslash, or ends with a `;` that is not in quotation marks or a comment.
pub(crate) fn is_complete(text: &str) -> bool {
    let text = text.trim();
    if text.is_empty() || text.starts_with('\\') || text.eq_ignore_ascii_case("help") {
        return true;
    }
    let (mut chars, mut ends) = (text.chars().peekable(), false);
    while let Some(char) = chars.next() {
        match char {
            ';' => ends = true,
            '\'' | '"' | '`' => {
                ends = false;
                if !chars.by_ref().any(|next| next == char) {
                    return false;
                }
            }
            '-' if chars.peek() == Some(&'-') => {
                chars.by_ref().find(|next| *next == '\n');
            }
            '/' if chars.peek() == Some(&'*') => {
                let (mut before, mut is_closed) = (' ', false);
                chars.next();
                for next in chars.by_ref() {
                    if before == '*' && next == '/' {
                        is_closed = true;
                        break;
                    }
                    before = next;
                }
                if !is_closed {
                    return false;
                }
            }
            char if char.is_whitespace() => {}
            _ => ends = false,
        }
    }
    ends
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_a_line_where_a_statement_can_begin() {
        let statements = |text: &str| Part::Statements(text.to_owned());
        assert_eq!(parts("\\d"), [Part::Command("d")]);
        assert_eq!(
            parts("SELECT 1;\n \\d events\nSELECT 2"),
            [statements("SELECT 1;\n"), Part::Command("d events"), statements("SELECT 2\n")]
        );
        for text in ["SELECT '\n\\d\n';\n", "SELECT\n\\d;\n"] {
            assert_eq!(parts(text), [statements(text)]);
        }
    }

    #[test]
    fn a_statement_ends_at_a_semicolon_of_its_own() {
        for text in [
            "",
            " \n",
            "\\d events",
            "help",
            "SELECT 1;",
            "SELECT ';';",
            "SELECT 1; -- x",
            "SELECT 1; /* ; */ ",
            "SELECT ''';'';';",
            "SELECT 1; SELECT 2;",
        ] {
            assert!(is_complete(text), "{text}");
        }
        for text in [
            "SELECT 1",
            "SELECT ';",
            "SELECT \";\"",
            "SELECT 1 -- ;",
            "SELECT 1 /* ;",
            "SELECT 1; SELECT 2",
            "/*/ ;",
            "SELECT '';'",
        ] {
            assert!(!is_complete(text), "{text}");
        }
    }
}
