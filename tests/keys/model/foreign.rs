//! Foreign rows: rows in the table that do not decode as the key type.

use fastrand::Rng;
use keyderive::RowKey;
use keyderive::key::{DecodeError, EncodeError, KeyEncoding, KeySchema, OwnedRowKey};
use keyderive::plan::{Draft, Plan};

use crate::keys::Sample;

/// A row key of any bytes, to read a table without its key type.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct AnyBytes(pub(crate) Vec<u8>);

/// The schema of `AnyBytes`, without tag and salt.
#[derive(RowKey)]
struct OneField {
    name: String,
}

impl RowKey for AnyBytes {
    type Decoded<'a> = Self;
    type Scan = Plan<Self>;

    const SCHEMA: &'static KeySchema = OneField::SCHEMA;

    fn encode_into(&self, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        out.extend_from_slice(&self.0);
        Ok(())
    }

    fn decode(key: &[u8]) -> Result<Self, DecodeError> {
        Ok(Self(key.to_vec()))
    }

    fn scan() -> Plan<Self> {
        Plan::from_draft(Draft::new(Self::SCHEMA)).unwrap()
    }
}

impl OwnedRowKey for AnyBytes {}

/// Tags of other key types: before this one, after it, and with a common prefix.
const OTHER_TAGS: [&str; 4] = ["A", "Z", "~", ""];

/// Row keys that do not decode as the key type, most of them one byte away from one that does.
pub(crate) fn random<K: Sample>(rng: &mut Rng, keys: &[K]) -> Vec<Vec<u8>> {
    let stray = |rng: &mut Rng| {
        let random = K::random(rng);
        let near = if keys.is_empty() { &random } else { &keys[rng.usize(..keys.len())] };
        stray(rng, near.encode().unwrap(), K::SCHEMA.tag())
    };
    let mut strays: Vec<_> = (0..rng.usize(..6)).map(|_| stray(rng)).collect();
    strays.sort();
    strays.dedup();
    strays.retain(|key| (1..=4096).contains(&key.len()) && K::decode(key).is_err());
    strays
}

fn stray(rng: &mut Rng, mut key: Vec<u8>, tag: Option<&str>) -> Vec<u8> {
    let at = rng.usize(..key.len());
    match rng.u8(..8) {
        // In the salt, or in the first field.
        0 | 1 => key[at.min(1)] = rng.u8(b'0'..=b'9'),
        2 => key[at] = rng.u8(..),
        3 => key.truncate(at),
        4 => key.insert(at, *b"\0#-/0a\xff".get(rng.usize(..7)).unwrap()),
        5 => key.extend_from_slice(b"#more"),
        6 => key = (0..rng.usize(1..4)).map(|_| rng.u8(..)).collect(),
        _ => return tag.map_or(key.clone(), |tag| retagged(rng, &key, tag)),
    }
    key
}

/// The key with another tag.
fn retagged(rng: &mut Rng, key: &[u8], tag: &str) -> Vec<u8> {
    let other = match rng.u8(..6) {
        0 => format!("{tag}S"),
        1 => tag[..tag.len() - 1].to_owned(),
        at => OTHER_TAGS[usize::from(at) - 2].to_owned(),
    };
    let at = key.windows(tag.len()).position(|bytes| bytes == tag.as_bytes()).unwrap();
    [&key[..at], other.as_bytes(), &key[at + tag.len()..]].concat()
}

/// Whether the row has another tag, so that a scan of this one does not read it.
pub(crate) fn is_of_other_tag<K: Sample>(key: &[u8]) -> bool {
    let Some(tag) = K::SCHEMA.tag().map(str::as_bytes) else { return false };
    if K::SCHEMA.layout() == KeyEncoding::OrderedCode {
        // After the tag the key ends, or a separator follows; `00 ff` is a zero byte of a longer tag.
        return match key.strip_prefix(tag) {
            Some([] | [0]) => false,
            Some([0, next, ..]) => *next == 0xff,
            _ => true,
        };
    }
    let tag = [tag, &[K::SCHEMA.delimiter()]].concat();
    !key.windows(tag.len()).any(|bytes| bytes == tag)
}
