//! The tokens of a query, by GoogleSQL's [lexical structure](https://cloud.google.com/bigtable/docs/reference/sql/lexical), for the parser of
//! sqlparser, whose own tokenizer reads that of other databases: it takes `''` in a text for a quote, and the letter of `1a` for a name.
//!
//! The tokens have no white space and no comments; literals and quoted names have their values.

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Location, Token, TokenWithSpan, Word};
use tonic::Status;

use crate::error::{invalid, invalid_at, unimplemented};

/// The most tokens of a query: what it nests is analyzed and dropped by recursion.
const MAX_TOKENS: usize = 8_000;

/// The operators and marks, the longest first.
static MARKS: [(&str, Token); 33] = [
    ("<>", Token::Neq),
    ("!=", Token::Neq),
    ("<=", Token::LtEq),
    (">=", Token::GtEq),
    ("<<", Token::ShiftLeft),
    (">>", Token::ShiftRight),
    ("||", Token::StringConcat),
    ("|>", Token::VerticalBarRightAngleBracket),
    ("=>", Token::RArrow),
    ("->", Token::Arrow),
    ("(", Token::LParen),
    (")", Token::RParen),
    ("[", Token::LBracket),
    ("]", Token::RBracket),
    ("{", Token::LBrace),
    ("}", Token::RBrace),
    (",", Token::Comma),
    (";", Token::SemiColon),
    (".", Token::Period),
    (":", Token::Colon),
    ("+", Token::Plus),
    ("-", Token::Minus),
    ("*", Token::Mul),
    ("/", Token::Div),
    ("%", Token::Mod),
    ("=", Token::Eq),
    ("<", Token::Lt),
    (">", Token::Gt),
    ("|", Token::Pipe),
    ("&", Token::Ampersand),
    ("^", Token::Caret),
    ("~", Token::Tilde),
    ("@", Token::AtSign),
];

/// The tokens of a query.
///
/// # Errors
/// The first place of the text where no token begins, or where one does not end.
pub(crate) fn tokens(text: &str) -> Result<Vec<TokenWithSpan>, Status> {
    let mut lexer = Lexer { rest: text, at: Location::new(1, 1), tokens: Vec::new() };
    lexer.skip_space()?;
    while !lexer.rest.is_empty() {
        let start = lexer.at;
        let token = lexer.token()?;
        lexer.tokens.push(TokenWithSpan { token, span: start.span_to(lexer.at) });
        if lexer.tokens.len() > MAX_TOKENS {
            return Err(invalid(format!("the query has more than {MAX_TOKENS} tokens, which is the limit")));
        }
        lexer.skip_space()?;
    }
    Ok(lexer.tokens)
}

struct Lexer<'a> {
    rest: &'a str,
    /// Where the rest begins.
    at: Location,
    tokens: Vec<TokenWithSpan>,
}

/// How a literal in quotes is read.
#[derive(Clone, Copy, Default)]
struct Prefix {
    is_raw: bool,
    is_bytes: bool,
}

impl Prefix {
    fn of(word: &str) -> Option<Self> {
        let (is_raw, is_bytes) = match word.to_ascii_lowercase().as_str() {
            "r" => (true, false),
            "b" => (false, true),
            "rb" | "br" => (true, true),
            _ => return None,
        };
        Some(Self { is_raw, is_bytes })
    }
}

impl<'a> Lexer<'a> {
    /// The next `len` bytes.
    fn take(&mut self, len: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at(len);
        for each in taken.chars() {
            match each {
                '\n' => self.at = Location::new(self.at.line + 1, 1),
                _ => self.at.column += 1,
            }
        }
        self.rest = rest;
        taken
    }

