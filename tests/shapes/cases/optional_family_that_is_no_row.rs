//! The error is on the type alone, and not on the derive too.
#![allow(missing_docs)]

#[derive(::keyderive::Row)]
pub struct Row {
    #[row(family)]
    pub faulty: Option</*<*/crate::support::Id/*>*/>,
}

pub fn run() {}
