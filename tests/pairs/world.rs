//! A Bigtable whose clock stands still, the clients of a run, and the rows that the model has.

use std::collections::BTreeMap;
use std::future::Future;
use std::marker::PhantomData;
use std::time::{Duration, UNIX_EPOCH};

use fastrand::Rng;
use keyderive::Client;
use keyderive::client::Granularity;
use keyderive::embedded::{Bigtable, FaultRule, Faults};

use crate::features::{Feature, Features, Met};
use crate::layouts::{Point, Range, SEQS, TIMES, USERS, home};
use crate::model::{Cells, HOUR, MINUTE, View};
use crate::rows::{Kind, wide_ttl};

/// Whole hours since 1970, and some minutes.
const BEGIN: i64 = 500_000 * HOUR + 17 * MINUTE;

/// How far the clock of each client is ahead of the server's. A client whose clock is more than 15 minutes slow cannot add to sums.
const SKEWS: [i64; 2] = [50 * MINUTE, -40 * MINUTE];

/// How long a request of a client takes whose clock is off: the clock of the server is set back meanwhile.
const DELAY: Duration = Duration::from_secs(1);

pub(crate) struct World {
    pub(crate) rng: Rng,
    pub(crate) bigtable: Bigtable,
    pub(crate) client: Client,
    /// A client that waits before each request.
    pub(crate) slow: Client,
    /// The time of the server, in microseconds.
    pub(crate) now: i64,
    pub(crate) is_fine: bool,
    pub(crate) has_clocks: bool,
    pub(crate) rows: BTreeMap<Point, Cells>,
    /// The features of the tables that are read.
    pub(crate) table: Features,
    pub(crate) met: Met,
    /// Whether the user of a key follows from its other fields.
    pub(crate) is_by_rows: bool,
    pub(crate) has_text_filters: bool,
    /// Points that are written more often than the others.
    hot: Vec<Point>,
}

impl World {
    pub(crate) fn new(mut rng: Rng) -> Self {
        let bigtable = Bigtable::in_memory();
        // Reads do not depend on the clock of the server then, and a client whose clock is behind sees what it would.
        bigtable.pause_garbage_collection();
        let delayed = Faults::seeded(0).rule(FaultRule::delay(DELAY));
        let (is_fine, has_clocks) = (rng.u32(..3) == 0, rng.bool());
        let point = |rng: &mut Rng| (rng.choice(USERS).unwrap(), rng.u64(..TIMES), rng.u8(..SEQS));
        let mut world = Self {
            client: bigtable.client(),
            slow: bigtable.with_faults(delayed).client(),
            hot: (0..7).map(|_| point(&mut rng)).collect(),
            bigtable,
            now: BEGIN,
            is_fine,
            has_clocks,
            is_by_rows: false,
            has_text_filters: true,
            rows: BTreeMap::new(),
            table: Features::default(),
            met: Met::default(),
            rng,
        };
        world.table.insert_if(is_fine, Feature::Micros);
        world.set_clock(0);
        world
    }

    pub(crate) fn granularity(&self) -> Granularity {
        if self.is_fine { Granularity::Micros } else { Granularity::Millis }
    }

    pub(crate) fn point(&mut self) -> Point {
        // Few rows are hidden whole.
        if self.rng.u32(..6) == 0 {
            let is_hidden = |cells: &Cells| cells.live(self.now, wide_ttl).is_empty();
            let hidden: Vec<_> =
                self.rows.iter().filter(|row| is_hidden(row.1)).map(|(point, _)| *point).collect();
            if let Some(point) = self.rng.choice(hidden) {
                return point;
            }
        }
        let (user, at, seq) = match self.rng.u32(..4) {
            0 => (self.rng.choice(USERS).unwrap(), self.rng.u64(..TIMES), self.rng.u8(..SEQS)),
            _ => self.hot[self.rng.usize(..self.hot.len())],
        };
        (if self.is_by_rows { home(at, seq) } else { user }, at, seq)
    }

