//! Random filters beside selections, on a table and on a pair of tables: a filter sees the row as it is without a selection, which
//! picks of what the filters leave.
//!
//! A model in this file applies the filters to the cells of random rows, and picks the columns.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt;
use std::time::{Duration, SystemTime};

use fastrand::Rng;
use keyderive::client::RawTable;
use keyderive::row::bounds::Selection;
use keyderive::row::{Mutation, RawCell, RowFilter, Timestamped, Versions};
use keyderive::table::rekey::Rekeyed;
use keyderive::table::{ReadOnly, Reads};
use keyderive::{Client, Error, OnUnreadable, Row, RowKey, Scan, Table};
use keyderive_tests::amount;

use crate::keys::{New, Old};

const ROWS: u64 = 8;

#[derive(Row, Clone, Debug)]
#[row(gc(never))]
struct Wide {
    #[row(alias = "moniker")]
    name: Option<String>,
    needed: String,
    /// Its versions are the first cells of a row.
    #[row(family = "a", gc(never))]
    steps: Versions<String>,
    #[row(family = "a")]
    log: Versions<String>,
    #[row(family, gc(never))]
    tags: BTreeMap<String, String>,
    #[row(family, gc(never))]
    place: Option<Place>,
    #[row(family = "t", ttl = "1h", gc(never))]
    seen: Option<String>,
}

#[derive(Row, Clone, Debug, PartialEq)]
struct Place {
    city: Option<String>,
    moves: Versions<String>,
}

/// A part of the columns, which has no other.
#[derive(Row, Clone, Debug)]
#[row(gc(never))]
struct Part {
    #[row(alias = "moniker")]
    name: Option<String>,
    #[row(family = "a", gc(never))]
    log: Versions<String>,
}

/// The columns that rows have cells of; the row type lacks the last column of each of the first two families.
const COLUMNS: [(&str, &str); 12] = [
    ("a", "log"),
    ("a", "other"),
    ("a", "steps"),
    ("cf", "moniker"),
    ("cf", "name"),
    ("cf", "needed"),
    ("cf", "other"),
    ("place", "city"),
    ("place", "moves"),
    ("t", "seen"),
    ("tags", "x"),
    ("tags", "y"),
];

const PART: [(&str, &str); 3] = [("a", "log"), ("cf", "moniker"), ("cf", "name")];

const VALUES: [&str; 4] = ["a", "b", "c", "d"];

/// How many minutes ago cells were written; a `ttl` of an hour hides the first.
const MINUTES: [i64; 4] = [120, 3, 2, 1];

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Cell {
    /// The place of its family in the order of the table.
    rank: usize,
    column: (&'static str, &'static str),
    at: Reverse<i64>,
    value: &'static str,
}

/// A filter, as the model has it.
#[derive(Clone, Debug)]
enum Filter {
    All,
    None,
    Family(&'static str),
    Column((&'static str, &'static str)),
    /// From one time to before another.
    Times(i64, i64),
    Values(&'static str, &'static str),
    Latest(u32),
    CellsPerRow(u32),
    SkipCells(u32),
    Strip,
    Chain(Vec<Filter>),
    Interleave(Vec<Filter>),
    Condition(Box<[Filter; 3]>),
}

impl Filter {
    /// Google's emulator counts the cells of a row family by family in no order: cells are counted there `in_family` alone.
    fn random(rng: &mut Rng, now: i64, depth: u32, in_family: bool) -> Self {
        let filters = |rng: &mut Rng, of: usize| {
            (0..of).map(|_| Self::random(rng, now, depth - 1, in_family)).collect::<Vec<_>>()
        };
        let some = |rng: &mut Rng| rng.usize(1..4);
        let counted = |rng: &mut Rng, filter: Self| match in_family {
            true => Self::Chain(vec![Self::Family(rng.choice(COLUMNS).unwrap().0), filter]),
            false => filter,
        };
        match rng.u32(..if depth == 0 { 10 } else { 14 }) {
            0 => Self::All,
            1 => rng.choice([Self::Strip, Self::None]).unwrap(),
            2 => Self::Family(rng.choice(COLUMNS).unwrap().0),
            3 => Self::Column(rng.choice(COLUMNS).unwrap()),
            4 => Self::Times(now - rng.i64(0..4) * 60_000_000, now - rng.i64(0..3) * 60_000_000),
            5 => Self::Values(rng.choice(VALUES).unwrap(), rng.choice(VALUES).unwrap()),
            6 | 7 => Self::Latest(rng.u32(..4)),
            8 => {
                let filter = Self::CellsPerRow(rng.u32(..12));
                counted(rng, filter)
            }
            9 => {
                let filter = Self::SkipCells(rng.u32(..6));
                counted(rng, filter)
            }
            10 | 11 => {
                let of = some(rng);
                Self::Chain(filters(rng, of))
            }
            12 => {
                let of = some(rng);
                Self::Interleave(filters(rng, of))
            }
            _ => Self::Condition(Box::new([(); 3].map(|()| Self::random(rng, now, depth - 1, in_family)))),
        }
    }

