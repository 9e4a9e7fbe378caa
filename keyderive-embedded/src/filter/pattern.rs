//! Regular expressions in RE2's syntax, over bytes.
//!
//! RE2's syntax is translated to that of the `regex` crate where the two differ: bytes from 0x80, `\C`, `\Q…\E`, octal
//! numbers, `\s`, backslashes before punctuation, literal braces, and special characters inside brackets. Unicode
//! classes (`\p{…}`) are rejected: they have no meaning for single bytes.

use std::cell::Cell;

use regex::Error;
use regex::bytes::{Regex, RegexBuilder};
use tonic::Status;

/// RE2 rejects higher repetition counts.
const MAX_REPETITIONS: u32 = 1000;

/// The most bytes of all compiled expressions of a filter, and the least that one is counted as.
const MAX_COMPILED_BYTES: usize = 8 << 20;
const MIN_COMPILED_BYTES: usize = 4 << 10;

/// The most bytes of the DFA caches of all expressions of a filter, and of one.
const CACHE_BYTES: usize = 16 << 20;
const MAX_CACHE_BYTES: usize = 2 << 20;

/// The memory that the expressions of one filter share.
pub(super) struct PatternBudget {
    compiled_bytes: Cell<usize>,
    cache_bytes: usize,
}

impl PatternBudget {
    pub(super) fn new(patterns: usize) -> Self {
        let cache_bytes = (CACHE_BYTES / patterns.max(1)).min(MAX_CACHE_BYTES);
        Self { compiled_bytes: Cell::new(MAX_COMPILED_BYTES), cache_bytes }
    }
}

/// A regular expression that matches whole byte strings.
#[derive(Debug)]
pub(crate) struct Pattern {
    regex: Regex,
    compiled_bytes: usize,
}

impl Pattern {
    /// Errors name the `filter`.
    pub(super) fn new(filter: &str, regex: &[u8], budget: &PatternBudget) -> Result<Self, Status> {
        let reject = |fault: String| {
            Status::invalid_argument(format!("`{filter}` is `{}`: {fault}", regex.escape_ascii()))
        };
        let translated = format!(r"\A(?:{})\z", translate(regex).map_err(reject)?);
        // The compiler reports only whether the size exceeds a limit, so try growing limits.
        let mut compiled_bytes = MIN_COMPILED_BYTES;
        loop {
            let left = budget.compiled_bytes.get();
            let most = compiled_bytes.min(left);
            let mut builder = RegexBuilder::new(&translated);
            let compiled = builder.unicode(false).size_limit(most).dfa_size_limit(budget.cache_bytes).build();
            match compiled {
                Ok(regex) => {
                    budget.compiled_bytes.set(left - most);
                    return Ok(Self { regex, compiled_bytes: most });
                }
                Err(Error::CompiledTooBig(_)) if most < left => compiled_bytes *= 4,
                Err(Error::CompiledTooBig(_)) => {
                    return Err(reject(format!(
                        "the regular expressions of the filter take more than {MAX_COMPILED_BYTES} bytes together when compiled; use fewer or smaller repetitions, or ranges"
                    )));
                }
                Err(error) => return Err(reject(last_line(&error))),
            }
        }
    }

    /// How many bytes of the budget it takes.
    pub(super) fn compiled_bytes(&self) -> usize {
        self.compiled_bytes
    }

    pub(super) fn matches(&self, bytes: &[u8]) -> bool {
        self.regex.is_match(bytes)
    }
}

/// The last line of an error: the lines before show the translated expression.
fn last_line(error: &Error) -> String {
    let text = error.to_string();
    let last = text.lines().last().unwrap_or_default();
    last.trim_start_matches("error: ").to_owned()
}

fn translate(regex: &[u8]) -> Result<String, String> {
    let mut translator = Translator { rest: regex, out: String::with_capacity(regex.len() * 2), depth: 0 };
    while let Some(byte) = translator.next() {
        translator.translate_byte(byte)?;
    }
    Ok(translator.out)
}

struct Translator<'a> {
    rest: &'a [u8],
    out: String,
    /// How many groups are open. An unmatched `)` would end the group around the whole expression.
    depth: usize,
}

