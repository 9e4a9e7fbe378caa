//! Typed row keys for Google Cloud Bigtable.

// The derive prints paths that begin with `::keyderive`, also where it is used in this crate.
#[allow(unused_extern_crates)]
extern crate self as keyderive;

pub mod key;
pub mod plan;
#[cfg(feature = "client")]
pub mod row;

#[doc(inline)]
pub use key::RowKey;
pub use keyderive_macros::RowKey;

/// What the derive's output calls. Not for use by hand: it changes with every release.
#[doc(hidden)]
pub mod __private {
    pub use std::vec::Vec;

    pub use core;

    pub use crate::key::codec::{Pad, ReverseTs, Text};
    pub use crate::key::{
        DecodeError, EncodeError, Field, KeyField, KeyReader, KeyWriter, PrefixField, RangeField, RowKey,
        Salt, Schema, decode_fields, encode_fields,
    };
    pub use crate::plan::{Draft, Ended, Explain, Fixed, IntoPlan, Plan, PlanError};
}
