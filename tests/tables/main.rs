//! Tables as programs use them, on the embedded Bigtable and on the emulator alike.

mod administration;
mod basics;
mod conditional;
mod handles;
mod layouts;
mod ordered;
mod promises;
mod rows;
mod salts;
mod scans;
mod servers;
mod splits;
mod vouching;
mod weather;
mod whole_rows;
mod writers;
