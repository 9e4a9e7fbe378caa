//! Commands that change tables, run as programs against an embedded Bigtable on a port.

mod delete;
mod exchange;
mod hostile;
mod import;
mod server;
mod terminal;
