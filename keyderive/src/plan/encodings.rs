//! The encodings of the fixed fields of a plan, and the choices of one for each field.

use std::ops::Range;
use std::sync::Arc;

use crate::key::Span;

/// For each fixed field, from the left, its encodings in the order of their bytes, each once.
///
/// Clones and parts share the buffer.
#[derive(Clone, Debug, Default)]
pub(super) struct Encodings {
    all: Arc<EncodingBuffer>,
    /// For each field, its spans in `all`.
    fields: Vec<Range<usize>>,
}

/// Encodings in one buffer, since most plans have one for each field.
#[derive(Clone, Debug, Default)]
struct EncodingBuffer {
    bytes: Vec<u8>,
    spans: Vec<Span>,
}

impl Encodings {
    /// How many fields are fixed.
    pub(super) fn fields(&self) -> usize {
        self.fields.len()
    }

    /// Fixes the next field to what `write` appends; on an error the field has no encoding.
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

    /// Whether some field has no encoding, so that there is no choice.
    pub(super) fn is_empty(&self) -> bool {
        (0..self.fields()).any(|field| self.count(field) == 0)
    }

    /// The encoding of a field at an index, in the order of the bytes.
    pub(super) fn get(&self, field: usize, at: usize) -> &[u8] {
        let Span { start, end } = self.all.spans[self.fields[field].start + at];
        &self.all.bytes[start..end]
    }

    /// All encodings of a field.
    pub(super) fn all(&self, field: usize) -> impl Iterator<Item = &[u8]> {
        (0..self.count(field)).map(move |at| self.get(field, at))
    }

    /// How many choices there are, saturating.
    pub(super) fn choices(&self) -> u64 {
        (0..self.fields()).fold(1, |choices: u64, field| choices.saturating_mul(self.count(field) as u64))
    }

    /// For each field, the encoding that is `better` than all others.
    pub(super) fn choose(&self, better: impl Fn(&[u8], &[u8]) -> bool) -> Choice {
        let best = |field| {
            (1..self.count(field)).fold(0, |best, at| {
                if better(self.get(field, at), self.get(field, best)) { at } else { best }
            })
        };
        Choice((0..self.fields()).map(best).collect())
    }

    /// Keeps the choices from the first to the last of `ends`, and possibly some outside: fields right of the first one
    /// in which the two differ keep all encodings. Without ends, no choice remains.
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

/// A choice: one encoding for each fixed field, by its index.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Choice(Vec<usize>);

impl Choice {
    /// The first choice in the order of the keys, or the last one if reversed; `None` if a field has no encoding.
    pub(super) fn first(of: &Encodings, reversed: bool) -> Option<Self> {
        let ends = (0..of.fields()).map(|field| if reversed { of.count(field).wrapping_sub(1) } else { 0 });
        (!of.is_empty()).then(|| Self(ends.collect()))
    }

    /// The first choice in reading order for which `holds` is true; `holds` must stay true for all choices after it.
    ///
    /// A binary search in each field, so that it tests few choices.
    pub(super) fn first_where(
        of: &Encodings,
        reversed: bool,
        mut holds: impl FnMut(&Self) -> bool,
    ) -> Option<Self> {
        // At the start of each round, `choice` is the last of all choices that have the same fields left of `field`.
        let mut choice = Self::first(of, !reversed)?;
        if !holds(&choice) {
            return None;
        }
        for field in 0..of.fields() {
            // Steps count from the field's first encoding in reading order; `holds` is true at `high`.
            let last = of.count(field) - 1;
            let position = |step: usize| if reversed { last - step } else { step };
            let (mut low, mut high) = (0, last);
            while low < high {
                let middle = low + (high - low) / 2;
                choice.0[field] = position(middle);
                if holds(&choice) {
                    high = middle;
                } else {
                    low = middle + 1;
                }
            }
            choice.0[field] = position(high);
        }
        Some(choice)
    }

    /// The index of a field's encoding.
    pub(super) fn at(&self, field: usize) -> usize {
        self.0[field]
    }

    /// Advances to the next choice in the order of the keys, or to the previous one if reversed; returns false at the end.
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
    fn the_first_choice_that_holds_is_found() {
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
                for first in 0..=all.len() {
                    let holds = |choice: &Choice| all[first..].contains(choice);
                    let found = Choice::first_where(&of, reversed, holds);
                    assert_eq!(found.as_ref(), all.get(first), "{counts:?} {reversed}");
                }
            }
        }
        assert_eq!(Choice::first_where(&encodings(&[3, 0]), false, |_| true), None);
    }

    /// A part has every choice between its ends, in the order of the whole, and shares the buffer.
    #[test]
    fn a_part_has_the_choices_between_its_ends() {
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

    #[test]
    fn the_first_choice_of_millions_is_found_in_a_few_steps() {
        let of = encodings(&[255; 4]);
        let mut calls = 0;
        let found = Choice::first_where(&of, false, |choice| {
            calls += 1;
            choice.0 >= vec![200, 7, 254, 100]
        });
        assert_eq!(found, Some(Choice(vec![200, 7, 254, 100])));
        assert!(calls <= 1 + 4 * 8, "{calls}");
    }
}