    fn take_while(&mut self, is_it: impl Fn(char) -> bool) -> &'a str {
        self.take(self.rest.find(|each| !is_it(each)).unwrap_or(self.rest.len()))
    }

    /// Skips white space and comments.
    fn skip_space(&mut self) -> Result<(), Status> {
        loop {
            // A backspace is white space in GoogleSQL.
            self.take_while(|each| each.is_whitespace() || each == '\u{8}');
            if self.rest.starts_with('#') || self.rest.starts_with("--") {
                self.take_while(|each| !matches!(each, '\n' | '\r'));
            } else if let Some(comment) = self.rest.strip_prefix("/*") {
                let end = comment.find("*/");
                self.take(end.ok_or_else(|| invalid_at("Syntax error: Unclosed comment", self.at))? + 4);
            } else {
                return Ok(());
            }
        }
    }

    fn token(&mut self) -> Result<Token, Status> {
        let word = &self.rest[..self.rest.find(|each| !is_of_word(each)).unwrap_or(self.rest.len())];
        let next = &self.rest[word.len()..];
        match self.rest.as_bytes() {
            [b'`', ..] => Ok(named(self.quoted_name()?)),
            [b'\'' | b'"', ..] => self.literal(Prefix::default()),
            [b'0'..=b'9', ..] | [b'.', b'0'..=b'9', ..] => self.number(),
            // `@@` is a variable of the system.
            [b'@', b'@' | b'A'..=b'Z' | b'a'..=b'z' | b'_', ..] => {
                let signs = self.take_while(|each| each == '@');
                Ok(named(format!("{signs}{}", self.take_while(is_of_word))))
            }
            [b'@', b'`', ..] => {
                self.take(1);
                Ok(named(format!("@{}", self.quoted_name()?)))
            }
            [b'?', ..] => Ok(Token::Placeholder(self.take(1).to_owned())),
            _ if !word.is_empty() => match Prefix::of(word) {
                Some(prefix) if next.starts_with(['\'', '"']) => {
                    self.take(word.len());
                    self.literal(prefix)
                }
                // After a period each word is a name.
                _ if self.tokens.last().is_some_and(|last| last.token == Token::Period) => {
                    Ok(named(self.take(word.len()).to_owned()))
                }
                _ => Ok(Token::make_word(self.take(word.len()), None)),
            },
            _ => match MARKS.iter().find(|(mark, _)| self.rest.starts_with(mark)) {
                Some((mark, token)) => {
                    self.take(mark.len());
                    Ok(token.clone())
                }
                None => {
                    let first = self.rest.chars().next().unwrap_or_default();
                    Err(invalid_at(format!("Syntax error: Illegal input character {first:?}"), self.at))
                }
            },
        }
    }

    /// A number, with the text of a decimal one.
    fn number(&mut self) -> Result<Token, Status> {
        let (start, text) = (self.at, self.rest);
        let is_digit = |each: char| each.is_ascii_digit();
        let number = if text.starts_with("0x") || text.starts_with("0X") {
            self.take(2);
            let digits = self.take_while(|each| each.is_ascii_hexdigit());
            let number = u64::from_str_radix(digits, 16);
            number.map_err(|_| invalid_at(format!("Invalid integer literal: 0x{digits}"), start))?.to_string()
        } else {
            self.take_while(is_digit);
            if self.rest.starts_with('.') {
                self.take(1);
                self.take_while(is_digit);
            }
            if let Some(exponent) = self.rest.strip_prefix(['e', 'E']) {
                let digits = exponent.trim_start_matches(['+', '-']);
                let sign = exponent.len() - digits.len();
                if sign <= 1 && digits.starts_with(is_digit) {
                    self.take(1 + sign);
                    self.take_while(is_digit);
                }
            }
            text[..text.len() - self.rest.len()].to_owned()
        };
        if self.rest.starts_with(is_of_word) {
            return Err(invalid_at("Syntax error: Missing whitespace between literal and alias", self.at));
        }
        Ok(Token::Number(number, false))
    }

    /// A literal in quotes, after its prefix.
    fn literal(&mut self, prefix: Prefix) -> Result<Token, Status> {
        let (start, quote) = (self.at, &self.rest[..1]);
        let is_before = |token: &TokenWithSpan| is_quoted_literal(&token.token);
        if self.tokens.last().is_some_and(is_before) {
            return Err(unimplemented(format!(
                "literals that follow each other, which GoogleSQL may join; write a quote in a literal as \\{quote}"
            )));
        }
        let (raw, is_tripled) = match self.rest.starts_with(&quote.repeat(3)) {
            true => (self.quoted(&quote.repeat(3), "string literal")?, true),
            false => (self.quoted(quote, "string literal")?, false),
        };
        // A line of a literal ends with `\n`, however it does in the text.
        let raw = if is_tripled { raw.replace("\r\n", "\n").replace('\r', "\n") } else { raw.to_owned() };
        let bytes = if prefix.is_raw { raw.into_bytes() } else { unescaped(&raw, prefix.is_bytes, start)? };
        if prefix.is_bytes {
            return Ok(Token::SingleQuotedByteStringLiteral(bytes.into_iter().map(char::from).collect()));
        }
        let text = String::from_utf8(bytes);
        // The parser takes other kinds of texts as names, too.
        text.map(Token::TripleSingleQuotedString)
            .map_err(|_| invalid_at("a STRING literal is not UTF-8", start))
    }

    fn quoted_name(&mut self) -> Result<String, Status> {
        let start = self.at;
        let raw = self.quoted("`", "identifier")?;
        match String::from_utf8(unescaped(raw, false, start)?) {
            Ok(name) if !name.is_empty() => Ok(name),
            _ => Err(invalid_at("Syntax error: Invalid empty identifier", start)),
        }
    }

    /// What is between the next quotes. A backslash keeps the quote after it, in a raw literal too.
    fn quoted(&mut self, quote: &str, what: &str) -> Result<&'a str, Status> {
        let start = self.at;
        self.take(quote.len());
        let mut chars = self.rest.char_indices();
        while let Some((at, each)) = chars.next() {
            let each = if each == '\\' { chars.next().map_or('\\', |(_, next)| next) } else { each };
            if matches!(each, '\n' | '\r') && quote.len() < 3 {
                break;
            }
            if self.rest[at..].starts_with(quote) {
                let inner = self.take(at);
                self.take(quote.len());
                return Ok(inner);
            }
        }
        Err(invalid_at(format!("Syntax error: Unclosed {what}"), start))
    }
}

