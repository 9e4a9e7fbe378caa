//! The shell, run as a program against an embedded Bigtable on a port.

#![allow(clippy::unwrap_used, clippy::panic, missing_docs, reason = "these are tests")]

mod hostile;
mod memory;
mod modes;
mod parquet;
mod server;
mod sessions;
mod terminal;
