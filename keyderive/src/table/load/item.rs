//! What a load is given: rows, or rows that may fail to be there.

use std::borrow::Borrow;
use std::error::Error as StdError;

/// An error of a load's input.
pub(super) type InputError = Box<dyn StdError + Send + Sync>;

/// An item of what [`Table::load`](crate::Table::load) reads: a key and a row.
///
/// It is `(K, R)`, `&(K, R)`, or a [`Result`] of one of them, so that the rows of a parser or of a request can be loaded
/// as they come. An item that is an error ends the load, after all rows before it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a row of a table with keys `{K}` and rows `{R}`",
    label = "expected `({K}, {R})`, `&({K}, {R})`, or a `Result` of one of them"
)]
pub trait LoadItem<K, R>: sealed::Sealed {
    /// The key and the row, or a reference to them.
    #[doc(hidden)]
    type Row: Borrow<(K, R)>;

    /// The key and the row.
    ///
    /// # Errors
    /// That of the input.
    #[doc(hidden)]
    fn into_row(self) -> Result<Self::Row, InputError>;
}

mod sealed {
    pub trait Sealed {}

    impl<K, R> Sealed for (K, R) {}
    impl<K, R> Sealed for &(K, R) {}
    impl<T, E> Sealed for Result<T, E> {}
}

impl<K, R> LoadItem<K, R> for (K, R) {
    type Row = Self;

    fn into_row(self) -> Result<Self, InputError> {
        Ok(self)
    }
}

impl<K, R> LoadItem<K, R> for &(K, R) {
    type Row = Self;

    fn into_row(self) -> Result<Self, InputError> {
        Ok(self)
    }
}

impl<K, R, T: Borrow<(K, R)>, E: Into<InputError>> LoadItem<K, R> for Result<T, E> {
    type Row = T;

    fn into_row(self) -> Result<T, InputError> {
        self.map_err(Into::into)
    }
}
