//! The bounds of the runtime's functions are not reported too.
#![allow(missing_docs)]

#[derive(::keyderive::Row)]
pub struct Row {
    #[row(family)]
    pub faulty: Option<::std::collections::BTreeMap</*<*/Vec<String>/*>*/, u8>>,
}

pub fn run() {}
