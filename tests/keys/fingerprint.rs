//! Law 5: the bucket is a function of the bytes, the same on every machine, and within its range.

use fastrand::Rng;
use keyderive::key::{Salt, SaltHash, fingerprint64};

use crate::unhex;

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

#[test]
fn every_bucket_is_in_range() {
    let mut rng = Rng::new();
    for range in 2..=4096 {
        let bytes: Vec<u8> = (0..rng.usize(..64)).map(|_| rng.u8(..)).collect();
        for hash in [SaltHash::Farm, SaltHash::Java] {
            let salt = Salt::new(range, &[]).with_hash(hash);
            assert!(salt.buckets().contains(&salt.bucket(&bytes)), "{range} {hash:?} {bytes:?}");
        }
    }
}
