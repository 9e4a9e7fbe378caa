//! What a scan is: constraints, ranges, buckets, explain. No I/O.

mod range;

pub use range::KeyRange;
