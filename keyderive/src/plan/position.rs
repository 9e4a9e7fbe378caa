//! Where a scan goes on: after a row, in every bucket.

use serde::{Deserialize, Serialize};

use super::data::hex;
use super::error::{PlanError, TokenFault};
use super::range::KeyRange;
use super::selection::Selection;
use crate::key::codec::read_hex;
use crate::key::{Cut, Hex, Schema, fingerprint64};

/// What the first byte of a page token says.
const TOKEN_VERSION: u8 = 1;

/// The place of a row in the order of a scan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Position {
    /// What stands before the row key's salt, or all of it where the scan is in the order of stored keys.
    #[serde(with = "hex")]
    front: Vec<u8>,
    #[serde(with = "hex")]
    after: Vec<u8>,
    reversed: bool,
}

impl Position {
    /// The place of a row by its stored key.
    pub(super) fn of(selection: &Selection, key: &[u8], reversed: bool) -> Self {
        let (front, after) =
            if selection.is_ordered() { selection.schema.split_at_salt(key) } else { (key, &[][..]) };
        Self { front: front.to_vec(), after: after.to_vec(), reversed }
    }

    /// The stored keys of a bucket that the scan still has before it.
    pub(super) fn ahead(&self, schema: &Schema, bucket: Option<i32>) -> KeyRange {
        let mut key = schema.join_at_salt(bucket, (&self.front, &self.after));
        if self.reversed {
            return KeyRange::new(Vec::new(), Some(key));
        }
        // The first key after one.
        key.push(0);
        KeyRange::new(key, None)
    }

    /// Whether the scan that goes on here is read backwards.
    pub(super) fn is_reversed(&self) -> bool {
        self.reversed
    }

    /// The key of the row, without the salt.
    pub(super) fn logical_key(&self, schema: &Schema) -> Vec<u8> {
        schema.join_at_salt(None, (&self.front, &self.after))
    }

    /// The place as opaque text, bound to the plan and the layout.
    pub(super) fn to_token(&self, selection: &Selection) -> String {
        let mut bytes = vec![TOKEN_VERSION, u8::from(self.reversed)];
        bytes.extend_from_slice(&layout_of(selection).to_be_bytes());
        bytes.extend_from_slice(&plan_of(selection).to_be_bytes());
        bytes.extend_from_slice(&(self.front.len() as u64).to_be_bytes());
        bytes.extend_from_slice(&self.front);
        bytes.extend_from_slice(&self.after);
        // A token that was cut or changed on its way would name another place.
        bytes.extend_from_slice(&fingerprint64(&bytes).to_be_bytes());
        Hex(&bytes).to_string()
    }

    /// Reads a token back.
    pub(super) fn from_token(token: &str, selection: &Selection, reversed: bool) -> Result<Self, PlanError> {
        let fault = |fault| PlanError::token(selection.schema.key_type(), fault);
        let bytes = read_hex(token.as_bytes()).map_err(|_| fault(TokenFault::NoToken))?;
        let whole =
            bytes.split_last_chunk().filter(|(bytes, sum)| fingerprint64(bytes).to_be_bytes() == **sum);
        let (bytes, _) = whole.ok_or_else(|| fault(TokenFault::NoToken))?;
        let Some(([TOKEN_VERSION, direction @ (0 | 1)], rest)) = bytes.split_first_chunk() else {
            return Err(fault(TokenFault::NoToken));
        };
        let (layout, rest) = rest.split_first_chunk().ok_or_else(|| fault(TokenFault::NoToken))?;
        let (plan, rest) = rest.split_first_chunk().ok_or_else(|| fault(TokenFault::NoToken))?;
        let (front, rest) = rest.split_first_chunk().ok_or_else(|| fault(TokenFault::NoToken))?;
        let front = usize::try_from(u64::from_be_bytes(*front)).map_err(|_| fault(TokenFault::NoToken))?;
        let (front, after) = rest.split_at_checked(front).ok_or_else(|| fault(TokenFault::NoToken))?;
        if u64::from_be_bytes(*layout) != layout_of(selection) {
            return Err(fault(TokenFault::OtherLayout));
        }
        if u64::from_be_bytes(*plan) != plan_of(selection) {
            return Err(fault(TokenFault::OtherPlan));
        }
        if (*direction == 1) != reversed {
            return Err(fault(TokenFault::OtherDirection));
        }
        Ok(Self { front: front.to_vec(), after: after.to_vec(), reversed })
    }
}

fn layout_of(selection: &Selection) -> u64 {
    fingerprint64(selection.schema.fingerprint().to_string().as_bytes())
}

/// A number that stands for the constraints, the same in every process and release.
fn plan_of(selection: &Selection) -> u64 {
    let mut bytes = Vec::new();
    let mut part = |part: &[u8]| {
        bytes.extend_from_slice(&(part.len() as u64).to_be_bytes());
        bytes.extend_from_slice(part);
    };
    for field in 0..selection.encodings.fields() {
        part(b"field");
        selection.encodings.all(field).for_each(&mut part);
    }
    for cut in selection.cuts.iter().flat_map(|(start, end)| [start, end]) {
        let (kind, at): (&[u8], &[u8]) = match cut {
            Cut::First => (b"first", &[]),
            Cut::Before(at) => (b"before", at),
            Cut::After(at) => (b"after", at),
            Cut::AfterPrefix(at) => (b"after prefix", at),
            Cut::Last => (b"last", &[]),
        };
        part(kind);
        part(at);
    }
    if let Some(window) = &selection.window {
        part(b"window");
        part(window.start());
        part(window.end().unwrap_or_default());
    }
    fingerprint64(&bytes)
}
