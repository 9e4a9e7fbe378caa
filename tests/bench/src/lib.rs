//! What keyderive costs: keys beside other encoders, plans, scans, and compile time.
//!
//! - `cargo bench -p keyderive-bench` prints time and allocations for each key, encoded and decoded by keyderive, by
//!   hand, and by other encoders; and for plans.
//! - `cargo run --release -p keyderive-bench --bin scans` prints rows per second and memory for scans of the embedded
//!   Bigtable over 1 to 64 buckets, and for the same rows unsalted.
//! - `cargo run --release -p keyderive-bench --bin hot-paths` prints processor time and allocations per row of scans,
//!   ordered merges and bulk writes over a connection, and per key, with their peers, floors and targets
//!   ([`hot_paths`]).
//! - `cargo run --release -p keyderive-bench --bin embedded` prints reads, writes and scanned rows per second of the
//!   embedded Bigtable and of Google's emulator, and the memory of 10,000,000 rows.
//! - `cargo run --release -p keyderive-bench --bin serving` prints latencies of reads and writes of one row at a fixed rate,
//!   with slow, failing and absent servers ([`serving`]).
//! - `cargo run --release -p keyderive-bench --bin clients` prints processor time per row of scans and bulk writes, beside
//!   Google's clients for Go, Java and Python, which it installs.
//! - `cargo run --release -p keyderive-bench --bin copies` prints rows per second and processor time of copies to another key
//!   type, beside loops over cells without types.
//! - `cargo run -p keyderive-bench --bin compile-cost` prints what the derive adds to `cargo check`.

#![allow(
    missing_docs,
    clippy::must_use_candidate,
    clippy::missing_panics_doc,
    reason = "only the programs beside it call this"
)]

pub mod allocations;
pub mod hand;
pub mod hot_paths;
pub mod meter;
pub mod naive;
pub mod peers;
pub mod serving;

use fastrand::Rng;
use keyderive::RowKey;

/// The key of the manual.
#[derive(RowKey, Clone, Debug, PartialEq)]
#[salt(range = 4, over = "user_id,site")]
pub struct EventKey {
    pub user_id: String,
    pub site: String,
    #[reverse_ts]
    pub at: u64,
    #[pad(6)]
    pub seq: u32,
}

/// The same key with its strings borrowed: the same bytes.
#[derive(RowKey, Clone, Debug, PartialEq)]
#[salt(range = 4, over = "user_id,site")]
pub struct LentKey<'a> {
    pub user_id: &'a str,
    pub site: &'a str,
    #[reverse_ts]
    pub at: u64,
    #[pad(6)]
    pub seq: u32,
}

impl EventKey {
    pub fn lend(&self) -> LentKey<'_> {
        LentKey { user_id: &self.user_id, site: &self.site, at: self.at, seq: self.seq }
    }
}

/// Keys of varied lengths, the same in each run; 1 string in 16 is not ASCII.
pub fn keys(count: usize) -> Vec<EventKey> {
    let mut rng = Rng::with_seed(0x6b65_7973);
    let key = |_| EventKey {
        user_id: name(&mut rng, 3, 24),
        site: name(&mut rng, 2, 40),
        at: rng.u64(1_262_304_000_000..1_893_456_000_000),
        seq: rng.u32(..1_000_000),
    };
    (0..count).map(key).collect()
}

fn name(rng: &mut Rng, shortest: usize, longest: usize) -> String {
    let alphabet: &[char] =
        if rng.u8(..16) == 0 { &['é', 'ñ', 'z', '語'] } else { &['a', 'k', '-', '.', '7', 'Z'] };
    (0..rng.usize(shortest..=longest)).map(|_| *rng.choice(alphabet).unwrap_or(&'a')).collect()
}
