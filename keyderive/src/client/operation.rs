//! What an RPC is, apart from its message: its name, its settings, whether it may be retried, and its headers.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE;
use keyderive_proto::FEATURES_HEADER;
use keyderive_proto::data::FeatureFlags;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use prost::Message as _;
use tonic::metadata::{AsciiMetadataValue, KeyRef, MetadataMap};

use super::settings::{CallSettings, Settings};
use super::{Client, Error, Target};

const ROUTING: &str = "x-goog-request-params";
const API_CLIENT: &str = "x-goog-api-client";
const ATTEMPT: &str = "bigtable-attempt";
const ATTEMPT_TIME: &str = "bigtable-client-attempt-epoch-usec";

const API_CLIENT_VALUE: &str =
    concat!("gl-rust/", env!("CARGO_PKG_RUST_VERSION"), " gccl/", env!("CARGO_PKG_VERSION"));

/// The characters to percent-encode: all but the unreserved ones of RFC 3986.
const PERCENT_ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// The longest table name.
const MAX_TABLE_BYTES: usize = 50;

/// One RPC on one table: how errors name it, and how it is routed and retried.
#[derive(Clone)]
pub(crate) struct Operation {
    pub(super) rpc: &'static str,
    /// The table's short id; empty if the RPC is about no table.
    pub(super) table: Arc<str>,
    /// The bucket that it reads, if it is part of a scan over buckets.
    pub(super) bucket: Option<i32>,
    pub(super) target: Target,
    kind: RpcMethod,
    idempotency: Idempotency,
    /// Whether its scan reads many streams at a time.
    high_fan_out: bool,
    routing: AsciiMetadataValue,
}

/// What an operation does, which selects its RPC and its settings. `ReadRow` is the RPC `ReadRows` for one row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RpcMethod {
    ReadRow,
    ReadRows,
    SampleRowKeys,
    MutateRow,
    MutateRows,
    CheckAndMutateRow,
    ReadModifyWriteRow,
    PingAndWarm,
    Admin(&'static str),
}

/// Whether an operation may be retried after it may have reached the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Idempotency {
    /// It is idempotent.
    Idempotent,
    /// It adds to an aggregate, and carries a token by which a server knows a repetition.
    ByToken,
    /// It is not idempotent: it is retried only if it was not sent, or the server rejected it.
    NotIdempotent,
}

impl RpcMethod {
    fn rpc(self) -> &'static str {
        match self {
            Self::ReadRow | Self::ReadRows => "ReadRows",
            Self::SampleRowKeys => "SampleRowKeys",
            Self::MutateRow => "MutateRow",
            Self::MutateRows => "MutateRows",
            Self::CheckAndMutateRow => "CheckAndMutateRow",
            Self::ReadModifyWriteRow => "ReadModifyWriteRow",
            Self::PingAndWarm => "PingAndWarm",
            Self::Admin(rpc) => rpc,
        }
    }

    fn settings(self, settings: &Settings) -> &CallSettings {
        match self {
            Self::ReadRow => &settings.read_row,
            Self::ReadRows => &settings.read_rows,
            Self::SampleRowKeys => &settings.sample_row_keys,
            Self::MutateRow => &settings.mutate_row,
            Self::MutateRows => &settings.mutate_rows,
            Self::CheckAndMutateRow => &settings.check_and_mutate_row,
            Self::ReadModifyWriteRow => &settings.read_modify_write_row,
            Self::PingAndWarm => &settings.ping_and_warm,
            Self::Admin(_) => &settings.admin,
        }
    }
}

impl Operation {
    /// An idempotent operation, routed by parameters with a name and a value each.
    pub(super) fn new(kind: RpcMethod, table: &str, target: Target, routing: &[(&str, &str)]) -> Self {
        Self {
            rpc: kind.rpc(),
            table: table.into(),
            bucket: None,
            target,
            kind,
            idempotency: Idempotency::Idempotent,
            high_fan_out: false,
            routing: routing_header(routing),
        }
    }

