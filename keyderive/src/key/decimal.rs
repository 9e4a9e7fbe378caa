//! Decimal digits of a fixed width: written, read and counted.

/// `u128`s are split at this power of ten: every number of 19 digits fits in a `u64`.
const TEN_TO_19: u128 = 10_u128.pow(19);

const TEN_TO_8: u64 = 10_u64.pow(8);

/// Eight digits `0`.
const EIGHT_ZEROS: u64 = 0x3030_3030_3030_3030;

/// All pairs of digits: one division writes two digits.
const PAIRS: &[u8; 200] = b"00010203040506070809101112131415161718192021222324252627282930313233343536373839\
40414243444546474849505152535455565758596061626364656667686970717273747576777879\
8081828384858687888990919293949596979899";

/// Fills `digits` with `value`, zero padded on the left. Callers check that it fits; excess digits on the left are lost.
#[inline]
pub(crate) fn fill(digits: &mut [u8], mut value: u64) {
    let (digits, eights) = digits.as_rchunks_mut::<8>();
    for eight in eights.iter_mut().rev() {
        *eight = eight_digits(value % TEN_TO_8);
        value /= TEN_TO_8;
    }
    let mut chunks = digits.rchunks_exact_mut(2);
    for pair in &mut chunks {
        let at = (value % 100) as usize * 2;
        pair.copy_from_slice(&PAIRS[at..at + 2]);
        value /= 100;
    }
    if let [first] = chunks.into_remainder() {
        *first = b'0' + (value % 10) as u8;
    }
}

/// The digits of a number below 10^8: split into 2 numbers of 4 digits, then 4 of 2, then 8 of 1, each step for all lanes
/// of the word at once.
///
/// Multiplication and shift replace the divisions, exact for the numbers in their lanes.
#[inline]
fn eight_digits(value: u64) -> [u8; 8] {
    let fours = ((value / 10_000) << 32) | (value % 10_000);
    let hundreds = ((fours * 10_486) >> 20) & 0x0000_007f_0000_007f;
    let twos = (hundreds << 16) | (fours - 100 * hundreds);
    let tens = ((twos * 103) >> 10) & 0x000f_000f_000f_000f;
    let ones = (tens << 8) | (twos - 10 * tens);
    (ones | EIGHT_ZEROS).to_be_bytes()
}

/// [`fill`] for 128 bits, 19 digits at a time.
#[inline]
pub(crate) fn fill_wide(digits: &mut [u8], mut value: u128) {
    for chunk in digits.rchunks_mut(19) {
        // A remainder of 10^19 fits in 64 bits.
        fill(chunk, (value % TEN_TO_19) as u64);
        value /= TEN_TO_19;
    }
}

/// How many digits `value` has; 1 for zero.
#[inline]
pub(crate) const fn width(value: u128) -> usize {
    match value.checked_ilog10() {
        Some(log) => log as usize + 1,
        None => 1,
    }
}

/// Reads digits; `None` if a byte is not a digit, there are no bytes, or the value exceeds 64 bits.
#[inline]
pub(crate) fn parse(digits: &[u8]) -> Option<u64> {
    if digits.len() > 19 {
        return parse_wide(digits)?.try_into().ok();
    }
    let (head, eights) = digits.as_rchunks::<8>();
    let mut value = 0_u64;
    let mut invalid = 0;
    if !head.is_empty() {
        (value, invalid) = read_eight_digits(padded(digits, head.len()));
    }
    for eight in eights {
        let (eight, invalid_of_eight) = read_eight_digits(*eight);
        invalid |= invalid_of_eight;
        // 19 digits stay below 2^64; other bytes may wrap, and are rejected below.
        value = value.wrapping_mul(TEN_TO_8).wrapping_add(eight);
    }
    (invalid == 0 && !digits.is_empty()).then_some(value)
}

