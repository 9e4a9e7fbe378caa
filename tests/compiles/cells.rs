//! Values of cells beside names that shadow those of the generated code.
#![deny(warnings)]
#![allow(dead_code)]

mod shadowed {
    pub struct Option;
    pub struct Result;
    pub struct Cell;
    #[allow(non_snake_case)]
    pub fn Ok() {}
    #[allow(non_snake_case)]
    pub fn Err() {}

    #[derive(keyderive::Cell)]
    pub enum Kind {
        Ok,
        Err,
        r#Type,
    }

    #[derive(keyderive::Cell)]
    #[row(code)]
    pub enum Level {
        Low = 1,
    }

    #[derive(keyderive::Cell)]
    pub struct Name(std::string::String);
}

#[deprecated]
#[derive(keyderive::Cell)]
struct Old(u64);

use keyderive::Cell as _;

pub(crate) fn main() {
    assert_eq!(shadowed::Kind::Ok.to_stored().unwrap(), b"Ok");
    let _ = (shadowed::Level::Low.to_stored(), shadowed::Name::decode(b"a"));
}
