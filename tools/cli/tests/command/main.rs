//! The command, run as a program against an embedded Bigtable on a port.

#![allow(clippy::unwrap_used, clippy::panic, reason = "these are tests")]

mod heat;
mod hostile;
mod instances;
mod program;
mod sessions;
mod tables;
