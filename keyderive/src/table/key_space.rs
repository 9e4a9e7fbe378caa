//! The keys of a table that are not rows of its key type: that of the marker row.

use crate::key::KeyType;
use crate::plan::KeyRange;

/// The key of the marker row: the lowest row key.
pub(super) const MARKER_KEY: [u8; 1] = [0];
/// The next row key.
const AFTER_MARKER_KEY: [u8; 2] = [0, 0];

/// The ranges without the marker's key, unless that is a key of the key type.
pub(super) fn exclude_marker(key: KeyType, mut ranges: Vec<KeyRange>) -> Vec<KeyRange> {
    if ranges.iter().any(|range| range.contains(&MARKER_KEY)) && is_free(key) {
        let after = KeyRange::new(AFTER_MARKER_KEY, None);
        ranges = ranges.iter().map(|range| range.intersection(&after)).collect();
        ranges.retain(|range| !range.is_empty());
    }
    ranges
}

/// Whether the marker's key is not a key of the key type.
pub(super) fn is_free(key: KeyType) -> bool {
    key.check(&MARKER_KEY).is_err()
}
