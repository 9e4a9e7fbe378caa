//! The values that the fixed fields of a scan may have, as they stand in a key.

use crate::key::Span;

/// For each fixed field, from the left, its encodings in the order of their bytes, each once.
///
/// All in one buffer: most plans have one for each field.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Encodings {
    bytes: Vec<u8>,
    spans: Vec<Span>,
    /// Where each field's spans end.
    fields: Vec<usize>,
}

impl Encodings {
    /// How many fields are fixed.
    pub(super) fn fields(&self) -> usize {
        self.fields.len()
    }

    /// Fixes the next field to what `write` appends; on an error to nothing.
    pub(super) fn push<E>(&mut self, write: impl FnOnce(&mut Vec<u8>) -> Result<(), E>) -> Result<(), E> {
        let start = self.bytes.len();
        let written = write(&mut self.bytes);
        if written.is_ok() {
            self.spans.push(Span { start, end: self.bytes.len() });
        }
        self.fields.push(self.spans.len());
        written
    }

    /// Fixes the next field to several encodings.
    pub(super) fn push_all(&mut self, mut encodings: Vec<Vec<u8>>) {
        encodings.sort_unstable();
        encodings.dedup();
        for encoding in encodings {
            let start = self.bytes.len();
            self.bytes.extend_from_slice(&encoding);
            self.spans.push(Span { start, end: self.bytes.len() });
        }
        self.fields.push(self.spans.len());
    }

    /// How many encodings a field has.
    pub(super) fn count(&self, field: usize) -> usize {
        self.fields[field] - self.first(field)
    }

    /// Whether some field has no encoding, so that no key has one of them in each field.
    pub(super) fn is_empty(&self) -> bool {
        (0..self.fields()).any(|field| self.count(field) == 0)
    }

    /// One encoding of a field, by its place in their order.
    pub(super) fn get(&self, field: usize, at: usize) -> &[u8] {
        let Span { start, end } = self.spans[self.first(field) + at];
        &self.bytes[start..end]
    }

    /// All encodings of a field.
    pub(super) fn all(&self, field: usize) -> impl Iterator<Item = &[u8]> {
        (0..self.count(field)).map(move |at| self.get(field, at))
    }

    /// How many choices of one encoding a field there are; `u64::MAX` where there are more.
    pub(super) fn choices(&self) -> u64 {
        (0..self.fields()).fold(1, |choices: u64, field| choices.saturating_mul(self.count(field) as u64))
    }

    /// In each field the place of the encoding that `of` prefers among two.
    pub(super) fn prefer(&self, of: impl Fn(&[u8], &[u8]) -> bool) -> Choice {
        let best = |field| {
            (1..self.count(field))
                .fold(0, |best, at| if of(self.get(field, at), self.get(field, best)) { at } else { best })
        };
        Choice((0..self.fields()).map(best).collect())
    }

    fn first(&self, field: usize) -> usize {
        field.checked_sub(1).map_or(0, |before| self.fields[before])
    }
}

/// One encoding for each field, by its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Choice(Vec<usize>);

impl Choice {
    /// The first choice in the order of the keys, or the last one; none where a field has no encoding.
    pub(super) fn first(of: &Encodings, reversed: bool) -> Option<Self> {
        let ends = (0..of.fields()).map(|field| if reversed { of.count(field).wrapping_sub(1) } else { 0 });
        (!of.is_empty()).then(|| Self(ends.collect()))
    }

    /// The first choice, in the order that is read, of which `is_ahead` holds, where it holds of all behind that one.
    ///
    /// A search by halves in each field, so that it looks at few of the choices.
    pub(super) fn first_ahead(
        of: &Encodings,
        reversed: bool,
        mut is_ahead: impl FnMut(&Self) -> bool,
    ) -> Option<Self> {
        // Of the choices with the same encodings up to a field, the one that is read last.
        let mut choice = Self::first(of, !reversed)?;
        if !is_ahead(&choice) {
            return None;
        }
        for field in 0..of.fields() {
            // In steps from the encoding that is read first, the one at `high` is ahead.
            let last = of.count(field) - 1;
            let place = |step: usize| if reversed { last - step } else { step };
            let (mut low, mut high) = (0, last);
            while low < high {
                let middle = low + (high - low) / 2;
                choice.0[field] = place(middle);
                if is_ahead(&choice) {
                    high = middle;
                } else {
                    low = middle + 1;
                }
            }
            choice.0[field] = place(high);
        }
        Some(choice)
    }

    /// The place of a field's encoding.
    pub(super) fn at(&self, field: usize) -> usize {
        self.0[field]
    }

    /// Goes on to the next choice in the order of the keys, or to the one before; whether there is one.
    pub(super) fn advance(&mut self, of: &Encodings, reversed: bool) -> bool {
        for (field, at) in self.0.iter_mut().enumerate().rev() {
            let last = of.count(field) - 1;
            match reversed {
                false if *at < last => {
                    *at += 1;
                    return true;
                }
                true if *at > 0 => {
                    *at -= 1;
                    return true;
                }
                _ => *at = if reversed { last } else { 0 },
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encodings(counts: &[u8]) -> Encodings {
        let mut encodings = Encodings::default();
        for count in counts {
            encodings.push_all((0..*count).map(|value| vec![value]).collect());
        }
        encodings
    }

    #[test]
    fn the_first_choice_ahead_is_found() {
        for counts in [&[3, 1, 4][..], &[1], &[2, 2, 2, 2], &[]] {
            let of = encodings(counts);
            for reversed in [false, true] {
                let mut all = Vec::from_iter(Choice::first(&of, reversed));
                while let Some(mut next) = all.last().cloned().filter(|_| all.len() < 64) {
                    if !next.advance(&of, reversed) {
                        break;
                    }
                    all.push(next);
                }
                assert_eq!(all.len() as u64, of.choices());
                for ahead in 0..=all.len() {
                    let is_ahead = |choice: &Choice| all[ahead..].contains(choice);
                    let found = Choice::first_ahead(&of, reversed, is_ahead);
                    assert_eq!(found.as_ref(), all.get(ahead), "{counts:?} {reversed}");
                }
            }
        }
        assert_eq!(Choice::first_ahead(&encodings(&[3, 0]), false, |_| true), None);
    }

    /// Of millions of choices a few are looked at.
    #[test]
    fn few_choices_are_looked_at() {
        let of = encodings(&[255; 4]);
        let mut looked_at = 0;
        let found = Choice::first_ahead(&of, false, |choice| {
            looked_at += 1;
            choice.0 >= vec![200, 7, 254, 100]
        });
        assert_eq!(found, Some(Choice(vec![200, 7, 254, 100])));
        assert!(looked_at <= 1 + 4 * 8, "{looked_at}");
    }
}
