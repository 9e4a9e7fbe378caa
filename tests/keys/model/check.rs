//! One comparison of a scan with a filter over the rows.

use std::fmt::Debug;

use keyderive::plan::{KeyRange, Plan, Request};
use keyderive::table::RowType;
use keyderive::{Client, Error, ErrorKind, OnForeign, Row, Scan, Table};

use super::case::{Case, Content, Execution, Read};
use super::foreign::{AnyBytes, is_of_other_tag};
use crate::keys::Sample;

/// A row's value is its index in the model.
#[derive(Row, Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Value {
    place: u32,
}

/// A row that a scan delivered, without its value if only keys were read.
type Seen<K> = (K, Option<u32>);

/// The result of a scan: rows, perhaps an error, and how many foreign rows it skipped.
struct Outcome<K> {
    rows: Vec<Seen<K>>,
    error: Option<Error>,
    skipped: u64,
}

/// Writes the rows into a new table.
pub(crate) async fn fill<K: Sample>(client: &Client, name: &str, content: &Content<K>) -> Table<K, Value> {
    let table = client.table::<K, Value>(name);
    assert!(table.create_if_absent().await.unwrap(), "the table `{name}` is there already");
    table
        .put_all(content.rows.iter().map(|(key, place)| (key.clone(), Value { place: *place })))
        .await
        .unwrap();
    let others = client.table::<AnyBytes, Value>(name).unchecked();
    let foreign = content.foreign.iter().map(|key| (AnyBytes(key.clone()), Value { place: u32::MAX }));
    others.put_all(foreign).await.unwrap();
    table
}

/// Compares a scan with the model; the error is the difference.
pub(crate) async fn check<K: Sample>(
    client: &Client,
    table: &Table<K, Value>,
    case: &Case<K>,
) -> Result<(), String> {
    let plan = match (K::plan(&case.constraints), K::is_refused(&case.constraints)) {
        (Ok(plan), false) => plan,
        (Err(_), true) => return Ok(()),
        (Err(error), false) => return Err(format!("a plan of values that keys hold is refused: {error}")),
        (Ok(_), true) => return Err("a value that no key holds is fixed, and there is a plan".into()),
    };
    let plan = if case.execution.sent { sent(&plan)? } else { plan };
    let comparison = Comparison::new(table, case, plan);
    comparison.no_row_of_another_tag_is_read()?;
    match case.execution.read {
        Read::All => comparison.all(None).await,
        Read::Limit(rows) => comparison.all(Some(rows)).await,
        Read::Pages(rows) => comparison.pages(rows).await,
        Read::Parts(place) => comparison.parts(place).await,
        Read::Count => comparison.count().await,
        Read::Delete => comparison.delete(client).await,
    }
}

/// The plan, deserialized from its JSON.
fn sent<K: Sample>(plan: &Plan<K>) -> Result<Plan<K>, String> {
    let json = serde_json::to_string(plan).map_err(|error| format!("the plan is no JSON: {error}"))?;
    serde_json::from_str(&json).map_err(|error| format!("{json}: {error}"))
}

struct Comparison<'a, K: Sample> {
    table: &'a Table<K, Value>,
    case: &'a Case<K>,
    execution: Execution,
    plan: Plan<K>,
    requests: Vec<Request>,
    /// The foreign rows that the scan reads.
    met: Vec<&'a [u8]>,
    /// Whether rows arrive in logical order, and not only in stored order.
    ordered: bool,
}

impl<'a, K: Sample> Comparison<'a, K> {
    fn new(table: &'a Table<K, Value>, case: &'a Case<K>, plan: Plan<K>) -> Self {
        let requests = plan.requests();
        let met = case.content.foreign.iter().map(Vec::as_slice);
        let met = met.filter(|key| requests.iter().any(|request| request.asks_for(key))).collect();
        let ordered = K::fixed(&case.constraints) >= K::LEFT;
        Self { table, case, execution: case.execution, plan, requests, met, ordered }
    }

    fn no_row_of_another_tag_is_read(&self) -> Result<(), String> {
        match self.met.iter().find(|key| is_of_other_tag::<K>(key)) {
            Some(key) => Err(format!("a row of another tag is read: b\"{}\"", key.escape_ascii())),
            None => Ok(()),
        }
    }

    /// The rows that satisfy the constraints, in order.
    fn selected(&self) -> Vec<(K, u32)> {
        let rows = self.case.content.rows.iter();
        let mut rows: Vec<_> =
            rows.filter(|(key, _)| key.satisfies(&self.case.constraints)).cloned().collect();
        match self.ordered {
            true => rows.sort_by(|(one, _), (other, _)| one.order(other)),
            false => rows.sort_by_cached_key(|(key, _)| key.encode().unwrap()),
        }
        if self.execution.reversed {
            rows.reverse();
        }
        rows
    }

    /// The expected result of the scan.
    fn expected(&self) -> Vec<Seen<K>> {
        let kept = |place: u32| self.execution.keep.is_none_or(|keep| keep >> (place % 64) & 1 == 1);
        let rows = self.selected().into_iter().filter(|(_, place)| kept(*place));
        rows.map(|(key, place)| (key, (!self.execution.keys_only).then_some(place))).collect()
    }

