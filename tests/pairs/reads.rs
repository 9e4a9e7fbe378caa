//! Reads, each of which is compared with the model.

use futures_util::TryStreamExt as _;
use keyderive::key::TableKey;
use keyderive::plan::Plan;
use keyderive::row::RowFilter;
use keyderive::table::{OneTable, Reads, Scans};
use keyderive::{Error, Scan, Table};

use crate::drive::retried;
use crate::features::{Feature, Features};
use crate::layouts::{Layout, Point, Range};
use crate::model::{Name, Value};
use crate::rows::{Asked, Kind, WORDS, WideKind};
use crate::world::{Lens, World};

/// A filter of cells: what it leaves of a row is read.
#[derive(Clone, Debug)]
enum CellFilter {
    Family(&'static str),
    Column(&'static str, &'static str),
    Text(&'static str),
}

impl CellFilter {
    fn random(rng: &mut fastrand::Rng, has_text: bool) -> Self {
        match rng.u32(..if has_text { 3 } else { 2 }) {
            0 => Self::Family(rng.choice(["cf", "held", "h", "tags", "place", "old"]).unwrap()),
            1 => {
                let columns = [("cf", "mail"), ("cf", "email"), ("held", "holder"), ("h", "steps")];
                let (family, column) = rng.choice(columns).unwrap();
                Self::Column(family, column)
            }
            _ => Self::Text(rng.choice(WORDS).unwrap()),
        }
    }

    fn passes(&self, (family, qualifier): &Name, value: &Value) -> bool {
        match self {
            Self::Family(name) => family == name,
            Self::Column(name, column) => family == name && qualifier == column,
            Self::Text(text) => *value == Value::from(*text),
        }
    }

    fn filter(&self) -> RowFilter {
        match self {
            Self::Family(family) => RowFilter::family(*family),
            Self::Column(family, column) => RowFilter::exact_column(*family, column),
            Self::Text(text) => RowFilter::value_is(&(*text).to_owned()),
        }
    }
}

/// What is asked of the rows of a table.
#[derive(Clone, Debug)]
pub(crate) struct Question {
    range: Range,
    asked: Option<Asked>,
    filter: Option<CellFilter>,
    latest: Option<u32>,
    is_reversed: bool,
    pub(crate) skew: i64,
}

impl Question {
    pub(crate) fn random(world: &mut World, range: Range, is_wide: bool, has_aggregates: bool) -> Self {
        let (skew, has_text) = (world.skew(), world.has_text_filters);
        let rng = &mut world.rng;
        Self {
            range,
            asked: (rng.u32(..5) < 3).then(|| Asked::random(rng, is_wide, has_aggregates)),
            filter: (rng.u32(..6) == 0).then(|| CellFilter::random(rng, has_text)),
            latest: (rng.u32(..6) == 0).then(|| rng.u32(1..3)),
            is_reversed: rng.bool(),
            skew,
        }
    }

    /// The same by a client whose clock is right.
    pub(crate) fn with_right_clock(self) -> Self {
        Self { skew: 0, ..self }
    }

    pub(crate) fn is_reversed(&self) -> bool {
        self.is_reversed
    }

    pub(crate) fn plan<K: Layout>(&self) -> Plan<K> {
        K::plan(&self.range)
    }

    /// Which fields its plan leaves open.
    pub(crate) fn open(&self) -> [bool; 3] {
        self.range.open()
    }

    pub(crate) fn is_ordered<K: Layout>(&self) -> bool {
        self.plan::<K>().is_ordered()
    }

    pub(crate) fn apply<K: TableKey, Q: Kind, S: Reads>(&self, mut scan: Scan<K, Q, S>) -> Scan<K, Q, S> {
        if let Some(asked) = &self.asked {
            scan = scan.matching(Q::condition(asked));
        }
        if let Some(filter) = &self.filter {
            scan = scan.filter(filter.filter());
        }
        if let Some(versions) = self.latest {
            scan = scan.latest(versions);
        }
        if self.is_reversed { scan.reversed() } else { scan }
    }

    /// The rows that it selects, in the order of their points, and the features that it meets.
    pub(crate) fn answer<Q: Kind>(&self, world: &World, lens: Lens<Q>) -> Answer<Q> {
        let mut answer = Answer { rows: Vec::new(), features: world.table, asked: Features::default() };
        answer.features.insert_if(self.asked.is_some() || self.filter.is_some(), Feature::Filters);
        answer.features.insert_if(self.is_reversed, Feature::Reversed);
        for (point, cells) in world.rows.iter().filter(|(point, _)| self.range.contains(**point)) {
            let live = lens.live(cells, world.now + self.skew);
            answer.features = answer.features.and(cells.features(&live));
            let is_off = self.skew != 0 && live != lens.live(cells, world.now);
            answer.features.insert_if(is_off, Feature::Clocks);
            if let Some(asked) = &self.asked {
                answer.asked = answer.asked.and(asked.features(cells, &live));
                if !asked.holds(&live, Q::IS_FORMER) {
                    continue;
                }
            }
            let Some(mut view) = lens.own(live) else { continue };
            if let Some(filter) = &self.filter {
                view.retain(|name, _, value| filter.passes(name, value));
            }
            if let Some(versions) = self.latest {
                view.latest(versions as usize);
            }
            if !view.is_empty() {
                answer.rows.push((*point, Q::read(&view)));
            }
        }
        answer
    }
}

/// What the model answers.
pub(crate) struct Answer<Q> {
    pub(crate) rows: Vec<(Point, Q)>,
    features: Features,
    asked: Features,
}

impl<Q: Clone> Answer<Q> {
    /// In the order of a scan: by the key, or as the keys are stored.
    pub(crate) fn in_order<K: Layout>(&self, question: &Question) -> Vec<(Point, Q)> {
        let mut rows = self.rows.clone();
        match question.is_ordered::<K>() {
            true => rows.sort_by_key(|row| K::order(row.0)),
            false => rows.sort_by_key(|row| K::of(row.0).encode().unwrap()),
        }
        if question.is_reversed {
            rows.reverse();
        }
        rows
    }

    /// Counts the features that the read met, and those of the call.
    pub(crate) fn count(&self, world: &mut World, of_call: &[Feature]) {
        let features = self.features.and(of_call.iter().copied().collect());
        world.met.count(features, self.asked);
    }
}

pub(crate) fn points<K: Layout, Q>(rows: Vec<(K, Q)>) -> Vec<(Point, Q)> {
    rows.into_iter().map(|(key, row)| (key.point(), row)).collect()
}

fn keys<Q>(rows: &[(Point, Q)]) -> Vec<Point> {
    rows.iter().map(|row| row.0).collect()
}

/// The first row of each value of the first fields.
fn distinct<Q>(rows: &[(Point, Q)], fields: usize) -> Vec<Point> {
    let value = |point: Point| match fields {
        1 => (point.0, 0, 0),
        2 => (point.0, point.1, 0),
        _ => point,
    };
    let mut seen = Vec::new();
    let firsts = rows.iter().map(|row| row.0).filter(|point| {
        let is_new = !seen.contains(&value(*point));
        seen.push(value(*point));
        is_new
    });
    firsts.collect()
}

/// Whether a scan has an order.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Order {
    /// That of one table.
    OfTable,
    /// That of two tables that are one, in which scans in no order wait or not.
    OfPair { is_paused: bool },
    /// Two tables whose rows have no common order.
    None,
}

/// The rows of all pages of a scan.
async fn pages<K: Layout, Q: Kind, S: Reads>(
    world: &World,
    skew: i64,
    scan: impl Fn() -> Scan<K, Q, S>,
    size: u64,
) -> Vec<(K, Q)> {
    let (mut found, mut next) = (Vec::new(), None::<String>);
    loop {
        let page = async || match &next {
            None => scan().page(size).await,
            Some(token) => scan().after(token).page(size).await,
        };
        let page = world.read(skew, page).await.unwrap();
        assert!(page.rows.len() as u64 == size || page.next.is_none(), "a page of {}", page.rows.len());
        assert!(!page.rows.is_empty() || next.is_none(), "an empty page");
        found.extend(page.rows);
        assert!(found.len() <= world.rows.len(), "pages without end");
        next = page.next;
        if next.is_none() {
            return found;
        }
    }
}

/// Exports a table.
pub(crate) async fn check_export<K: Layout, Q: Kind, S: OneTable>(
    world: &mut World,
    table: &Table<K, Q, S>,
    lens: Lens<Q>,
    question: &Question,
) {
    let answer = question.answer(world, lens);
    let (asked, parallel) = (question.clone(), world.rng.usize(1..4));
    let export = async || {
        let export = table.export(question.plan()).parallel(parallel);
        export.with(move |scan| asked.apply(scan)).stream().try_collect::<Vec<_>>().await
    };
    let mut found = points(world.read(question.skew, export).await.unwrap());
    found.sort_by_key(|row| row.0);
    assert_eq!(found, answer.rows, "{question:?}");
    answer.count(world, &[Feature::Partitions]);
}

/// Scans a table by one plan in one of the ways.
pub(crate) async fn check_scan<K: Layout, Q: Kind, S: Scans<K>>(
    world: &mut World,
    table: &Table<K, Q, S>,
    lens: Lens<Q>,
    question: &Question,
    order: Order,
    of_call: &[Feature],
) {
    let answer = question.answer(world, lens);
    let has_order = order != Order::None;
    let sorted = |mut rows: Vec<(Point, Q)>| {
        if !has_order {
            rows.sort_by_key(|row| row.0);
        }
        rows
    };
    let rows = if has_order { answer.in_order::<K>(question) } else { answer.rows.clone() };
    let apply = |scan| {
        let scan = question.apply(scan);
        if has_order { scan } else { scan.unordered() }
    };
    let scan = || apply(table.scan(question.plan()));
    let skew = question.skew;
    let way = world.rng.u32(..11);
    let shown = format!("way {way} of {question:?}");
    let mut of_call = of_call.to_vec();
    match way {
        0 => {
            let found = world.read(skew, async || retried(async || scan().collect().await).await).await;
            assert_eq!(sorted(points(found)), rows, "{shown}");
        }
        1 | 2 if !has_order => {
            let page = question.apply(table.scan(question.plan())).page(2);
            let error = world.read(skew, async || page.await).await.map(drop).unwrap_err().to_string();
            assert!(error.contains("add `.unordered()`"), "{error} of {shown}");
        }
        1 | 2 => {
            of_call.push(Feature::Pages);
            let size = world.rng.u64(1..5);
            let found = pages(world, skew, scan, size).await;
            assert_eq!(points(found), rows, "pages of {size}, {shown}");
        }
        3 | 4 => {
            of_call.push(Feature::Partitions);
            let parts = table.partitions_of(question.plan()).await.unwrap();
            let (mut found, is_paged) = (Vec::new(), has_order && world.rng.bool());
            for part in parts {
                let scan = || apply(table.scan(part.clone()));
                found.extend(match is_paged {
                    true => pages(world, skew, scan, 2).await,
                    false => world.read(skew, async || retried(async || scan().collect().await).await).await,
                });
            }
            if is_paged {
                of_call.push(Feature::Pages);
            }
            let mut found = points(found);
            found.sort_by_key(|row| row.0);
            assert_eq!(found, answer.rows, "{shown}");
        }
        5 => {
            let count = async || retried(async || scan().count().await).await;
            assert_eq!(world.read(skew, count).await, rows.len() as u64, "{shown}");
            let scan = async || retried(async || scan().keys_only().collect().await).await;
            let mut found: Vec<_> = world.read(skew, scan).await.iter().map(K::point).collect();
            if !has_order {
                found.sort_unstable();
            }
            assert_eq!(found, keys(&rows), "{shown}");
        }
        6 => {
            let limit = world.rng.usize(..6);
            let scan = async || retried(async || scan().limit(limit as u64).collect().await).await;
            let found = points(world.read(skew, scan).await);
            let is_part = found.iter().all(|row| rows.contains(row));
            assert!(is_part && found.len() == limit.min(rows.len()), "{found:?} is not {limit} of {shown}");
            assert!(!has_order || found[..] == rows[..found.len()], "{found:?} is not {limit} of {shown}");
        }
        7 | 8 if !has_order => {
            let distinct = scan().distinct(1).collect();
            let error = world.read(skew, async || distinct.await).await.map(drop).unwrap_err().to_string();
            assert!(error.contains("add `.unordered()`"), "{error} of {shown}");
        }
        7 | 8 => {
            let fields = world.rng.usize(1..4);
            let expected = distinct(&rows, fields);
            let first = world.rng.usize(1..4);
            let distinct = || scan().distinct(fields);
            let found = world.read(skew, async || distinct().collect().await).await.unwrap();
            assert_eq!(found.iter().map(K::point).collect::<Vec<_>>(), expected, "{fields} of {shown}");
            if question.is_ordered::<K>() {
                of_call.push(Feature::Pages);
                let page = world.read(skew, async || distinct().page(first as u64).await).await.unwrap();
                let mut found: Vec<_> = page.rows.iter().map(K::point).collect();
                if let Some(token) = page.next {
                    let rest =
                        world.read(skew, async || distinct().after(&token).collect().await).await.unwrap();
                    assert!(found.len() == first && !rest.is_empty(), "{shown}");
                    found.extend(rest.iter().map(K::point));
                }
                assert_eq!(found, expected, "pages of {fields} of {shown}");
            }
        }
        9 => {
            let visit = async || {
                let mut found = Vec::new();
                let visit = scan().visit::<K, Error>(|key, row| {
                    found.push((key, row.read::<Q>()?));
                    Ok(())
                });
                let visited = visit.await?;
                assert_eq!(visited, found.len() as u64);
                Ok(found)
            };
            let found = world.read(skew, async || retried(visit).await).await;
            assert_eq!(sorted(points(found)), rows, "{shown}");
        }
        // It would wait for the next state.
        _ if order == (Order::OfPair { is_paused: true }) => {}
        _ => {
            let scan = async || retried(async || scan().unordered().collect().await).await;
            let mut found = points(world.read(skew, scan).await);
            found.sort_by_key(|row| row.0);
            assert_eq!(found, answer.rows, "{shown}");
        }
    }
    answer.count(world, &of_call);
}

/// Selects columns of the rows of a scan. A row without any of them comes too.
pub(crate) async fn check_select<K: Layout, R: WideKind>(
    world: &mut World,
    table: &Table<K, R>,
    question: &Question,
) {
    let question = Question { filter: None, latest: None, ..question.clone() };
    let answer = question.answer(world, Lens::<R>::whole());
    let expected: Vec<_> =
        answer.in_order::<K>(&question).into_iter().map(|(point, row)| (point, row.columns())).collect();
    let select = async || R::selected(question.apply(table.scan(question.plan()))).collect().await;
    let found = world.read(question.skew, select).await.unwrap();
    assert_eq!(points(found), expected, "select of {question:?}");
    answer.count(world, &[]);
}

/// Reads rows by their keys.
pub(crate) async fn check_points<K: Layout, Q: Kind, S: Reads>(
    world: &mut World,
    table: &Table<K, Q, S>,
    lens: Lens<Q>,
    is_second: bool,
) {
    let skew = world.skew();
    let mut points = world.points(12);
    points.push(points[0]);
    let keys: Vec<_> = points.iter().map(|point| K::of(*point)).collect();
    let many = world.read(skew, async || table.get_many(&keys).await).await.unwrap();
    for ((point, key), of_many) in points.into_iter().zip(&keys).zip(many) {
        let cells = world.rows.get(&point).cloned().unwrap_or_default();
        let expected = lens.read(&cells, world.now + skew);
        let shown = format!("{point:?}, skew {skew}, {cells:?}");
        assert_eq!(of_many, expected, "get_many {shown}");
        assert_eq!(world.read(skew, async || table.get(key).await).await.unwrap(), expected, "get {shown}");
        assert_eq!(
            world.read(skew, async || table.exists(key).await).await.unwrap(),
            expected.is_some(),
            "exists {shown}"
        );
        let live = lens.live(&cells, world.now + skew);
        let mut features = world.table.and(cells.features(&live));
        features.insert_if(skew != 0 && live != lens.live(&cells, world.now), Feature::Clocks);
        features.insert_if(is_second, Feature::TwoTypes);
        world.met.count(features, Features::default());
    }
}
