//! A plan in words.

use std::collections::BTreeSet;
use std::fmt;

use serde::Serialize;

use super::fixed::Buckets;
use super::range::KeyRange;
use super::request::Request;
use super::selection::Selection;
use crate::key::{Hex, Readable, Salt, Schema};

/// How many requests are printed before the rest is counted.
const SHOWN_REQUESTS: usize = 8;

/// How many keys and ranges of a request are printed before the rest is counted.
const SHOWN_ROWS: usize = 8;

/// How many buckets are named before they are counted.
const NAMED_BUCKETS: usize = 8;

/// How many waves of requests are counted at most: the values of `any_of` may make millions, of megabytes each.
const COUNTED_WAVES: usize = 4;

/// A plan in words: what it reads, from which buckets and why, in which order.
///
/// Made without I/O by `explain()` on a scan builder, a [`Plan`](super::Plan) or a table's scan; print it
/// with `{}`. The text is for people: its wording may change in any release. As data of serde it has the same
/// parts, and all shown requests as [`Request`]s.
#[derive(Clone, Debug, Serialize)]
pub struct Explain {
    key_type: &'static str,
    /// The layout of the key in one line.
    key: String,
    reads: Reads,
    constraints: Vec<(&'static str, String)>,
    buckets: String,
    /// The stored keys that are looked at, where the plan is a part of another.
    window: Option<KeyRange>,
    order: Option<String>,
    limit: Option<u64>,
    /// Whether the limit is sent, and not only counted here.
    limit_is_sent: bool,
    filters: Vec<String>,
    /// How many requests are sent.
    request_count: usize,
    /// Whether more are sent than were counted.
    has_more_requests: bool,
    /// The first requests.
    requests: Vec<Request>,
}

/// What kind of read a plan is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Reads {
    Point,
    Points,
    Scan,
    Nothing,
}

impl Explain {
    /// The plan read forwards or backwards.
    pub(super) fn of(selection: &Selection, reversed: bool) -> Self {
        let words = Words { selection, schema: selection.schema };
        let Counted { requests, request_count, buckets, has_more } = Counted::of(selection, reversed);
        let reads = match (request_count, selection.is_whole(), selection.encodings.choices()) {
            (0, ..) => Reads::Nothing,
            (_, true, 1) => Reads::Point,
            (_, true, _) => Reads::Points,
            (_, false, _) => Reads::Scan,
        };
        let order =
            matches!(reads, Reads::Points | Reads::Scan).then(|| words.order(buckets.len(), reversed));
        Self {
            key_type: selection.schema.key_type(),
            key: selection.schema.template().to_string(),
            reads,
            constraints: words.constraints(),
            buckets: words.buckets(&buckets, has_more),
            window: selection.window.clone(),
            order,
            limit: None,
            limit_is_sent: true,
            filters: Vec::new(),
            request_count,
            has_more_requests: has_more,
            requests,
        }
    }

    /// The same plan under a limit on its rows.
    #[cfg(feature = "client")]
    pub(crate) fn with_limit(self, limit: Option<u64>, limit_is_sent: bool) -> Self {
        Self { limit, limit_is_sent, ..self }
    }

    /// The same plan with rows rearranged or left out by the scan.
    #[cfg(feature = "client")]
    pub(crate) fn with_filters(self, filters: Vec<String>) -> Self {
        Self { filters, ..self }
    }

    /// The same plan read without an order among its buckets.
    #[cfg(feature = "client")]
    pub(crate) fn unordered(self) -> Self {
        let order = self.order.map(|_| "none among buckets: rows come as they arrive".to_owned());
        Self { order, ..self }
    }
}

/// The requests of a selection, as many as are looked at.
struct Counted {
    /// Those that are shown.
    requests: Vec<Request>,
    request_count: usize,
    buckets: BTreeSet<i32>,
    has_more: bool,
}

impl Counted {
    fn of(selection: &Selection, reversed: bool) -> Self {
        let mut waves = selection.waves(reversed);
        let mut counted =
            Self { requests: Vec::new(), request_count: 0, buckets: BTreeSet::new(), has_more: false };
        for request in waves.by_ref().take(COUNTED_WAVES).flatten() {
            counted.request_count += 1;
            counted.buckets.extend(request.bucket());
            if counted.requests.len() < SHOWN_REQUESTS {
                counted.requests.push(request);
            }
        }
        counted.has_more = waves.next().is_some();
        counted
    }
}

/// What there is to say of a selection.
struct Words<'a> {
    selection: &'a Selection,
    schema: &'static Schema,
}

