//! The error is on the name, and not on the documentation of the variant.
#![allow(missing_docs)]

#[derive(::keyderive::Cell)]
pub enum Kind {
    Login,
    /// Documented.
    #[row(name = /*<*/"Login"/*>*/)]
    Logout,
}

pub fn run() {}
