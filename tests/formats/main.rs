//! The laws for every format: each type in each codec in each layout, from the crate's list of formats.
//!
//! A row of the list becomes a key type for each of its types: the value between two strings, after a salt over
//! the first two fields. [`Case`] is such a key type in terms of [`Value`]s, so that a law is written once.
//!
//! These are hundreds of key types, which take longer to build than all other tests of keys: `cargo test` leaves them out.
//! `cargo test -p keyderive-format-tests` runs them.

#![allow(clippy::duplicated_attributes, reason = "key types have several salts")]

mod cases;
mod document;
mod every;
mod format_laws;
mod hostile;
#[path = "../keys/keys/instants.rs"]
mod instants;
#[path = "../keys/laws.rs"]
mod laws;
mod list;
mod model;
mod page;
mod schemas;
#[path = "../keys/stored.rs"]
mod stored;
mod twins;

use std::ops::Bound;

use keyderive::dynamic::KeyLayout;
use keyderive::key::{DecodeError, EncodeError, Field, KeySchema};
use keyderive::plan::PlanError;
use laws::Planned;
use model::{Value, Values};

/// A key in any format.
#[derive(Clone, Debug, PartialEq, PartialOrd)]
struct Key {
    first: String,
    value: Value,
    last: String,
}

/// The order of a format's bytes, from the list.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Order {
    Ascending,
    Descending,
    Unordered,
}

impl Order {
    fn named(name: &str) -> Self {
        match name {
            "ascending" => Self::Ascending,
            "descending" => Self::Descending,
            "unordered" => Self::Unordered,
            other => panic!("{other} is no order"),
        }
    }
}

/// A row of the list with one of its types: a key type.
struct Case {
    layout: &'static str,
    attributes: &'static str,
    codec: &'static str,
    type_name: &'static str,
    order: Order,
    rounds: bool,
    schema: &'static KeySchema,
    /// The same layout at run time.
    dynamic: KeyLayout,
    /// The field by the type's codec, which the derive must choose.
    declared: Field,
    values: Values,
    examples: Vec<Value>,
    /// The value's encoding before the layout escapes it; `None` if the codec rejects the value.
    write: fn(&Value) -> Option<Vec<u8>>,
    encode_into: Encode,
    decode: fn(&[u8]) -> Result<Key, DecodeError>,
    range: Option<Range>,
}

/// `None` if the type has no such value.
type Encode = fn(&Key, &mut Vec<u8>) -> Option<Result<(), EncodeError>>;

/// The plan of a scan with a fixed first field and a range of values, and its words; `None` if the type has no such bound.
type Range =
    for<'a> fn(&'a str, Bound<&'a Value>, Bound<&'a Value>) -> Option<Result<(Planned, String), PlanError>>;

impl Case {
    /// The name of the case, by which to find it in the list.
    fn name(&self) -> String {
        format!("{} {} {}", self.layout, self.attributes, self.type_name)
    }

    /// `None` if the type has no such value.
    fn encode(&self, key: &Key) -> Option<Result<Vec<u8>, EncodeError>> {
        let mut out = Vec::new();
        Some((self.encode_into)(key, &mut out)?.map(|()| out))
    }
}
