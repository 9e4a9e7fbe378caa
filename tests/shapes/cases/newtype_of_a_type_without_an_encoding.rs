//! The error is at the declaration of the newtype, and not at its uses too.
#![allow(missing_docs)]

#[derive(::keyderive::Cell)]
pub struct Own(pub /*<*/crate::support::Id/*>*/);

#[derive(::keyderive::Row)]
pub struct Row {
    pub one: Own,
    pub other: Option<Own>,
}

pub fn run() {}
