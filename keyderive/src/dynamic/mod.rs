//! Keys, rows and tables whose layout is data: for tools, which see a table without the structs of the program that wrote it.
//!
//! An application keeps to its types: the compiler checks them, and they are faster.

mod intern;
mod value;

pub(crate) use self::intern::{Interner, TooManyLayouts, leak_list, leak_text};
pub use self::value::Value;
