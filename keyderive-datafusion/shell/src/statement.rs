//! Where statements end, which the editor must know before they are parsed.

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
