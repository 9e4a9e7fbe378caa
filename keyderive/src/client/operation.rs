//! What an RPC is, apart from its message: its name, its settings, whether it may be retried, and its headers.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE;
use bytes::Bytes;
use http::uri::PathAndQuery;
use http::{HeaderMap, HeaderName, HeaderValue};
use keyderive_proto::data::FeatureFlags;
use keyderive_proto::{FEATURES_HEADER, Rpc};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use prost::Message as _;

use super::settings::CallSettings;
use super::{Client, Error, ScanCounters, Target, grpc};

const ROUTING: HeaderName = HeaderName::from_static("x-goog-request-params");
const API_CLIENT: HeaderName = HeaderName::from_static("x-goog-api-client");
const FEATURES: HeaderName = HeaderName::from_static(FEATURES_HEADER);
const ATTEMPT: HeaderName = HeaderName::from_static("bigtable-attempt");
const ATTEMPT_TIME: HeaderName = HeaderName::from_static("bigtable-client-attempt-epoch-usec");

const USER_AGENT_VALUE: &str = concat!("keyderive/", env!("CARGO_PKG_VERSION"));
const API_CLIENT_VALUE: &str =
    concat!("gl-rust/", env!("CARGO_PKG_RUST_VERSION"), " gccl/", env!("CARGO_PKG_VERSION"));

/// The characters to percent-encode: all but the unreserved ones of RFC 3986.
const PERCENT_ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// The longest table name.
const MAX_TABLE_BYTES: usize = 50;

/// Where requests go: to a table, or to the whole instance. It has what all requests repeat, made once.
#[derive(Clone)]
pub(crate) struct Route(Arc<RouteParts>);

struct RouteParts {
    /// The table's short id; empty for the instance.
    table: Arc<str>,
    /// The name in requests: `projects/…`.
    name: String,
    target: Target,
    headers: HeaderMap,
}

impl Route {
    /// A route of the data service if there are `features`, and of the admin service if not.
    pub(super) fn new(
        table: &str,
        name: String,
        target: Target,
        features: Option<&HeaderValue>,
        routing: &[(&str, &str)],
    ) -> Self {
        let mut headers = grpc::request_headers();
        headers.insert(http::header::USER_AGENT, HeaderValue::from_static(USER_AGENT_VALUE));
        headers.insert(API_CLIENT, HeaderValue::from_static(API_CLIENT_VALUE));
        headers.insert(ROUTING, routing_header(routing));
        if let Some(features) = features {
            headers.insert(FEATURES, features.clone());
            // In their places, so that setting them takes no more room.
            headers.insert(ATTEMPT, HeaderValue::from_static("0"));
            headers.insert(ATTEMPT_TIME, HeaderValue::from_static("0"));
        }
        Self(Arc::new(RouteParts { table: table.into(), name, target, headers }))
    }

    /// The table's short id, shared.
    pub(crate) fn table(&self) -> &Arc<str> {
        &self.0.table
    }

    /// The name in requests: `projects/…`.
    pub(super) fn full_name(&self) -> &str {
        &self.0.name
    }
}

/// The table's short id.
impl Deref for Route {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0.table
    }
}

impl fmt::Debug for Route {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

/// One RPC on one table: how errors name it, and how it is routed and retried.
#[derive(Clone)]
pub(crate) struct Operation {
    route: Route,
    /// The bucket that it reads, if it is part of a scan over buckets.
    pub(super) bucket: Option<i32>,
    rpc: Rpc,
    /// Whether it reads one row by its key, which has settings and a name of its own.
    is_point_read: bool,
    idempotency: Idempotency,
    /// Whether its scan reads many streams at a time.
    high_fan_out: bool,
    /// The counters of its scan.
    scan: Option<Arc<ScanCounters>>,
    /// Its row, if it has one and is recorded.
    asked: Option<Box<SampledRow>>,
}

/// The row that an operation is about, in the sample that the client records of its requests.
#[derive(Clone)]
pub(super) struct SampledRow {
    pub(super) key: Bytes,
    /// The bytes that are written.
    pub(super) bytes: usize,
    /// How many rows it stands for.
    pub(super) weight: u32,
}

/// Whether an operation may be retried after it may have reached the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Idempotency {
    /// It is idempotent.
    Idempotent,
    /// It adds to an aggregate, and carries a token by which a server recognizes a retry.
    ByToken,
    /// It is not idempotent: it is retried only if it was not sent, or the server rejected it.
    NotIdempotent,
}

