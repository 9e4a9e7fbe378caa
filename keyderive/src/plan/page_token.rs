//! Page tokens: positions as text that shows the key, accepted only by a plan with the same constraints, direction and key
//! layout. A token of a table's pages also needs the same table and the same fields of `distinct`.

use super::error::{PlanError, TokenFault};
use super::position::Position;
use super::selection::Selection;
use crate::key::codec::read_hex;
use crate::key::{Cut, Hex, fingerprint64};

/// The first byte of a token of a plan, which knows no table.
const OF_PLAN: u8 = 1;
/// The first byte of a token of a table's pages.
const OF_PAGES: u8 = 2;

/// The pages that a token is for, beside their plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pages {
    /// A hash of the table's id, without its project and instance.
    table: u64,
    /// How many fields `distinct` has; 0 without it.
    distinct: u64,
}

impl Pages {
    pub(crate) fn new(table: &str, distinct: Option<usize>) -> Self {
        let distinct = distinct.map_or(0, |count| count as u64);
        Self { table: fingerprint64(table.as_bytes()), distinct }
    }

    /// The position of the next page, after one that ends with the row with this stored key.
    pub(super) fn position_after(self, selection: &Selection, key: &[u8], reversed: bool) -> Position {
        match usize::try_from(self.distinct) {
            Ok(count @ 1..) => Position::after_value(selection, key, count, reversed),
            _ => Position::of(selection, key, reversed),
        }
    }
}

impl Position {
    /// The position of a row by its stored key.
    pub(super) fn of(selection: &Selection, key: &[u8], reversed: bool) -> Self {
        let (front, after) =
            if selection.is_ordered() { selection.schema.split_at_salt(key) } else { (key, &[][..]) };
        Self { front: front.to_vec(), after: after.to_vec(), reversed }
    }

    /// The position as text, with hashes of the plan and the layout. It is neither encrypted nor signed.
    pub(super) fn to_token(&self, selection: &Selection, pages: Option<Pages>) -> String {
        let version = if pages.is_some() { OF_PAGES } else { OF_PLAN };
        let mut bytes = vec![version, u8::from(self.reversed)];
        bytes.extend_from_slice(&layout_hash(selection).to_be_bytes());
        bytes.extend_from_slice(&plan_hash(selection, self.reversed).to_be_bytes());
        if let Some(Pages { table, distinct }) = pages {
            bytes.extend_from_slice(&table.to_be_bytes());
            bytes.extend_from_slice(&distinct.to_be_bytes());
        }
        bytes.extend_from_slice(&(self.front.len() as u64).to_be_bytes());
        bytes.extend_from_slice(&self.front);
        bytes.extend_from_slice(&self.after);
        // A checksum, since a truncated token would name another position. Anyone can compute it.
        bytes.extend_from_slice(&fingerprint64(&bytes).to_be_bytes());
        Hex(&bytes).to_string()
    }

    /// Reads a token back, of these pages or of a plan alone.
    pub(super) fn from_token(
        token: &str,
        selection: &Selection,
        pages: Option<Pages>,
        reversed: bool,
    ) -> Result<Self, PlanError> {
        let fault = |fault| PlanError::token(selection.schema.key_type(), fault);
        let token = Token::read(token).ok_or_else(|| fault(TokenFault::Malformed))?;
        match (token.pages, pages) {
            (None, Some(_)) => return Err(fault(TokenFault::WithoutTable)),
            (Some(_), None) => return Err(fault(TokenFault::OfTable)),
            (Some(of), Some(own)) if of.table != own.table => return Err(fault(TokenFault::OtherTable)),
            _ => {}
        }
        if token.layout != layout_hash(selection) {
            return Err(fault(TokenFault::OtherLayout));
        }
        if token.pages != pages {
            return Err(fault(TokenFault::OtherDistinct));
        }
        if token.plan != plan_hash(selection, token.position.reversed) {
            return Err(fault(TokenFault::OtherPlan));
        }
        if token.position.reversed != reversed {
            return Err(fault(TokenFault::OtherDirection));
        }
        Ok(token.position)
    }
}

/// The content of a page token.
struct Token {
    pages: Option<Pages>,
    layout: u64,
    plan: u64,
    position: Position,
}

impl Token {
    fn read(text: &str) -> Option<Self> {
        let bytes = read_hex(text.as_bytes()).ok()?;
        let (bytes, sum) = bytes.split_last_chunk()?;
        if fingerprint64(bytes).to_be_bytes() != *sum {
            return None;
        }
        let ([version @ (OF_PLAN | OF_PAGES), direction @ (0 | 1)], mut rest) = bytes.split_first_chunk()?
        else {
            return None;
        };
        let mut number = || {
            let (number, after) = rest.split_first_chunk()?;
            rest = after;
            Some(u64::from_be_bytes(*number))
        };
        let (layout, plan) = (number()?, number()?);
        let pages = match *version {
            OF_PAGES => Some(Pages { table: number()?, distinct: number()? }),
            _ => None,
        };
        let len = usize::try_from(number()?).ok()?;
        let (front, after) = rest.split_at_checked(len)?;
        let position = Position { front: front.to_vec(), after: after.to_vec(), reversed: *direction == 1 };
        Some(Self { pages, layout, plan, position })
    }
}

fn layout_hash(selection: &Selection) -> u64 {
    fingerprint64(selection.schema.fingerprint().to_string().as_bytes())
}

/// A hash of the constraints on a scan in one direction, the same in every process and release.
///
/// The hash includes a position that ends the scan, and omits the one where the page begins, so all pages of a scan
/// share it.
fn plan_hash(selection: &Selection, reversed: bool) -> u64 {
    let mut bytes = Vec::new();
    let mut part = |part: &[u8]| {
        bytes.extend_from_slice(&(part.len() as u64).to_be_bytes());
        bytes.extend_from_slice(part);
    };
    // The count comes first: otherwise the values of one field could be taken for those of the next.
    for field in 0..selection.encodings.fields() {
        part(&(selection.encodings.all(field).count() as u64).to_be_bytes());
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
    part(&[u8::from(selection.window.is_some()), u8::from(selection.cuts.is_some())]);
    if let Some(window) = &selection.window {
        part(window.start());
        part(window.end().unwrap_or_default());
    }
    for end in selection.after.iter().filter(|after| after.reversed != reversed) {
        part(b"end");
        part(&end.front);
        part(&end.after);
    }
    fingerprint64(&bytes)
}
