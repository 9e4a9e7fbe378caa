//! Regular expressions in RE2's syntax, over bytes for filters, and also over characters for SQL.
//!
//! RE2's syntax is translated to the `regex` crate's where the two differ: bytes from 0x80, `\C`, `\Q…\E`, octal numbers,
//! the classes of Perl, which are ASCII, backslashes before punctuation, literal braces, and special characters inside
//! brackets. Unicode classes (`\p{…}`) are rejected: they have no meaning for single bytes, and need large tables for
//! characters.

use std::cell::Cell;
use std::fmt;

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
    matcher: Matcher,
    compiled_bytes: usize,
}

#[derive(Debug)]
enum Matcher {
    /// In order. Clients send the names of families and columns so; to compile them takes longer than the rest of a small read, and milliseconds
    /// in a program that is not optimized.
    OneOf(Vec<Vec<u8>>),
    Regex(Regex),
}

impl Pattern {
    /// Errors name the `filter`.
    pub(super) fn new(filter: &str, regex: &[u8], budget: &PatternBudget) -> Result<Self, Status> {
        let reject = |fault: String| {
            Status::invalid_argument(format!("`{filter}` is `{}`: {fault}", regex.escape_ascii()))
        };
        let translated =
            translate(regex, Mode::BYTES_WITHOUT_GROUPS).map_err(|error| reject(error.to_string()))?;
        if let Some(mut literals) = translated.literals {
            literals.sort_unstable();
            literals.dedup();
            return Ok(Self { matcher: Matcher::OneOf(literals), compiled_bytes: regex.len() });
        }
        let translated = format!(r"\A(?:{})\z", translated.text);
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
                    return Ok(Self { matcher: Matcher::Regex(regex), compiled_bytes: most });
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
        match &self.matcher {
            Matcher::OneOf(literals) => {
                literals.binary_search_by(|literal| literal.as_slice().cmp(bytes)).is_ok()
            }
            Matcher::Regex(regex) => regex.is_match(bytes),
        }
    }
}

/// The last line of an error: the lines before show the translated expression.
fn last_line(error: &Error) -> String {
    let text = error.to_string();
    let last = text.lines().last().unwrap_or_default();
    last.trim_start_matches("error: ").to_owned()
}

/// Why an expression has no translation.
#[derive(Debug)]
pub enum Re2Error {
    /// RE2 rejects it.
    Invalid(String),
    /// It has a Unicode class.
    UnicodeClass,
}

impl fmt::Display for Re2Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Invalid(fault) => fault,
            Self::UnicodeClass => "it has a Unicode class, which cannot match bytes",
        })
    }
}

fn invalid(fault: impl Into<String>) -> Re2Error {
    Re2Error::Invalid(fault.into())
}

/// Translates a regular expression from RE2's syntax to the `regex` crate's. One over characters has to be UTF-8; one over
/// bytes is to be compiled without Unicode. Groups keep their places and lose their names.
///
/// # Errors
///
/// Fails if RE2 rejects the expression, as far as the crate would not, and if it has a Unicode class.
#[doc(hidden)]
pub fn translate_re2(regex: &[u8], is_text: bool) -> Result<String, Re2Error> {
    translate(regex, Mode { is_text, has_groups: true }).map(|translated| translated.text)
}

#[derive(Clone, Copy)]
struct Mode {
    /// Whether it matches characters of UTF-8, and not bytes.
    is_text: bool,
    /// Whether groups capture, which takes memory.
    has_groups: bool,
}

impl Mode {
    const BYTES_WITHOUT_GROUPS: Self = Self { is_text: false, has_groups: false };
}

struct Translated {
    text: String,
    /// The byte strings that an expression over bytes matches, if it is only literals with `|` between them.
    literals: Option<Vec<Vec<u8>>>,
}

