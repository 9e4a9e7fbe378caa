//! The long-running calls: a writer in the background, a load and a copy, each of which is dropped and made again.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::Duration;

use fastrand::Rng;
use keyderive::client::{WriteErrors, WriterSettings};
use keyderive::row::Sum;
use keyderive::table::load::Checkpoint;
use keyderive::{Client, Error, Row, RowKey, Table};
use tokio::time::{sleep, timeout};

use crate::points::passes;
use crate::world::World;

#[derive(RowKey, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[salt(range = 3, over = "id")]
pub(crate) struct LineKey {
    id: u64,
}

#[derive(RowKey, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[salt(range = 5, over = "shelf,id")]
pub(crate) struct ShelfKey {
    shelf: u32,
    id: u64,
}

#[derive(Row, Clone, Debug, PartialEq)]
pub(crate) struct Line {
    number: u64,
    text: String,
    #[row(family = "sums")]
    hits: Sum,
}

type Lines = Table<LineKey, Line>;
type Shelves = Table<ShelfKey, Line>;

fn line(id: u64, number: u64) -> (LineKey, Line) {
    let text = format!("{number:x}").repeat(usize::try_from(number % 30).unwrap());
    (LineKey { id }, Line { number, text, hits: Sum::new(0) })
}

/// Small batches, so that there are many.
fn small(settings: &mut WriterSettings) {
    settings.batch_entries = 4;
    settings.linger = Duration::from_millis(20);
    settings.entries_in_flight = 24;
}

/// Rows that one client writes in the background, and what each of them may hold.
pub(crate) struct Background {
    rng: Rng,
    lines: Lines,
    pages: Lines,
    /// The numbers that a row may have; none for no row.
    expected: BTreeMap<u64, BTreeSet<Option<u64>>>,
    /// How many additions to a page have begun. Each is a bit of its own.
    begun: BTreeMap<u64, u32>,
    /// Those that count, and those that may.
    counted: BTreeMap<u64, u64>,
    in_doubt: BTreeMap<u64, u64>,
    next: u64,
}

const WRITTEN: u64 = 24;
const PAGES: u64 = 4;

impl Background {
    pub(crate) async fn create(observer: &Client) {
        for name in ["lines", "pages"] {
            observer.table::<LineKey, Line>(name).create().await.unwrap();
        }
    }

    pub(crate) fn new(rng: Rng, client: &Client) -> Self {
        let (lines, pages) = (client.table("lines"), client.table("pages"));
        let (expected, begun) = (BTreeMap::new(), BTreeMap::new());
        let (counted, in_doubt) = (BTreeMap::new(), BTreeMap::new());
        Self { rng, lines, pages, expected, begun, counted, in_doubt, next: 0 }
    }

    pub(crate) async fn run(mut self, rounds: u32, world: World) -> Self {
        let (lines, pages) = (self.lines.writer_with(small), self.pages.writer_with(small));
        for _ in 0..rounds {
            // Each row once: two writes of one key have no order.
            let ids: BTreeSet<u64> = (0..self.rng.u64(..12)).map(|_| self.rng.u64(..WRITTEN)).collect();
            let mut written = BTreeMap::new();
            for id in ids {
                self.next += 1;
                let number = (self.rng.u8(..5) > 0).then_some(self.next);
                let sent = match number {
                    None => lines.delete(&LineKey { id }).await,
                    Some(number) => {
                        let (key, line) = line(id, number);
                        lines.put(&key, &line).await
                    }
                };
                match sent {
                    Ok(()) => drop(written.insert(id, number)),
                    Err(error) => passes(&error),
                }
                self.pause(30).await;
            }
            let mut added = BTreeMap::new();
            for _ in 0..self.rng.u64(..6) {
                let id = self.rng.u64(..PAGES);
                let Some(bit) = self.bit(id) else { continue };
                match pages
                    .update(self.pages.update(&LineKey { id }).add(Line::HITS, bit.cast_signed()))
                    .await
                {
                    Ok(()) => *added.entry(id).or_insert(0) |= bit,
                    Err(error) => passes(&error),
                }
            }
            self.add_alone().await;
            world.event(format_args!("the writers flush {written:?} {added:?}"));
            let (flushed, added_up) = (lines.flush().await, pages.flush().await);
            world.event(format_args!(
                "the writers have flushed: {:?} {:?}",
                outcome(&flushed),
                outcome(&added_up)
            ));
            self.flushed(written, flushed.err().as_ref());
            self.added(added, added_up.err().as_ref());
            // What is late has arrived before the next write of the row.
            sleep(2 * world.inner().latest).await;
        }
        let (lines, pages) = (lines.close().await, pages.close().await);
        assert!(lines.is_ok() && pages.is_ok(), "writers without rows fail");
        self
    }

