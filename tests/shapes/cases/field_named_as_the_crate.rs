//! A field may have the name of the crate, beside a module of that name.

/// Mine.
pub mod keyderive {}

/// A key.
#[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
pub struct Key {
    /// A field.
    pub keyderive: u32,
    /// A field.
    pub core: u32,
}

/// Runs.
pub fn run() {
    let key = Key { keyderive: 1, core: 2 };
    assert_eq!(Key::decode(&key.encode().unwrap()).unwrap(), key);
}
