//! Java's `String.hashCode`, which chose the buckets of tables made with Google's salting sample.

/// Continues a hash code with more of the same string, as UTF-8.
///
/// `s[0]*31^(n-1) + … + s[n-1]` over the UTF-16 units, in wrapping 32 bits, as the Java platform defines it.
/// What is not UTF-8 counts as U+FFFD, which is what Java decodes it to.
#[inline]
pub(super) fn hash_code(start: i32, text: &[u8]) -> i32 {
    let step = |hash: i32, unit: u16| hash.wrapping_mul(31).wrapping_add(i32::from(unit));
    if text.is_ascii() {
        return text.iter().fold(start, |hash, byte| step(hash, u16::from(*byte)));
    }
    text.utf8_chunks().fold(start, |hash, chunk| {
        let hash = chunk.valid().encode_utf16().fold(hash, step);
        if chunk.invalid().is_empty() { hash } else { step(hash, 0xfffd) }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the definition gives, and a Java platform prints.
    #[test]
    fn hash_codes_are_those_of_java() {
        for (text, expected) in [
            ("", 0),
            ("a", 97),
            ("ab", 3105),
            ("hello", 99_162_322),
            ("polygenelubricants", i32::MIN),
            ("é", 233),
            // Two units, d83d and de00.
            ("😀", 1_772_899),
        ] {
            assert_eq!(hash_code(0, text.as_bytes()), expected, "{text:?}");
        }
    }

    #[test]
    fn a_string_can_be_hashed_in_pieces() {
        let text = "phone#é#😀#20190501";
        let whole = hash_code(0, text.as_bytes());
        for (at, _) in text.char_indices() {
            let (left, right) = text.as_bytes().split_at(at);
            assert_eq!(hash_code(hash_code(0, left), right), whole);
        }
    }
}
