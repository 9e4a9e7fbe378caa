//! A plan in words.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::{Serialize, Serializer};

use super::fixed::Buckets;
use super::request::{KeyRange, Request};
use super::selection::Selection;
use crate::key::{Bucket, Hex, KeySchema, Salt, UnquotedKey};

/// How many requests are shown; the rest is counted.
const MAX_SHOWN_REQUESTS: usize = 8;

/// How many keys and ranges of a request are shown; the rest is counted.
const MAX_SHOWN_ROWS: usize = 8;

/// How many buckets are named; more are only counted.
const MAX_NAMED_BUCKETS: usize = 8;

/// How many batches of requests are counted: the values of `any_of` may make millions of batches, of megabytes each.
const MAX_COUNTED_BATCHES: usize = 4;

/// A plan with more keys and ranges than this is slow, and warns.
pub(crate) const MANY_ROW_ITEMS: u64 = 100_000;

/// Says that there are too many keys and ranges, and what to do.
pub(crate) fn many_row_items(count: u64, has_more: bool) -> impl fmt::Display {
    fmt::from_fn(move |f| {
        let or_more = if has_more { " or more" } else { "" };
        write!(
            f,
            "{count}{or_more} keys and ranges, which is slow over {MANY_ROW_ITEMS}: the values of each `_any_of` multiply, and so \
             do the buckets where a salted field is not fixed; list fewer values, or fix fewer fields and drop the other rows with \
             `filter_key`"
        )
    })
}

/// A plan in words: what it reads, from which buckets and why, in which order.
///
/// `explain()` on a scan builder, a [`Plan`](super::Plan) or a table's scan makes it without I/O; print it with `{}`. The
/// text is for people: its wording may change in any release. It shows keys as text, also in hexadecimal if the text has
/// escapes.
///
/// Serialized with serde, it has the same parts. Each shown request is a [`Request`], with keys and ranges in
/// hexadecimal, and again as readable `text`.
#[derive(Clone, Debug, Serialize)]
pub struct Explain {
    key_type: &'static str,
    /// The layout of the key, in one line.
    key: String,
    reads: ReadKind,
    constraints: Vec<(&'static str, String)>,
    buckets: String,
    /// The epochs whose rows are read, if the salt depends on the time.
    epochs: Option<String>,
    /// The range of stored keys that the plan is limited to, if it is a part of another.
    #[serde(serialize_with = "window_with_text")]
    window: Option<KeyRange>,
    /// The last row of the previous page, if the plan resumes after it.
    after: Option<LastRow>,
    /// The last row of a page in the other direction, if the plan ends before it.
    before: Option<LastRow>,
    order: Option<String>,
    #[serde(flatten)]
    options: ExplainOptions,
    /// How many requests are counted.
    request_count: usize,
    /// Whether there are more requests than are counted.
    has_more_requests: bool,
    /// How many keys and ranges the requests have, if that is too many to be fast.
    #[serde(skip_serializing_if = "Option::is_none")]
    many_row_items: Option<u64>,
    /// The first requests.
    #[serde(serialize_with = "requests_with_text")]
    requests: Vec<Request>,
    /// The buckets of these requests in words, if the salt depends on the time.
    #[serde(skip)]
    labels: Vec<String>,
    /// While the table is re-keyed, how its old table is read.
    #[serde(skip_serializing_if = "Option::is_none")]
    old: Option<Box<OldTable>>,
}

/// How the old table of a re-keying is read.
#[derive(Clone, Debug, Serialize)]
struct OldTable {
    table: String,
    #[serde(flatten)]
    explain: Explain,
}

/// The options of a table's scan.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct ExplainOptions {
    pub(crate) reversed: bool,
    pub(crate) unordered: bool,
    pub(crate) limit: Option<Limit>,
    pub(crate) keys_only: bool,
    /// Which versions of a column are read, if not only the newest.
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

/// How many rows a scan delivers at most.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Limit {
    pub(crate) rows: u64,
    /// Whether the requests carry the limit; the client counts rows otherwise.
    pub(crate) is_sent: bool,
}

#[derive(Clone, Debug, Serialize)]
struct LastRow {
    #[serde(serialize_with = "key_with_text", flatten)]
    key: Vec<u8>,
    /// Whether the key is shown without its salt, since every bucket has rows after it.
    without_salt: bool,
}

