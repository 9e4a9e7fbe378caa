//! Salts from a date on, by themselves: for small key types, all keys of small alphabets.
//!
//! - No two keys have the same bytes, whatever their epochs.
//! - The epoch is read off the right end, before anything else is known.
//! - No key begins with what the buckets of another epoch begin with, unless both write buckets of as many digits with the
//!   same separator: then one stream reads both.

use std::collections::HashMap;

/// What a part of a key can hold.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Part {
    /// No byte at or below the delimiter.
    Text,
    /// So many digits.
    Digits(usize),
    /// So many bytes, of which some are below the delimiter.
    Padded(usize),
}

/// The digits of a bucket, and what stands behind it.
pub(crate) type Salt = Option<(usize, u8, &'static str)>;

#[derive(Clone, Debug)]
pub(crate) struct KeyType {
    /// In front of the time, and behind it.
    pub(crate) front: Vec<Part>,
    pub(crate) tail: Vec<Part>,
    /// The salts before and since the time `1`, and since the time `2`.
    pub(crate) salts: [Salt; 3],
}

const DELIMITER: &str = "#";

fn values(part: Part) -> Vec<String> {
    let all = |alphabet: &str, len: usize| {
        (0..len).fold(vec![String::new()], |words, _| {
            words.iter().flat_map(|word| alphabet.chars().map(move |c| format!("{word}{c}"))).collect()
        })
    };
    match part {
        Part::Text => (0..4).flat_map(|len| all("01a", len)).collect(),
        Part::Digits(width) => all("01", width),
        Part::Padded(width) => all("01!#", width),
    }
}

fn products(parts: &[Part]) -> Vec<Vec<String>> {
    parts.iter().fold(vec![vec![]], |rows, part| {
        let values = values(*part);
        rows.iter()
            .flat_map(|row| values.iter().map(move |value| [&row[..], std::slice::from_ref(value)].concat()))
            .collect()
    })
}

impl KeyType {
    fn head(salt: Salt, bucket: usize) -> String {
        salt.map_or(String::new(), |(digits, _, sep)| format!("{bucket:0digits$}{sep}"))
    }

    /// The faults that there are.
    pub(crate) fn faults(&self) -> Vec<&'static str> {
        let mut faults = vec![];
        let mut keys = HashMap::new();
        let tail_len = self
            .tail
            .iter()
            .map(|part| if let Part::Digits(n) | Part::Padded(n) = part { n + 1 } else { 1 })
            .sum::<usize>();
        for front in products(&self.front) {
            for tail in products(&self.tail) {
                for time in 0..3 {
                    let salt = self.salts[time];
                    let bucket = salt.map_or(0, |(_, range, _)| {
                        front[0].bytes().map(usize::from).sum::<usize>() % usize::from(range)
                    });
                    let fields: Vec<_> =
                        front.iter().cloned().chain([time.to_string()]).chain(tail.iter().cloned()).collect();
                    let key = Self::head(salt, bucket) + &fields.join(DELIMITER);
                    let from_right = key
                        .len()
                        .checked_sub(tail_len + 1)
                        .and_then(|at| key.as_bytes().get(at))
                        .map(|byte| usize::from(byte.wrapping_sub(b'0')));
                    if from_right != Some(time) {
                        faults.push("the epoch is not read off the right end");
                    }
                    for other in self.salts.into_iter().filter(|other| *other != salt) {
                        let Some((digits, range, sep)) = other else { continue };
                        let is_shared = matches!(salt, Some((d, _, s)) if (d, s) == (digits, sep));
                        let begins =
                            (0..usize::from(range)).any(|bucket| key.starts_with(&Self::head(other, bucket)));
                        if begins && !is_shared {
                            faults.push("a key lies in a bucket of another epoch");
                        }
                    }
                    if keys.insert(key, fields).is_some() {
                        faults.push("two keys have the same bytes");
                    }
                }
            }
        }
        faults.sort();
        faults.dedup();
        faults
    }
}
