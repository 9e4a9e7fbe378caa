//! The error is on the whole of a type of several tokens, and there alone.
#![allow(missing_docs)]

#[derive(::keyderive::Row)]
pub struct Row {
    pub id: u8,
    pub faulty: Option</*<*/Vec<String>/*>*/>,
}

pub fn run() {}