/// Keys and ranges in hexadecimal, and again as readable text.
#[derive(Serialize)]
struct WithText<'a, T, W> {
    #[serde(flatten)]
    item: &'a T,
    text: W,
}

fn requests_with_text<S: Serializer>(requests: &[Request], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(requests.iter().map(|item| {
        let keys = item.keys().iter().map(|key| UnquotedKey(key).to_string());
        let text: Vec<_> = keys.chain(item.ranges().iter().map(KeyRange::to_string)).collect();
        WithText { item, text }
    }))
}

fn key_with_text<S: Serializer>(key: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
    let key = BTreeMap::from([("key", Hex(key).to_string()), ("text", UnquotedKey(key).to_string())]);
    key.serialize(serializer)
}

fn window_with_text<S: Serializer>(window: &Option<KeyRange>, serializer: S) -> Result<S::Ok, S::Error> {
    window.as_ref().map(|item| WithText { item, text: item.to_string() }).serialize(serializer)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum ReadKind {
    Point,
    Points,
    Scan,
    Nothing,
}

impl Explain {
    /// The order of the rows, in words; `None` for one row, and where the scan has no order.
    ///
    /// ```
    /// # use keyderive::RowKey;
    /// # #[derive(RowKey)] struct EventKey { user: String, site: String, #[reverse_ts] at: u64 }
    /// let explain = EventKey::scan().user("alice").explain()?;
    /// assert_eq!(explain.order(), Some("by site; then at, greatest first"));
    /// # Ok::<(), keyderive::plan::PlanError>(())
    /// ```
    #[must_use]
    pub fn order(&self) -> Option<&str> {
        self.order.as_deref()
    }

    /// The same, with how the old table of a re-keying is read.
    #[cfg(feature = "client")]
    pub(crate) fn and_old(self, table: String, explain: Self) -> Self {
        Self { old: Some(Box::new(OldTable { table, explain })), ..self }
    }

    pub(super) fn of(selection: &Selection, options: ExplainOptions) -> Self {
        let words = Describer { selection, schema: selection.schema };
        let CountedRequests { requests, request_count, row_items, buckets, has_more } =
            CountedRequests::of(selection, options.reversed);
        let row_items = selection.row_items().unwrap_or(row_items);
        let reads = match (request_count, selection.is_fully_fixed(), selection.encodings.choices()) {
            (0, ..) => ReadKind::Nothing,
            (_, true, 1) => ReadKind::Point,
            (_, true, _) => ReadKind::Points,
            (_, false, _) => ReadKind::Scan,
        };
        // Requests that are not counted may be to other buckets.
        let is_one_stream = buckets.is_empty() || (buckets.len() == 1 && !has_more);
        let order = matches!(reads, ReadKind::Points | ReadKind::Scan).then(|| match options.unordered {
            true if !is_one_stream => Describer::no_order(options.reversed),
            _ => words.order(buckets.len(), options.reversed),
        });
        let last_row = |is_reversed| {
            let position = selection.after.iter().find(|after| after.is_reversed() == is_reversed)?;
            let without_salt = selection.is_ordered() && selection.schema.first_salt().is_some();
            Some(LastRow { key: position.logical_key(selection.schema), without_salt })
        };
        let epochs = selection.schema.has_epochs().then(|| selection.epochs());
        let labels = epochs.as_ref().map(|epochs| words.labels(&requests, epochs)).unwrap_or_default();
        Self {
            key_type: selection.schema.key_type(),
            key: selection.schema.template().to_string(),
            reads,
            constraints: words.constraints(),
            buckets: match &epochs {
                None => words.buckets(&buckets, has_more),
                Some(epochs) => words.buckets_of(epochs, &buckets, has_more),
            },
            epochs: epochs.as_ref().map(|epochs| words.epochs(epochs)),
            window: selection.window.clone(),
            after: last_row(options.reversed),
            before: last_row(!options.reversed),
            order,
            options,
            request_count,
            has_more_requests: has_more,
            many_row_items: Some(row_items).filter(|count| *count > MANY_ROW_ITEMS),
            requests,
            labels,
            old: None,
        }
    }
}

/// The first requests of a selection, and how many there are.
struct CountedRequests {
    /// The requests to show.
    requests: Vec<Request>,
    request_count: usize,
    /// How many keys and ranges they have.
    row_items: u64,
    /// The buckets; one is `None` if keys without a salt are read beside others.
    buckets: BTreeSet<Option<Bucket>>,
    has_more: bool,
}

impl CountedRequests {
    fn of(selection: &Selection, reversed: bool) -> Self {
        let mut batches = selection.batches(reversed);
        let mut counted = Self {
            requests: Vec::new(),
            request_count: 0,
            row_items: 0,
            buckets: BTreeSet::new(),
            has_more: false,
        };
        for request in batches.by_ref().take(MAX_COUNTED_BATCHES).flatten() {
            counted.request_count += 1;
            counted.row_items += request.row_items();
            let bucket = request.stored_bucket();
            if bucket.is_some() || selection.schema.has_epochs() {
                counted.buckets.insert(bucket);
            }
            if counted.requests.len() < MAX_SHOWN_REQUESTS {
                counted.requests.push(request);
            }
        }
        counted.has_more = batches.next().is_some();
        counted
    }
}

/// Describes the parts of a selection.
struct Describer<'a> {
    selection: &'a Selection,
    schema: &'static KeySchema,
}

