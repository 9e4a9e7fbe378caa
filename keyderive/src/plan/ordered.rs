//! Where the rows of a plan lie in the ordered layout.
//!
//! Empty fields at the end of a key are dropped, so the rows of a fixed prefix begin at the key that has only the
//! prefix, and end after everything that goes on with a separator.

use super::fixed::{FixedFields, Rows};
use super::range::prefix_end;
use crate::key::ordered::{BEHIND, EMPTY, SEPARATOR, escaped};
use crate::key::{Cut, EncodeError, check_len, ordered_end};

/// The most bytes that a bucket is written in: a number of two, the second of which may be escaped.
const BUCKET_LEN: usize = 3;

/// Fails where the key that has only the fixed fields is too long.
pub(super) fn check(fixed: &FixedFields, bucket: Option<i32>) -> Result<(), EncodeError> {
    let mut head = Vec::new();
    fixed.schema.write_head(bucket, &[], &mut head);
    check_len(fixed.schema, (head.len() + canonical(fixed).len()).max(1))
}

/// At most how long the key is that has only the fixed fields, whatever its bucket, with none of them dropped.
pub(super) fn bound(fixed: &FixedFields) -> usize {
    let mut head = Vec::new();
    fixed.schema.write_head(None, &[], &mut head);
    let bucket = if fixed.buckets().known().is_some() { BUCKET_LEN } else { 0 };
    head.len() + bucket + lead(fixed).len() + fixed.bytes.len()
}

/// The rows between two cuts of the next field, or of all that the fixed fields leave open.
pub(super) fn rows(fixed: &FixedFields, cuts: Option<&(Cut, Cut)>) -> Rows {
    if fixed.spans.len() == fixed.schema.fields().len() {
        return Rows::Key(canonical(fixed));
    }
    let (start, end) = cuts.map_or((&Cut::First, &Cut::Last), |(start, end)| (start, end));
    match (place(fixed, start), place(fixed, end)) {
        (None, _) => Rows::None,
        (Some(start), Some(end)) if end <= start => Rows::None,
        (Some(start), end) => Rows::Range { start, end },
    }
}

fn is_headed(fixed: &FixedFields) -> bool {
    fixed.schema.tag().is_some() || fixed.schema.salt().is_some()
}

/// What leads from the head to the first field.
fn lead(fixed: &FixedFields) -> &'static [u8] {
    if is_headed(fixed) { &SEPARATOR } else { &[] }
}

/// The key that has the fixed fields and then only empty ones.
fn canonical(fixed: &FixedFields) -> Vec<u8> {
    match ordered_end(&fixed.bytes, &fixed.spans) {
        Some(end) => [lead(fixed), &fixed.bytes[..end]].concat(),
        None if is_headed(fixed) || fixed.spans.is_empty() => Vec::new(),
        None => EMPTY.to_vec(),
    }
}

/// Behind every key with the fixed fields; none for the end of the table.
fn after(fixed: &FixedFields) -> Option<Vec<u8>> {
    match fixed.spans.last() {
        Some(last) => Some([lead(fixed), &fixed.bytes[..last.end], &BEHIND].concat()),
        None => is_headed(fixed).then(|| BEHIND.to_vec()),
    }
}

fn place(fixed: &FixedFields, cut: &Cut) -> Option<Vec<u8>> {
    let part = |raw: &[u8]| [lead(fixed), &fixed.bytes, &escaped(raw)].concat();
    match cut {
        Cut::First => Some(canonical(fixed)),
        // Rows whose next field is empty begin at the key that ends before it.
        Cut::Before(raw) if raw.is_empty() => Some(canonical(fixed)),
        Cut::Before(raw) => Some(part(raw)),
        Cut::After(raw) => Some([part(raw), BEHIND.to_vec()].concat()),
        Cut::AfterPrefix(raw) if !raw.is_empty() => prefix_end(&part(raw)),
        Cut::AfterPrefix(_) | Cut::Last => after(fixed),
    }
}
