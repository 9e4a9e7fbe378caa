//! Time and allocations for a plan, from the builder to the requests.

use std::hint::black_box;

use divan::AllocProfiler;
use keyderive::plan::Plan;
use keyderive_bench::EventKey;

#[global_allocator]
static ALLOC: AllocProfiler = AllocProfiler::system();

fn main() {
    divan::main();
}

/// The salted fields are fixed, so one bucket is known.
fn one_bucket() -> Plan<EventKey> {
    EventKey::scan().user_id(black_box("alice")).site(black_box("home")).into_plan().unwrap()
}

/// A salted field is open, so all 4 buckets are read.
fn four_buckets() -> Plan<EventKey> {
    EventKey::scan().user_id(black_box("alice")).into_plan().unwrap()
}

#[divan::bench(sample_size = 1000)]
fn fixed_prefix_in_one_bucket() -> Plan<EventKey> {
    one_bucket()
}

#[divan::bench(sample_size = 1000)]
fn fixed_prefix_in_one_bucket_with_requests() -> usize {
    black_box(one_bucket().requests()).len()
}

#[divan::bench(sample_size = 1000)]
fn fixed_prefix_in_4_buckets() -> Plan<EventKey> {
    four_buckets()
}

#[divan::bench(sample_size = 1000)]
fn fixed_prefix_in_4_buckets_with_requests() -> usize {
    black_box(four_buckets().requests()).len()
}
