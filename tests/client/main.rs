//! The client against a scripted server: what it sends, when, and what its caller sees.
//!
//! Each file holds one part of the client's behaviour. Most tests connect by pipes inside the process and pause the
//! clock, so that hours pass at once and every backoff is exact; tests about connections use sockets.

mod background;
mod close;
mod cloud;
mod conditional;
mod connections;
mod contact;
mod cookies;
mod costs;
mod deadlines;
mod expiry;
mod frames;
mod headers;
mod heat;
mod hostile;
mod merge;
mod overload;
mod pool;
mod portions;
mod proxy;
mod queries;
mod redacted;
mod resume;
mod retry;
mod scans_at_close;
mod streams;
mod support;
mod tokens;
mod turns;
mod unknown;
mod waiting;
mod whole_rows;
mod writes;
