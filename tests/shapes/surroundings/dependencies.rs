/// Mine.
pub mod keyderive {}
/// Mine.
pub mod chrono {}