    async fn pause(&mut self, most: u64) {
        let pause = Duration::from_millis(self.rng.u64(..most));
        sleep(pause).await;
    }

    /// A bit that no addition to the page has had.
    fn bit(&mut self, page: u64) -> Option<u64> {
        let begun = self.begun.entry(page).or_insert(0);
        *begun += 1;
        (*begun < 62).then(|| 1 << *begun)
    }

    /// An addition by a call of its own.
    async fn add_alone(&mut self) {
        let id = self.rng.u64(..PAGES);
        let Some(bit) = self.bit(id) else { return };
        match self.pages.update(&LineKey { id }).add(Line::HITS, bit.cast_signed()).await {
            Ok(()) => *self.counted.entry(id).or_insert(0) |= bit,
            Err(error) => {
                passes(&error);
                if error.is_outcome_unknown() {
                    *self.in_doubt.entry(id).or_insert(0) |= bit;
                }
            }
        }
    }

    fn flushed(&mut self, written: BTreeMap<u64, Option<u64>>, failed: Option<&WriteErrors>) {
        let failed: BTreeMap<Vec<u8>, &Error> = failed
            .iter()
            .flat_map(|failed| failed.failed())
            .map(|one| (one.key().to_vec(), one.error()))
            .collect();
        for (id, number) in written {
            let before = self.expected.entry(id).or_insert_with(|| [None].into());
            match failed.get(&LineKey { id }.encode().unwrap()) {
                None => *before = [number].into(),
                Some(error) => {
                    passes(error);
                    if error.is_outcome_unknown() {
                        before.insert(number);
                    }
                }
            }
        }
    }

    fn added(&mut self, added: BTreeMap<u64, u64>, failed: Option<&WriteErrors>) {
        let failed: BTreeSet<Vec<u8>> =
            failed.iter().flat_map(|failed| failed.failed()).map(|one| one.key().to_vec()).collect();
        for (id, bits) in added {
            let is_failed = failed.contains(&LineKey { id }.encode().unwrap());
            let of = if is_failed { &mut self.in_doubt } else { &mut self.counted };
            *of.entry(id).or_insert(0) |= bits;
        }
    }

    /// Fails unless the tables hold what was acknowledged, and nothing that was not written.
    pub(crate) async fn check(self, observer: &Client) {
        let lines: Lines = observer.table("lines");
        let stored: BTreeMap<u64, Line> = lines
            .scan(LineKey::scan())
            .collect()
            .await
            .unwrap()
            .into_iter()
            .map(|(key, line)| (key.id, line))
            .collect();
        for id in 0..WRITTEN {
            let found = stored.get(&id).map(|line| line.number);
            let expected = self.expected.get(&id).cloned().unwrap_or_else(|| [None].into());
            assert!(expected.contains(&found), "row {id} has {found:?}, and not one of {expected:?}");
            let whole = found.is_none_or(|number| stored[&id] == line(id, number).1);
            assert!(whole, "row {id} is a mix: {:?}", stored.get(&id));
        }
        let pages: Lines = observer.table("pages");
        for id in 0..PAGES {
            let raw = pages.select(Line::HITS).get(&LineKey { id }).await.unwrap();
            let sum = raw.map_or(0, |hits| hits.get().cast_unsigned());
            let counted = self.counted.get(&id).copied().unwrap_or(0);
            let in_doubt = self.in_doubt.get(&id).copied().unwrap_or(0);
            let rest = sum.checked_sub(counted);
            let is_right = rest.is_some_and(|rest| rest & !in_doubt == 0);
            assert!(is_right, "page {id} has the sum {sum:b}: {counted:b} count, and perhaps {in_doubt:b}");
        }
    }
}

