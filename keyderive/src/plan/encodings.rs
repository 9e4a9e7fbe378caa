//! The values that the fixed fields of a scan may have, as they stand in a key.

use std::ops::Range;
use std::sync::Arc;

use crate::key::Span;

/// For each fixed field, from the left, its encodings in the order of their bytes, each once.
///
/// Clones and parts share the bytes.
#[derive(Clone, Debug, Default)]
pub(super) struct Encodings {
    all: Arc<Written>,
    /// Which of the spans are each field's.
    fields: Vec<Range<usize>>,
}

/// Encodings in one buffer: most plans have one for each field.
#[derive(Clone, Debug, Default)]
struct Written {
    bytes: Vec<u8>,
    spans: Vec<Span>,
}

impl Encodings {
    /// How many fields are fixed.
    pub(super) fn fields(&self) -> usize {
        self.fields.len()
    }

    /// Fixes the next field to what `write` appends; on an error to nothing.
    pub(super) fn push<E>(&mut self, write: impl FnOnce(&mut Vec<u8>) -> Result<(), E>) -> Result<(), E> {
        let all = Arc::make_mut(&mut self.all);
        let (start, first) = (all.bytes.len(), all.spans.len());
        let written = write(&mut all.bytes);
        if written.is_ok() {
            all.spans.push(Span { start, end: all.bytes.len() });
        }
        self.fields.push(first..all.spans.len());
        written
    }

    /// Fixes the next field to several encodings.
    pub(super) fn push_all(&mut self, mut encodings: Vec<Vec<u8>>) {
        encodings.sort_unstable();
        encodings.dedup();
        let all = Arc::make_mut(&mut self.all);
        let first = all.spans.len();
        for encoding in encodings {
            let start = all.bytes.len();
            all.bytes.extend_from_slice(&encoding);
            all.spans.push(Span { start, end: all.bytes.len() });
        }
        self.fields.push(first..all.spans.len());
    }

    /// How many encodings a field has.
    pub(super) fn count(&self, field: usize) -> usize {
        self.fields[field].len()
    }

    /// Whether some field has no encoding, so that no key has one of them in each field.
    pub(super) fn is_empty(&self) -> bool {
        (0..self.fields()).any(|field| self.count(field) == 0)
    }

    /// One encoding of a field, by its place in their order.
    pub(super) fn get(&self, field: usize, at: usize) -> &[u8] {
        let Span { start, end } = self.all.spans[self.fields[field].start + at];
        &self.all.bytes[start..end]
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

    /// The choices from `first` to `last`, and of those around them some: all encodings of the fields right of the
    /// one in which the two differ. None at all, where there are no ends.
    pub(super) fn between(mut self, ends: Option<(Choice, Choice)>) -> Self {
        let ends = ends.filter(|(first, last)| first.0 <= last.0);
        for (field, spans) in self.fields.iter_mut().enumerate() {
            let Some((first, last)) = &ends else {
                spans.end = spans.start;
                break;
            };
            let (from, to) = (first.at(field), last.at(field));
            *spans = spans.start + from..spans.start + to + 1;
            if from < to {
                break;
            }
        }
        self
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

    /// The first choice, in the order that is read, of which `is_ahead` holds, where it holds of all after that one.
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

    /// A part has every choice between its ends, in the order of the whole, and is no copy.
    #[test]
    fn a_part_has_what_is_between_its_ends() {
        let of = encodings(&[3, 1, 4, 2]);
        let all = |of: &Encodings| {
            let mut all = Vec::new();
            let mut next = Choice::first(of, false);
            while let Some(mut choice) = next.take() {
                let bytes = (0..of.fields()).flat_map(|field| of.get(field, choice.at(field)).to_vec());
                all.push((bytes.collect::<Vec<_>>(), choice.clone()));
                next = choice.advance(of, false).then_some(choice);
            }
            all
        };
        let whole = all(&of);
        for (at, (from, first)) in whole.iter().enumerate() {
            for (to, last) in &whole[at..] {
                let part = of.clone().between(Some((first.clone(), last.clone())));
                assert!(Arc::ptr_eq(&of.all, &part.all));
                let inside = all(&part).into_iter().map(|(bytes, _)| bytes);
                let inside: Vec<_> = inside.filter(|bytes| from <= bytes && bytes <= to).collect();
                let expected = whole.iter().map(|(bytes, _)| bytes.clone());
                assert_eq!(inside, expected.filter(|bytes| from <= bytes && bytes <= to).collect::<Vec<_>>());
            }
            let backwards = at.checked_sub(1).map(|before| (first.clone(), whole[before].1.clone()));
            assert!(of.clone().between(backwards).is_empty());
        }
        assert!(encodings(&[]).between(None).fields() == 0);
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
