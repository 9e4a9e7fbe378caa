//! The command, run as a program against an embedded Bigtable on a port.

mod heat;
mod hostile;
mod instances;
mod program;
mod sessions;
mod tables;
