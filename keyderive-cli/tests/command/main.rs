//! The command, run as a program against an embedded Bigtable on a port.

mod hostile;
mod program;
mod sessions;
mod tables;
