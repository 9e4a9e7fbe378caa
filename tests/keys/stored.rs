//! Where the parts of a stored key are, and which requests ask for it: shared with the tests of all formats.

use std::ops::Range;

use keyderive::key::{Field, KeyEncoding, KeySchema, Salt, SaltHash, SaltPlace, Width};
use keyderive::plan::Request;

/// The salt of a key, by its time: what it stores for the field of the bounds, counted from the right.
pub(crate) fn salt_of<'s>(schema: &'s KeySchema, key: &[u8]) -> Option<&'s Salt> {
    if schema.epochs().is_empty() {
        return schema.salt();
    }
    let named = serde_json::to_value(schema).unwrap()["epochs"][0]["field"].clone();
    let at = schema.fields().iter().position(|field| named == field.name()).unwrap();
    let after = &schema.fields()[at + 1..];
    let stored = match schema.layout() {
        KeyEncoding::OrderedCode => {
            let parts: Vec<_> = separated(key);
            parts[parts.len() - 1 - after.len()].to_vec()
        }
        _ => {
            let end = key.len() - after.iter().map(|field| field.width().min() + 1).sum::<usize>();
            key[end - schema.fields()[at].width().min()..end].to_vec()
        }
    };
    let mut reached =
        schema.epochs().iter().filter(|epoch| match schema.fields()[at].order().is_reversed() {
            true => stored.as_slice() <= epoch.stored_since(),
            false => stored.as_slice() >= epoch.stored_since(),
        });
    reached.next_back().map_or(schema.salt(), |epoch| Some(epoch.salt()))
}

/// The parts of a key of the ordered layout.
fn separated(key: &[u8]) -> Vec<&[u8]> {
    let (mut parts, mut start, mut at) = (Vec::new(), 0, 0);
    while at < key.len() {
        match &key[at..] {
            [0, 1, ..] => {
                parts.push(&key[start..at]);
                (start, at) = (at + 2, at + 2);
            }
            [0, ..] => at += 2,
            _ => at += 1,
        }
    }
    parts.push(&key[start..]);
    parts
}

/// The byte range of the salt and its separator in a row key; empty without a salt, at its place.
pub(crate) fn salt_span(schema: &KeySchema, key: &[u8]) -> Range<usize> {
    let Some(salt) = salt_of(schema, key).or(schema.epochs().first().map(keyderive::key::Epoch::salt)) else {
        return 0..0;
    };
    let is_salted = salt_of(schema, key).is_some();
    if schema.layout() == KeyEncoding::OrderedCode {
        // The first part, or the second after a tag.
        let end_of =
            |start: usize| key[start..].windows(2).position(|pair| pair == [0, 1]).map(|at| start + at);
        let start = schema.tag().map_or(0, |_| end_of(0).map_or(key.len(), |end| end + 2));
        // With epochs a field follows, and keys without a salt begin with it.
        return match schema.epochs().is_empty() {
            true => start..end_of(start).unwrap_or(key.len()),
            false if is_salted => start..end_of(start).unwrap() + 2,
            false => start..start,
        };
    }
    let tag = schema.tag().map_or(0, |tag| tag.len() + 1);
    let start = match salt.place() {
        SaltPlace::Front => 0,
        SaltPlace::After { field } => schema.fields()[..=field].iter().fold(tag, |at, field| {
            let len = match field.width() {
                Width::Fixed(len) => len,
                _ => key[at..].iter().position(|byte| *byte == schema.delimiter()).unwrap(),
            };
            at + len + 1
        }),
        _ => tag,
    };
    if !is_salted {
        return start..start;
    }
    let digits = match salt.hash() {
        SaltHash::Java => 1 + key[start + 1..].iter().take_while(|byte| byte.is_ascii_digit()).count(),
        _ => salt.width(),
    };
    start..start + digits + salt.sep().map_or(1, str::len)
}

/// The key without its salt.
pub(crate) fn logical(schema: &KeySchema, key: &[u8]) -> Vec<u8> {
    let salt = salt_span(schema, key);
    [&key[..salt.start], &key[salt.end..]].concat()
}

/// What a key stores for each of its fields.
pub(crate) fn fields(schema: &KeySchema, key: &[u8]) -> Vec<Vec<u8>> {
    let count = schema.fields().len();
    if schema.layout() == KeyEncoding::OrderedCode {
        let head = usize::from(schema.tag().is_some()) + usize::from(salt_of(schema, key).is_some());
        let parts = separated(key).into_iter().skip(head).map(<[u8]>::to_vec);
        // Empty fields at the end are dropped.
        return parts.chain(std::iter::repeat_n(vec![0, 0], count)).take(count).collect();
    }
    let tag = schema.tag().map_or(0, |tag| tag.len() + 1);
    let (logical, mut at) = (logical(schema, key), tag);
    let mut next = |field: &Field| {
        let rest = &logical[at..];
        let len = match field.width() {
            Width::Fixed(len) => len,
            _ => rest.iter().position(|byte| *byte == schema.delimiter()).unwrap_or(rest.len()),
        };
        at += len + 1;
        rest[..len].to_vec()
    };
    schema.fields().iter().map(&mut next).collect()
}

/// Whether some request of a plan reads this row key.
pub(crate) fn asks_for(requests: &[Request], key: &[u8]) -> bool {
    let keys = requests.iter().flat_map(Request::keys).filter(|asked| *asked == key).count();
    let ranges = requests.iter().flat_map(Request::ranges).filter(|range| range.contains(key)).count();
    // No row is read twice.
    match keys + ranges {
        0 => false,
        1 => true,
        more => panic!("one row is asked for {more} times"),
    }
}