fn outcome(flushed: &Result<u64, WriteErrors>) -> Result<u64, u64> {
    flushed.as_ref().map(|written| *written).map_err(WriteErrors::failed_count)
}

/// An input that is loaded into a table, and copied to another one.
pub(crate) struct Moved {
    rng: Rng,
    world: World,
    rows: u64,
    lines: Lines,
    shelves: Shelves,
    file: PathBuf,
    stored: Option<Checkpoint>,
    /// Items that may be counted twice, by the report.
    in_doubt: BTreeSet<u64>,
    is_loaded: bool,
    is_copied: bool,
}

/// A row of the input.
fn item(id: u64) -> (LineKey, Line) {
    let (key, row) = line(id, id + 1);
    (key, Line { hits: Sum::new(i64::try_from(id + 1).unwrap()), ..row })
}

impl Moved {
    pub(crate) async fn create(observer: &Client) {
        observer.table::<LineKey, Line>("loaded").create().await.unwrap();
        observer.table::<ShelfKey, Line>("copied").create().await.unwrap();
    }

    /// `file` is where the copy stores its checkpoint.
    pub(crate) fn new(mut rng: Rng, world: &World, client: &Client, file: PathBuf) -> Self {
        let (lines, shelves) = (client.table("loaded"), client.table("copied"));
        let (rows, in_doubt) = (rng.u64(20..150), BTreeSet::new());
        let world = world.clone();
        Self {
            rng,
            world,
            rows,
            lines,
            shelves,
            file,
            stored: None,
            in_doubt,
            is_loaded: false,
            is_copied: false,
        }
    }

    /// Tries so often.
    pub(crate) async fn run(mut self, tries: u32) -> Self {
        for _ in 0..tries {
            let patience =
                Duration::from_millis(if self.rng.bool() { self.rng.u64(50..1_500) } else { 30_000 });
            if !self.is_loaded {
                let _ = timeout(patience, self.load()).await;
            } else {
                self.scan().await;
                if !self.is_copied {
                    let _ = timeout(patience, self.copy()).await;
                }
            }
            let pause = Duration::from_millis(self.rng.u64(..300));
            sleep(self.world.inner().latest + pause).await;
        }
        self
    }

    async fn load(&mut self) {
        let (resumed, world) = (self.stored.clone(), self.world.clone());
        world.event(format_args!("the load begins after {:?}", resumed.as_ref().map(Checkpoint::items)));
        let stored = &mut self.stored;
        let load = self.lines.load_iter((0..self.rows).map(item)).workers(3).batch_rows(7).look_ahead(4_000);
        let load = load.add_sums().may_count_twice().checkpoint_every(10).resume(resumed);
        let load = load.on_checkpoint(|checkpoint| {
            world.event(format_args!("the load has {} of its items", checkpoint.items()));
            *stored = Some(checkpoint.clone());
        });
        match load.await {
            Ok(report) => {
                report.failed().iter().for_each(|row| passes(row.error()));
                self.is_loaded = report.failed_count() == 0;
                self.stored = Some(report.checkpoint().clone());
                self.in_doubt.extend(report.may_be_counted_twice().iter().cloned().flatten());
                self.world.event(format_args!("the load ends with {} failed rows", report.failed_count()));
            }
            Err(error) => {
                error.error().into_iter().for_each(passes);
                self.stored = Some(error.checkpoint().clone());
                self.in_doubt.extend(error.report().may_be_counted_twice().iter().cloned().flatten());
                self.world.event(format_args!("the load ends early"));
            }
        }
    }

