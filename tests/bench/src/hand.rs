//! The key of the manual by hand, for these fields and no others: the best that safe code seems to allow.
//!
//! The same bytes, hash and checks as keyderive's, and errors that say nothing.

use keyderive::key::{MAX_KEY_LEN, fingerprint64};

use crate::LentKey;

/// `#`, 19 digits, `#`, 6 digits.
const TAIL: usize = 27;
const DELIMITER: u8 = b'#';
/// Names up to this long are written without a branch that depends on their length.
const BLOCK: usize = 32;

/// What no key holds, or no such key is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refused;

/// Appends the key to `out`; on an error `out` is as it was.
///
/// # Errors
/// As those of keyderive, for the same values.
#[inline]
pub fn encode_into(key: &LentKey<'_>, out: &mut Vec<u8>) -> Result<(), Refused> {
    let (user, site) = (key.user_id.as_bytes(), key.site.as_bytes());
    let reversed = (i64::MAX as u64).checked_sub(key.at).ok_or(Refused)?;
    let len = 2 + user.len() + 1 + site.len() + TAIL;
    if key.seq >= 1_000_000 || len > MAX_KEY_LEN {
        return Err(Refused);
    }
    out.reserve(len + BLOCK);
    let base = out.len();
    out.extend_from_slice(b"0#");
    let mut forbidden = append_checked(user, out);
    out.push(DELIMITER);
    forbidden |= append_checked(site, out);
    if forbidden {
        out.truncate(base);
        return Err(Refused);
    }
    let head = out.len();
    let mut tail = [DELIMITER; TAIL];
    let (high, low) = (reversed / 10_000_000_000_000_000, reversed % 10_000_000_000_000_000);
    tail[1] = b'0' + (high / 100) as u8;
    tail[2] = b'0' + (high / 10 % 10) as u8;
    tail[3] = b'0' + (high % 10) as u8;
    tail[4..12].copy_from_slice(&eight_digits(low / 100_000_000));
    tail[12..20].copy_from_slice(&eight_digits(low % 100_000_000));
    tail[21..].copy_from_slice(&eight_digits(key.seq.into())[2..]);
    out.extend_from_slice(&tail);
    // Last, when the names have left the store buffer, from which words at other places cannot be read.
    out[base] = b'0' + bucket(&out[base + 2..head]);
    Ok(())
}

/// Reads the key.
///
/// # Errors
/// As those of keyderive, for the same bytes.
#[inline]
pub fn decode(key: &[u8]) -> Result<LentKey<'_>, Refused> {
    let (head, tail) = key.split_last_chunk::<TAIL>().ok_or(Refused)?;
    let [bucket_digit, DELIMITER, names @ ..] = head else {
        return Err(Refused);
    };
    let end = find_forbidden(&key[2..]).ok_or(Refused)?;
    let [DELIMITER, t0, t1, t2, times @ .., DELIMITER, s0, s1, s2, s3, s4, s5] = tail else {
        return Err(Refused);
    };
    let (times, _) = times.as_chunks::<8>();
    let [high, middle, low, seq] = [
        &[b'0', b'0', b'0', b'0', b'0', *t0, *t1, *t2],
        &times[0],
        &times[1],
        &[b'0', b'0', *s0, *s1, *s2, *s3, *s4, *s5],
    ]
    .map(|digits| read_eight_digits(*digits));
    let reversed = high? * 10_000_000_000_000_000 + middle? * 100_000_000 + low?;
    let at = (i64::MAX as u64).checked_sub(reversed).ok_or(Refused)?;
    if names.get(end) != Some(&DELIMITER)
        || key.len() > MAX_KEY_LEN
        || holds_forbidden(&names[end + 1..])
        || *bucket_digit != b'0' + bucket(names)
    {
        return Err(Refused);
    }
    // One check for both, to the end of its last step of 16 bytes, since what is left of a step goes one by one.
    let text = str::from_utf8(&key[..head.len().next_multiple_of(16)]).map_err(|_| Refused)?;
    let user_id = text.get(2..end + 2).ok_or(Refused)?;
    let site = text.get(end + 3..head.len()).ok_or(Refused)?;
    Ok(LentKey { user_id, site, at, seq: seq? as u32 })
}