    fn scan(&self, plan: &Plan<K>) -> Scan<K, Value> {
        let Execution { reversed, unordered, keep, skip_foreign, .. } = self.execution;
        let mut scan = self.table.scan(plan.clone());
        if reversed {
            scan = scan.reversed();
        }
        if unordered {
            scan = scan.unordered();
        }
        if skip_foreign {
            scan = scan.on_foreign(OnForeign::Skip);
        }
        match keep {
            None => scan,
            Some(keep) => {
                let rows = self.case.content.rows.iter();
                let kept: Vec<K> = rows
                    .filter(|(_, place)| keep >> (place % 64) & 1 == 1)
                    .map(|(key, _)| key.clone())
                    .collect();
                scan.filter_key(move |key| kept.contains(key))
            }
        }
    }

    async fn run(&self, scan: Scan<K, Value>) -> Outcome<K> {
        match self.execution.keys_only {
            true => drain(scan.keys_only(), |key| (key, None)).await,
            false => drain(scan, with_value).await,
        }
    }

    async fn all(&self, limit: Option<u64>) -> Result<(), String> {
        let mut scan = self.scan(&self.plan);
        if let Some(rows) = limit {
            scan = scan.limit(rows);
        }
        let Outcome { rows, error, skipped } = self.run(scan).await;
        let limit = limit.map_or(usize::MAX, |rows| usize::try_from(rows).unwrap());
        match error {
            Some(error) => self.fails_in_turn(&rows, limit, &error),
            None => {
                let expected = self.expected();
                let expected = &expected[..limit.min(expected.len())];
                self.same(&rows, expected, limit)?;
                let all = rows.len() < limit;
                match self.execution.skip_foreign {
                    true if all => equal("foreign rows skipped", &skipped, &(self.met.len() as u64)),
                    true => at_most("foreign rows skipped", skipped, self.met.len() as u64),
                    false if all => equal("foreign rows that are passed over", &self.met, &Vec::new()),
                    false => Ok(()),
                }
            }
        }
    }

    /// Whether the rows are the expected ones, in order if the scan is ordered.
    fn same(&self, rows: &[Seen<K>], expected: &[Seen<K>], limit: usize) -> Result<(), String> {
        if !self.execution.unordered {
            return equal("rows", &rows, &expected);
        }
        let all = self.expected();
        equal("how many rows", &rows.len(), &all.len().min(limit))?;
        match rows.iter().enumerate().find(|(at, row)| !all.contains(row) || rows[..*at].contains(row)) {
            Some((_, row)) => Err(format!("this row is given twice or is not to be given: {row:?}")),
            None => Ok(()),
        }
    }

    /// Whether a scan may fail after these rows, at the foreign row that the error names.
    fn fails_in_turn(&self, rows: &[Seen<K>], limit: usize, error: &Error) -> Result<(), String> {
        let named = self.foreign_row(error)?;
        if rows.len() >= limit {
            return Err(format!("it fails after its limit: {error}"));
        }
        if self.execution.unordered {
            return Ok(());
        }
        let expected = self.expected();
        equal("rows before the error", &rows, &&expected[..rows.len().min(expected.len())])?;
        let last = rows.last().map(|(key, _)| key.encode().unwrap());
        equal("the last row key of the error", &error.last_row_key(), &last.as_deref())?;
        // The scan has delivered all rows of the same request before the foreign one, and none after it.
        let request = self.requests.iter().find(|request| request.asks_for(named)).unwrap();
        for (at, (key, _)) in expected.iter().enumerate() {
            let stored = key.encode().unwrap();
            let in_front = if self.execution.reversed { &*stored > named } else { &*stored < named };
            if request.asks_for(&stored) && in_front != (at < rows.len()) {
                let named = named.escape_ascii();
                return Err(format!("it fails for b\"{named}\", out of turn with the row {key:?}"));
            }
        }
        Ok(())
    }