    /// Reads some of what was loaded, which nobody changes any more.
    async fn scan(&mut self) {
        let (first, most) = (self.rng.u64(..self.rows), self.rng.u64(2..self.rows));
        let scan = || self.lines.scan(LineKey::scan().id_range(first..));
        let (read, is_reversed) = match self.rng.u8(..5) {
            0 => (scan().limit(most).collect().await, false),
            1 => (scan().reversed().limit(most).collect().await, true),
            2 => {
                // In pages.
                let page = async {
                    let mut page = scan().page(most.div_ceil(2)).await?;
                    if let Some(token) = &page.next {
                        page.rows.extend(scan().after(token).page(most / 2).await?.rows);
                    }
                    Ok(page.rows)
                };
                (page.await, false)
            }
            3 => {
                // Without a limit, so that rows are passed on as many at a time as have arrived.
                let mut read = Vec::new();
                let visit = scan().visit::<LineKey, Error>(|key, row| {
                    read.push((key, row.read::<Line>()?));
                    Ok(())
                });
                let visited = visit.await;
                read.truncate(usize::try_from(most).unwrap());
                (visited.map(|_| read), false)
            }
            _ => {
                let keys = (first..self.rows).take(usize::try_from(most).unwrap()).map(|id| LineKey { id });
                let rows = self.lines.get_many(keys.clone()).await;
                let rows = rows.map(|rows| keys.zip(rows).map(|(key, row)| (key, row.unwrap())).collect());
                (rows, false)
            }
        };
        let read = match read {
            Ok(read) => read,
            Err(error) => return passes(&error),
        };
        self.world.event(format_args!("a scan of {first} returns {}", read.len()));
        let mut ids: Vec<u64> = (first..self.rows).collect();
        if is_reversed {
            ids.reverse();
        }
        ids.truncate(usize::try_from(most).unwrap());
        assert!(
            read.iter().map(|(key, _)| key.id).eq(ids),
            "a scan of {most} rows from {first} on: {read:?}"
        );
        for (key, row) in &read {
            assert!(self.is_item(key.id, row), "row {} of the load is {row:?}", key.id);
        }
    }

    /// Whether the row is that of the input.
    fn is_item(&self, id: u64, row: &Line) -> bool {
        let mut item = item(id).1;
        if self.in_doubt.contains(&id) {
            item.hits = row.hits;
        }
        item == *row
    }

    async fn copy(&mut self) {
        self.world.event(format_args!("the copy begins"));
        let copy = self.lines.copy_to(&self.shelves, |key, row| {
            let line = row.read::<Line>().ok()?;
            Some(ShelfKey { shelf: u32::try_from(line.number % 7).ok()?, id: key.id })
        });
        let copy = copy
            .parallel(3)
            .workers(3)
            .batch_rows(7)
            .look_ahead(4_000)
            .checkpoint(&self.file)
            .checkpoint_every(10);
        match copy.await {
            Ok(report) => {
                assert_eq!(report.copied(), self.rows);
                self.is_copied = true;
                self.world.event(format_args!("the copy ends"));
            }
            Err(error) => {
                match error.error() {
                    Some(error) => passes(error),
                    None => panic!("{error}"),
                }
                self.world.event(format_args!("the copy ends early"));
            }
        }
    }

    /// Goes on to the end, over a network without faults, and fails unless both tables hold the input.
    pub(crate) async fn check(mut self, observer: &Client) {
        for _ in 0..3 {
            if !self.is_loaded {
                self.load().await;
            }
            sleep(self.world.inner().latest).await;
        }
        assert!(self.is_loaded, "the load does not end");
        self.copy().await;
        assert!(self.is_copied, "the copy does not end");
        let lines: Lines = observer.table("loaded");
        let rows = lines.scan(LineKey::scan()).collect().await.unwrap();
        for (place, (key, row)) in (0..).zip(&rows) {
            assert!(
                key.id == place && self.is_item(place, row),
                "row {place} of the load is {key:?} {row:?}"
            );
        }
        assert_eq!(rows.len() as u64, self.rows, "rows of the load");
        let shelves: Shelves = observer.table("copied");
        let copied = shelves.scan(ShelfKey::scan()).collect().await.unwrap();
        let copied: BTreeMap<u64, Line> = copied.into_iter().map(|(key, line)| (key.id, line)).collect();
        assert!(
            copied.into_iter().eq(rows.into_iter().map(|(key, line)| (key.id, line))),
            "the copy differs"
        );
    }
}
