//! Why a row cannot be written, or a stored row cannot be read as its type.

use std::error::Error;
use std::fmt::{self, Display};

use super::show::EscapedText;
use super::{CellError, Name, RawRow};

/// The error of writing a row, or of reading a stored row as its type.
///
/// Its text names the column as `family:qualifier`, the found value, and the remedy; `{:#}` leaves out a remedy that names attributes.
#[derive(Clone, Debug)]
pub struct RowError(Box<Inner>);

#[derive(Clone, Debug)]
struct Inner {
    family: Box<str>,
    qualifier: Box<[u8]>,
    fault: RowFault,
    /// The columns of a row that lacks this one.
    present: Vec<String>,
}

#[derive(Clone, Debug)]
enum RowFault {
    Missing,
    Cell(CellError),
}

impl RowError {
    /// The row has no cell in a column that its type needs.
    #[cold]
    pub(super) fn missing(column: Name<'_>) -> Self {
        Self::new(column, RowFault::Missing)
    }

    /// The column holds another value than its type's, or a value cannot be stored there.
    #[cold]
    pub(crate) fn cell(column: Name<'_>, error: CellError) -> Self {
        Self::new(column, RowFault::Cell(error))
    }

    /// A key of a map is empty.
    #[cold]
    pub(super) fn empty_name(family: &str) -> Self {
        let error = CellError::unsupported(
            "has an empty name, which is that of the marker of an empty family; give the column a name",
        );
        Self::cell(Name { family, qualifier: b"" }, error)
    }

    /// A value whose own time is so long ago that the rule of its family removes it at once.
    #[cold]
    pub(crate) fn removed_at_once(
        family: &str,
        qualifier: &[u8],
        timestamp_micros: i64,
        rule: &impl Display,
    ) -> Self {
        let error = CellError::unsupported(format_args!(
            "has the timestamp {timestamp_micros}, in microseconds since the epoch, and would be gone at once: by the \
             client's clock, the garbage collection rule of its family removes it, as it is `{rule}`; leave it out, give \
             it a later timestamp, or keep the family's cells for longer"
        ));
        Self::cell(Name { family, qualifier }, error)
    }

    /// A value whose own time is finer than the table's granularity.
    #[cold]
    pub(crate) fn too_fine(family: &str, qualifier: &[u8], timestamp_micros: i64) -> Self {
        let error = CellError::unsupported(format_args!(
            "has the timestamp {timestamp_micros}, in microseconds since the epoch, and the table stores whole milliseconds; \
             round it, as by `micros / 1000 * 1000`, or create the table with `.granularity(Granularity::Micros)`"
        ));
        Self::cell(Name { family, qualifier }, error)
    }

    /// A value whose own time is so long ago that no read returns it.
    #[cold]
    pub(crate) fn hidden_at_once(
        family: &str,
        qualifier: &[u8],
        timestamp_micros: i64,
        ttl: &impl Display,
    ) -> Self {
        let error = CellError::unsupported(format_args!(
            "has the timestamp {timestamp_micros}, in microseconds since the epoch, and would be hidden at once: by the \
             client's clock, it is past the `ttl` of its family, which hides cells {ttl}; leave it out, give it a later \
             timestamp, or raise the `ttl`"
        ));
        Self::cell(Name { family, qualifier }, error)
    }

    fn new(column: Name<'_>, fault: RowFault) -> Self {
        let Name { family, qualifier } = column;
        Self(Box::new(Inner {
            family: family.into(),
            qualifier: qualifier.into(),
            fault,
            present: Vec::new(),
        }))
    }

    /// Says which columns the row has, if it lacks one.
    #[cold]
    pub(crate) fn of_row(mut self, row: &RawRow) -> Self {
        /// How many columns the text names.
        const SHOWN: usize = 8;
        if let RowFault::Missing = self.0.fault {
            let mut names: Vec<_> = row
                .cells()
                .map(|cell| format!("`{}:{}`", cell.family(), EscapedText(cell.qualifier())))
                .collect();
            names.dedup();
            if names.len() > SHOWN {
                let rest = names.len() - SHOWN;
                names.truncate(SHOWN);
                names.push(format!("{rest} more"));
            }
            self.0.present = names;
        }
        self
    }

    /// The column, as `family:qualifier`.
    pub(crate) fn column(&self) -> String {
        format!("{}:{}", self.0.family, EscapedText(&self.0.qualifier))
    }

    /// Whether the row has no cell in a column that the row type needs.
    #[must_use]
    pub fn is_missing_column(&self) -> bool {
        matches!(self.0.fault, RowFault::Missing)
    }

    /// Whether a column's value does not decode as its field's type.
    #[must_use]
    pub fn is_malformed(&self) -> bool {
        matches!(&self.0.fault, RowFault::Cell(error) if error.is_malformed())
    }

    /// Whether a value cannot be stored in its column.
    #[must_use]
    pub fn is_unsupported(&self) -> bool {
        matches!(&self.0.fault, RowFault::Cell(error) if !error.is_malformed())
    }

    /// The text without values, for logs that must not have them. It names the column.
    #[must_use = "it is a text, to be printed"]
    pub fn redacted(&self) -> impl Display + '_ {
        fmt::from_fn(|f| {
            self.write_place(f)?;
            match &self.0.fault {
                RowFault::Missing => f.write_str(MISSING)?,
                RowFault::Cell(error) if error.is_malformed() => {
                    f.write_str(" does not hold a value of its field's type")?;
                }
                RowFault::Cell(_) => f.write_str(" cannot be stored")?,
            }
            self.write_remedy(f)
        })
    }

    /// What to do about it, in calls and attributes. The policy of reads of several rows comes last, since a read of one row has none.
    pub(crate) fn remedy(&self) -> Option<&'static str> {
        self.is_missing_column().then_some(
            "make the field an `Option` or give it `#[row(default)]`; reads of several rows can leave such rows out, with \
             `.on_unreadable(OnUnreadable::Skip)`",
        )
    }

    fn write_remedy(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.remedy() {
            Some(remedy) if !f.alternate() => write!(f, "; {remedy}"),
            _ => Ok(()),
        }
    }

    fn write_place(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "column `{}:{}`", self.0.family, EscapedText(&self.0.qualifier))
    }
}

const MISSING: &str = " is missing, and the row type requires it: an update, an addition or an increment of a row that is not there writes \
                       only its own columns, a `ttl` hides the older ones, and a filter of the scan can remove it";

impl Display for RowError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write_place(f)?;
        match &self.0.fault {
            RowFault::Missing if self.0.present.is_empty() => f.write_str(MISSING)?,
            RowFault::Missing => write!(f, "{MISSING}; the row has {}", self.0.present.join(", "))?,
            RowFault::Cell(error) => write!(f, " {error}")?,
        }
        self.write_remedy(f)
    }
}

impl Error for RowError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match &self.0.fault {
            RowFault::Missing => None,
            RowFault::Cell(error) => error.source(),
        }
    }
}
