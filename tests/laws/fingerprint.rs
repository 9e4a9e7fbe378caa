//! Law 5: the bucket is a function of the bytes, the same on every machine, and within its range.

use keyderive::key::{Layout, Salt, fingerprint64};
use keyderive_tests::shared;
use proptest::prelude::*;

use crate::keys::{Sample, check, for_every_key};

/// The figures of the compiled original, at lengths on both sides of each branch of the hash.
#[test]
fn fingerprints_are_those_of_the_original() {
    let Some(file) = shared::read("vectors/farm_fingerprint.json") else {
        return;
    };
    let file: serde_json::Value = serde_json::from_str(&file).unwrap();
    let vectors = file["vectors"].as_array().unwrap();
    assert_eq!(vectors.len(), 16);
    for vector in vectors {
        let input = unhex(vector["input_hex"].as_str().unwrap());
        assert_eq!(fingerprint64(&input).to_string(), vector["fingerprint64_u"], "{} bytes", input.len());
        for (range, figure) in [(4, "rem_euclid_4"), (10, "rem_euclid_10")] {
            assert_eq!(
                u64::from(Salt::new(range, &[]).bucket(&input)),
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
        prop_assert!(Salt::new(range, &[]).bucket(&bytes) < u32::from(range));
        Ok(())
    });
}

/// Fields outside `over` do not move a key to another bucket.
fn bucket_depends_on_salted_fields_only<K: Sample>() {
    let Some(salt) = K::SCHEMA.salt().filter(|_| K::SCHEMA.layout() == Layout::Delimited) else {
        return;
    };
    check((K::key(), K::key()), |(a, b)| {
        let (a, b) = (a.encode().unwrap(), b.encode().unwrap());
        let fields = |key: &[u8]| -> Option<Vec<Vec<u8>>> {
            let delimiter = K::SCHEMA.delimiter();
            let parts: Vec<_> = key.split(|byte| *byte == delimiter).map(<[u8]>::to_vec).collect();
            let head = usize::from(K::SCHEMA.tag().is_some()) + 1;
            // Signed numbers and padded text may hold the delimiter; such keys say nothing here.
            (parts.len() == head + K::SCHEMA.fields().len())
                .then(|| salt.over().iter().map(|at| parts[head + at].clone()).collect())
        };
        if let (Some(x), Some(y)) = (fields(&a), fields(&b)) {
            let bucket = |key: &[u8]| {
                let start = K::SCHEMA.tag().map_or(0, |tag| tag.len() + 1);
                key[start..start + salt.width()].to_vec()
            };
            let joined = x.join(&K::SCHEMA.delimiter());
            prop_assert_eq!(
                String::from_utf8(bucket(&a)).unwrap(),
                format!("{:0width$}", salt.bucket(&joined), width = salt.width())
            );
            if x == y {
                prop_assert_eq!(bucket(&a), bucket(&b));
            }
        }
        Ok(())
    });
}
for_every_key!(bucket_depends_on_salted_fields_only);