    /// What a scan is constrained to.
    pub(crate) fn range(&mut self) -> Range {
        if self.is_by_rows { Range::All } else { Range::random(&mut self.rng) }
    }

    /// Distinct points.
    pub(crate) fn points(&mut self, most: usize) -> Vec<Point> {
        let mut points: Vec<_> = (0..self.rng.usize(1..=most)).map(|_| self.point()).collect();
        points.sort_unstable();
        points.dedup();
        self.rng.shuffle(&mut points);
        points
    }

    /// How far the clock of the next client is ahead.
    pub(crate) fn skew(&mut self) -> i64 {
        match self.has_clocks && self.rng.u32(..3) == 0 {
            true => self.rng.choice(SKEWS).unwrap(),
            false => 0,
        }
    }

    fn set_clock(&self, skew: i64) {
        let now = Duration::from_micros((self.now + skew).cast_unsigned());
        self.bigtable.set_time(UNIX_EPOCH + now);
    }

    pub(crate) fn advance(&mut self) {
        let by = [1000, 10 * MINUTE, 31 * MINUTE, 60 * MINUTE, 121 * MINUTE];
        self.now += self.rng.choice(by).unwrap();
        self.set_clock(0);
    }

    /// Collects garbage: cells that no client sees any more, were its clock behind or not.
    pub(crate) async fn collect(&mut self) {
        self.bigtable.collect_garbage().await.unwrap();
        let now = self.now;
        self.rows.values_mut().for_each(|cells| cells.collect(now));
        self.drop_empty();
    }

    pub(crate) fn drop_empty(&mut self) {
        self.rows.retain(|_, cells| !cells.is_empty());
    }

    /// A read of a client whose clock is off. The server's does not matter to reads.
    pub(crate) async fn read<T>(&self, skew: i64, read: impl AsyncFnOnce() -> T) -> T {
        self.set_clock(skew);
        let read = read().await;
        self.set_clock(0);
        read
    }

    /// A write of the slow client whose clock is off: it is right again when the server applies the request.
    pub(crate) async fn write<T>(&self, skew: i64, write: impl Future<Output = T>) -> T {
        if skew == 0 {
            return write.await;
        }
        self.set_clock(skew);
        let right = async {
            tokio::time::sleep(DELAY / 2).await;
            self.set_clock(0);
        };
        let (written, ()) = tokio::join!(write, right);
        written
    }
}

/// Which cells of a row a table's calls take, of a row type.
pub(crate) struct Lens<Q> {
    ttl: fn(&str) -> Option<i64>,
    /// Whether reads ask for the columns of the row type alone.
    is_part: bool,
    pub(crate) of: PhantomData<fn() -> Q>,
}

impl<Q> Clone for Lens<Q> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<Q> Copy for Lens<Q> {}

impl<Q: Kind> Lens<Q> {
    /// That of a table with rows of this type.
    pub(crate) fn whole() -> Self {
        Self { ttl: Q::ttl, is_part: false, of: PhantomData }
    }

    /// That of a table of the type `R` whose rows are read as this type.
    pub(crate) fn of_table<R: Kind>() -> Self {
        Self { ttl: R::ttl, is_part: true, of: PhantomData }
    }

    /// The cells that no `ttl` hides.
    pub(crate) fn live(self, cells: &Cells, now: i64) -> View {
        cells.live(now, self.ttl)
    }

    /// Of these cells, those that a read takes; none if it finds no row.
    pub(crate) fn own(self, mut live: View) -> Option<View> {
        if self.is_part {
            live.retain(|(family, qualifier), _, _| Q::owns(family, qualifier));
        }
        (!live.is_empty()).then_some(live)
    }

    pub(crate) fn read(self, cells: &Cells, now: i64) -> Option<Q> {
        self.own(self.live(cells, now)).map(|view| Q::read(&view))
    }
}
