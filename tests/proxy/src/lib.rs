//! The test proxy: runs keyderive's client for the RPCs of Google's conformance suite for Bigtable clients.
//!
//! The suite is a mock of Bigtable and a client of this service. It makes the proxy connect a client to the mock,
//! requests operations, and compares both what the mock received and what the operation returned. The proxy uses the
//! public API alone; it rejects what that cannot express exactly with `INVALID_ARGUMENT`, so that no case passes by
//! accident.

mod clients;
mod convert;
mod service;

/// The service and its messages, generated from `proto/`.
#[allow(missing_docs, clippy::all, clippy::pedantic)]
pub mod proto {
    include!("generated/google.bigtable.testproxy.rs");
}

pub use service::Proxy;