impl Operation {
    /// An idempotent operation.
    pub(super) fn new(rpc: Rpc, route: Route) -> Self {
        let idempotency = Idempotency::Idempotent;
        Self {
            route,
            bucket: None,
            rpc,
            is_point_read: false,
            idempotency,
            high_fan_out: false,
            scan: None,
            asked: None,
        }
    }

    pub(super) fn rpc(&self) -> &'static str {
        self.rpc.name()
    }

    /// Its name in traces and metrics: the RPC's, or `ReadRow` for a read of one row.
    pub(super) fn name(&self) -> &'static str {
        if self.is_point_read { "ReadRow" } else { self.rpc() }
    }

    pub(super) fn path(&self) -> PathAndQuery {
        PathAndQuery::from_static(self.rpc.path())
    }

    /// The table's short id; empty if the RPC is about no table.
    pub(super) fn table(&self) -> &Arc<str> {
        self.route.table()
    }

    pub(super) fn route(&self) -> &Route {
        &self.route
    }

    pub(super) fn target(&self) -> &Target {
        &self.route.0.target
    }

    pub(super) fn settings<'a>(&self, client: &'a Client) -> &'a CallSettings {
        let settings = client.settings();
        match self.rpc {
            Rpc::ReadRows if self.is_point_read => &settings.read_row,
            Rpc::ReadRows => &settings.read_rows,
            Rpc::SampleRowKeys => &settings.sample_row_keys,
            Rpc::MutateRow => &settings.mutate_row,
            Rpc::MutateRows => &settings.mutate_rows,
            Rpc::CheckAndMutateRow => &settings.check_and_mutate_row,
            Rpc::ReadModifyWriteRow => &settings.read_modify_write_row,
            Rpc::PingAndWarm => &settings.ping_and_warm,
            Rpc::PrepareQuery => &settings.prepare_query,
            Rpc::ExecuteQuery => &settings.execute_query,
            Rpc::CreateTable
            | Rpc::ListTables
            | Rpc::GetTable
            | Rpc::DeleteTable
            | Rpc::UpdateTable
            | Rpc::ModifyColumnFamilies
            | Rpc::DropRowRange
            | Rpc::GenerateConsistencyToken
            | Rpc::CheckConsistency
            | Rpc::ListClusters
            | Rpc::ListHotTablets => &settings.admin,
        }
    }

    /// Fails for an invalid table name. The service's rule is `[_a-zA-Z0-9][-_.a-zA-Z0-9]*`, 1 to 50 characters.
    pub(super) fn check_table(&self) -> Result<(), Error> {
        if matches!(self.rpc, Rpc::PingAndWarm | Rpc::PrepareQuery | Rpc::ExecuteQuery | Rpc::ListTables) {
            return Ok(());
        }
        let name = self.table().as_bytes();
        let first = name.first().is_some_and(|first| first.is_ascii_alphanumeric() || *first == b'_');
        let all = name.iter().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(byte));
        match first && all && name.len() <= MAX_TABLE_BYTES {
            true => Ok(()),
            false => Err(Error::definition(
                self.table(),
                "this is not a valid table name; write the table's short id, of 1 to 50 characters from `a-z`, `A-Z`, \
                 `0-9`, `_`, `-` and `.`, which does not begin with `-` or `.`",
            )),
        }
    }

    /// Whether it goes to the admin service, which has another address in the cloud.
    pub(super) fn is_admin(&self) -> bool {
        self.rpc.is_admin()
    }

    /// Whether it changes stored data.
    pub(super) fn is_write(&self) -> bool {
        self.rpc.is_write()
    }

    /// How many rows it sends, or 0 if that varies.
    pub(super) fn rows_sent(&self) -> usize {
        usize::from(self.writes_one_row())
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

    pub(super) fn of_scan(self, scan: Option<Arc<ScanCounters>>) -> Self {
        Self { scan, ..self }
    }

    /// This operation with the sampled row that it is about.
    pub(super) fn asking(self, asked: Option<Box<SampledRow>>) -> Self {
        Self { asked, ..self }
    }

    /// Its row, if it has one and is recorded.
    pub(super) fn asked(&self) -> Option<&SampledRow> {
        self.asked.as_deref()
    }

    /// The counters of its scan, if it is a request of one.
    pub(super) fn scan(&self) -> Option<&Arc<ScanCounters>> {
        self.scan.as_ref()
    }

    pub(super) fn is_high_fan_out(&self) -> bool {
        self.high_fan_out
    }

    /// As an operation that reads one row by its key.
    pub(super) fn of_one_row(self) -> Self {
        Self { is_point_read: true, ..self }
    }

    /// Whether it reads one row by its key.
    pub(super) fn is_point_read(&self) -> bool {
        self.is_point_read
    }

    /// Whether it reads or writes one row: these do not wait out an outage.
    pub(super) fn is_point(&self) -> bool {
        self.is_point_read || self.writes_one_row()
    }

    fn writes_one_row(&self) -> bool {
        matches!(self.rpc, Rpc::MutateRow | Rpc::CheckAndMutateRow | Rpc::ReadModifyWriteRow)
    }

    /// The headers of an attempt; `attempt` counts from 0.
    pub(super) fn headers(&self, attempt: u32) -> HeaderMap {
        let mut headers = self.route.0.headers.clone();
        if self.is_admin() {
            return headers;
        }
        if attempt > 0 {
            headers.insert(ATTEMPT, attempt.into());
        }
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let mut micros = HeaderValue::from(u64::try_from(since_epoch.as_micros()).unwrap_or(u64::MAX));
        // HTTP/2 remembers a header for the next request, unless it is sensitive. A time never repeats, and would only
        // displace headers that do.
        micros.set_sensitive(true);
        headers.insert(ATTEMPT_TIME, micros);
        headers
    }

    #[cfg(test)]
    pub(super) fn for_test(rpc: Rpc, table: &str) -> Self {
        let features = features(false);
        let routing = [("table_name", table)];
        Self::new(rpc, Route::new(table, table.to_owned(), Target::for_test(), Some(&features), &routing))
    }
}