    /// The foreign row that the error names.
    fn foreign_row<'e>(&self, error: &'e Error) -> Result<&'e [u8], String> {
        match error.row_key() {
            _ if self.execution.skip_foreign => {
                Err(format!("foreign rows are skipped, and it fails: {error}"))
            }
            Some(key) if error.kind() == ErrorKind::ForeignRow && self.met.contains(&key) => Ok(key),
            _ => Err(format!("it fails: {error}")),
        }
    }

    async fn pages(&self, size: u64) -> Result<(), String> {
        let expected = self.expected();
        let mut rows: Vec<Seen<K>> = Vec::new();
        let mut token: Option<String> = None;
        loop {
            let mut scan = self.scan(&self.plan);
            if let Some(token) = &token {
                scan = scan.after(token);
            }
            let (page, next) = match self.page(scan, size).await {
                Ok(page) => page,
                Err(error) => {
                    self.foreign_row(&error)?;
                    return equal("rows before the error", &&rows[..], &&expected[..rows.len()]);
                }
            };
            if page.len() as u64 > size || (next.is_some() && page.len() as u64 != size) {
                return Err(format!("a page of {size} has {} rows, and there is another", page.len()));
            }
            if page.is_empty() && token.is_some() {
                return Err("there is a token for an empty page".into());
            }
            rows.extend(page);
            token = next;
            if token.is_none() {
                break;
            }
            if rows.len() > expected.len() {
                return Err(format!("the pages have too many rows: {rows:?}"));
            }
        }
        // Pages are ordered, also of an unordered scan.
        equal("the rows of all pages", &rows, &expected)?;
        match self.execution.skip_foreign {
            true => Ok(()),
            false => equal("foreign rows that the pages pass over", &self.met, &Vec::new()),
        }
    }

    async fn page(&self, scan: Scan<K, Value>, size: u64) -> Result<(Vec<Seen<K>>, Option<String>), Error> {
        Ok(match self.execution.keys_only {
            true => {
                let page = scan.keys_only().page(size).await?;
                (page.rows.into_iter().map(|key| (key, None)).collect(), page.next)
            }
            false => {
                let page = scan.page(size).await?;
                (page.rows.into_iter().map(with_value).collect(), page.next)
            }
        })
    }

    /// The parts of a plan before and after a stored key, which together are the plan.
    async fn parts(&self, place: usize) -> Result<(), String> {
        let between =
            self.case.content.rows.get(place).map_or(b"\x80".to_vec(), |(key, _)| key.encode().unwrap());
        let parts = [KeyRange::new(Vec::new(), Some(between.clone())), KeyRange::new(between.clone(), None)];
        let expected = self.expected();
        let (mut found, mut skipped) = (0, 0);
        for (at, part) in parts.iter().enumerate() {
            let plan = self.plan.within(part);
            let plan = if self.execution.sent { sent(&plan)? } else { plan };
            let outcome = self.run(self.scan(&plan)).await;
            if let Some(error) = outcome.error {
                return self.foreign_row(&error).map(|_| ());
            }
            let here = |row: &&Seen<K>| (row.0.encode().unwrap() >= between) == (at == 1);
            let expected: Vec<_> = expected.iter().filter(here).cloned().collect();
            match self.execution.unordered {
                false => equal("the rows of a part", &outcome.rows, &expected)?,
                true => equal("how many rows a part has", &outcome.rows.len(), &expected.len())?,
            }
            found += outcome.rows.len();
            skipped += outcome.skipped;
        }
        equal("the rows of all parts", &found, &expected.len())?;
        equal("foreign rows skipped in all parts", &skipped, &(self.met.len() as u64))
    }

    async fn count(&self) -> Result<(), String> {
        match self.table.count(self.plan.clone()).await {
            Ok(count) if self.met.is_empty() => equal("counted", &count, &(self.selected().len() as u64)),
            Ok(_) => Err("foreign rows are counted".into()),
            Err(error) if error.kind() == ErrorKind::ForeignRow && !self.met.is_empty() => Ok(()),
            Err(error) => Err(format!("it fails: {error}")),
        }
    }

    async fn delete(&self, client: &Client) -> Result<(), String> {
        let selected = self.selected();
        let deleted = self.table.delete_rows(self.plan.clone()).await;
        let left = client
            .table::<AnyBytes, Value>(self.table.name())
            .unchecked()
            .scan(<AnyBytes as keyderive::RowKey>::scan());
        let left = left.keys_only().collect().await;
        // Other plans use the table too.
        let back = selected.iter().map(|(key, place)| (key.clone(), Value { place: *place }));
        self.table.put_all(back).await.map_err(|error| error.to_string())?;

        equal("deleted", &deleted.map_err(|error| error.to_string())?, &(selected.len() as u64))?;
        let rows = self.case.content.rows.iter().filter(|row| !selected.contains(row));
        let mut expected: Vec<_> = rows.map(|(key, _)| AnyBytes(key.encode().unwrap())).collect();
        expected.extend(self.case.content.foreign.iter().cloned().map(AnyBytes));
        expected.sort();
        equal("what is left", &left.map_err(|error| error.to_string())?, &expected)
    }
}

fn with_value<K>((key, value): (K, Value)) -> Seen<K> {
    (key, Some(value.place))
}

async fn drain<K: Sample, R: RowType<K>>(scan: Scan<K, R>, seen: impl Fn(R::Item) -> Seen<K>) -> Outcome<K> {
    let mut stream = scan.stream();
    let mut outcome = Outcome { rows: Vec::new(), error: None, skipped: 0 };
    while let Some(row) = stream.next().await {
        match row {
            Ok(row) => outcome.rows.push(seen(row)),
            Err(error) => outcome.error = Some(error),
        }
    }
    outcome.skipped = stream.skipped().foreign();
    outcome
}

fn equal<T: PartialEq + Debug>(what: &str, found: &T, expected: &T) -> Result<(), String> {
    match found == expected {
        true => Ok(()),
        false => Err(format!("{what}:\n   found {found:?}\nexpected {expected:?}")),
    }
}

fn at_most(what: &str, found: u64, most: u64) -> Result<(), String> {
    match found <= most {
        true => Ok(()),
        false => Err(format!("{what}: found {found}, expected at most {most}")),
    }
}