impl Describer<'_> {
    fn constraints(&self) -> Vec<(&'static str, String)> {
        let fields = self.schema.fields();
        self.selection.constraints.iter().map(|c| (fields[c.field].name(), c.words.clone())).collect()
    }

    /// Which buckets are read, and why; `known` are the buckets of the counted requests.
    fn buckets(&self, known: &BTreeSet<Option<Bucket>>, has_more: bool) -> String {
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
                    "{at_least}{named} of {}: the keys of the other buckets are outside of this part of the scan",
                    salt.bounds()
                )
            }
            Some(Buckets::Unsalted | Buckets::All | Buckets::OfEpochs { .. }) => {
                let fixed = self.selection.fixed();
                let free: Vec<_> = salt.over().iter().copied().filter(|at| *at >= fixed).collect();
                format!("all {count}: the salt is over {over}; not fixed: {}", self.names(&free))
            }
            Some(Buckets::Interleaved) => format!("all {count}, in one request: {}", self.free_left(salt)),
        }
    }

    /// The epochs that are read; the others have no rows that satisfy the constraints.
    fn epochs(&self, read: &BTreeSet<usize>) -> String {
        let words: Vec<_> = read.iter().map(|epoch| self.schema.epoch_words(*epoch).to_string()).collect();
        let time = self.schema.fields()[self.schema.epoch_field()].name();
        match self.schema.epoch_count() - read.len() {
            0 => words.join("; "),
            others => format!("{}; {others} more excluded by {time}", words.join("; ")),
        }
    }

    /// The buckets of the epochs that are read.
    fn buckets_of(
        &self,
        epochs: &BTreeSet<usize>,
        known: &BTreeSet<Option<Bucket>>,
        has_more: bool,
    ) -> String {
        let named: Vec<_> =
            known.iter().take(MAX_NAMED_BUCKETS).map(|bucket| self.label(*bucket, epochs)).collect();
        match known.len() - named.len() {
            0 if has_more => format!("at least {}", named.join(", ")),
            0 => named.join(", "),
            more => format!("{} and {more} more", named.join(", ")),
        }
    }

    /// The buckets of requests; a later request of the same bucket has its number.
    fn labels(&self, requests: &[Request], epochs: &BTreeSet<usize>) -> Vec<String> {
        let mut sent = BTreeMap::new();
        let label = |request: &Request| {
            let of_bucket = sent.entry(request.stored_bucket()).or_insert(0);
            *of_bucket += 1;
            let label = self.label(request.stored_bucket(), epochs);
            if *of_bucket == 1 { label } else { format!("{label} ({of_bucket})") }
        };
        requests.iter().map(label).collect()
    }

    /// A bucket and the salts that have it: `no salt`, `5 of 16`.
    fn label(&self, bucket: Option<Bucket>, epochs: &BTreeSet<usize>) -> String {
        let Some(bucket) = bucket else {
            return if self.selection.is_ordered() { "no salt".to_owned() } else { "all keys".to_owned() };
        };
        let has_bucket = |salt: &&Salt| {
            let salt = **salt;
            salt.buckets().contains(&bucket.number())
                && self.schema.numbered(&salt, bucket.number()) == bucket
        };
        let salts = epochs.iter().filter_map(|epoch| self.schema.salt_of(*epoch)).filter(has_bucket);
        let mut ranges: Vec<_> = salts.map(Salt::range).collect();
        ranges.sort_unstable();
        ranges.dedup();
        let ranges: Vec<_> = ranges.iter().map(u32::to_string).collect();
        format!("{} of {}", bucket.number(), ranges.join(", "))
    }

    /// Which fields left of the salt are not fixed, so that its buckets repeat.
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
        let none = "none across buckets: rows are delivered as they arrive";
        if reversed { format!("{none}, reversed within each") } else { none.to_owned() }
    }

    fn order(&self, streams: usize, reversed: bool) -> String {
        let reversed_words = if reversed { "reversed: " } else { "" };
        if let (Some(Buckets::Interleaved), Some(salt)) = (self.selection.buckets(), self.schema.first_salt())
        {
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

/// A list of buckets in words: `bucket 2`, `buckets 0, 2, 3`, or how many there are.
fn named(buckets: &BTreeSet<Option<Bucket>>) -> String {
    let names: Vec<_> = buckets.iter().flatten().map(|bucket| bucket.number().to_string()).collect();
    match names.len() {
        1 => format!("bucket {}", names.concat()),
        0 => "none".into(),
        2..=MAX_NAMED_BUCKETS => format!("buckets {}", names.join(", ")),
        count => format!("{count} buckets"),
    }
}

/// Writes a line: its name, padded, then its text.
fn line(f: &mut fmt::Formatter<'_>, name: &str, text: &dyn fmt::Display) -> fmt::Result {
    write!(f, "\n  {name:<12} {text}")
}

impl fmt::Display for Explain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.reads {
            ReadKind::Point => "point read",
            ReadKind::Points => "point reads",
            ReadKind::Scan | ReadKind::Nothing => "scan",
        };
        write!(f, "{kind} of {}", self.key_type)?;
        line(f, "key", &self.key)?;
        let constraints = self.constraints.iter().map(|(field, words)| format!("{field} {words}"));
        match self.constraints.is_empty() {
            true => line(f, "constraints", &"none: every row of the key type")?,
            false => line(f, "constraints", &constraints.collect::<Vec<_>>().join(", "))?,
        }
        match &self.epochs {
            Some(epochs) => line(f, "epochs", epochs)?,
            None => line(f, "buckets", &self.buckets)?,
        }
        if let Some(window) = &self.window {
            line(f, "within", &format_args!("{window}, the stored keys of this part of a scan"))?;
        }
        if let Some(after) = &self.after {
            line(f, "after", after)?;
        }
        if let Some(before) = &self.before {
            line(f, "before", before)?;
        }
        match (self.options.limit, self.reads) {
            (Some(Limit { rows: 0, .. }), _) => {
                line(f, "reads", &"nothing: the limit is 0; no request is sent")
            }
            (_, ReadKind::Nothing) => {
                line(f, "reads", &format_args!("nothing: {}; no request is sent", self.why_nothing()))
            }
            _ => self.write_run(f),
        }?;
        let Some(OldTable { table, explain }) = self.old.as_deref() else { return Ok(()) };
        write!(f, "\nuntil it is re-keyed, in `{table}`: {explain}")
    }
}