/// Appends `bytes`; whether some byte of them is forbidden. Those of 8 to 32 bytes go as four words, which overlap.
#[inline]
fn append_checked(bytes: &[u8], out: &mut Vec<u8>) -> bool {
    let len = bytes.len();
    if !(8..=BLOCK).contains(&len) {
        out.extend_from_slice(bytes);
        return holds_forbidden(bytes);
    }
    let end = out.len() + len;
    out.extend_from_slice(&[0; BLOCK]);
    let mut found = 0;
    if let Some(block) = out.last_chunk_mut::<BLOCK>() {
        for at in [0, 8, 16, 24] {
            let at = at.min(len - 8);
            let mut word = [0; 8];
            word.copy_from_slice(&bytes[at..at + 8]);
            found |= forbidden_in(word);
            block[at..at + 8].copy_from_slice(&word);
        }
    }
    out.truncate(end);
    found != 0
}

#[inline]
fn bucket(bytes: &[u8]) -> u8 {
    fingerprint64(bytes).cast_signed().rem_euclid(4) as u8
}

#[inline]
fn holds_forbidden(bytes: &[u8]) -> bool {
    let Some(last) = bytes.last_chunk::<8>() else {
        return bytes.iter().any(|byte| *byte <= DELIMITER);
    };
    bytes.as_chunks::<8>().0.iter().fold(forbidden_in(*last), |found, word| found | forbidden_in(*word)) != 0
}

/// The high bits of the bytes at or below the delimiter; exact up to the first of them.
#[inline]
fn forbidden_in(word: [u8; 8]) -> u64 {
    let word = u64::from_le_bytes(word);
    word.wrapping_sub(0x2424_2424_2424_2424) & !word & 0x8080_8080_8080_8080
}

/// Where the first forbidden byte is, most often in the first block.
#[inline]
fn find_forbidden(bytes: &[u8]) -> Option<usize> {
    let Some((block, rest)) = bytes.split_first_chunk::<BLOCK>() else {
        return bytes.iter().position(|byte| *byte <= DELIMITER);
    };
    let words = block.as_chunks::<8>().0.iter().rev();
    let found = words.fold(0_u32, |found, word| {
        let high_bits_side_by_side = (forbidden_in(*word) >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56;
        found << 8 | high_bits_side_by_side as u32
    });
    if found != 0 {
        return Some(found.trailing_zeros() as usize);
    }
    Some(BLOCK + rest.iter().position(|byte| *byte <= DELIMITER)?)
}

/// The digits of a number below 10^8, each in a lane of its own: 2 of 4 digits, 4 of 2, 8 of 1.
#[inline]
fn eight_digits(value: u64) -> [u8; 8] {
    let fours = ((value / 10_000) << 32) | (value % 10_000);
    let hundreds = ((fours * 10_486) >> 20) & 0x7f_0000_007f;
    let twos = (hundreds << 16) | (fours - 100 * hundreds);
    let tens = ((twos * 103) >> 10) & 0x000f_000f_000f_000f;
    ((tens << 8) | (twos - 10 * tens) | 0x3030_3030_3030_3030).to_be_bytes()
}

#[inline]
fn read_eight_digits(digits: [u8; 8]) -> Result<u64, Refused> {
    let word = u64::from_le_bytes(digits);
    let above = word.wrapping_add(0x4646_4646_4646_4646);
    let ones = word.wrapping_sub(0x3030_3030_3030_3030);
    if (above | ones) & 0x8080_8080_8080_8080 != 0 {
        return Err(Refused);
    }
    let twos = (ones * 10 + (ones >> 8)) & 0x00ff_00ff_00ff_00ff;
    let fours = (twos * 100 + (twos >> 16)) & 0x0000_ffff_0000_ffff;
    Ok((fours * 10_000 + (fours >> 32)) & 0xffff_ffff)
}