fn translate(regex: &[u8], mode: Mode) -> Result<Translated, Re2Error> {
    let (out, literals) = (String::with_capacity(regex.len() * 2), (!mode.is_text).then(|| vec![Vec::new()]));
    let mut translator = Translator { mode, rest: regex, out, literals, repetition: 0, depth: 0 };
    while let Some(each) = translator.next() {
        translator.translate_unit(each)?;
    }
    Ok(Translated { text: translator.out, literals: translator.literals })
}

struct Translator<'a> {
    mode: Mode,
    rest: &'a [u8],
    out: String,
    /// None once something came that is no literal.
    literals: Option<Vec<Vec<u8>>>,
    /// How many characters of a repetition came last: its operator, and what makes it lazy.
    repetition: u8,
    /// How many groups are open. An unmatched `)` would end the group around the whole expression.
    depth: usize,
}

/// A member of a bracket expression.
enum Atom {
    /// A character; or a byte, as the character of the same number.
    Unit(char),
    Class(&'static str),
}

// The classes of Perl in RE2.
const DIGIT: &str = "[0-9]";
const NOT_DIGIT: &str = "[^0-9]";
const WORD: &str = "[0-9A-Za-z_]";
const NOT_WORD: &str = "[^0-9A-Za-z_]";
const SPACE: &str = r"[\t\n\x0c\r\x20]";
const NOT_SPACE: &str = r"[^\t\n\x0c\r\x20]";

impl Translator<'_> {
    /// The next character; or the next byte, as the character of the same number.
    fn next(&mut self) -> Option<char> {
        let (&byte, rest) = self.rest.split_first()?;
        let chunk = if self.mode.is_text { self.rest.utf8_chunks().next() } else { None };
        let Some(character) = chunk.and_then(|chunk| chunk.valid().chars().next()) else {
            self.rest = rest;
            return Some(char::from(byte));
        };
        self.rest = &self.rest[character.len_utf8()..];
        Some(character)
    }

    fn literal(&mut self, unit: char) {
        let literal = self.literals.as_mut().and_then(|literals| literals.last_mut());
        if let (Some(literal), Ok(byte)) = (literal, u8::try_from(unit)) {
            literal.push(byte);
        }
        match u32::from(unit) {
            _ if unit.is_ascii_alphanumeric() || unit == '_' => self.out.push(unit),
            // Without Unicode, only this form is a byte.
            number @ 0..=0xff => self.out.push_str(&format!("\\x{number:02x}")),
            _ => self.out.push(unit),
        }
    }

    /// A part that is no literal.
    fn operator(&mut self, text: &str) {
        self.literals = None;
        self.out.push_str(text);
    }

    /// The character or byte of a number.
    fn unit(&self, number: u32) -> Option<char> {
        char::from_u32(number).filter(|_| self.mode.is_text || number <= 0xff)
    }

    fn translate_unit(&mut self, unit: char) -> Result<(), Re2Error> {
        let before = std::mem::take(&mut self.repetition);
        if matches!(unit, '*' | '+' | '?') {
            self.repeated(before, unit == '?')?;
        }
        match unit {
            '\\' => return self.escape(),
            '[' => return self.class(),
            '(' => return self.open(),
            ')' if self.depth == 0 => return Err(invalid("unmatched `)`")),
            ')' => {
                self.depth -= 1;
                self.out.push(')');
            }
            '{' => return self.brace(before),
            '|' => {
                self.out.push(unit);
                self.literals.iter_mut().for_each(|literals| literals.push(Vec::new()));
            }
            '*' | '+' | '?' | '^' | '$' | '.' => self.operator(unit.encode_utf8(&mut [0; 4])),
            _ => self.literal(unit),
        }
        Ok(())
    }

    /// Translates an escape outside brackets, after the backslash.
    fn escape(&mut self) -> Result<(), Re2Error> {
        match self.rest.first() {
            Some(b'Q') => {
                self.next();
                self.quote();
            }
            Some(b'C') => {
                self.next();
                self.operator("(?s-u:.)");
            }
            Some(&anchor @ (b'A' | b'z')) => {
                self.next();
                self.operator(if anchor == b'A' { r"\A" } else { r"\z" });
            }
            Some(&boundary @ (b'b' | b'B')) => {
                self.next();
                self.operator(if boundary == b'b' { r"(?-u:\b)" } else { r"(?-u:\B)" });
            }
            _ => match self.atom()? {
                Atom::Unit(unit) => self.literal(unit),
                Atom::Class(class) => self.operator(class),
            },
        }
        Ok(())
    }