    fn filter(&self) -> RowFilter {
        let filters = |of: &[Self]| of.iter().map(Self::filter).collect::<Vec<_>>();
        match self {
            Self::All => RowFilter::pass_all(),
            Self::None => RowFilter::block_all(),
            Self::Family(family) => RowFilter::family(*family),
            Self::Column((family, name)) => RowFilter::exact_column(*family, name),
            Self::Times(from, to) => RowFilter::timestamps(*from..*to),
            Self::Values(from, to) => RowFilter::value_range(*from..*to),
            Self::Latest(versions) => RowFilter::latest(*versions),
            Self::CellsPerRow(cells) => RowFilter::cells_per_row(*cells),
            Self::SkipCells(cells) => RowFilter::skip_cells(*cells),
            Self::Strip => RowFilter::strip_value(),
            Self::Chain(of) => RowFilter::chain(filters(of)),
            Self::Interleave(of) => RowFilter::interleave(filters(of)),
            Self::Condition(of) => {
                let [predicate, then, otherwise] = [(); 3].map({
                    let mut filters = of.iter().map(Self::filter);
                    move |()| filters.next().unwrap()
                });
                RowFilter::condition(predicate, then, otherwise)
            }
        }
    }

    /// What it leaves of a row's cells.
    fn apply(&self, mut cells: Vec<Cell>) -> Vec<Cell> {
        match self {
            Self::All => {}
            Self::None => cells.clear(),
            Self::Family(family) => cells.retain(|cell| cell.column.0 == *family),
            Self::Column(column) => cells.retain(|cell| cell.column == *column),
            Self::Times(from, to) => cells.retain(|cell| (*from..*to).contains(&cell.at.0)),
            Self::Values(from, to) => cells.retain(|cell| (*from..*to).contains(&cell.value)),
            Self::Latest(versions) => {
                let (mut column, mut left) = (("", ""), 0);
                cells.retain(|cell| {
                    if cell.column != column {
                        (column, left) = (cell.column, *versions);
                    }
                    let keeps = left > 0;
                    left -= u32::from(keeps);
                    keeps
                });
            }
            Self::CellsPerRow(most) => cells.truncate(*most as usize),
            Self::SkipCells(first) => drop(cells.drain(..cells.len().min(*first as usize))),
            Self::Strip => cells.iter_mut().for_each(|cell| cell.value = ""),
            Self::Chain(of) => return of.iter().fold(cells, |cells, filter| filter.apply(cells)),
            Self::Interleave(of) => {
                cells = of.iter().flat_map(|filter| filter.apply(cells.clone())).collect();
                cells.sort_by_key(|cell| (cell.rank, cell.column.1, cell.at));
            }
            Self::Condition(of) => {
                let holds = !of[0].apply(cells.clone()).is_empty();
                return of[if holds { 1 } else { 2 }].apply(cells);
            }
        }
        cells
    }
}

/// What a scan is asked.
#[derive(Clone, Debug)]
struct Question {
    is_matching: bool,
    filters: Vec<Filter>,
    latest: Option<u32>,
}

impl Question {
    fn random(rng: &mut Rng, now: i64, in_family: bool) -> Self {
        let count = rng.usize(..3);
        Self {
            is_matching: rng.u32(..6) == 0,
            filters: (0..count).map(|_| Filter::random(rng, now, 3, in_family)).collect(),
            latest: rng.bool().then(|| rng.u32(..4)),
        }
    }

