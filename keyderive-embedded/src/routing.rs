//! The header by which the service routes a request.

use percent_encoding::percent_decode_str;
use tonic::metadata::MetadataMap;
use tonic::{Request, Status};

const ROUTING: &str = "x-goog-request-params";

/// The message of a request, which is refused where its header has another `parameter` than the message.
///
/// Without the header the service finds its way by the message, and so does this.
pub(super) fn routed<M>(
    request: Request<M>,
    parameter: &str,
    name: impl FnOnce(&M) -> &str,
) -> Result<M, Status> {
    check(request.metadata(), parameter, name(request.get_ref()))?;
    Ok(request.into_inner())
}

fn check(metadata: &MetadataMap, parameter: &str, name: &str) -> Result<(), Status> {
    let Some(header) = metadata.get(ROUTING) else { return Ok(()) };
    let header = header.to_str().unwrap_or_default();
    let mut parameters = header.split('&').filter_map(|part| part.split_once('='));
    match parameters.find(|(key, _)| *key == parameter) {
        Some((_, value)) if *percent_decode_str(value).decode_utf8_lossy() == *name => Ok(()),
        Some((_, value)) => Err(Status::invalid_argument(format!(
            "the header `{ROUTING}` has `{value}` as `{parameter}`, and the request is about `{name}`"
        ))),
        None => Err(Status::invalid_argument(format!(
            "the header `{ROUTING}` has no `{parameter}`, which is to be `{name}`, percent-encoded"
        ))),
    }
}
