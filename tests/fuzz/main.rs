//! Fuzz targets of what is public: bytes, texts and requests that somebody else wrote. Each holds laws, and not only that nothing panics.
//!
//! Targets of what is private are in the tests of their files, and those that share the key types of `tests/keys` are there. The corpora of
//! all are in `corpus`, an input in each line; `run` looks for further ones.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::duplicated_attributes,
    reason = "these are tests, and key types with several salts"
)]

mod filters;
mod keys;
mod layouts;
mod plan_data;
mod regexes;
mod requests;
#[path = "../keys/keys.rs"]
#[allow(dead_code, unused_macros, unused_imports, reason = "its values are for the laws of its own folder")]
mod samples;
#[path = "../formats/schemas.rs"]
#[allow(dead_code, reason = "its counts are for the test beside it")]
mod schema_laws;
mod schemas;
#[path = "../keys/stored.rs"]
mod stored;
mod tokens;

use keyderive_tests::fuzz::Input;
use serde_json::Value as Json;

/// The document with some nodes replaced by texts of the input, as JSON where they are valid JSON.
fn changed(mut document: Json, mut input: Input<'_>) -> Json {
    while !input.is_empty() {
        let mut nodes = Vec::new();
        schema_laws::paths(&document, "", &mut nodes);
        let (node, other) = (&nodes[input.below(nodes.len())], input.text());
        if let Some(node) = document.pointer_mut(node) {
            *node = serde_json::from_str(&other).unwrap_or(Json::from(other));
        }
    }
    document
}
