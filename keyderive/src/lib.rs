//! Typed row keys for Google Cloud Bigtable.

// The derive prints paths that begin with `::keyderive`, also where it is used in this crate.
#[allow(unused_extern_crates)]
extern crate self as keyderive;

#[cfg(feature = "client")]
mod client;
#[cfg(feature = "embedded")]
mod embedded;
pub mod key;
pub mod plan;
#[cfg(feature = "client")]
pub mod row;
#[cfg(feature = "client")]
mod table;
#[cfg(feature = "client")]
mod wire;

#[cfg(feature = "client")]
pub use client::{Client, Error, Target};
#[doc(inline)]
pub use key::RowKey;
pub use keyderive_macros::RowKey;
#[cfg(feature = "client")]
pub use table::{DEFAULT_FAMILY, Rows, Scan, Table};

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