/// The value of the literal of BYTES in such a token.
pub(crate) fn bytes_of(literal: &str) -> Vec<u8> {
    literal.chars().filter_map(|each| u8::try_from(each).ok()).collect()
}

fn is_of_word(each: char) -> bool {
    each.is_ascii_alphanumeric() || each == '_'
}

fn is_quoted_literal(token: &Token) -> bool {
    matches!(token, Token::TripleSingleQuotedString(_) | Token::SingleQuotedByteStringLiteral(_))
}

/// A name, which is no keyword.
fn named(value: String) -> Token {
    Token::Word(Word { value, quote_style: None, keyword: Keyword::NoKeyword })
}

/// Resolves the escape sequences of a literal or a name that begins at `start`.
fn unescaped(raw: &str, is_bytes: bool, start: Location) -> Result<Vec<u8>, Status> {
    let mut out = Vec::with_capacity(raw.len());
    let mut rest = raw.chars();
    let wrong = |what: &str| invalid_at(format!("Syntax error: Illegal escape sequence: \\{what}"), start);
    let push = |out: &mut Vec<u8>, each: char| {
        out.extend_from_slice(each.encode_utf8(&mut [0; 4]).as_bytes());
    };
    while let Some(each) = rest.next() {
        if each != '\\' {
            push(&mut out, each);
            continue;
        }
        let Some(kind) = rest.next() else { return Err(wrong("")) };
        let mut code = |first: Option<char>, count: usize, radix: u32| -> Result<u32, Status> {
            let mut digits: String = first.into_iter().collect();
            digits.extend(rest.by_ref().take(count));
            let is_whole = digits.chars().all(|digit| digit.is_digit(radix));
            let number = u32::from_str_radix(&digits, radix).ok();
            number
                .filter(|_| is_whole && digits.chars().count() == count + usize::from(first.is_some()))
                .ok_or_else(|| wrong(&digits))
        };
        // A code is a byte of BYTES, and a code point of STRING.
        let number = match kind {
            'a' => 7,
            'b' => 8,
            'f' => 12,
            'n' => 10,
            'r' => 13,
            't' => 9,
            'v' => 11,
            '\\' | '?' | '"' | '\'' | '`' => u32::from(kind),
            'x' | 'X' => code(None, 2, 16)?,
            '0'..='3' => code(Some(kind), 2, 8)?,
            'u' if !is_bytes => code(None, 4, 16)?,
            'U' if !is_bytes => code(None, 8, 16)?,
            other => return Err(wrong(&other.to_string())),
        };
        match (is_bytes, u8::try_from(number), char::from_u32(number)) {
            (true, Ok(byte), _) => out.push(byte),
            (false, _, Some(point)) => push(&mut out, point),
            _ => return Err(wrong(&kind.to_string())),
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(text: &str) -> Result<Token, String> {
        match tokens(text) {
            Ok(tokens) if tokens.len() == 1 => Ok(tokens.into_iter().next().unwrap().token),
            Ok(tokens) => Err(format!("{} tokens", tokens.len())),
            Err(status) => Err(status.message().to_owned()),
        }
    }

    #[test]
    fn literals_are_those_of_googlesql() {
        for (text, expected) in [
            (r#""it's""#, "it's"),
            (r"'a\nb'", "a\nb"),
            (r"'\x41\101\u00e9\U0001F600'", "AAé😀"),
            (r"'\\_\'\?'", r"\_'?"),
            (r"r'a\'b\n'", r"a\'b\n"),
            ("'''it's\r\nso'''", "it's\nso"),
            (r#"R"""a"b""""#, "a\"b"),
            ("''", ""),
            ("''''''", ""),
        ] {
            assert_eq!(one(text), Ok(Token::TripleSingleQuotedString(expected.to_owned())), "{text}");
        }
        for (text, expected) in [
            (r"b'\x00\xff\377é'", &b"\x00\xff\xff\xc3\xa9"[..]),
            (r"rb'\x00'", br"\x00"),
            (r#"bR"\"""#, br#"\""#),
        ] {
            let Ok(Token::SingleQuotedByteStringLiteral(value)) = one(text) else { panic!("{text}") };
            assert_eq!(bytes_of(&value), expected, "{text}");
        }
        for (text, fault) in [
            ("'it''s'", "literals that follow each other"),
            ("'a' 'b'", "literals that follow each other"),
            ("'a' b\"b\"", "literals that follow each other"),
            ("'a", "Unclosed string literal [at 1:1]"),
            ("'a\nb'", "Unclosed string literal"),
            ("'a\\\nb'", "Unclosed string literal"),
            (r"r'a\'", "Unclosed string literal"),
            (r"'\'", "Unclosed string literal"),
            (r"'\q'", r"Illegal escape sequence: \q [at 1:1]"),
            (r"'\x4'", r"Illegal escape sequence"),
            (r"'\xg0'", r"Illegal escape sequence"),
            (r"'\u12'", r"Illegal escape sequence"),
            (r"'\ud800'", r"Illegal escape sequence"),
            (r"b'\u0041'", r"Illegal escape sequence"),
            ("/* a", "Unclosed comment"),
            ("$", "Illegal input character '$'"),
            ("é", "Illegal input character 'é'"),
        ] {
            let error = one(text).unwrap_err();
            assert!(error.contains(fault), "{text}: {error}");
        }
    }

    #[test]
    fn numbers_are_those_of_googlesql() {
        for (text, expected) in
            [("7", "7"), ("0x1F", "31"), (".5", ".5"), ("1.", "1."), ("1e9", "1e9"), ("1.5E-3", "1.5E-3")]
        {
            assert_eq!(one(text), Ok(Token::Number(expected.to_owned(), false)), "{text}");
        }
        for text in ["1_000", "1a", "0x", "0x1g", "1e", "1e+", "1e+-2", "0x10000000000000000"] {
            assert!(one(text).unwrap_err().contains(['M', 'I']), "{text}");
        }
    }

    #[test]
    fn names_are_those_of_googlesql() {
        let value = |text: &str| match one(text) {
            Ok(Token::Word(word)) => Ok((word.value, word.keyword)),
            other => Err(format!("{other:?}")),
        };
        for (text, name) in [
            ("`a b`", "a b"),
            (r"`a\`b`", "a`b"),
            ("`select`", "select"),
            ("@id", "@id"),
            ("@@zone", "@@zone"),
            ("@`a b`", "@a b"),
            ("_x1", "_x1"),
            ("rb", "rb"),
        ] {
            assert_eq!(value(text), Ok((name.to_owned(), Keyword::NoKeyword)), "{text}");
        }
        assert_eq!(value("Select").unwrap().1, Keyword::SELECT);
        assert!(one("``").unwrap_err().contains("Invalid empty identifier"));
        assert!(one("`a\nb`").unwrap_err().contains("Unclosed identifier"));
        let path = tokens("a.Group").unwrap();
        assert!(matches!(&path[2].token, Token::Word(word) if word.keyword == Keyword::NoKeyword));
    }

    #[test]
    fn comments_and_space_are_skipped_and_places_are_known() {
        let tokens = tokens("# one\n-- two\nSELECT /* three * / */ 1\u{8}\t;").unwrap();
        let places: Vec<_> = tokens.iter().map(|token| token.span.start).collect();
        assert_eq!(places, [Location::new(3, 1), Location::new(3, 24), Location::new(3, 27)]);
    }
}
