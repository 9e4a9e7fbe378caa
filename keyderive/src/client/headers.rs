//! The headers that the service routes, negotiates and counts by.

use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use prost::Message as _;
use tonic::metadata::{AsciiMetadataValue, KeyRef, MetadataMap};

use keyderive_proto::FEATURES_HEADER;
use keyderive_proto::data::FeatureFlags;

const ROUTING: &str = "x-goog-request-params";
const API_CLIENT: &str = "x-goog-api-client";
const ATTEMPT: &str = "bigtable-attempt";
const ATTEMPT_TIME: &str = "bigtable-client-attempt-epoch-usec";

const API_CLIENT_VALUE: &str =
    concat!("gl-rust/", env!("CARGO_PKG_RUST_VERSION"), " gccl/", env!("CARGO_PKG_VERSION"));

/// The characters that RFC 3986 leaves alone.
const UNRESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// The routing header's value for `parameters`, each a name and a value.
#[expect(
    clippy::expect_used,
    reason = "names are literals and values are percent-encoded, so all is visible ASCII"
)]
pub(super) fn routing(parameters: &[(&str, &str)]) -> AsciiMetadataValue {
    let mut text = String::new();
    for (name, value) in parameters {
        if !text.is_empty() {
            text.push('&');
        }
        text.push_str(name);
        text.push('=');
        text.extend(utf8_percent_encode(value, UNRESERVED));
    }
    text.parse().expect("visible ASCII is a header value")
}

/// What this client says of itself in `bigtable-features`: only what it does. To one that heeds the server's rate,
/// the server tells it.
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

/// Adds what `more` has, in place of what is there by the same names.
pub(super) fn insert_all(metadata: &mut MetadataMap, more: &MetadataMap) {
    for key in more.keys() {
        let KeyRef::Ascii(key) = key else { continue };
        if let Some(value) = more.get(key) {
            metadata.insert(key.clone(), value.clone());
        }
    }
}

/// The headers of an RPC on the admin service.
pub(super) fn insert_admin(metadata: &mut MetadataMap, routing: AsciiMetadataValue) {
    metadata.insert(ROUTING, routing);
    metadata.insert(API_CLIENT, AsciiMetadataValue::from_static(API_CLIENT_VALUE));
}

/// The headers of the attempt with number `attempt`, from zero, of an RPC on the data service.
pub(super) fn insert_data(
    metadata: &mut MetadataMap,
    routing: AsciiMetadataValue,
    features: AsciiMetadataValue,
    attempt: u32,
) {
    insert_admin(metadata, routing);
    metadata.insert(FEATURES_HEADER, features);
    metadata.insert(ATTEMPT, attempt.into());
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let micros = u64::try_from(since_epoch.as_micros()).unwrap_or(u64::MAX);
    metadata.insert(ATTEMPT_TIME, micros.into());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn routing_is_percent_encoded() {
        let value = routing(&[("table_name", "projects/p/instances/i/tables/a b"), ("app_profile_id", "")]);
        assert_eq!(value, "table_name=projects%2Fp%2Finstances%2Fi%2Ftables%2Fa%20b&app_profile_id=");
    }

    #[test]
    fn data_rpcs_carry_every_header() {
        let mut metadata = MetadataMap::new();
        insert_data(&mut metadata, routing(&[("table_name", "t")]), features(false), 3);
        assert_eq!(metadata.get(FEATURES_HEADER).unwrap(), "CAEgATABOAE=");
        assert_eq!(metadata.get(ATTEMPT).unwrap(), "3");
        assert_eq!(metadata.get(ROUTING).unwrap(), "table_name=t");
        assert!(metadata.get(API_CLIENT).unwrap().to_str().unwrap().starts_with("gl-rust/1."));
        assert!(metadata.get(ATTEMPT_TIME).unwrap().to_str().unwrap().parse::<u64>().unwrap() > 0);
    }
}