impl Explain {
    /// Why a plan reads nothing.
    fn why_nothing(&self) -> &'static str {
        match self.after.is_some() || self.before.is_some() || self.window.is_some() {
            true => "no row key that is left can satisfy the constraints",
            false => "no row key can satisfy the constraints",
        }
    }

    /// Writes how the plan runs, and its requests.
    fn write_run(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ExplainOptions { limit, keys_only, versions, filters, .. } = &self.options;
        if let Some(order) = &self.order {
            line(f, "order", order)?;
        }
        if let (Some(limit), ReadKind::Scan | ReadKind::Points) = (limit, self.reads) {
            line(f, "limit", limit)?;
        }
        match (keys_only, versions) {
            (true, _) => line(f, "values", &"none: keys only")?,
            (false, Some(VersionsRead::All)) => line(f, "values", &"every version of each column")?,
            (false, Some(VersionsRead::Newest(versions))) => {
                let noun = plural((*versions).into(), "version");
                line(f, "values", &format_args!("the newest {versions} {noun} of each column"))?;
            }
            (false, None) => {}
        }
        for filter in filters {
            line(f, "filter", filter)?;
        }
        if let Some(count) = self.many_row_items {
            line(f, "warning", &many_row_items(count, self.window.is_some() && self.has_more_requests))?;
        }
        let or_more = if self.has_more_requests { ", and more that are not counted here" } else { "" };
        // With epochs, each request has a line with its bucket, and the last line counts those that are not shown.
        if self.epochs.is_none() {
            line(f, "requests", &format_args!("{}{or_more}", self.request_count))?;
        }
        let mut sent = BTreeMap::new();
        for (request, number) in self.requests.iter().zip(1..) {
            let of_bucket = sent.entry(request.bucket()).or_insert(0);
            *of_bucket += 1;
            let label = match (request.bucket(), of_bucket) {
                _ if self.epochs.is_some() => self.labels.get(number - 1).cloned().unwrap_or_default(),
                // The line of the buckets describes a single request.
                _ if self.request_count == 1 && !self.has_more_requests => String::new(),
                (None, _) => format!("request {number}"),
                (Some(bucket), 1) => format!("bucket {bucket}"),
                (Some(bucket), again) => format!("bucket {bucket} ({again})"),
            };
            write_rows(f, &label, request)?;
        }
        match self.request_count - self.requests.len() {
            0 if self.epochs.is_some() && self.has_more_requests => {
                line(f, "", &"and more requests that are not counted here")
            }
            0 => Ok(()),
            more if self.epochs.is_some() => {
                line(f, "", &format_args!("and {more} more {}{or_more}", plural(more as u64, "request")))
            }
            more => line(f, "", &format_args!("and {more} more {}", plural(more as u64, "request"))),
        }
    }
}

