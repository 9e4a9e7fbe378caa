//! The command `keyderive serve`, driven by Google's clients, if installed, and by requests that no client sends.

#![allow(clippy::unwrap_used, clippy::panic, reason = "these are tests")]

mod broken;
mod cbt;
mod clients;
mod command;
mod peers;
mod queries;
mod rows;
mod served;
