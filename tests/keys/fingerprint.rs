//! Law 5: the bucket is a function of the bytes, the same on every machine, and within its range.

use keyderive::key::{KeyEncoding, Salt, SaltHash, fingerprint64};
use proptest::prelude::*;

use crate::keys::{Sample, check, for_every_key};
use crate::stored::{logical, salt_span};

/// Hashes by the compiled original, at lengths on both sides of each branch.
const FIGURES: &str = include_str!("../figures/farm_fingerprint.json");

#[test]
fn fingerprints_are_those_of_the_original() {
    let file: serde_json::Value = serde_json::from_str(FIGURES).unwrap();
    let vectors = file["vectors"].as_array().unwrap();
    assert_eq!(vectors.len(), 16);
    for vector in vectors {
        let input = unhex(vector["input_hex"].as_str().unwrap());
        assert_eq!(fingerprint64(&input).to_string(), vector["fingerprint64_u"], "{} bytes", input.len());
        for (range, figure) in [(4, "rem_euclid_4"), (10, "rem_euclid_10")] {
            assert_eq!(
                i64::from(Salt::new(range, &[]).bucket(&input)),
                vector[figure],
                "{} bytes",
                input.len()
            );
        }
    }
}

fn unhex(text: &str) -> Vec<u8> {
    let digits = |at: usize| u8::from_str_radix(&text[at..at + 2], 16).unwrap();
    (0..text.len()).step_by(2).map(digits).collect()
}

#[test]
fn every_bucket_is_in_range() {
    check((2..=4096_u16, any::<Vec<u8>>()), |(range, bytes)| {
        for hash in [SaltHash::Farm, SaltHash::Java] {
            let salt = Salt::new(range, &[]).with_hash(hash);
            prop_assert!(salt.buckets().contains(&salt.bucket(&bytes)));
        }
        Ok(())
    });
}

/// Fields outside `over` do not move a key to another bucket.
fn bucket_depends_on_salted_fields_only<K: Sample>() {
    // The salts of keys with epochs differ.
    let is_text = K::SCHEMA.layout() == KeyEncoding::Delimited && K::SCHEMA.epochs().is_empty();
    let Some(salt) = K::SCHEMA.salt().filter(|_| is_text) else {
        return;
    };
    check((K::key(), K::key()), |(a, b)| {
        let (a, b) = (a.encode().unwrap(), b.encode().unwrap());
        let delimiter = K::SCHEMA.delimiter();
        let hashed = |key: &[u8]| -> Option<Vec<u8>> {
            let logical = logical(K::SCHEMA, key);
            if salt.hash() == SaltHash::Java {
                return Some(logical);
            }
            let parts: Vec<_> = logical.split(|byte| *byte == delimiter).collect();
            let head = usize::from(K::SCHEMA.tag().is_some());
            let salted: Vec<_> = salt.over().iter().filter_map(|at| parts.get(head + at).copied()).collect();
            // Signed numbers and padded text may hold the delimiter; such keys are skipped.
            (parts.len() == head + K::SCHEMA.fields().len()).then(|| salted.join(&delimiter))
        };
        let end = salt.sep().map_or(1, str::len);
        let written = |key: &[u8]| {
            let span = salt_span(K::SCHEMA, key);
            String::from_utf8(key[span.start..span.end - end].to_vec()).unwrap()
        };
        if let (Some(x), Some(y)) = (hashed(&a), hashed(&b)) {
            let width = if salt.hash() == SaltHash::Java { 0 } else { salt.width() };
            prop_assert_eq!(written(&a), format!("{:0width$}", salt.bucket(&x)));
            if x == y {
                prop_assert_eq!(written(&a), written(&b));
            }
        }
        Ok(())
    });
}
for_every_key!(bucket_depends_on_salted_fields_only);
