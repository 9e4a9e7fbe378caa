//! No name of the standard library is in scope, and the names of the fields are keywords and names of the generated code.
#![no_implicit_prelude]
#![deny(warnings)]

#[derive(::keyderive::query::FromQueryRow)]
struct Count {
    r#type: ::std::option::Option<::std::string::String>,
    #[query(name = "n")]
    __row: i64,
}

pub(crate) fn main() {
    fn check<T: ::keyderive::query::FromQueryRow>() {}
    check::<Count>();
    let _ = |count: Count| (count.r#type, count.__row);
}
