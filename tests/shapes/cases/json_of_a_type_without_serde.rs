//! The error is on the type alone, and not on its first token too.
#![allow(missing_docs)]

#[derive(::keyderive::Row)]
pub struct Row {
    #[row(json)]
    pub faulty: /*<*/crate::support::Id/*>*/,
}

pub fn run() {}