impl Words<'_> {
    fn constraints(&self) -> Vec<(&'static str, String)> {
        let fields = self.schema.fields();
        self.selection.constraints.iter().map(|c| (fields[c.field].name(), c.words.clone())).collect()
    }

    /// Which buckets are read, of which those of the counted requests are known, and why.
    fn buckets(&self, known: &BTreeSet<i32>, has_more: bool) -> String {
        let Some(salt) = self.schema.salt() else {
            return "the key type has no salt".into();
        };
        let count = salt.buckets().len();
        let over = self.names(salt.over());
        match self.selection.buckets() {
            None => "none: a field has an empty list of values".into(),
            Some(Buckets::One(bucket))
                if salt.over().iter().all(|at| self.selection.encodings.count(*at) == 1) =>
            {
                format!("bucket {bucket} of {}: the salt is over {over}, fixed", salt.bounds())
            }
            Some(Buckets::One(_)) => {
                let at_least = if has_more { "at least " } else { "" };
                let named = named(known);
                format!(
                    "{at_least}{named} of {}: the salt is over {over}, fixed to several values",
                    salt.bounds()
                )
            }
            Some(Buckets::All) if self.selection.window.is_some() => {
                let at_least = if has_more { "at least " } else { "" };
                let named = named(known);
                format!(
                    "{at_least}{named} of {}: no other one has stored keys in this part of the scan",
                    salt.bounds()
                )
            }
            Some(Buckets::Unsalted | Buckets::All) => {
                let fixed = self.selection.fixed();
                let free: Vec<_> = salt.over().iter().copied().filter(|at| *at >= fixed).collect();
                format!("all {count}: the salt is over {over}; not fixed: {}", self.names(&free))
            }
            Some(Buckets::Interleaved) => format!("all {count}, in one request: {}", self.free_left(salt)),
        }
    }

    /// Which fields left of the salt keep its buckets apart.
    fn free_left(&self, salt: &Salt) -> String {
        let left: Vec<_> = (0..salt.fields_left()).collect();
        let free = left.get(self.selection.fixed()..).unwrap_or_default();
        format!("the salt stands behind {}; not fixed: {}", self.names(&left), self.names(free))
    }

    fn names(&self, fields: &[usize]) -> String {
        let all = self.schema.fields();
        fields.iter().map(|at| all[*at].name()).collect::<Vec<_>>().join(", ")
    }

    fn order(&self, streams: usize, reversed: bool) -> String {
        let backwards = if reversed { ", backwards" } else { "" };
        if let (Some(Buckets::Interleaved), Some(salt)) = (self.selection.buckets(), self.schema.salt()) {
            return format!("as stored, by row key, not by field{backwards}: {}", self.free_left(salt));
        }
        let fixed = self.selection.fixed();
        let free = self.schema.fields().iter().enumerate();
        let free = free.filter(|(at, _)| *at >= fixed || self.selection.encodings.count(*at) > 1);
        let by = free.map(|(_, field)| match field.order().is_reversed() != reversed {
            true => format!("{}, greatest first", field.name()),
            false => field.name().to_owned(),
        });
        let by = format!("by {}", by.collect::<Vec<_>>().join("; then "));
        match streams {
            0 | 1 => by,
            streams => format!("{by}; merged from {streams} streams"),
        }
    }
}

/// The buckets as a person lists them: `bucket 2`, `buckets 0, 2, 3`, or how many there are.
fn named(buckets: &BTreeSet<i32>) -> String {
    let names: Vec<_> = buckets.iter().map(i32::to_string).collect();
    match names.len() {
        1 => format!("bucket {}", names.concat()),
        0 => "none".into(),
        2..=NAMED_BUCKETS => format!("buckets {}", names.join(", ")),
        count => format!("{count} buckets"),
    }
}

/// One line of the table: its name, padded, then its text.
fn line(f: &mut fmt::Formatter<'_>, name: &str, text: &dyn fmt::Display) -> fmt::Result {
    write!(f, "\n  {name:<12} {text}")
}

impl fmt::Display for Explain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.reads {
            Reads::Point => "point read",
            Reads::Points => "point reads",
            Reads::Scan | Reads::Nothing => "scan",
        };
        write!(f, "{kind} of {}", self.key_type)?;
        line(f, "key", &self.key)?;
        let constraints = self.constraints.iter().map(|(field, words)| format!("{field} {words}"));
        match self.constraints.is_empty() {
            true => line(f, "constraints", &"none: every row of the key type")?,
            false => line(f, "constraints", &constraints.collect::<Vec<_>>().join(", "))?,
        }
        line(f, "buckets", &self.buckets)?;
        if let Some(window) = &self.window {
            line(f, "within", &format_args!("{window}, the stored keys of this part of a scan"))?;
        }
        if self.limit == Some(0) {
            return line(f, "reads", &"nothing: the limit is 0; no request is sent");
        }
        if self.reads == Reads::Nothing {
            let nothing = "nothing: no row key can satisfy the constraints; no request is sent";
            return line(f, "reads", &nothing);
        }
        if let Some(order) = &self.order {
            line(f, "order", order)?;
        }
        if let (Some(limit), Reads::Scan | Reads::Points) = (self.limit, self.reads) {
            let counted =
                if self.limit_is_sent { "sent with each request" } else { "counted behind the key filter" };
            line(f, "limit", &format_args!("{limit} rows, {counted}"))?;
        }
        for filter in &self.filters {
            line(f, "filter", filter)?;
        }
        let or_more = if self.has_more_requests { ", and more that are not counted here" } else { "" };
        line(f, "requests", &format_args!("{}{or_more}", self.request_count))?;
        for request in &self.requests {
            write_rows(f, request)?;
        }
        match self.request_count - self.requests.len() {
            0 => Ok(()),
            more => line(f, "", &format_args!("and {more} more requests")),
        }
    }
}

fn write_rows(f: &mut fmt::Formatter<'_>, request: &Request) -> fmt::Result {
    for key in request.keys().iter().take(SHOWN_ROWS) {
        line(f, "", &Readable(key))?;
        line(f, "", &format_args!("hex {}", Hex(key)))?;
    }
    for range in request.ranges().iter().take(SHOWN_ROWS) {
        line(f, "", range)?;
        line(f, "", &format_args!("hex {range:#}"))?;
    }
    let shown = request.keys().len().min(SHOWN_ROWS) + request.ranges().len().min(SHOWN_ROWS);
    match request.keys().len() + request.ranges().len() - shown {
        0 => Ok(()),
        more => line(f, "", &format_args!("and {more} more in this request")),
    }
}
