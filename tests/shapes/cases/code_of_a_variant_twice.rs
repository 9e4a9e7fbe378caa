//! The compiler's own error is enough.
#![allow(missing_docs)]

#[derive(::keyderive::KeyField, Clone, Copy, Debug)]
/*<*/pub enum Kind/*>*/ {
    Created = 1,
    Deleted = 1,
}

#[derive(::keyderive::RowKey)]
pub struct Key {
    pub kind: Kind,
}

pub fn run() {
    let _ = Key::scan().kind(Kind::Created).into_plan();
}
