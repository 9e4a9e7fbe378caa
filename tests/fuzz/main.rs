//! Fuzz targets for the public API that takes untrusted bytes, texts and requests. Each target checks invariants, not only that nothing panics.
//!
//! Fuzz targets for private functions are in the unit tests of their files; those that use the key types of `tests/keys` are in `tests/keys`. The
//! corpora of all targets are in `corpus`, one input per line. `cargo test` replays them; `tests/fuzz/run TARGET` searches for new inputs with
//! libFuzzer.

#![allow(clippy::duplicated_attributes, reason = "key types have several salts")]

mod filters;
mod keys;
mod layouts;
mod plan_data;
mod regexes;
mod requests;
#[path = "../keys/keys/mod.rs"]
#[allow(dead_code, unused_macros, unused_imports, reason = "its values are for the laws of its own folder")]
mod samples;
#[path = "../formats/schemas.rs"]
#[allow(dead_code, reason = "its counts are for the test beside it")]
mod schema_laws;
mod schemas;
#[path = "../keys/stored.rs"]
#[allow(dead_code, reason = "the laws of its own folder use all of it")]
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