    fn quote(&mut self) {
        while !self.rest.is_empty() && !self.rest.starts_with(br"\E") {
            if let Some(unit) = self.next() {
                self.literal(unit);
            }
        }
        self.rest = self.rest.strip_prefix(br"\E").unwrap_or(self.rest);
    }

    /// Parses an escape, after the backslash.
    fn atom(&mut self) -> Result<Atom, Re2Error> {
        let Some(unit) = self.next() else { return Err(invalid("it ends with a backslash")) };
        Ok(match unit {
            'd' => Atom::Class(DIGIT),
            'D' => Atom::Class(NOT_DIGIT),
            'w' => Atom::Class(WORD),
            'W' => Atom::Class(NOT_WORD),
            's' => Atom::Class(SPACE),
            'S' => Atom::Class(NOT_SPACE),
            'a' => Atom::Unit('\x07'),
            'f' => Atom::Unit('\x0c'),
            'n' => Atom::Unit('\n'),
            'r' => Atom::Unit('\r'),
            't' => Atom::Unit('\t'),
            'v' => Atom::Unit('\x0b'),
            'x' => Atom::Unit(self.hexadecimal()?),
            '0' => Atom::Unit(self.octal(0)?),
            '1'..='7' if matches!(self.rest.first(), Some(b'0'..=b'7')) => {
                Atom::Unit(self.octal(u32::from(unit) - u32::from('0'))?)
            }
            _ if unit.is_ascii() && !unit.is_ascii_alphanumeric() => Atom::Unit(unit),
            'p' | 'P' => return Err(Re2Error::UnicodeClass),
            _ => return Err(invalid(format!("RE2 has no escape `\\{}`", unit.escape_default()))),
        })
    }

