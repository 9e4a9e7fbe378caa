//! Fields that a module of the user's writes and reads: what is checked of it.
//!
//! A format that breaks its word would be found in stored keys, long after. So each value is checked: the width when
//! it is written, and that there is one form of it when it is read.

use super::error::FieldError;
use super::field::KeyField;
use super::format::Width;
use super::show::Readable;

/// Appends what `write` writes for `value`.
///
/// # Errors
/// Those of `write`, and where it does not keep to its width.
pub fn write_custom<C, T: KeyField<C>>(
    value: T::Arg<'_>,
    out: &mut Vec<u8>,
    write: impl FnOnce(T::Arg<'_>, &mut Vec<u8>) -> Result<(), FieldError>,
) -> Result<(), FieldError> {
    let start = out.len();
    write(value, out)?;
    match (T::WIDTH, out.len().checked_sub(start)) {
        (Width::Fixed(width), Some(len)) if len != width => Err(FieldError::new(format_args!(
            "{value:?} is written as {len} bytes, and the `WIDTH` of its module is {width}: \
             write as many, or use `Width::Delimited`",
        ))),
        (Width::Between(min, max), Some(len)) if !(min..=max).contains(&len) => {
            Err(FieldError::new(format_args!(
                "{value:?} is written as {len} bytes, and the `WIDTH` of its module is {min} to {max}: \
                 write as many, or use `Width::Delimited`",
            )))
        }
        (_, Some(_)) => Ok(()),
        (_, None) => Err(FieldError::new(format_args!(
            "the module that writes {value:?} took bytes of the fields before it; append to `out`",
        ))),
    }
}

/// What `read` reads from bytes, where those are written for it again.
///
/// # Errors
/// Those of `read`, and for a second form of a value.
pub fn read_custom<C, T: KeyField<C>>(
    bytes: &[u8],
    read: impl FnOnce(&[u8]) -> Result<T, FieldError>,
) -> Result<T, FieldError> {
    let value = read(bytes)?;
    let mut written = Vec::with_capacity(bytes.len());
    T::write(value.arg(), &mut written)?;
    if written != bytes {
        return Err(FieldError::new(format_args!(
            "`{}` is read as {:?}, which is written as `{}`",
            Readable(bytes),
            value.arg(),
            Readable(&written),
        )));
    }
    Ok(value)
}