/// The value of the routing header.
#[expect(
    clippy::expect_used,
    reason = "names are literals and values are percent-encoded, so all is visible ASCII"
)]
fn routing_header(parameters: &[(&str, &str)]) -> HeaderValue {
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
pub(super) fn features(throttle: bool) -> HeaderValue {
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
pub(super) fn insert_all(headers: &mut HeaderMap, more: &HeaderMap) {
    for (name, value) in more {
        headers.insert(name, value.clone());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::ErrorKind;

    fn check(table: &str) -> Result<(), Error> {
        Operation::for_test(Rpc::ReadRows, table).check_table()
    }

    #[test]
    fn table_names_follow_the_rule_of_the_service() {
        for name in ["a", "_", "0-x", "Events.2024_01-02", &"x".repeat(50)] {
            check(name).unwrap();
        }
        for name in ["", "-a", ".a", "a/b", "a b", "é", "projects/p/instances/i/tables/t", &"x".repeat(51)] {
            let error = check(name).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
            assert!(
                error.to_string().starts_with(&format!("table `{name}`: this is not a valid table name;")),
                "{error}"
            );
        }
        assert!(Operation::for_test(Rpc::PingAndWarm, "").check_table().is_ok());
        assert!(Operation::for_test(Rpc::ListTables, "").check_table().is_ok());
        assert!(Operation::for_test(Rpc::GetTable, "").check_table().is_err());
    }

    #[test]
    fn routing_is_percent_encoded() {
        let value =
            routing_header(&[("table_name", "projects/p/instances/i/tables/a b"), ("app_profile_id", "")]);
        assert_eq!(value, "table_name=projects%2Fp%2Finstances%2Fi%2Ftables%2Fa%20b&app_profile_id=");
    }

    #[test]
    fn data_rpcs_carry_every_header() {
        let operation = Operation::for_test(Rpc::ReadRows, "t");
        let headers = operation.headers(3);
        assert_eq!(headers.get(FEATURES).unwrap(), "CAEgATABOAE=");
        assert_eq!(headers.get(ATTEMPT).unwrap(), "3");
        assert_eq!(headers.get(ROUTING).unwrap(), "table_name=t");
        assert!(headers.get(API_CLIENT).unwrap().to_str().unwrap().starts_with("gl-rust/1."));
        assert!(headers.get(ATTEMPT_TIME).unwrap().to_str().unwrap().parse::<u64>().unwrap() > 0);
    }
}
