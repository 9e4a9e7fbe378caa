//! The test proxy: keyderive's client after the RPCs by which Google's conformance suite drives Bigtable clients.
//!
//! The suite is a mock of Bigtable and a client of this service. It has the proxy make a client of the mock, asks it
//! for operations, and compares what the mock was sent and what the operation gave. The proxy is over the public API
//! alone; what that cannot say exactly is refused by `INVALID_ARGUMENT`, so that no case passes by accident.

mod clients;
mod convert;
mod service;

/// The service and its messages, generated from `proto/` as the protocol of keyderive is.
#[allow(missing_docs, clippy::all, clippy::doc_markdown)]
pub mod proto {
    include!("generated/google.bigtable.testproxy.rs");
}

pub use service::Proxy;
