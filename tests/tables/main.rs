//! Calls of `Table`, on the embedded Bigtable and on the emulator alike: single rows, scans, administration, bulk
//! loads.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "these are tests"
)]

mod administration;
mod basics;
mod conditional;
mod conditions;
mod copy;
mod declared_tables;
mod distinct;
mod dynamic;
mod epochs;
mod expired;
mod flat;
mod flights;
mod granularity;
mod handles;
mod heat;
mod layout_file;
mod layouts;
mod load;
mod ordered;
mod promises;
mod recorded;
mod registry;
mod rows;
mod salts;
mod scans;
mod servers;
mod sizes;
mod splits;
mod stamps;
mod table_changes;
mod weather;
mod whole_rows;
mod writers;
