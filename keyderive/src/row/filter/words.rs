//! Filters in words.

use std::fmt;

use super::{Kind, RowFilter};
use crate::key::Readable;

/// What the filter leaves, in words.
///
/// The text is for people and may change.
impl fmt::Display for RowFilter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            Kind::PassAll => f.write_str("every cell"),
            Kind::BlockAll => f.write_str("no cell"),
            Kind::Chain(filters) => joined(f, filters, ", then "),
            Kind::Interleave(filters) => joined(f, filters, " and "),
            Kind::Condition(condition) => write!(
                f,
                "{} of rows that have {}, and of the others {}",
                Part(&condition.then),
                Part(&condition.predicate),
                Part(&condition.otherwise)
            ),
            Kind::Sink => f.write_str("every cell past all further filters"),
            Kind::RowKeyRegex(regex) => write!(f, "rows whose key matches `{}`", Readable(regex)),
            Kind::RowSample(probability) => write!(f, "each row with the probability {probability}"),
            Kind::Family(name) => write!(f, "the columns of the family `{name}`"),
            Kind::FamilyRegex(regex) => write!(f, "the columns of families whose name matches `{regex}`"),
            Kind::QualifierRegex(regex) => {
                write!(f, "the columns whose qualifier matches `{}`", Readable(regex))
            }
            Kind::AnyColumn { family, qualifiers } => {
                f.write_str(if qualifiers.len() == 1 { "the column " } else { "the columns " })?;
                for (place, qualifier) in qualifiers.iter().enumerate() {
                    write!(f, "{}`{}`", if place == 0 { "" } else { ", " }, Readable(qualifier))?;
                }
                write!(f, " of the family `{family}`")
            }
            Kind::Columns { family, range } => {
                write!(f, "the columns of the family `{family}` whose qualifier is in {range}")
            }
            Kind::Timestamps(range) => match range.end {
                Some(end) => write!(f, "versions whose timestamp is in [{}, {end}) µs", range.start),
                None => write!(f, "versions whose timestamp is in [{}, end) µs", range.start),
            },
            Kind::ValueRegex(regex) => write!(f, "cells whose value matches `{}`", Readable(regex)),
            Kind::Values(range) => write!(f, "cells whose value is in {range}"),
            Kind::SkipCells(cells) => write!(f, "all but the first {cells} cells of each row"),
            Kind::CellsPerRow(cells) => write!(f, "the first {cells} cells of each row"),
            Kind::CellsPerColumn(versions) => write!(f, "the newest {versions} of each column"),
            Kind::StripValue => f.write_str("cells without their values"),
            Kind::Label(label) => write!(f, "cells with the label `{label}`"),
            Kind::Refused(error) => write!(f, "what the service refuses: {error}"),
        }
    }
}

fn joined(f: &mut fmt::Formatter<'_>, filters: &[RowFilter], by: &str) -> fmt::Result {
    for (place, filter) in filters.iter().enumerate() {
        if place > 0 {
            f.write_str(by)?;
        }
        write!(f, "{}", Part(filter))?;
    }
    Ok(())
}

/// A filter inside another one: in parentheses where it would run into its neighbours.
struct Part<'a>(&'a RowFilter);

impl fmt::Display for Part<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(filter) = self;
        match filter.kind {
            Kind::Chain(_) | Kind::Interleave(_) | Kind::Condition(_) => write!(f, "({filter})"),
            _ => write!(f, "{filter}"),
        }
    }
}
