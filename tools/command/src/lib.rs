//! What the commands `keyderive` and `keyderive-sql` have in common: which Bigtable and which layouts they are about, how they read, print,
//! ask and end.

#![warn(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout, clippy::print_stderr)]
#![allow(
    clippy::missing_errors_doc,
    reason = "a failure of a command says itself what is wrong and what to do"
)]
#![allow(clippy::must_use_candidate, clippy::new_without_default, reason = "only the two commands call this")]

pub mod arguments;
pub mod confirm;
pub mod exit;
pub mod input;
pub mod instance;
pub mod layout;
pub mod output;
