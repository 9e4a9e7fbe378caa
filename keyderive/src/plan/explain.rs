//! A plan in words.

mod text;

use std::collections::{BTreeMap, BTreeSet};

use serde::{Serialize, Serializer};

use super::fixed::Buckets;
use super::range::KeyRange;
use super::request::Request;
use super::selection::Selection;
use crate::key::{Hex, Readable, Salt, Schema};

/// How many requests are printed before the rest is counted.
const SHOWN_REQUESTS: usize = 8;

/// How many buckets are named before they are counted.
const NAMED_BUCKETS: usize = 8;

/// How many batches of requests are counted at most: the values of `any_of` may make millions, of megabytes each.
const COUNTED_WAVES: usize = 4;

/// A plan in words: what it reads, from which buckets and why, in which order.
///
/// Made without I/O by `explain()` on a scan builder, a [`Plan`](super::Plan) or a table's scan; print it
/// with `{}`. The text is for people: its wording may change in any release. It shows keys as text, and in hexadecimal
/// too where the text has escapes.
///
/// As data of serde it has the same parts. Each shown request is a [`Request`], whose keys and ranges are in
/// hexadecimal, with the same keys and ranges as `text`.
#[derive(Clone, Debug, Serialize)]
pub struct Explain {
    key_type: &'static str,
    /// The layout of the key in one line.
    key: String,
    reads: Reads,
    constraints: Vec<(&'static str, String)>,
    buckets: String,
    /// The stored keys that are looked at, where the plan is a part of another.
    #[serde(serialize_with = "window_with_text")]
    window: Option<KeyRange>,
    /// The row of the page before, after which the plan goes on.
    after: Option<RowShown>,
    order: Option<String>,
    #[serde(flatten)]
    options: ExplainOptions,
    /// How many requests are sent.
    request_count: usize,
    /// Whether more are sent than were counted.
    has_more_requests: bool,
    /// The first requests.
    #[serde(serialize_with = "requests_with_text")]
    requests: Vec<Request>,
}

/// How the scan of a table runs its plan.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct ExplainOptions {
    pub(crate) reversed: bool,
    pub(crate) unordered: bool,
    pub(crate) limit: Option<Limit>,
    pub(crate) keys_only: bool,
    /// Which versions of a column are read, where it is not the newest.
    pub(crate) versions: Option<VersionsRead>,
    pub(crate) filters: Vec<String>,
}

/// Which versions of a column a scan reads.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum VersionsRead {
    #[cfg_attr(not(feature = "client"), expect(dead_code, reason = "tables alone read versions"))]
    Newest(u32),
    #[cfg_attr(not(feature = "client"), expect(dead_code, reason = "tables alone read versions"))]
    All,
}

/// The most rows that a scan delivers.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Limit {
    pub(crate) rows: u64,
    /// Whether it is sent, and not only counted here.
    pub(crate) is_sent: bool,
}

/// A row by its key.
#[derive(Clone, Debug, Serialize)]
struct RowShown {
    #[serde(serialize_with = "key_with_text", flatten)]
    key: Vec<u8>,
    /// Whether the salt of the key is left out, since the rows after it are in every bucket.
    without_salt: bool,
}

/// What is asked for, and the same as a person reads it.
#[derive(Serialize)]
struct WithText<'a, T, W> {
    #[serde(flatten)]
    asked: &'a T,
    text: W,
}

fn requests_with_text<S: Serializer>(requests: &[Request], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(requests.iter().map(|asked| {
        let keys = asked.keys().iter().map(|key| Readable(key).to_string());
        let text: Vec<_> = keys.chain(asked.ranges().iter().map(KeyRange::to_string)).collect();
        WithText { asked, text }
    }))
}

fn key_with_text<S: Serializer>(key: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
    let key = BTreeMap::from([("key", Hex(key).to_string()), ("text", Readable(key).to_string())]);
    key.serialize(serializer)
}

fn window_with_text<S: Serializer>(window: &Option<KeyRange>, serializer: S) -> Result<S::Ok, S::Error> {
    window.as_ref().map(|asked| WithText { asked, text: asked.to_string() }).serialize(serializer)
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
    pub(super) fn of(selection: &Selection, options: ExplainOptions) -> Self {
        let words = Words { selection, schema: selection.schema };
        let Counted { requests, request_count, buckets, has_more } = Counted::of(selection, options.reversed);
        let reads = match (request_count, selection.is_whole(), selection.encodings.choices()) {
            (0, ..) => Reads::Nothing,
            (_, true, 1) => Reads::Point,
            (_, true, _) => Reads::Points,
            (_, false, _) => Reads::Scan,
        };
        // Only the values of `any_of` lead to buckets that are not counted.
        let is_one_stream = buckets.is_empty() || (buckets.len() == 1 && !has_more);
        let order = matches!(reads, Reads::Points | Reads::Scan).then(|| match options.unordered {
            true if !is_one_stream => Words::no_order(options.reversed),
            _ => words.order(buckets.len(), options.reversed),
        });
        let after = selection.after.as_ref().map(|after| RowShown {
            key: after.logical_key(selection.schema),
            without_salt: selection.is_ordered() && selection.schema.salt().is_some(),
        });
        Self {
            key_type: selection.schema.key_type(),
            key: selection.schema.template().to_string(),
            reads,
            constraints: words.constraints(),
            buckets: words.buckets(&buckets, has_more),
            window: selection.window.clone(),
            after,
            order,
            options,
            request_count,
            has_more_requests: has_more,
            requests,
        }
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
        let mut batches = selection.batches(reversed);
        let mut counted =
            Self { requests: Vec::new(), request_count: 0, buckets: BTreeSet::new(), has_more: false };
        for request in batches.by_ref().take(COUNTED_WAVES).flatten() {
            counted.request_count += 1;
            counted.buckets.extend(request.bucket());
            if counted.requests.len() < SHOWN_REQUESTS {
                counted.requests.push(request);
            }
        }
        counted.has_more = batches.next().is_some();
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
        let left: Vec<_> = (0..salt.fields_before()).collect();
        let free = left.get(self.selection.fixed()..).unwrap_or_default();
        format!("the salt stands after {}; not fixed: {}", self.names(&left), self.names(free))
    }

    fn names(&self, fields: &[usize]) -> String {
        let all = self.schema.fields();
        fields.iter().map(|at| all[*at].name()).collect::<Vec<_>>().join(", ")
    }

    fn no_order(reversed: bool) -> String {
        let none = "none among buckets: rows come as they arrive";
        if reversed { format!("{none}, reversed within each") } else { none.to_owned() }
    }

    fn order(&self, streams: usize, reversed: bool) -> String {
        let reversed_words = if reversed { "reversed: " } else { "" };
        if let (Some(Buckets::Interleaved), Some(salt)) = (self.selection.buckets(), self.schema.salt()) {
            let because = self.free_left(salt);
            return format!("{reversed_words}as stored, by row key, not by field: {because}");
        }
        let fixed = self.selection.fixed();
        let free = self.schema.fields().iter().enumerate();
        let free = free.filter(|(at, _)| *at >= fixed || self.selection.encodings.count(*at) > 1);
        let by = free.map(|(_, field)| match field.order().is_reversed() != reversed {
            true => format!("{}, greatest first", field.name()),
            false => field.name().to_owned(),
        });
        let by = format!("{reversed_words}by {}", by.collect::<Vec<_>>().join("; then "));
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
