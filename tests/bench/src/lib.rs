//! What keyderive costs: keys, scans and writes beside their peers and floors, latencies under load, and compile time. Each program says
//! at its beginning what it measures and how it is called; `hot-paths` measures the most, and `ratchet` holds its instructions.

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
pub mod peers;
pub mod program;
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

impl LentKey<'_> {
    #[inline]
    pub fn to_owned(&self) -> EventKey {
        let Self { user_id, site, at, seq } = *self;
        EventKey { user_id: user_id.to_owned(), site: site.to_owned(), at, seq }
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
