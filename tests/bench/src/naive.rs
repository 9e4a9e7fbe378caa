//! The key as services write it: `format!`, `split`, `parse`, and no checks.

use keyderive::key::fingerprint64;

use crate::{EventKey, LentKey};

/// The key in a new `String`.
#[must_use]
pub fn encode(key: &EventKey) -> String {
    let EventKey { user_id, site, at, seq } = key;
    let bucket = fingerprint64(format!("{user_id}#{site}").as_bytes()).cast_signed().rem_euclid(4);
    format!("{bucket}#{user_id}#{site}#{:019}#{seq:06}", i64::MAX as u64 - at)
}

/// Reads the key without checking the bucket.
#[must_use]
pub fn decode(key: &[u8]) -> Option<LentKey<'_>> {
    let mut parts = str::from_utf8(key).ok()?.split('#').skip(1);
    Some(LentKey {
        user_id: parts.next()?,
        site: parts.next()?,
        at: i64::MAX as u64 - parts.next()?.parse::<u64>().ok()?,
        seq: parts.next()?.parse().ok()?,
    })
}
