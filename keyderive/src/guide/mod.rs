//! The manual, a page for each task. It has no code of its own.
//!
//! | page | what it answers |
//! |---|---|
//! | [`choosing`] | which fields a key has, in which order, and what to do about a hotspot |
//! | [`attributes`] | what each attribute writes, on which types, and what it refuses |
//! | [`scans`] | how rows are selected, ordered, limited and paged, and what `explain()` says |
//! | [`tables`] | how a table is created, compared with its key type, and changed |
//! | [`rows`] | how rows are written, changed and read |
//! | [`promises`] | what holds of each write beside others, after a lost answer, dropped, killed, beside an older program |
//! | [`loading`] | how many rows are loaded and exported |
//! | [`errors`] | what each predicate tells, and what to do then |
//! | [`limits`] | what is refused, what is advised against, and what is left out |
//! | [`deployment`] | how a program gets to an emulator and to the cloud, and what to check there first |
//!
//! Beside it: [`designs`](crate::designs) has the schema designs of Google's guides as key types,
//! [`key::codec`](crate::key::codec) is the page of the key format, for programs in other languages, and
//! [`row`](crate::row) says how values are stored in cells. The `examples` of the repository are whole programs.

pub mod attributes;
pub mod choosing;
pub mod deployment;
pub mod errors;
pub mod limits;
pub mod loading;
pub mod promises;
pub mod rows;
pub mod scans;
pub mod tables;