    fn ask<R, S: Reads>(&self, scan: Scan<New, R, S>) -> Scan<New, R, S> {
        let scan = self.filters.iter().fold(scan, |scan, filter| scan.filter(filter.filter()));
        let scan = scan.on_unreadable(OnUnreadable::Skip);
        self.latest.iter().fold(scan, |scan, versions| scan.latest(*versions))
    }

    /// What a read without a selection has of a row, of which these cells count.
    fn left(&self, counted: Vec<Cell>) -> Left {
        let cells = self.filters.iter().fold(counted, |cells, filter| filter.apply(cells));
        Left(match self.latest {
            Some(versions) => Filter::Latest(versions).apply(cells),
            None => cells,
        })
    }
}

/// What is left of a row.
struct Left(Vec<Cell>);

impl Left {
    fn of(&self, column: (&str, &str)) -> impl Iterator<Item = &Cell> {
        self.0.iter().filter(move |cell| cell.column == column)
    }

    fn newest(&self, family: &str, name: &str) -> Option<String> {
        self.of((family, name)).next().map(|cell| cell.value.to_owned())
    }

    fn name(&self) -> Option<String> {
        self.newest("cf", "name").or_else(|| self.newest("cf", "moniker"))
    }

    fn versions(&self, family: &str, name: &str) -> Versions<String> {
        self.of((family, name)).map(|cell| Timestamped::new(cell.at.0, cell.value.to_owned())).collect()
    }

    fn tags(&self) -> BTreeMap<String, String> {
        ["x", "y"].into_iter().filter_map(|tag| Some((tag.to_owned(), self.newest("tags", tag)?))).collect()
    }

    fn place(&self) -> Option<Place> {
        let place = || Place { city: self.newest("place", "city"), moves: self.versions("place", "moves") };
        self.0.iter().any(|cell| cell.column.0 == "place").then(place)
    }
}

/// Rows, and what is left of each.
struct Rows<'a> {
    left: BTreeMap<u64, Left>,
    question: &'a Question,
}

impl Rows<'_> {
    /// Compares the rows of a scan with a selection.
    async fn compare<R: Row, S: Reads, C: Selection<R>>(
        &self,
        scan: Scan<New, R, S>,
        selection: C,
        expected: impl Fn(&Left) -> Option<C::Output>,
    ) where
        C::Output: fmt::Debug + PartialEq + 'static,
    {
        let found = self.question.ask(scan).select(selection).collect().await.unwrap();
        let found: BTreeMap<_, _> = found.into_iter().map(|(key, row)| (key.id, row)).collect();
        let expected: BTreeMap<_, _> =
            self.left.iter().filter_map(|(id, left)| Some((*id, expected(left)?))).collect();
        assert_eq!(found, expected, "{:?}", self.question);
    }
}

/// The rows of a table.
struct World {
    rows: BTreeMap<u64, Vec<Cell>>,
    now: i64,
}

impl World {
    fn new(client: &Client, rng: &mut Rng) -> Self {
        let now = client.now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_millis();
        let now = i64::try_from(now).unwrap() * 1000;
        let row = |rng: &mut Rng| {
            let density = rng.u32(1..4);
            let places = COLUMNS.into_iter().flat_map(|column| MINUTES.map(|minutes| (column, minutes)));
            let mut cells = Vec::new();
            for (column, minutes) in places.filter(|_| rng.u32(..4) < density).collect::<Vec<_>>() {
                let at = Reverse(now - minutes * 60_000_000);
                cells.push(Cell { rank: 0, column, at, value: rng.choice(VALUES).unwrap() });
            }
            cells
        };
        let rows = (0..ROWS).map(|id| (id, row(rng))).filter(|(_, cells)| !cells.is_empty());
        Self { rows: rows.collect(), now }
    }

