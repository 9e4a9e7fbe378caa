/// Mine.
pub mod core {}
/// Mine.
pub mod std {}
/// Mine.
pub mod alloc {}
