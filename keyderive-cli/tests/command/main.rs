//! The command, run as a program against an embedded Bigtable on a port.

mod tables;
mod trial;
