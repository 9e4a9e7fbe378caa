//! Routing cookies: those that a server sends go back to it with every later attempt of the operation.

use tonic::metadata::{KeyRef, MetadataMap};

/// Their names begin so.
const COOKIE: &str = "x-goog-cbt-cookie";

/// How many are kept, and how many bytes of names and values: far more than Bigtable sends, far less than the headers
/// of a request may have.
const MOST: usize = 32;
const MOST_BYTES: usize = 8 * 1024;

/// The cookies of an operation, the newest of each name.
#[derive(Default)]
pub(super) struct Cookies {
    kept: MetadataMap,
    bytes: usize,
    /// Whether one was left out.
    is_full: bool,
}

impl Cookies {
    pub(super) fn kept(&self) -> &MetadataMap {
        &self.kept
    }

    /// Keeps the cookies among an answer's metadata. Returns the name of the first one ever that there was no room for.
    pub(super) fn take<'a>(&mut self, metadata: &'a MetadataMap) -> Option<&'a str> {
        let mut left_out = None;
        for key in metadata.keys() {
            let KeyRef::Ascii(key) = key else { continue };
            let Some(value) = metadata.get(key).filter(|_| key.as_str().starts_with(COOKIE)) else {
                continue;
            };
            let old = self.kept.get(key).map(|value| key.as_str().len() + value.as_encoded_bytes().len());
            let new = key.as_str().len() + value.as_encoded_bytes().len();
            let bytes = self.bytes - old.unwrap_or(0) + new;
            if bytes > MOST_BYTES || (old.is_none() && self.kept.len() >= MOST) {
                if !std::mem::replace(&mut self.is_full, true) {
                    left_out = Some(key.as_str());
                }
                continue;
            }
            self.bytes = bytes;
            self.kept.insert(key.clone(), value.clone());
        }
        left_out
    }
}
