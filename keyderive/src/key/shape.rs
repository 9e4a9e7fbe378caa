//! What reading and writing keys needs of a key type.

use std::marker::PhantomData;

use super::format::KeyEncoding;
use super::row_key::RowKey;
use super::salt::Salt;
use super::schema::KeySchema;

/// A key type as the code that reads and writes keys has it: known to the compiler for a derived one, at run time for a schema from data.
pub trait Shape: Copy {
    /// The layout as data.
    fn schema(self) -> &'static KeySchema;

    /// How the parts are put together.
    fn layout(self) -> KeyEncoding;

    /// The byte between the parts of the text layout.
    fn delimiter(self) -> u8;

    /// Whether keys have several salts, by their times.
    fn has_epochs(self) -> bool;

    /// The salt of the first epoch that has one, whose place all share.
    fn first_salt(self) -> Option<&'static Salt>;

    /// Whether the salt has a length that is known before the fields.
    fn has_salt_of_known_len(self) -> bool;

    /// Whether a delimiter ends some field.
    fn has_delimited_field(self) -> bool;
}

/// The shape of a derived key type.
#[derive(Debug)]
pub struct Derived<K>(PhantomData<fn() -> K>);

impl<K> Derived<K> {
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) const fn new() -> Self {
        Self(PhantomData)
    }
}

impl<K> Clone for Derived<K> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<K> Copy for Derived<K> {}

/// Each is a constant.
impl<K: RowKey> Shape for Derived<K> {
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn schema(self) -> &'static KeySchema {
        K::SCHEMA
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn layout(self) -> KeyEncoding {
        const { K::SCHEMA.layout() }
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn delimiter(self) -> u8 {
        const { K::SCHEMA.delimiter() }
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn has_epochs(self) -> bool {
        const { K::SCHEMA.has_epochs() }
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn first_salt(self) -> Option<&'static Salt> {
        const { K::SCHEMA.first_salt() }
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn has_salt_of_known_len(self) -> bool {
        const { K::SCHEMA.has_salt_of_known_len() }
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn has_delimited_field(self) -> bool {
        const { K::SCHEMA.has_delimited_field() }
    }
}

/// A schema from data.
impl Shape for &'static KeySchema {
    fn schema(self) -> &'static KeySchema {
        self
    }

    fn layout(self) -> KeyEncoding {
        self.layout()
    }

    fn delimiter(self) -> u8 {
        self.delimiter()
    }

    fn has_epochs(self) -> bool {
        self.has_epochs()
    }

    fn first_salt(self) -> Option<&'static Salt> {
        self.first_salt()
    }

    fn has_salt_of_known_len(self) -> bool {
        self.has_salt_of_known_len()
    }

    fn has_delimited_field(self) -> bool {
        self.has_delimited_field()
    }
}

/// A schema from data with keys of text and without epochs, as most schemas are: the compiler knows both when it makes the code that reads
/// such keys.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PlainText {
    schema: &'static KeySchema,
    delimiter: u8,
    has_delimited_field: bool,
}

impl PlainText {
    /// `None` if the schema has ordered keys, or epochs.
    pub(crate) fn of(schema: &'static KeySchema) -> Option<Self> {
        let is_plain = schema.layout() == KeyEncoding::Delimited && !schema.has_epochs();
        is_plain.then(|| Self {
            schema,
            delimiter: schema.delimiter(),
            has_delimited_field: schema.has_delimited_field(),
        })
    }
}

impl Shape for PlainText {
    fn schema(self) -> &'static KeySchema {
        self.schema
    }

    #[inline]
    fn layout(self) -> KeyEncoding {
        KeyEncoding::Delimited
    }

    fn delimiter(self) -> u8 {
        self.delimiter
    }

    #[inline]
    fn has_epochs(self) -> bool {
        false
    }

    fn first_salt(self) -> Option<&'static Salt> {
        self.schema.first_salt()
    }

    fn has_salt_of_known_len(self) -> bool {
        self.schema.has_salt_of_known_len()
    }

    fn has_delimited_field(self) -> bool {
        self.has_delimited_field
    }
}