/// The first digits, at most 7, after as many zeros as make them eight.
///
/// Copied in whole words, since the length of most numbers is known only when they are read.
#[inline]
fn padded(digits: &[u8], count: usize) -> [u8; 8] {
    let bits = 8 * count as u32;
    let word = match (digits.first_chunk(), digits.first_chunk(), digits.last_chunk()) {
        (Some(first), _, _) => u64::from_be_bytes(*first) >> (u64::BITS - bits),
        // All of fewer than eight: the two halves overlap in equal digits.
        (None, Some(first), Some(last)) => {
            let (first, last) = (u32::from_be_bytes(*first), u32::from_be_bytes(*last));
            u64::from(first) << (bits - u32::BITS) | u64::from(last)
        }
        _ => digits.iter().fold(0, |word, byte| word << 8 | u64::from(*byte)),
    };
    (EIGHT_ZEROS << bits | word).to_be_bytes()
}

/// The inverse of [`eight_digits`], and a bit for each byte that is not a digit; with such a byte the value is garbage.
#[inline]
fn read_eight_digits(digits: [u8; 8]) -> (u64, u64) {
    let word = u64::from_be_bytes(digits);
    let ones = word.wrapping_sub(EIGHT_ZEROS);
    // A byte above `9` carries into its high bit, one below `0` borrows from it.
    let above = word.wrapping_add(0x4646_4646_4646_4646);
    let invalid = (ones | above) & 0x8080_8080_8080_8080;
    let twos = (ones >> 8).wrapping_mul(10).wrapping_add(ones) & 0x00ff_00ff_00ff_00ff;
    let fours = (twos >> 16).wrapping_mul(100).wrapping_add(twos) & 0x0000_ffff_0000_ffff;
    ((fours >> 32).wrapping_mul(10_000).wrapping_add(fours) & 0xffff_ffff, invalid)
}

/// [`parse`] for 128 bits.
pub(crate) fn parse_wide(digits: &[u8]) -> Option<u128> {
    let mut value = 0_u128;
    for byte in digits {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        value = value.checked_mul(10)?.checked_add(u128::from(digit))?;
    }
    (!digits.is_empty()).then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fill_text(width: usize, value: u128) -> String {
        let mut digits = vec![b'x'; width];
        fill_wide(&mut digits, value);
        String::from_utf8(digits).unwrap()
    }

    #[test]
    fn digits_are_zero_padded_at_every_width() {
        for (width, value, expected) in [
            (1, 7, "7"),
            (2, 7, "07"),
            (5, 42, "00042"),
            (19, 9_223_372_036_854_775_807, "9223372036854775807"),
            (20, u128::from(u64::MAX), "18446744073709551615"),
            (39, u128::MAX, "340282366920938463463374607431768211455"),
            (45, 1, "000000000000000000000000000000000000000000001"),
        ] {
            assert_eq!(fill_text(width, value), expected);
            assert_eq!(parse_wide(expected.as_bytes()), Some(value));
            assert_eq!(parse(expected.as_bytes()), u64::try_from(value).ok());
        }
    }

    #[test]
    fn only_digits_are_read() {
        for text in
            ["", "+1", "-1", " 1", "1 ", "1a", "/", ":", "0000000/", ":0000000", "1234567\u{7f}", "12é456"]
        {
            assert_eq!(parse(text.as_bytes()), None, "{text:?}");
            assert_eq!(parse_wide(text.as_bytes()), None, "{text:?}");
        }
        assert_eq!(parse(b"18446744073709551616"), None);
        assert_eq!(parse_wide(b"340282366920938463463374607431768211456"), None);
    }

    #[test]
    fn every_byte_in_every_place_of_eight_digits() {
        for at in 0..8 {
            for byte in 0..=u8::MAX {
                let mut digits = *b"97531864";
                digits[at] = byte;
                let expected = str::from_utf8(&digits).ok().and_then(|text| text.parse::<u32>().ok());
                let expected = expected.filter(|_| byte.is_ascii_digit()).map(u64::from);
                assert_eq!(parse(&digits), expected, "{}", digits.escape_ascii());
            }
        }
        // All numbers of four digits, in the lower four digits, in the upper four, and in both.
        for value in (0..10_000_u64).flat_map(|four| [four, four * 10_000 + 9999, four * 10_001]) {
            let mut digits = [0; 8];
            fill(&mut digits, value);
            assert_eq!(digits, *format!("{value:08}").as_bytes());
            assert_eq!(parse(&digits), Some(value));
        }
    }

    #[test]
    fn widths() {
        assert_eq!([width(0), width(9), width(10), width(u128::MAX)], [1, 1, 2, 39]);
    }
}
