//! Where the rows of a plan lie in the ordered layout.
//!
//! Empty fields at the end of a key are dropped, so the rows of a fixed prefix begin at the key that has only the
//! prefix, and end behind everything that goes on with a separator.

use super::parts::Rows;
use super::range::prefix_end;
use crate::key::ordered::{BEHIND, EMPTY, SEPARATOR, escaped};
use crate::key::{Cut, EncodeError, Schema, Span, check_len, ordered_end};

/// The fixed fields of a scan, as they stand in a key behind the tag and the salt.
pub(super) struct Fixed<'a> {
    pub(super) schema: &'static Schema,
    /// Each field with the separator behind it, but the key's last one.
    pub(super) bytes: &'a [u8],
    pub(super) spans: &'a [Span],
    /// Their bucket where it is known, which decides how long the salt is.
    pub(super) bucket: Option<i32>,
}

impl Fixed<'_> {
    /// The rows between two cuts of the next field, or of all that the fixed fields leave open.
    pub(super) fn rows(&self, cuts: Option<&(Cut, Cut)>) -> Result<Rows, EncodeError> {
        let mut head = Vec::new();
        self.schema.write_head(self.bucket, &[], &mut head);
        let canonical = self.canonical();
        check_len(self.schema, (head.len() + canonical.len()).max(1))?;
        if self.spans.len() == self.schema.fields().len() {
            return Ok(Rows::Key(canonical));
        }
        let (start, end) = cuts.map_or((&Cut::First, &Cut::Last), |(start, end)| (start, end));
        Ok(match (self.place(start), self.place(end)) {
            (None, _) => Rows::None,
            (Some(start), Some(end)) if end <= start => Rows::None,
            (Some(start), end) => Rows::Range { start, end },
        })
    }

    fn is_headed(&self) -> bool {
        self.schema.tag().is_some() || self.schema.salt().is_some()
    }

    /// What leads from the head to the first field.
    fn lead(&self) -> &'static [u8] {
        if self.is_headed() { &SEPARATOR } else { &[] }
    }

    /// The key that has the fixed fields and then only empty ones.
    fn canonical(&self) -> Vec<u8> {
        match ordered_end(self.bytes, self.spans) {
            Some(end) => [self.lead(), &self.bytes[..end]].concat(),
            None if self.is_headed() || self.spans.is_empty() => Vec::new(),
            None => EMPTY.to_vec(),
        }
    }

    /// Behind every key with the fixed fields; none for the end of the table.
    fn behind(&self) -> Option<Vec<u8>> {
        match self.spans.last() {
            Some(last) => Some([self.lead(), &self.bytes[..last.end], &BEHIND].concat()),
            None => self.is_headed().then(|| BEHIND.to_vec()),
        }
    }

    fn place(&self, cut: &Cut) -> Option<Vec<u8>> {
        let part = |raw: &[u8]| [self.lead(), self.bytes, &escaped(raw)].concat();
        match cut {
            Cut::First => Some(self.canonical()),
            // Rows whose next field is empty begin at the key that ends before it.
            Cut::Before(raw) if raw.is_empty() => Some(self.canonical()),
            Cut::Before(raw) => Some(part(raw)),
            Cut::After(raw) => Some([part(raw), BEHIND.to_vec()].concat()),
            Cut::AfterPrefix(raw) if !raw.is_empty() => prefix_end(&part(raw)),
            Cut::AfterPrefix(_) | Cut::Last => self.behind(),
        }
    }
}
