//! How far a scan has been constrained: the type parameter of the derived scan builders.

/// The first `N` fields are fixed; the next one can be fixed, ranged over or given a prefix.
#[derive(Clone, Copy, Debug)]
pub enum Fixed<const N: usize> {}

/// A range or a prefix has ended the scan: nothing right of it can be constrained.
#[derive(Clone, Copy, Debug)]
pub enum Ended {}
