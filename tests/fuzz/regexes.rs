//! Regular expressions in RE2's syntax: an accepted expression matches the same in a group and in an alternation; quoted text matches only
//! itself.

use keyderive_embedded::translate_re2;
use keyderive_tests::fuzz::{Input, fuzz};
use regex::bytes::{Regex, RegexBuilder};

/// As the embedded Bigtable compiles the expression of a filter; none if it refuses it.
fn compiled(expression: &[u8]) -> Option<Regex> {
    let translated = translate_re2(expression, false).ok()?;
    let whole = format!(r"\A(?:{translated})\z");
    RegexBuilder::new(&whole).unicode(false).size_limit(1 << 20).build().ok()
}

#[test]
fn regexes() {
    fuzz("regexes", |bytes| {
        let mut input = Input::new(bytes);
        let subject = input.bytes();
        let expression = input.rest();
        drop(translate_re2(expression, true));
        if !subject.windows(2).any(|pair| pair == br"\E") && subject.last() != Some(&b'\\') {
            let quoted = compiled(&[&br"\Q"[..], subject, br"\E"].concat()).unwrap();
            assert!(quoted.is_match(subject), "{}", subject.escape_ascii());
            assert_eq!(quoted.is_match(expression), subject == expression, "{}", subject.escape_ascii());
        }
        // Open quotes and flags reach beyond the expression.
        let has = |part: &[u8]| expression.windows(2).any(|pair| pair == part);
        let Some(regex) = compiled(expression).filter(|_| !has(br"\Q")) else { return };
        let mut all = vec![[&b"(?:"[..], expression, b")"].concat()];
        if !has(b"(?") {
            all.push([expression, b"|", expression].concat());
        }
        for same in all {
            // Twice the size may be too large.
            let Some(other) = compiled(&same) else { continue };
            assert_eq!(
                other.is_match(subject),
                regex.is_match(subject),
                "{} on {}",
                same.escape_ascii(),
                subject.escape_ascii()
            );
        }
    });
}
