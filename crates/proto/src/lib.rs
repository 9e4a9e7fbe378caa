//! Bigtable's protocol: the messages, and the servers of its services.
//!
//! An internal crate of keyderive, for its client, its embedded Bigtable and its tests: any release may change it. Use the
//! `keyderive` crate.
//!
//! `proto/` states the part of the protocol that keyderive speaks, and `src/generated/` is generated from it by
//! `KEYDERIVE_BLESS=1 cargo test -p keyderive-wire-tests`. Without the variable, the same test fails when the two
//! differ.

#![warn(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout, clippy::print_stderr)]

mod passthrough_codec;
mod rows;
mod rpc;

use tonic::Code;

// The modules mirror the protobuf packages, since generated code refers to other packages by relative paths.
#[allow(missing_docs, clippy::all, clippy::pedantic, reason = "generated; Google documents the messages")]
mod google {
    pub(crate) mod bigtable {
        pub mod v2 {
            include!("generated/google.bigtable.v2.rs");
        }
        pub(crate) mod admin {
            pub mod v2 {
                include!("generated/google.bigtable.admin.v2.rs");
            }
        }
    }
}

#[allow(missing_docs, clippy::all, clippy::pedantic, reason = "generated; Google documents the messages")]
mod keyderive {
    pub mod values {
        include!("generated/keyderive.values.rs");
    }
}

/// The admin service: tables and their families.
pub use self::google::bigtable::admin::v2 as admin;
/// The data service: rows.
pub use self::google::bigtable::v2 as data;
/// The messages that Google's protocols share.
pub use self::keyderive::values;
pub use self::passthrough_codec::PassthroughCodec;
pub use self::rows::RowsMessage;
pub use self::rpc::Rpc;

/// The header in which a client declares its features: a `FeatureFlags` message in base64.
pub const FEATURES_HEADER: &str = "bigtable-features";

/// The header by which an embedded Bigtable on a port names itself in each response, with its version.
pub const EMBEDDED_HEADER: &str = "keyderive-embedded";

/// The largest message that a client sends or accepts. The service's limit is slightly higher.
pub const MAX_MESSAGE_BYTES: usize = 256 << 20;

/// The name of a code in gRPC's documentation.
#[must_use]
pub fn code_name(code: Code) -> &'static str {
    match code {
        Code::Ok => "OK",
        Code::Cancelled => "CANCELLED",
        Code::Unknown => "UNKNOWN",
        Code::InvalidArgument => "INVALID_ARGUMENT",
        Code::DeadlineExceeded => "DEADLINE_EXCEEDED",
        Code::NotFound => "NOT_FOUND",
        Code::AlreadyExists => "ALREADY_EXISTS",
        Code::PermissionDenied => "PERMISSION_DENIED",
        Code::ResourceExhausted => "RESOURCE_EXHAUSTED",
        Code::FailedPrecondition => "FAILED_PRECONDITION",
        Code::Aborted => "ABORTED",
        Code::OutOfRange => "OUT_OF_RANGE",
        Code::Unimplemented => "UNIMPLEMENTED",
        Code::Internal => "INTERNAL",
        Code::Unavailable => "UNAVAILABLE",
        Code::DataLoss => "DATA_LOSS",
        Code::Unauthenticated => "UNAUTHENTICATED",
    }
}
