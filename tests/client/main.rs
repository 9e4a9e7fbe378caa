//! The client before a server that does what a test says: what it sends, when, and what its caller sees.
//!
//! A file for each part of the client's behaviour. Most tests connect by pipes inside the process and pause the
//! clock, so that hours pass in no time and every pause is exact; those about connections use sockets.

mod background;
mod channels;
mod close;
mod conditional;
mod connections;
mod contact;
mod cookies;
mod deadlines;
mod expiry;
mod headers;
mod hostile;
mod merge;
mod portions;
mod proxy;
mod redacted;
mod resume;
mod retry;
mod scans_at_close;
mod support;
mod unknown;
mod whole_rows;
mod writes;