    /// Parses two digits, or any number of digits in braces.
    fn hexadecimal(&mut self) -> Result<char, Re2Error> {
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
        let number = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok());
        let most = if self.mode.is_text { "10ffff" } else { "ff" };
        number
            .and_then(|number| self.unit(number))
            .ok_or_else(|| invalid(format!("`\\x` is not followed by a hexadecimal number up to {most}")))
    }

    /// Parses at most two more digits.
    fn octal(&mut self, first: u32) -> Result<char, Re2Error> {
        let mut number = first;
        for _ in 0..2 {
            let Some(&digit @ b'0'..=b'7') = self.rest.first() else { break };
            self.next();
            number = number * 8 + u32::from(digit - b'0');
        }
        self.unit(number).ok_or_else(|| invalid(format!("the octal number {number:o} is larger than a byte")))
    }

    /// A group: plain, named, without capture, or with flags.
    fn open(&mut self) -> Result<(), Re2Error> {
        self.depth += 1;
        let Some(rest) = self.rest.strip_prefix(b"?") else {
            self.group();
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
            return Err(invalid("RE2 does not support this kind of group, such as a look-ahead"));
        };
        // Names are not used, and flags are ASCII.
        if name.is_none() {
            self.operator("(?");
            self.out.extend(head[..end].iter().copied().map(char::from));
            self.rest = &head[end..];
            if self.rest.first() == Some(&b':') {
                self.next();
                self.out.push(':');
            }
        } else {
            self.group();
            self.rest = &head[end + 1..];
        }
        Ok(())
    }

    fn group(&mut self) {
        self.operator(if self.mode.has_groups { "(" } else { "(?:" });
    }

    /// Notes a repetition, or that the one before is lazy. As Perl, RE2 repeats no repetition.
    fn repeated(&mut self, before: u8, is_mark: bool) -> Result<(), Re2Error> {
        if before == 2 || before == 1 && !is_mark {
            return Err(invalid("a repetition is repeated; put a group around it"));
        }
        self.repetition = before + 1;
        Ok(())
    }

    /// Translates a repetition, or a literal brace.
    fn brace(&mut self, before: u8) -> Result<(), Re2Error> {
        let inner = self.rest.iter().position(|byte| *byte == b'}').map(|end| &self.rest[..end]);
        let Some(inner) = inner.and_then(|inner| std::str::from_utf8(inner).ok()) else {
            self.literal('{');
            return Ok(());
        };
        let (least, most) = inner.split_once(',').unwrap_or((inner, inner));
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        if !is_number(least) || !(most.is_empty() || is_number(most)) {
            self.literal('{');
            return Ok(());
        }
        let allowed = |text: &str| text.parse().is_ok_and(|number: u32| number <= MAX_REPETITIONS);
        if !allowed(least) || !(most.is_empty() || allowed(most)) {
            return Err(invalid(format!("a part is repeated more than {MAX_REPETITIONS} times")));
        }
        self.repeated(before, false)?;
        self.operator("{");
        self.out.push_str(inner);
        self.out.push('}');
        self.rest = &self.rest[inner.len() + 1..];
        Ok(())
    }

    /// Translates a bracket expression, after its first bracket.
    fn class(&mut self) -> Result<(), Re2Error> {
        self.operator("[");
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
                Atom::Unit(start) => self.range_from(start)?,
            }
        }
        self.next();
        self.out.push(']');
        Ok(())
    }

    fn member(&mut self) -> Result<Atom, Re2Error> {
        match self.next() {
            None => Err(invalid("a `[` is not closed")),
            Some('\\') => self.atom(),
            Some(unit) => Ok(Atom::Unit(unit)),
        }
    }

    /// Translates a range that begins with `start`, or that alone.
    fn range_from(&mut self, start: char) -> Result<(), Re2Error> {
        self.literal(start);
        if !self.rest.starts_with(b"-") || self.rest.get(1) == Some(&b']') {
            return Ok(());
        }
        self.next();
        let Atom::Unit(end) = self.member()? else {
            return Err(invalid("a range in brackets ends with a class"));
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
    fn literals_are_matched_as_their_expression_is() {
        let mut rng = fastrand::Rng::with_seed(1);
        let mut found = 0;
        for _ in 0..2000 {
            const UNITS: &[u8] = b"ab|\\\\.-QE_\n\0\xff]}{1";
            let regex: Vec<u8> = (0..rng.usize(..6)).map(|_| UNITS[rng.usize(..UNITS.len())]).collect();
            let Ok(Translated { text, literals: Some(literals) }) =
                translate(&regex, Mode::BYTES_WITHOUT_GROUPS)
            else {
                continue;
            };
            found += 1;
            let whole = RegexBuilder::new(&format!(r"\A(?:{text})\z")).unicode(false).build().unwrap();
            for bytes in
                literals.iter().map(Vec::as_slice).chain([&b""[..], b"a", b"ab", b"\\", b".", &regex])
            {
                let is_literal = literals.iter().any(|literal| literal == bytes);
                assert_eq!(is_literal, whole.is_match(bytes), "`{}`", regex.escape_ascii());
            }
        }
        assert!(found > 400, "{found}");
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
    fn anchors_are_at_the_ends_of_the_text_and_of_words() {
        check(br"\Aab\z", &[b"ab"], &[b"Aabz"]);
        check(br"a\b.b", &[b"a b", b"a-b"], &[b"acb", b"ab"]);
        check(br"a\B.b", &[b"acb"], &[b"a b", b"ab"]);
    }

    #[test]
    fn text_is_translated_by_characters() {
        let translated = translate_re2("é+[ü-ÿ](€)".as_bytes(), true).unwrap();
        assert_eq!(translated, r"\xe9+[\xfc-\xff](€)");
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
            (b"a**", "a repetition is repeated"),
            (b"a++", "a repetition is repeated"),
            (b"a{2}{3}", "a repetition is repeated"),
            (b"a*??", "a repetition is repeated"),
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