    async fn write<K: RowKey>(&self, table: RawTable, key: impl Fn(u64) -> K) {
        let set = |cell: &Cell| Mutation::set(cell.column.0, cell.column.1, cell.at.0, cell.value);
        let rows = self
            .rows
            .iter()
            .map(|(id, cells)| (key(*id).encode().unwrap().into(), cells.iter().map(set).collect()));
        table.mutate_rows(rows.collect()).await.all_written().unwrap();
    }

    /// Puts the cells into the order of a table, which has an order of families of its own.
    async fn sort_as(&mut self, table: RawTable) {
        let cells = COLUMNS.map(|(family, name)| Mutation::set(family, name, self.now, "x"));
        table.mutate_row("probe", cells).await.unwrap();
        let row = table.read_row("probe", None).await.unwrap().unwrap();
        table.mutate_row("probe", [Mutation::delete_row()]).await.unwrap();
        let mut ranks = BTreeMap::new();
        for cell in row.cells() {
            let next = ranks.len();
            ranks.entry(cell.family().to_owned()).or_insert(next);
        }
        for cells in self.rows.values_mut() {
            cells.iter_mut().for_each(|cell| cell.rank = ranks[cell.column.0]);
            cells.sort_unstable();
        }
    }

    /// What counts of each row, of the columns that `has` names.
    fn left(&self, question: &Question, has: impl Fn(&Cell) -> bool) -> BTreeMap<u64, Left> {
        let hour_ago = self.now - 3_600_000_000;
        let is_matching = |cells: &[Cell]| cells.iter().any(|cell| cell.column == ("cf", "needed"));
        let rows = self.rows.iter().filter(|(_, cells)| !question.is_matching || is_matching(cells));
        let left = rows.map(|(id, cells)| {
            let counts = |cell: &&Cell| has(cell) && (cell.column.0 != "t" || cell.at.0 >= hour_ago);
            (*id, question.left(cells.iter().filter(counts).cloned().collect()))
        });
        left.filter(|(_, left)| !left.0.is_empty()).collect()
    }

    async fn check<S: Reads>(
        &self,
        rng: &mut Rng,
        question: &Question,
        scan: impl Fn() -> Scan<New, Wide, S>,
        part: impl Fn() -> Scan<New, Part, S>,
    ) {
        let rows = Rows { left: self.left(question, |_| true), question };
        let scan = || match question.is_matching {
            true => scan().matching(Wide::NEEDED.exists()),
            false => scan(),
        };
        let keys = question.ask(scan()).keys_only().collect().await.unwrap();
        let keys: Vec<_> = keys.into_iter().map(|key| key.id).collect();
        assert!(keys.iter().copied().eq(rows.left.keys().copied()), "{keys:?}: {question:?}");
        for _ in 0..2 {
            match rng.u32(..if question.is_matching { 7 } else { 9 }) {
                0 => rows.compare(scan(), Wide::STEPS, |left| Some(left.versions("a", "steps"))).await,
                1 => {
                    let selection = (Wide::NAME, Wide::LOG);
                    rows.compare(scan(), selection, |left| Some((left.name(), left.versions("a", "log"))))
                        .await;
                }
                2 => rows.compare(scan(), Wide::NEEDED, |left| left.newest("cf", "needed")).await,
                3 => {
                    let selection = (Wide::LOG, (Wide::NEEDED, Wide::TAGS));
                    rows.compare(scan(), selection, |left| {
                        Some((left.versions("a", "log"), (left.newest("cf", "needed")?, left.tags())))
                    })
                    .await;
                }
                4 => rows.compare(scan(), Wide::PLACE, |left| Some(left.place())).await,
                5 => {
                    let selection = (Wide::PLACE.moves, Wide::TAGS.at("x"), Wide::SEEN);
                    rows.compare(scan(), selection, |left| {
                        Some((
                            left.versions("place", "moves"),
                            left.newest("tags", "x"),
                            left.newest("t", "seen"),
                        ))
                    })
                    .await;
                }
                6 => {
                    let selection = (Wide::column("a:steps").unwrap(), Wide::STEPS);
                    rows.compare(scan(), selection, |left| {
                        Some((left.newest("a", "steps").map(Into::into), left.versions("a", "steps")))
                    })
                    .await;
                }
                of_part => {
                    let left = self.left(question, |cell| PART.contains(&cell.column));
                    let rows = Rows { left, question };
                    match of_part {
                        7 => rows.compare(part(), Part::LOG, |left| Some(left.versions("a", "log"))).await,
                        _ => rows.compare(part(), Part::NAME, |left| Some(left.name())).await,
                    }
                }
            }
        }
    }