/// A member of a bracket expression.
enum Atom {
    Byte(u8),
    Class(&'static str),
}

/// The class `\s` of RE2.
const SPACE: &str = r"[\t\n\x0c\r\x20]";
const NOT_SPACE: &str = r"[^\t\n\x0c\r\x20]";

impl Translator<'_> {
    fn next(&mut self) -> Option<u8> {
        let (&byte, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(byte)
    }

    fn literal(&mut self, byte: u8) {
        if byte.is_ascii_alphanumeric() || byte == b'_' {
            self.out.push(char::from(byte));
        } else {
            self.out.push_str(&format!("\\x{byte:02x}"));
        }
    }

    fn translate_byte(&mut self, byte: u8) -> Result<(), String> {
        match byte {
            b'\\' => return self.escape(),
            b'[' => return self.class(),
            b'(' => return self.open(),
            b')' if self.depth == 0 => return Err("unmatched `)`".to_owned()),
            b')' => {
                self.depth -= 1;
                self.out.push(')');
            }
            b'{' => return self.brace(),
            b'*' | b'+' | b'?' | b'|' | b'^' | b'$' | b'.' => self.out.push(char::from(byte)),
            _ => self.literal(byte),
        }
        Ok(())
    }

    /// Translates an escape outside brackets, after the backslash.
    fn escape(&mut self) -> Result<(), String> {
        match self.rest.first() {
            Some(b'Q') => {
                self.next();
                self.quote();
            }
            Some(b'C') => {
                self.next();
                self.out.push_str("(?s:.)");
            }
            Some(&anchor @ (b'A' | b'z' | b'b' | b'B')) => {
                self.next();
                self.out.extend(['\\', char::from(anchor)]);
            }
            _ => match self.atom()? {
                Atom::Byte(byte) => self.literal(byte),
                Atom::Class(class) => self.out.push_str(class),
            },
        }
        Ok(())
    }

    fn quote(&mut self) {
        while !self.rest.is_empty() && !self.rest.starts_with(br"\E") {
            if let Some(byte) = self.next() {
                self.literal(byte);
            }
        }
        self.rest = self.rest.strip_prefix(br"\E").unwrap_or(self.rest);
    }

    /// Parses an escape, after the backslash.
    fn atom(&mut self) -> Result<Atom, String> {
        let Some(byte) = self.next() else { return Err("it ends with a backslash".to_owned()) };
        Ok(match byte {
            b'd' => Atom::Class(r"\d"),
            b'D' => Atom::Class(r"\D"),
            b'w' => Atom::Class(r"\w"),
            b'W' => Atom::Class(r"\W"),
            b's' => Atom::Class(SPACE),
            b'S' => Atom::Class(NOT_SPACE),
            b'a' => Atom::Byte(0x07),
            b'f' => Atom::Byte(0x0c),
            b'n' => Atom::Byte(b'\n'),
            b'r' => Atom::Byte(b'\r'),
            b't' => Atom::Byte(b'\t'),
            b'v' => Atom::Byte(0x0b),
            b'x' => Atom::Byte(self.hexadecimal()?),
            b'0' => Atom::Byte(self.octal(0)?),
            b'1'..=b'7' if matches!(self.rest.first(), Some(b'0'..=b'7')) => {
                Atom::Byte(self.octal(u32::from(byte - b'0'))?)
            }
            _ if byte.is_ascii() && !byte.is_ascii_alphanumeric() => Atom::Byte(byte),
            b'p' | b'P' => return Err("it has a Unicode class, which cannot match bytes".to_owned()),
            _ => return Err(format!("RE2 has no escape `\\{}`", byte.escape_ascii())),
        })
    }

    /// Parses two digits, or any number of digits in braces.
    fn hexadecimal(&mut self) -> Result<u8, String> {
        let (digits, rest) = match self.rest.strip_prefix(b"{") {
            None => self.rest.split_at_checked(2).unwrap_or_default(),
            Some(rest) => {
                let end = rest.iter().position(|byte| *byte == b'}').unwrap_or_default();
                (&rest[..end], rest.get(end + 1..).unwrap_or_default())
            }
        };
        self.rest = rest;
        let all_digits = !digits.is_empty() && digits.iter().all(u8::is_ascii_hexdigit);
        let digits = std::str::from_utf8(digits).ok().filter(|_| all_digits);
        let number = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        number.ok_or_else(|| "`\\x` is not followed by a hexadecimal number up to ff".to_owned())
    }

    /// Parses at most two more digits.
    fn octal(&mut self, first: u32) -> Result<u8, String> {
        let mut number = first;
        for _ in 0..2 {
            let Some(&digit @ b'0'..=b'7') = self.rest.first() else { break };
            self.next();
            number = number * 8 + u32::from(digit - b'0');
        }
        u8::try_from(number).map_err(|_| format!("the octal number {number:o} is larger than a byte"))
    }

    /// A group: plain, named, without capture, or with flags.
    fn open(&mut self) -> Result<(), String> {
        self.depth += 1;
        let Some(rest) = self.rest.strip_prefix(b"?") else {
            // Captures are not used, and would take memory.
            self.out.push_str("(?:");
            return Ok(());
        };
        let name = rest.strip_prefix(b"P<").or_else(|| rest.strip_prefix(b"<"));
        let (head, end) = match name {
            Some(name) => (name, name.iter().position(|byte| !byte.is_ascii_alphanumeric() && *byte != b'_')),
            None => (rest, rest.iter().position(|byte| !b"imsU-".contains(byte))),
        };
        let has_valid_end = match end.and_then(|end| head.get(end)) {
            Some(b'>') => name.is_some(),
            Some(b':') => name.is_none(),
            Some(b')') => name.is_none() && end != Some(0),
            _ => false,
        };
        let (Some(end), true) = (end, has_valid_end) else {
            return Err("RE2 does not support this kind of group, such as a look-ahead".to_owned());
        };
        // Names are not used, and flags are ASCII.
        if name.is_none() {
            self.out.push_str("(?");
            self.out.extend(head[..end].iter().copied().map(char::from));
            self.rest = &head[end..];
            if self.rest.first() == Some(&b':') {
                self.next();
                self.out.push(':');
            }
        } else {
            self.out.push_str("(?:");
            self.rest = &head[end + 1..];
        }
        Ok(())
    }

    /// Translates a repetition, or a literal brace.
    fn brace(&mut self) -> Result<(), String> {
        let inner = self.rest.iter().position(|byte| *byte == b'}').map(|end| &self.rest[..end]);
        let Some(inner) = inner.and_then(|inner| std::str::from_utf8(inner).ok()) else {
            self.literal(b'{');
            return Ok(());
        };
        let (least, most) = inner.split_once(',').unwrap_or((inner, inner));
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        if !is_number(least) || !(most.is_empty() || is_number(most)) {
            self.literal(b'{');
            return Ok(());
        }
        let allowed = |text: &str| text.parse().is_ok_and(|number: u32| number <= MAX_REPETITIONS);
        if !allowed(least) || !(most.is_empty() || allowed(most)) {
            return Err(format!("a part is repeated more than {MAX_REPETITIONS} times"));
        }
        self.out.push('{');
        self.out.push_str(inner);
        self.out.push('}');
        self.rest = &self.rest[inner.len() + 1..];
        Ok(())
    }

    /// Translates a bracket expression, after its first bracket.
    fn class(&mut self) -> Result<(), String> {
        self.out.push('[');
        if self.rest.first() == Some(&b'^') {
            self.next();
            self.out.push('^');
        }
        let mut is_first = true;
        while self.rest.first() != Some(&b']') || is_first {
            is_first = false;
            if self.named_class() {
                continue;
            }
            match self.member()? {
                Atom::Class(class) => self.out.push_str(class),
                Atom::Byte(start) => self.range_from(start)?,
            }
        }
        self.next();
        self.out.push(']');
        Ok(())
    }

    fn member(&mut self) -> Result<Atom, String> {
        match self.next() {
            None => Err("a `[` is not closed".to_owned()),
            Some(b'\\') => self.atom(),
            Some(byte) => Ok(Atom::Byte(byte)),
        }
    }

    /// Translates a range that begins with `start`, or that byte alone.
    fn range_from(&mut self, start: u8) -> Result<(), String> {
        self.literal(start);
        if !self.rest.starts_with(b"-") || self.rest.get(1) == Some(&b']') {
            return Ok(());
        }
        self.next();
        let Atom::Byte(end) = self.member()? else {
            return Err("a range in brackets ends with a class".to_owned());
        };
        self.out.push('-');
        self.literal(end);
        Ok(())
    }

    /// Translates a class such as `[:alpha:]` inside brackets, if one follows.
    fn named_class(&mut self) -> bool {
        let Some(rest) = self.rest.strip_prefix(b"[:") else { return false };
        let is_name = |byte: &u8| byte.is_ascii_lowercase() || *byte == b'^';
        let name = rest.split(|byte| !is_name(byte)).next().unwrap_or_default();
        let Some(after) = rest[name.len()..].strip_prefix(b":]") else { return false };
        self.out.push_str("[:");
        self.out.extend(name.iter().copied().map(char::from));
        self.out.push_str(":]");
        self.rest = after;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(regex: &[u8], matched: &[&[u8]], others: &[&[u8]]) {
        let pattern = Pattern::new("value_regex_filter", regex, &PatternBudget::new(1)).unwrap();
        for bytes in matched {
            assert!(pattern.matches(bytes), "`{}` and `{}`", regex.escape_ascii(), bytes.escape_ascii());
        }
        for bytes in others {
            assert!(!pattern.matches(bytes), "`{}` and `{}`", regex.escape_ascii(), bytes.escape_ascii());
        }
    }

    #[test]
    fn patterns_match_whole_strings() {
        check(b"a|bc", &[b"a", b"bc"], &[b"", b"ab", b"abc", b"xa"]);
        check(b"", &[b""], &[b"a"]);
        check(b"a|", &[b"", b"a"], &[b"|"]);
        check(b"(?m)a$", &[b"a"], &[b"a\nb", b"a\n"]);
    }

    #[test]
    fn bytes_are_bytes() {
        check(b".", &[b"a", b"\xff", b"\0"], &[b"\n", "ü".as_bytes()]);
        check(br"\C*", &[b"", b"a\n\xff"], &[]);
        check(b"\xc3\xbc\xff", &[b"\xc3\xbc\xff"], &[b"\xc3\xbc"]);
        check(br"\xff\x{7b}\101\0", &[b"\xff{A\0"], &[]);
        check("[ü]".as_bytes(), &[b"\xc3", b"\xbc"], &["ü".as_bytes()]);
    }

    #[test]
    fn a_backslash_makes_punctuation_literal() {
        check(br"\<\>\-\.\*\\\&\~\{", &[br"<>-.*\&~{"], &[b""]);
        check(br"\Qa.*[\E+", &[b"a.*[", b"a.*[["], &[b"a.*"]);
        check(br"\Q\x", &[br"\x"], &[]);
        check(b"a{,2}b{", &[b"a{,2}b{"], &[b"aab{"]);
        check(b"a{2}", &[b"aa"], &[b"a{2}", b"a"]);
    }

    #[test]
    fn brackets_hold_bytes_ranges_and_classes() {
        check(b"[]a]", &[b"]", b"a"], &[b"b"]);
        check(b"[^]a]", &[b"b", b"\n"], &[b"]", b"a"]);
        check(b"[a&&b~~[]", &[b"a", b"&", b"b", b"~", b"["], &[b"c"]);
        check(b"[+--]", &[b"+", b",", b"-"], &[b"."]);
        check(b"[a-]", &[b"a", b"-"], &[b"b"]);
        check(br"[[:digit:]\s_]", &[b"1", b" ", b"_"], &[b"\x0b", b":"]);
        check(br"[\S]", &[b"a", b"\x0b"], &[b" "]);
        check(br"[\x00-\x1f]", &[b"\0", b"\n"], &[b" "]);
    }

    #[test]
    fn groups_have_names_and_flags() {
        check(b"(?P<name>a)(?<other>b)(?:c)(?i)D(?-i:e)", &[b"abcDe", b"abcde"], &[b"abcdE", b"Abcde"]);
        check(b"(?s).", &[b"\n"], &[]);
    }

    #[test]
    fn what_is_not_a_regular_expression_is_rejected() {
        for (regex, fault) in [
            (&b"a)|(b"[..], "unmatched `)`"),
            (b"(a", "unclosed group"),
            (b"[a", "a `[` is not closed"),
            (b"[]", "a `[` is not closed"),
            (b"[b-a]", "invalid character class range"),
            (b"*", "repetition operator missing expression"),
            (b"a{1001}", "a part is repeated more than 1000 times"),
            (br"a\", "it ends with a backslash"),
            (br"(a)\1", "RE2 has no escape"),
            (br"\pL", "it has a Unicode class"),
            (br"\xg0", "not followed by a hexadecimal number"),
            (br"\x{100}", "not followed by a hexadecimal number"),
            (br"\x{", "not followed by a hexadecimal number"),
            (br"\777", "the octal number 777 is larger than a byte"),
            (b"(?=a)", "RE2 does not support this kind of group"),
            (b"(?<=a)", "RE2 does not support this kind of group"),
            (b"(?", "RE2 does not support this kind of group"),
            (b"((a{1000}){1000}){1000}", "take more than 8388608 bytes together"),
        ] {
            let status = Pattern::new("value_regex_filter", regex, &PatternBudget::new(1)).unwrap_err();
            assert_eq!(status.code(), tonic::Code::InvalidArgument);
            assert!(status.message().contains(fault), "{}", status.message());
        }
    }
}
