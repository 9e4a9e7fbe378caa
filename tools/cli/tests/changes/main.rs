//! Commands that change tables, run as programs against an embedded Bigtable on a port.

mod apply;
mod copy;
mod delete;
mod exchange;
mod hostile;
mod import;
mod inputs;
mod layouts;
mod reads;
mod rekey;
mod server;
mod terminal;
mod wrong_data;
