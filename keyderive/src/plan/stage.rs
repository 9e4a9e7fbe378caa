//! How far a scan has been constrained: the type parameter of the derived scan builders.
//!
//! What is said of a call out of order stands here and not in what the derive prints, since `#[diagnostic::…]` cannot
//! be named in a module with `#![no_implicit_prelude]`. Names reach the words as types: the derive declares one of the
//! name of each field.

/// The first `N` fields are fixed; the next one can be fixed, ranged over or given a prefix.
#[derive(Clone, Copy, Debug)]
pub enum Fixed<const N: usize> {}

/// A range or a prefix has ended the scan: nothing right of it can be constrained.
#[derive(Clone, Copy, Debug)]
pub enum Ended {}

/// What the derive declares of a field, on the type of its name: it is next where `N` fields are fixed.
pub trait NextAt<const N: usize> {
    /// The format it is stored in.
    type Codec;
}

/// The stages at which `F`, the first field of the key `K`, can be constrained.
#[diagnostic::on_unimplemented(
    message = "`{F}` of `{K}` cannot be constrained here, out of order or after a range or a prefix",
    label = "`{F}` comes first, once: write `{K}::scan()`, then `{F}`",
    note = "the fields of `{K}` are constrained from the left, each once; nothing comes after a range or a prefix"
)]
pub trait IsFirst<K, F> {
    /// The format of the field: by way of the stage, so that one without ranges is an error where it is called for.
    type Codec;
}

/// The stages at which `F`, after the field `A` of the key `K`, can be constrained.
#[diagnostic::on_unimplemented(
    message = "`{F}` of `{K}` cannot be constrained here, out of order or after a range or a prefix",
    label = "`{A}` is fixed first: write `{K}::scan()`, then `{A}`, then `{F}`",
    note = "the fields of `{K}` are constrained from the left, each once; nothing comes after a range or a prefix"
)]
pub trait IsSecond<K, A, F> {
    /// As that of [`IsFirst`].
    type Codec;
}

/// The stages at which `F`, after the fields `A` and `B` of the key `K`, can be constrained.
#[diagnostic::on_unimplemented(
    message = "`{F}` of `{K}` cannot be constrained here, out of order or after a range or a prefix",
    label = "`{A}` and `{B}` are fixed first: write `{K}::scan()`, then `{A}`, then `{B}`, then `{F}`",
    note = "the fields of `{K}` are constrained from the left, each once; nothing comes after a range or a prefix"
)]
pub trait IsThird<K, A, B, F> {
    /// As that of [`IsFirst`].
    type Codec;
}

/// The stages at which `F`, after all fields of the tuple `Before`, can be constrained.
#[diagnostic::on_unimplemented(
    message = "`{F}` of `{K}` cannot be constrained here, out of order or after a range or a prefix",
    label = "`{Before}` are fixed first, in this order: write `{K}::scan()`, then each of them, then `{F}`",
    note = "the fields of `{K}` are constrained from the left, each once; nothing comes after a range or a prefix"
)]
pub trait IsBehind<K, Before, F> {
    /// As that of [`IsFirst`].
    type Codec;
}

#[diagnostic::do_not_recommend]
impl<K, F: NextAt<N>, const N: usize> IsFirst<K, F> for Fixed<N> {
    type Codec = F::Codec;
}

#[diagnostic::do_not_recommend]
impl<K, A, F: NextAt<N>, const N: usize> IsSecond<K, A, F> for Fixed<N> {
    type Codec = F::Codec;
}

#[diagnostic::do_not_recommend]
impl<K, A, B, F: NextAt<N>, const N: usize> IsThird<K, A, B, F> for Fixed<N> {
    type Codec = F::Codec;
}

#[diagnostic::do_not_recommend]
impl<K, Before, F: NextAt<N>, const N: usize> IsBehind<K, Before, F> for Fixed<N> {
    type Codec = F::Codec;
}

/// What the derive declares of a hashed field, on the type of its name: a scan can end where `N` fields are fixed.
pub trait EndsAt<const N: usize> {}

/// The stages at which a plan can be made of a scan of `K`, whose field `F` is stored as a hash: after one, only whole
/// keys can be looked up.
#[diagnostic::on_unimplemented(
    message = "a scan of `{K}` cannot end between its hashed field `{F}` and its last field",
    label = "fix every field, for a point read, or none from the hashed one on"
)]
pub trait CanPlan<K, F> {}

#[diagnostic::do_not_recommend]
impl<K, F: EndsAt<N>, const N: usize> CanPlan<K, F> for Fixed<N> {}

#[diagnostic::do_not_recommend]
impl<K, F> CanPlan<K, F> for Ended {}