    /// Compares what is left of whole rows, too.
    async fn check_table(
        &self,
        rng: &mut Rng,
        question: &Question,
        table: &Table<New, Wide>,
        part: &Table<New, Part, ReadOnly>,
    ) {
        let mut found = BTreeMap::new();
        let scan = question.ask(table.scan(New::scan()));
        let visit = scan.visit::<New, Error>(|key, row| {
            let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
            let cell =
                |cell: RawCell<'_>| (text(cell.qualifier()), cell.timestamp_micros(), text(cell.value()));
            found.insert(key.id, row.cells().map(cell).collect::<Vec<_>>());
            Ok(())
        });
        visit.await.unwrap();
        let cell = |cell: &Cell| (cell.column.1.to_owned(), cell.at.0, cell.value.to_owned());
        let left = self.left(&Question { is_matching: false, ..question.clone() }, |_| true);
        let expected = left.iter().map(|(id, left)| (*id, left.0.iter().map(cell).collect::<Vec<_>>()));
        assert_eq!(found, expected.collect::<BTreeMap<_, _>>(), "{question:?}");
        self.check(rng, question, || table.scan(New::scan()), || part.scan(New::scan())).await;
    }

    async fn check_pair(&self, rng: &mut Rng, question: &Question, pair: &Rekeyed<Old, New, Wide>) {
        let part = pair.rows_as::<Part>();
        let part = || part.scan_both(New::scan(), Old::scan());
        self.check(rng, question, || pair.scan_both(New::scan(), Old::scan()), part).await;
    }
}

/// Random questions to a table, and to one that is re-keyed, before it is and once it has moved.
async fn a_filter_sees_the_row_as_without_a_selection(client: Client, questions: u64, in_family: bool) {
    let mut rng = Rng::new();
    println!("seed {}", rng.get_seed());
    let mut world = World::new(&client, &mut rng);
    let (old, table) = (client.table::<Old, Wide>("rows"), client.table::<New, Wide>("table"));
    old.create().without_row_key_schema().await.unwrap();
    table.create().await.unwrap();
    world.write(client.raw_table("rows"), |id| Old { id }).await;
    world.write(client.raw_table("table"), |id| New { id }).await;
    let pair = client.rekeyed::<Old, New, Wide>("rows", "rows-4").await.unwrap();
    world.sort_as(client.raw_table("table")).await;
    let part = table.rows_as::<Part>();
    for _ in 0..questions {
        let question = Question::random(&mut rng, world.now, in_family);
        world.check_table(&mut rng, &question, &table, &part).await;
    }
    for is_moved in [false, true] {
        if is_moved {
            pair.migration().lease(Duration::from_secs(1)).run().await.unwrap();
        }
        world.sort_as(client.raw_table(if is_moved { "rows-4" } else { "rows" })).await;
        for _ in 0..questions / 2 {
            let question = Question::random(&mut rng, world.now, in_family);
            world.check_pair(&mut rng, &question, &pair).await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_filter_sees_the_row_as_without_a_selection_embedded() {
    let questions = amount("KEYDERIVE_SELECTED", "random filters beside selections", 20, 2000);
    a_filter_sees_the_row_as_without_a_selection(Client::embedded(), questions, false).await;
}

#[tokio::test]
async fn a_filter_sees_the_row_as_without_a_selection_on_the_emulator() {
    let Some((_emulator, client)) = crate::servers::emulator().await else { return };
    a_filter_sees_the_row_as_without_a_selection(client, 12, true).await;
}
