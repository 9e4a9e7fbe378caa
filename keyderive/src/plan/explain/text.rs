//! The words of a plan as a page of text.

use std::collections::BTreeMap;
use std::fmt;

use super::super::range::KeyRange;
use super::super::request::Request;
use super::{Explain, ExplainOptions, Limit, Reads, RowShown, VersionsRead};
use crate::key::{Hex, Readable};

/// How many keys and ranges of a request are printed before the rest is counted.
const SHOWN_ROWS: usize = 8;

/// One line of the page: its name, padded, then its text.
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
        if let Some(after) = &self.after {
            line(f, "after", after)?;
        }
        match (self.options.limit, self.reads) {
            (Some(Limit { rows: 0, .. }), _) => {
                line(f, "reads", &"nothing: the limit is 0; no request is sent")
            }
            (_, Reads::Nothing) => {
                line(f, "reads", &format_args!("nothing: {}; no request is sent", self.why_nothing()))
            }
            _ => self.write_run(f),
        }
    }
}

impl Explain {
    /// Why a plan asks for nothing.
    fn why_nothing(&self) -> &'static str {
        match self.after.is_some() || self.window.is_some() {
            true => "no row key that is left can satisfy the constraints",
            false => "no row key can satisfy the constraints",
        }
    }

    /// How the plan runs, and what is asked of the table.
    fn write_run(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ExplainOptions { limit, keys_only, versions, filters, .. } = &self.options;
        if let Some(order) = &self.order {
            line(f, "order", order)?;
        }
        if let (Some(limit), Reads::Scan | Reads::Points) = (limit, self.reads) {
            line(f, "limit", limit)?;
        }
        match (keys_only, versions) {
            (true, _) => line(f, "values", &"none: keys only")?,
            (false, Some(VersionsRead::All)) => line(f, "values", &"every version of each column")?,
            (false, Some(VersionsRead::Newest(versions))) => {
                let noun = counted((*versions).into(), "version");
                line(f, "values", &format_args!("the newest {versions} {noun} of each column"))?;
            }
            (false, None) => {}
        }
        for filter in filters {
            line(f, "filter", filter)?;
        }
        let or_more = if self.has_more_requests { ", and more that are not counted here" } else { "" };
        line(f, "requests", &format_args!("{}{or_more}", self.request_count))?;
        let mut sent = BTreeMap::new();
        for (request, number) in self.requests.iter().zip(1..) {
            let of_bucket = sent.entry(request.bucket()).or_insert(0);
            *of_bucket += 1;
            let label = match (request.bucket(), of_bucket) {
                // What there is to say of a single one is said of the buckets.
                _ if self.request_count == 1 && !self.has_more_requests => String::new(),
                (None, _) => format!("request {number}"),
                (Some(bucket), 1) => format!("bucket {bucket}"),
                (Some(bucket), again) => format!("bucket {bucket} ({again})"),
            };
            write_rows(f, &label, request)?;
        }
        match self.request_count - self.requests.len() {
            0 => Ok(()),
            more => line(f, "", &format_args!("and {more} more {}", counted(more as u64, "request"))),
        }
    }
}

impl fmt::Display for RowShown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { key, without_salt } = self;
        let salt = if *without_salt { ", without its salt" } else { "" };
        write!(f, "{}, where the page before ended{salt}", Readable(key))?;
        if Readable(key).is_verbatim() { Ok(()) } else { line(f, "", &format_args!("hex {}", Hex(key))) }
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { rows, is_sent } = *self;
        let how = if is_sent { "sent with each request" } else { "counted after the key filter" };
        write!(f, "{rows} {}, {how}", counted(rows, "row"))
    }
}

/// A noun in the number that goes with a count.
fn counted(count: u64, noun: &str) -> impl fmt::Display {
    fmt::from_fn(move |f| write!(f, "{noun}{}", if count == 1 { "" } else { "s" }))
}

/// The keys and ranges of a request, the first of them after its label.
fn write_rows(f: &mut fmt::Formatter<'_>, label: &str, request: &Request) -> fmt::Result {
    let mut labels = [label].into_iter();
    for key in request.keys().iter().take(SHOWN_ROWS) {
        line(f, labels.next().unwrap_or_default(), &Readable(key))?;
        if !Readable(key).is_verbatim() {
            line(f, "", &format_args!("hex {}", Hex(key)))?;
        }
    }
    for range in request.ranges().iter().take(SHOWN_ROWS) {
        line(f, labels.next().unwrap_or_default(), range)?;
        if !is_verbatim(range) {
            line(f, "", &format_args!("hex {range:#}"))?;
        }
    }
    let shown = request.keys().len().min(SHOWN_ROWS) + request.ranges().len().min(SHOWN_ROWS);
    match request.keys().len() + request.ranges().len() - shown {
        0 => Ok(()),
        more => line(f, "", &format_args!("and {more} more in this request")),
    }
}

fn is_verbatim(range: &KeyRange) -> bool {
    Readable(range.start()).is_verbatim() && range.end().is_none_or(|end| Readable(end).is_verbatim())
}
