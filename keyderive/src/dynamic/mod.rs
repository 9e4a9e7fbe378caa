//! Keys, rows and tables whose layout is data: for tools, which see a table without the structs of the program that wrote it.
//!
//! An application keeps to its types: the compiler checks them, and they are faster.

mod key;
mod scan;
mod value;

pub use self::key::{DynKey, KeyLayout};
pub use self::scan::DynScan;
pub use self::value::Value;