impl fmt::Display for LastRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { key, without_salt } = self;
        let salt = if *without_salt { ", without its salt" } else { "" };
        write!(f, "{}, where the previous page ended{salt}", UnquotedKey(key))?;
        if UnquotedKey(key).is_verbatim() { Ok(()) } else { line(f, "", &format_args!("hex {}", Hex(key))) }
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { rows, is_sent } = *self;
        let how =
            if is_sent { "sent with each request" } else { "counted by the client, after the key filter" };
        write!(f, "{rows} {}, {how}", plural(rows, "row"))
    }
}

/// A noun, in the plural unless the count is 1.
fn plural(count: u64, noun: &str) -> impl fmt::Display {
    fmt::from_fn(move |f| write!(f, "{noun}{}", if count == 1 { "" } else { "s" }))
}

/// Writes the keys and ranges of a request, the first one after the label.
fn write_rows(f: &mut fmt::Formatter<'_>, label: &str, request: &Request) -> fmt::Result {
    let mut labels = [label].into_iter();
    for key in request.keys().iter().take(MAX_SHOWN_ROWS) {
        line(f, labels.next().unwrap_or_default(), &UnquotedKey(key))?;
        if !UnquotedKey(key).is_verbatim() {
            line(f, "", &format_args!("hex {}", Hex(key)))?;
        }
    }
    for range in request.ranges().iter().take(MAX_SHOWN_ROWS) {
        line(f, labels.next().unwrap_or_default(), range)?;
        if !is_verbatim(range) {
            line(f, "", &format_args!("hex {range:#}"))?;
        }
    }
    let shown = request.keys().len().min(MAX_SHOWN_ROWS) + request.ranges().len().min(MAX_SHOWN_ROWS);
    match request.keys().len() + request.ranges().len() - shown {
        0 => Ok(()),
        more => line(f, "", &format_args!("and {more} more in this request")),
    }
}

fn is_verbatim(range: &KeyRange) -> bool {
    UnquotedKey(range.start()).is_verbatim() && range.end().is_none_or(|end| UnquotedKey(end).is_verbatim())
}
