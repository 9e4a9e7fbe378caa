//! The stub of a key with a fault does not make the compiler say that its lifetime is used once.
#![allow(missing_docs)]

#[derive(::keyderive::RowKey)]
pub struct Key<'a> {
    pub user: &'a str,
    #[row_key(/*<*/descc/*>*/)]
    pub faulty: u32,
}

pub fn run() {}
