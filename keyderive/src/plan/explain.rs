//! A plan in words.

use std::fmt;

use super::parts::{Buckets, Parts, RequestRows, Rows};
use crate::key::{Hex, Readable, Salt, Schema};

/// How many requests are printed before the rest is counted.
const SHOWN_REQUESTS: usize = 8;

/// A plan in words: what it reads, from which buckets and why, in which order.
///
/// Made without I/O by `explain()` on a scan builder, a [`Plan`](super::Plan) or a table's scan; print it
/// with `{}`. The text is for people: its wording may change in any release.
#[derive(Clone, Debug)]
pub struct Explain {
    parts: Parts,
    limit: Option<u64>,
}

impl Explain {
    pub(super) fn new(parts: Parts) -> Self {
        Self { parts, limit: None }
    }

    /// The same plan under a limit on its rows.
    #[cfg(feature = "client")]
    pub(crate) fn with_limit(self, limit: Option<u64>) -> Self {
        Self { limit, ..self }
    }

    fn constraints(&self) -> String {
        if self.parts.constraints.is_empty() {
            return "none: every row of the key type".into();
        }
        let fields = self.parts.schema.fields();
        let words = self.parts.constraints.iter();
        words.map(|c| format!("{} {}", fields[c.field].name(), c.words)).collect::<Vec<_>>().join(", ")
    }

    fn buckets(&self) -> String {
        let Some(salt) = self.parts.schema.salt() else {
            return "the key type has no salt".into();
        };
        let count = salt.buckets().len();
        let over = self.names(salt.over());
        match self.parts.buckets {
            Buckets::One(bucket) => {
                format!("bucket {bucket} of {}: the salt is over {over}, fixed", salt.bounds())
            }
            Buckets::Unsalted | Buckets::All => {
                let free: Vec<_> = salt.over().iter().copied().filter(|at| *at >= self.parts.fixed).collect();
                format!("all {count}: the salt is over {over}; not fixed: {}", self.names(&free))
            }
            Buckets::Interleaved => format!("all {count}, in one request: {}", self.free_left(salt)),
        }
    }

    /// Which fields left of the salt keep its buckets apart.
    fn free_left(&self, salt: &Salt) -> String {
        let left: Vec<_> = (0..salt.fields_left()).collect();
        let free = left.get(self.parts.fixed..).unwrap_or_default();
        format!("the salt stands behind {}; not fixed: {}", self.names(&left), self.names(free))
    }

    fn names(&self, fields: &[usize]) -> String {
        let all = self.parts.schema.fields();
        fields.iter().map(|at| all[*at].name()).collect::<Vec<_>>().join(", ")
    }

    fn order(&self) -> String {
        if let (Buckets::Interleaved, Some(salt)) = (self.parts.buckets, self.parts.schema.salt()) {
            return format!("as stored, by row key, not by field: {}", self.free_left(salt));
        }
        let free = self.parts.schema.fields().iter().skip(self.parts.fixed);
        let by = free.map(|field| match field.order().is_reversed() {
            true => format!("{}, greatest first", field.name()),
            false => field.name().to_owned(),
        });
        let by = format!("by {}", by.collect::<Vec<_>>().join("; then "));
        match self.parts.request_count() {
            0 | 1 => by,
            streams => format!("{by}; merged from {streams} streams"),
        }
    }
}

/// One line of the table: its name, padded, then its text.
fn line(f: &mut fmt::Formatter<'_>, name: &str, text: &dyn fmt::Display) -> fmt::Result {
    write!(f, "\n  {name:<12} {text}")
}

impl fmt::Display for Explain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { parts, limit } = self;
        let schema: &Schema = parts.schema;
        let kind = if matches!(parts.rows, Rows::Key(_)) { "point read" } else { "scan" };
        write!(f, "{kind} of {}", schema.key_type())?;
        line(f, "key", &schema.template())?;
        line(f, "constraints", &self.constraints())?;
        line(f, "buckets", &self.buckets())?;
        if *limit == Some(0) {
            return line(f, "reads", &"nothing: the limit is 0; no request is sent");
        }
        match &parts.rows {
            Rows::None => {
                return line(
                    f,
                    "reads",
                    &"nothing: no row key can satisfy the constraints; no request is sent",
                );
            }
            Rows::Key(_) => {}
            Rows::Range { .. } => line(f, "order", &self.order())?,
        }
        let requests = parts.request_count();
        if let (Some(limit), Rows::Range { .. }) = (limit, &parts.rows) {
            line(f, "limit", &format_args!("{limit} rows, sent with each request"))?;
        }
        line(f, "requests", &format_args!("{requests}"))?;
        for request in parts.requests().take(SHOWN_REQUESTS) {
            match request.rows() {
                RequestRows::Key(key) => {
                    line(f, "", &Readable(key))?;
                    line(f, "", &format_args!("hex {}", Hex(key)))?;
                }
                RequestRows::Range(range) => {
                    line(f, "", range)?;
                    line(f, "", &format_args!("hex {range:#}"))?;
                }
            }
        }
        match requests.saturating_sub(SHOWN_REQUESTS) {
            0 => Ok(()),
            more => line(f, "", &format_args!("and {more} more, one for each further bucket")),
        }
    }
}
