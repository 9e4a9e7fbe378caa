//! Filters in words.

use std::fmt;

use super::{FilterKind, RowFilter};
use crate::key::Readable;

/// What the filter leaves, in words.
///
/// The text is for people and may change.
impl fmt::Display for RowFilter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            FilterKind::PassAll => f.write_str("every cell"),
            FilterKind::BlockAll => f.write_str("no cell"),
            FilterKind::Chain(filters) => joined(f, filters, ", then "),
            FilterKind::Interleave(filters) => joined(f, filters, " and "),
            FilterKind::Condition(condition) => write!(
                f,
                "{} of rows that have {}, and of the others {}",
                InnerFilter(&condition.then),
                InnerFilter(&condition.predicate),
                InnerFilter(&condition.otherwise)
            ),
            FilterKind::Sink => f.write_str("every cell past all further filters"),
            FilterKind::RowKeyRegex(regex) => write!(f, "rows whose key matches `{}`", Readable(regex)),
            FilterKind::RowSample(probability) => write!(f, "each row with the probability {probability}"),
            FilterKind::Family(name) => write!(f, "the columns of the family `{name}`"),
            FilterKind::FamilyRegex(regex) => {
                write!(f, "the columns of families whose name matches `{regex}`")
            }
            FilterKind::QualifierRegex(regex) => {
                write!(f, "the columns whose qualifier matches `{}`", Readable(regex))
            }
            FilterKind::AnyColumn { family, qualifiers } => {
                f.write_str(if qualifiers.len() == 1 { "the column " } else { "the columns " })?;
                for (place, qualifier) in qualifiers.iter().enumerate() {
                    write!(f, "{}`{}`", if place == 0 { "" } else { ", " }, Readable(qualifier))?;
                }
                write!(f, " of the family `{family}`")
            }
            FilterKind::Columns { family, range } => {
                write!(f, "the columns of the family `{family}` whose qualifier is in {range}")
            }
            FilterKind::Timestamps(range) => match range.end {
                Some(end) => write!(f, "versions whose timestamp is in [{}, {end}) µs", range.start),
                None => write!(f, "versions whose timestamp is in [{}, end) µs", range.start),
            },
            FilterKind::ValueRegex(regex) => write!(f, "cells whose value matches `{}`", Readable(regex)),
            FilterKind::Values(range) => write!(f, "cells whose value is in {range}"),
            FilterKind::SkipCells(cells) => write!(f, "all but the first {cells} cells of each row"),
            FilterKind::CellsPerRow(cells) => write!(f, "the first {cells} cells of each row"),
            FilterKind::CellsPerColumn(versions) => write!(f, "the newest {versions} of each column"),
            FilterKind::StripValue => f.write_str("cells without their values"),
            FilterKind::Label(label) => write!(f, "cells with the label `{label}`"),
            FilterKind::Refused(error) => write!(f, "what the service refuses: {error}"),
        }
    }
}

fn joined(f: &mut fmt::Formatter<'_>, filters: &[RowFilter], by: &str) -> fmt::Result {
    for (place, filter) in filters.iter().enumerate() {
        if place > 0 {
            f.write_str(by)?;
        }
        write!(f, "{}", InnerFilter(filter))?;
    }
    Ok(())
}

/// A filter inside another one: in parentheses where it would run into its neighbours.
struct InnerFilter<'a>(&'a RowFilter);

impl fmt::Display for InnerFilter<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(filter) = self;
        match filter.kind {
            FilterKind::Chain(_) | FilterKind::Interleave(_) | FilterKind::Condition(_) => {
                write!(f, "({filter})")
            }
            _ => write!(f, "{filter}"),
        }
    }
}