    pub(super) fn settings<'a>(&self, client: &'a Client) -> &'a CallSettings {
        self.kind.settings(client.settings())
    }

    /// Fails for an invalid table name. The service's rule is `[_a-zA-Z0-9][-_.a-zA-Z0-9]*`, 1 to 50 characters.
    pub(super) fn check_table(&self) -> Result<(), Error> {
        if matches!(self.kind, RpcMethod::PingAndWarm | RpcMethod::Admin("ListTables")) {
            return Ok(());
        }
        let name = self.table.as_bytes();
        let first = name.first().is_some_and(|first| first.is_ascii_alphanumeric() || *first == b'_');
        let all = name.iter().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(byte));
        match first && all && name.len() <= MAX_TABLE_BYTES {
            true => Ok(()),
            false => Err(Error::definition(
                &self.table,
                "this is not a valid table name; write the table's short id, of 1 to 50 characters from `a-z`, `A-Z`, \
                 `0-9`, `_`, `-` and `.`, which does not begin with `-` or `.`",
            )),
        }
    }

    /// Whether it goes to the admin service, which has another address in the cloud.
    pub(super) fn is_admin(&self) -> bool {
        matches!(self.kind, RpcMethod::Admin(_))
    }

    /// Whether it changes stored data.
    pub(super) fn is_write(&self) -> bool {
        match self.kind {
            RpcMethod::ReadRow | RpcMethod::ReadRows | RpcMethod::SampleRowKeys | RpcMethod::PingAndWarm => {
                false
            }
            RpcMethod::MutateRow
            | RpcMethod::MutateRows
            | RpcMethod::CheckAndMutateRow
            | RpcMethod::ReadModifyWriteRow => true,
            RpcMethod::Admin(rpc) => {
                !matches!(rpc, "GetTable" | "ListTables" | "GenerateConsistencyToken" | "CheckConsistency")
            }
        }
    }

    /// How many rows it sends, or 0 if that varies.
    pub(super) fn rows_sent(&self) -> usize {
        match self.kind {
            RpcMethod::MutateRow | RpcMethod::CheckAndMutateRow | RpcMethod::ReadModifyWriteRow => 1,
            _ => 0,
        }
    }

    pub(super) fn idempotency(&self) -> Idempotency {
        self.idempotency
    }

    pub(super) fn with_idempotency(self, idempotency: Idempotency) -> Self {
        Self { idempotency, ..self }
    }

    pub(super) fn in_bucket(self, bucket: Option<i32>) -> Self {
        Self { bucket, ..self }
    }

    pub(super) fn high_fan_out(self, high_fan_out: bool) -> Self {
        Self { high_fan_out, ..self }
    }

    pub(super) fn is_high_fan_out(&self) -> bool {
        self.high_fan_out
    }

    /// Adds the headers of an attempt, whose number counts from 0.
    pub(super) fn insert_headers(
        &self,
        metadata: &mut MetadataMap,
        features: &AsciiMetadataValue,
        attempt: u32,
    ) {
        metadata.insert(ROUTING, self.routing.clone());
        metadata.insert(API_CLIENT, AsciiMetadataValue::from_static(API_CLIENT_VALUE));
        if self.is_admin() {
            return;
        }
        metadata.insert(FEATURES_HEADER, features.clone());
        metadata.insert(ATTEMPT, attempt.into());
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let micros = u64::try_from(since_epoch.as_micros()).unwrap_or(u64::MAX);
        metadata.insert(ATTEMPT_TIME, micros.into());
    }

    #[cfg(test)]
    pub(super) fn for_test(kind: RpcMethod, table: &str) -> Self {
        Self::new(kind, table, Target::for_test(), &[])
    }
}

/// The value of the routing header.
#[expect(
    clippy::expect_used,
    reason = "names are literals and values are percent-encoded, so all is visible ASCII"
)]
fn routing_header(parameters: &[(&str, &str)]) -> AsciiMetadataValue {
    let mut text = String::new();
    for (name, value) in parameters {
        if !text.is_empty() {
            text.push('&');
        }
        text.push_str(name);
        text.push('=');
        text.extend(utf8_percent_encode(value, PERCENT_ENCODED));
    }
    text.parse().expect("visible ASCII is a header value")
}

/// The value of the features header: what this client supports. The server sends its rate limit only to a client that
/// throttles.
#[expect(clippy::expect_used, reason = "base64 is visible ASCII")]
pub(super) fn features(throttle: bool) -> AsciiMetadataValue {
    let flags = FeatureFlags {
        reverse_scans: true,
        last_scanned_row_responses: true,
        routing_cookie: true,
        retry_info: true,
        mutate_rows_rate_limit: throttle,
        mutate_rows_rate_limit2: throttle,
        ..FeatureFlags::default()
    };
    URL_SAFE.encode(flags.encode_to_vec()).parse().expect("visible ASCII is a header value")
}

/// Adds the entries of `more`, which replace those with the same names.
pub(super) fn insert_all(metadata: &mut MetadataMap, more: &MetadataMap) {
    for key in more.keys() {
        let KeyRef::Ascii(key) = key else { continue };
        if let Some(value) = more.get(key) {
            metadata.insert(key.clone(), value.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(table: &str) -> Result<(), Error> {
        Operation::for_test(RpcMethod::ReadRows, table).check_table()
    }

    #[test]
    fn table_names_follow_the_rule_of_the_service() {
        for name in ["a", "_", "0-x", "Events.2024_01-02", &"x".repeat(50)] {
            check(name).unwrap();
        }
        for name in ["", "-a", ".a", "a/b", "a b", "é", "projects/p/instances/i/tables/t", &"x".repeat(51)] {
            let error = check(name).unwrap_err();
            assert!(error.is_invalid_argument(), "{error}");
            assert!(
                error.to_string().starts_with(&format!("table `{name}`: this is not a valid table name;")),
                "{error}"
            );
        }
        assert!(Operation::for_test(RpcMethod::PingAndWarm, "").check_table().is_ok());
        assert!(Operation::for_test(RpcMethod::Admin("ListTables"), "").check_table().is_ok());
        assert!(Operation::for_test(RpcMethod::Admin("GetTable"), "").check_table().is_err());
    }

    #[test]
    fn routing_is_percent_encoded() {
        let value =
            routing_header(&[("table_name", "projects/p/instances/i/tables/a b"), ("app_profile_id", "")]);
        assert_eq!(value, "table_name=projects%2Fp%2Finstances%2Fi%2Ftables%2Fa%20b&app_profile_id=");
    }

    #[test]
    fn data_rpcs_carry_every_header() {
        let mut metadata = MetadataMap::new();
        let operation = Operation::new(RpcMethod::ReadRows, "t", Target::for_test(), &[("table_name", "t")]);
        operation.insert_headers(&mut metadata, &features(false), 3);
        assert_eq!(metadata.get(FEATURES_HEADER).unwrap(), "CAEgATABOAE=");
        assert_eq!(metadata.get(ATTEMPT).unwrap(), "3");
        assert_eq!(metadata.get(ROUTING).unwrap(), "table_name=t");
        assert!(metadata.get(API_CLIENT).unwrap().to_str().unwrap().starts_with("gl-rust/1."));
        assert!(metadata.get(ATTEMPT_TIME).unwrap().to_str().unwrap().parse::<u64>().unwrap() > 0);
    }
}
