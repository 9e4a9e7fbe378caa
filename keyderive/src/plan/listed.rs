//! What a list of values may hold.

use std::borrow::Cow;
use std::marker::PhantomData;

use crate::key::{FieldError, KeyField};

/// An item of the list that `f_any_of` takes for a field of the type `T`, stored as `C`.
///
/// `How` says which of the implementations is meant. It is inferred, since one of them alone fits an item and a field.
#[diagnostic::on_unimplemented(
    message = "a field of the type `{T}` cannot be fixed to `{Self}`",
    label = "the list holds `{Self}`",
    note = "a field of text takes `&str`, `String` and `Cow<str>`, one of bytes `&[u8]`, `Vec<u8>` and `[u8; N]`, each other one what its method without `_any_of` takes; all of them also by reference"
)]
pub trait Listed<C, T: KeyField<C>, How> {
    /// Gives the value, as the field takes it, to be written.
    ///
    /// # Errors
    /// Those of the writer.
    fn write_by(self, writer: impl WriteListed<C, T>) -> Result<(), FieldError>;
}

/// What is done with each value of a list. A trait of its own, since a closure's type would have to name the argument
/// of the field, which the compiler takes for that of one lifetime.
pub trait WriteListed<C, T: KeyField<C>> {
    /// Writes the value.
    ///
    /// # Errors
    /// When the field cannot hold it.
    fn write(self, value: T::Arg<'_>) -> Result<(), FieldError>;
}

/// What the field takes.
#[derive(Debug)]
pub struct AsIs<'v>(PhantomData<&'v ()>);

/// A reference to what the field takes.
#[derive(Debug)]
pub struct Referenced<'v>(PhantomData<&'v ()>);

/// What the field takes a reference to.
#[derive(Debug)]
pub enum Owned {}

/// Text.
#[derive(Debug)]
pub enum OfText {}

/// Bytes.
#[derive(Debug)]
pub enum OfBytes {}

#[diagnostic::do_not_recommend]
impl<'v, C, T: KeyField<C, Arg<'v> = V>, V> Listed<C, T, AsIs<'v>> for V {
    fn write_by(self, writer: impl WriteListed<C, T>) -> Result<(), FieldError> {
        writer.write(self)
    }
}

#[diagnostic::do_not_recommend]
impl<'v, C, T: KeyField<C, Arg<'v> = V>, V: Copy> Listed<C, T, Referenced<'v>> for &V {
    fn write_by(self, writer: impl WriteListed<C, T>) -> Result<(), FieldError> {
        writer.write(*self)
    }
}

#[diagnostic::do_not_recommend]
impl<C, T: for<'a> KeyField<C, Arg<'a> = &'a V>, V> Listed<C, T, Owned> for V {
    fn write_by(self, writer: impl WriteListed<C, T>) -> Result<(), FieldError> {
        writer.write(&self)
    }
}

macro_rules! listed {
    ($how:ident, $arg:ty: $([$($params:tt)*] $type:ty),*) => {$(
        #[diagnostic::do_not_recommend]
        impl<$($params)* C, T: for<'a> KeyField<C, Arg<'a> = &'a $arg>> Listed<C, T, $how> for $type {
            fn write_by(self, writer: impl WriteListed<C, T>) -> Result<(), FieldError> {
                writer.write(AsRef::<$arg>::as_ref(&self))
            }
        }
    )*};
}

listed!(OfText, str: [] String, [] &String, [] Cow<'_, str>, [] &Cow<'_, str>);
listed!(OfBytes, [u8]: [] Vec<u8>, [] &Vec<u8>, [] Cow<'_, [u8]>, [] &Cow<'_, [u8]>);
listed!(OfBytes, [u8]: [const N: usize,] [u8; N], [const N: usize,] &[u8; N]);
