//! Runs on tables that are re-keyed: by their keys and by their rows, in every state, forwards and back.

use fastrand::Rng;
use keyderive::embedded::{Fault, Faults, Method};
use keyderive::table::Page;
use keyderive::table::rekey::{Activity, Pair, Rekeyed, State};
use keyderive::{Client, Table};

use crate::direct::{Tables, check_diff};
use crate::drive::{drive, retried};
use crate::features::{Feature, Features, Met};
use crate::layouts::{
    After, AfterInEpochs, BeforeTag, BeforeTagInEpochs, Epochs, First, Layout, Numbered, Ordered, Plain,
    Point, Turned,
};
use crate::reads::{self, Order, Question, check_points, points};
use crate::rows::{Former, Kind, Movable, Part, WideKind as _};
use crate::world::{Lens, World};
use crate::writes::{Handles, Keys, load, write, write_second};

const OLD: &str = "rows";
const NEW: &str = "rows-new";

/// Key types of which one is made of the other.
trait Convert: Layout {
    type Old: Layout + for<'a> From<&'a Self>;
    /// Whether the new keys have each field in the other direction; none if they are made of rows.
    const TURNED: Option<[bool; 3]>;
    const BY_ROWS: bool = Self::TURNED.is_none();

    /// Whether rows of both tables have a common order.
    fn is_ordered(question: &Question) -> bool {
        let Some(turned) = Self::TURNED else { return false };
        let open: Vec<_> = question.open().into_iter().zip(turned).filter(|field| field.0).collect();
        let is_one_way = open.iter().all(|field| field.1 == open[0].1);
        is_one_way && question.is_ordered::<Self>() && question.is_ordered::<Self::Old>()
    }

    /// Scans by one plan, if the new keys declare their fields.
    async fn check_one_plan<Q: Kind>(
        _: &mut World,
        _: &Table<Self, Q, Pair<Self::Old>>,
        _: Lens<Q>,
        _: &Question,
        _: Order,
        _: &[Feature],
    ) {
    }

    /// The next page of a scan by one plan, if the new keys declare their fields.
    async fn page(
        _: &Rekeyed<Self::Old, Self, Movable>,
        _: &Question,
        _: Option<&str>,
    ) -> Option<Page<(Self, Movable)>> {
        None
    }

    async fn open(client: &Client) -> Rekeyed<Self::Old, Self, Movable>;

    /// The table as an older release has it, unless the new keys are made of columns that it lacks.
    async fn open_former(client: &Client) -> Option<Rekeyed<Self::Old, Self, Former>>;
}

macro_rules! conversions {
    ($($old:ident -> $new:ident $turned:expr;)*) => {$(
        impl Convert for $new {
            type Old = $old;
            const TURNED: Option<[bool; 3]> = Some($turned);

            async fn check_one_plan<Q: Kind>(
                world: &mut World,
                table: &Table<Self, Q, Pair<$old>>,
                lens: Lens<Q>,
                question: &Question,
                order: Order,
                of_call: &[Feature],
            ) {
                reads::check_scan(world, table, lens, question, order, of_call).await;
            }

            async fn page(
                table: &Rekeyed<$old, $new, Movable>,
                question: &Question,
                token: Option<&str>,
            ) -> Option<Page<(Self, Movable)>> {
                let scan = question.apply(table.scan(question.plan()));
                Some(token.iter().fold(scan, |scan, token| scan.after(token)).page(2).await.unwrap())
            }

            async fn open(client: &Client) -> Rekeyed<$old, $new, Movable> {
                client.rekeyed(OLD, NEW).await.unwrap()
            }

            async fn open_former(client: &Client) -> Option<Rekeyed<$old, $new, Former>> {
                Some(client.rekeyed(OLD, NEW).await.unwrap())
            }
        }
    )*};
}

conversions! {
    Plain -> First [false, false, false];
    Epochs -> BeforeTag [false, false, false];
    After -> AfterInEpochs [false, true, false];
    BeforeTagInEpochs -> Ordered [false, true, false];
    Plain -> Turned [false, true, true];
}

/// The user of the key is the name of the row.
macro_rules! of_rows {
    ($($new:ident)*) => {$(
        impl From<&$new> for Numbered {
            fn from(key: &$new) -> Self {
                key.without_user()
            }
        }

        impl Convert for $new {
            type Old = Numbered;
            const TURNED: Option<[bool; 3]> = None;

            async fn open(client: &Client) -> Rekeyed<Numbered, Self, Movable> {
                let key_of = |old: &Numbered, row: &Movable| Self::with_user(row.name(), old.at, old.seq);
                client.rekeyed_by_row(OLD, NEW, key_of).await.unwrap()
            }

            async fn open_former(_: &Client) -> Option<Rekeyed<Numbered, Self, Former>> {
                None
            }
        }
    )*};
}

of_rows! { Epochs After BeforeTagInEpochs }

async fn check_scan<N: Convert, Q: Kind>(
    world: &mut World,
    table: &Table<N, Q, Pair<N::Old>>,
    lens: Lens<Q>,
    question: &Question,
    of_call: &[Feature],
    is_paused: bool,
) {
    let answer = question.answer(world, lens);
    let is_ordered = N::is_ordered(question);
    if !is_ordered && is_paused {
        return;
    }
    if !N::BY_ROWS && world.rng.bool() {
        let order = if is_ordered { Order::OfPair { is_paused } } else { Order::None };
        return N::check_one_plan(world, table, lens, question, order, of_call).await;
    }
    let is_unordered = !is_ordered || (!is_paused && world.rng.bool());
    let (new, old) = (question.plan::<N>(), question.plan::<N::Old>());
    let scan = || {
        let scan = question.apply(table.scan_both(new.clone(), old.clone()));
        if is_unordered { scan.unordered() } else { scan }
    };
    let mut rows = answer.in_order::<N>(question);
    if is_unordered {
        rows.sort_by_key(|row| row.0);
    }
    let way = world.rng.u32(..4);
    let shown = format!("way {way} of {question:?}, unordered {is_unordered}");
    let skew = question.skew;
    match way {
        0 => {
            let found = world.read(skew, async || retried(async || scan().count().await).await).await;
            assert_eq!(found, rows.len() as u64, "{shown}");
        }
        1 => {
            let limit = world.rng.usize(..6);
            let scan = async || retried(async || scan().limit(limit as u64).collect().await).await;
            let found = points(world.read(skew, scan).await);
            let is_part = found.iter().all(|row| rows.contains(row));
            assert!(is_part && found.len() == limit.min(rows.len()), "{found:?} is not {limit} of {shown}");
            assert!(is_unordered || found[..] == rows[..found.len()], "{found:?} is not {limit} of {shown}");
        }
        2 => {
            let scan = async || retried(async || scan().keys_only().collect().await).await;
            let mut found: Vec<_> = world.read(skew, scan).await.iter().map(N::point).collect();
            if is_unordered {
                found.sort_unstable();
            }
            assert_eq!(found, rows.iter().map(|row| row.0).collect::<Vec<_>>(), "{shown}");
        }
        _ => {
            let scan = async || retried(async || scan().collect().await).await;
            let mut found = points(world.read(skew, scan).await);
            if is_unordered {
                found.sort_by_key(|row| row.0);
            }
            assert_eq!(found, rows, "{shown}");
        }
    }
    answer.count(world, of_call);
}

struct Run<N: Convert> {
    world: World,
    /// Those of two programs, and of the driver.
    programs: [Handles<N, Movable, Pair<N::Old>>; 2],
    former: Option<Rekeyed<N::Old, N, Former>>,
    driver: Rekeyed<N::Old, N, Movable>,
    /// The features of both tables.
    old: Features,
    new: Features,
    /// A scan of which some pages were read, in whatever states.
    held: Option<HeldPage>,
}

/// A scan, the last row of its last page, and the token of the next.
struct HeldPage {
    question: Question,
    last: Point,
    token: String,
}

impl<N: Convert> Run<N> {
    async fn new(rng: Rng) -> Self {
        let mut world = World::new(rng);
        world.is_by_rows = N::BY_ROWS;
        // Of earlier versions of a column, one of the tables may have some that the other lacks.
        world.has_text_filters = false;
        world.table.insert(if N::BY_ROWS { Feature::ByRows } else { Feature::ByKeys });
        let of = |features: &[Feature]| world.table.and(features.iter().copied().collect());
        let (old, new) = (of(N::Old::FEATURES), of(N::FEATURES));
        let is_copied = world.rng.bool();
        let keys = if N::BY_ROWS { Keys::OfRowsLater } else { Keys::Given };
        let tables = Tables::<N::Old, Movable>::new(&mut world, if is_copied { "source" } else { OLD }).await;
        for _ in 0..4 {
            tables.writes(&mut world, keys).await;
            load(&mut world, &tables.wide.table, keys).await;
        }
        if is_copied {
            let copy = Tables::<N::Old, Movable>::new(&mut world, OLD).await;
            tables.wide.table.copy_to(&copy.wide.table, |key, _| key).await.unwrap();
            world.rows.values_mut().for_each(|cells| cells.by.insert(Feature::Copy));
            check_diff(&mut world, &tables.wide.table, &copy.wide.table).await;
        }
        world.collect().await;
        let clients = [world.bigtable.client(), world.bigtable.client()];
        let handles = async |client: &Client| Handles { table: N::open(client).await, slow: None };
        let programs = [handles(&clients[0]).await, handles(&clients[1]).await];
        let former = N::open_former(&world.bigtable.client()).await;
        let driver = N::open(&world.bigtable.client()).await;
        world.table = old;
        Self { world, programs, former, driver, old, new, held: None }
    }

    /// Reads the next page of a scan that was begun in this state or before it: the rows that are there now.
    async fn turn_page(&mut self) {
        let world = &mut self.world;
        let (question, last, token) = match self.held.take() {
            Some(HeldPage { question, last, token }) => (question, Some(last), Some(token)),
            None => {
                let range = world.range();
                (Question::random(world, range, true, Movable::HAS_AGGREGATES).with_right_clock(), None, None)
            }
        };
        if !N::is_ordered(&question) {
            return;
        }
        let table = &self.programs[world.rng.usize(..2)].table;
        let Some(page) = N::page(table, &question, token.as_deref()).await else { return };
        let answer = question.answer(world, Lens::<Movable>::whole());
        let is_after = |point: Point| {
            let order = |last| N::order(point).cmp(&N::order(last));
            last.is_none_or(
                |last| if question.is_reversed() { order(last).is_lt() } else { order(last).is_gt() },
            )
        };
        let rows = answer.in_order::<N>(&question).into_iter().filter(|row| is_after(row.0)).take(2);
        let found = points(page.rows);
        assert_eq!(found, rows.collect::<Vec<_>>(), "a page after {last:?} of {question:?}");
        if let (Some(token), Some((last, _))) = (page.next, found.last()) {
            self.held = Some(HeldPage { question, last: *last, token });
        }
    }

    /// Writes and reads in the state that the re-keying is in; returns it.
    async fn stay(&mut self) -> State {
        let state = self.driver.migration().state().await.unwrap();
        self.world.met.states.insert(state.to_string());
        let is_old = matches!(state, State::Old | State::RolledBack);
        self.world.table = match state {
            State::Old | State::Paused | State::RolledBack => self.old,
            State::Moved | State::New => self.new,
            _ => self.old.and(self.new),
        };
        let keys = match (N::BY_ROWS, is_old) {
            (false, _) => Keys::Given,
            (true, true) => Keys::OfStoredRows,
            (true, false) => Keys::OfRows,
        };
        let is_paused = matches!(state, State::Paused | State::RollbackPaused);
        self.turn_page().await;
        let world = &mut self.world;
        for _ in 0..3 {
            let program = &self.programs[world.rng.usize(..2)];
            for _ in 0..if is_paused { 0 } else { world.rng.u32(..5) } {
                match (world.rng.u32(..4), &self.former) {
                    (0, Some(former)) => write_second(world, former, keys).await,
                    (1, _) if world.rng.bool() => world.advance(),
                    _ => write(world, program, keys).await,
                }
            }
            let range = world.range();
            let question = Question::random(world, range.clone(), true, Movable::HAS_AGGREGATES);
            check_scan(world, &program.table, Lens::whole(), &question, &[], is_paused).await;
            if let Some(former) = &self.former {
                let question = Question::random(world, range, false, false);
                let by = [Feature::TwoTypes];
                check_scan(world, former, Lens::whole(), &question, &by, is_paused).await;
            }
            match (world.rng.u32(..3), &self.former) {
                (0, Some(former)) => check_points(world, former, Lens::whole(), true).await,
                (1, _) => {
                    let part = program.table.rows_as::<Part>();
                    check_points(world, &part, Lens::<Part>::of_table::<Movable>(), false).await;
                }
                _ => check_points(world, &program.table, Lens::<Movable>::whole(), false).await,
            }
        }
        state
    }

    /// Copies some rows, until the server rejects a copy.
    async fn copy_some(&mut self) {
        let faults = Faults::seeded(self.world.rng.u64(..));
        let faults = faults.fail(Method::CheckAndMutateRow, 0.3, Fault::failed_precondition());
        let driver = N::open(&self.world.bigtable.with_faults(faults).client()).await;
        // It may come to its end.
        let _ = driver.migration().run().await;
    }

    async fn verify(&mut self) {
        let world = &mut self.world;
        let skew = world.skew();
        let found = world.read(skew, async || self.driver.migration().verify().await).await.unwrap();
        assert_eq!(found.different(), 0, "{found}");
        let mut features = self.old.and(self.new);
        features.insert(Feature::Diff);
        for cells in world.rows.values() {
            features = features.and(cells.features(&Lens::<Movable>::whole().live(cells, world.now)));
        }
        world.met.count(features, Features::default());
    }

    /// Goes on with the one table that is left.
    async fn end<K: Layout>(mut self, name: &str, features: Features) -> Met {
        let tables = Tables::<K, Movable>::opened(&self.world, name).await;
        self.world.table = features;
        for _ in 0..3 {
            if N::BY_ROWS {
                tables.writes(&mut self.world, Keys::OfRowsLater).await;
            } else {
                tables.writes(&mut self.world, Keys::Given).await;
            }
            tables.reads(&mut self.world).await;
        }
        self.world.met
    }

    async fn run(mut self, is_back: bool) -> Met {
        let driver = self.driver.clone();
        self.stay().await;
        if self.world.rng.bool() {
            drive(&driver, false, (State::Paused, Activity::Waiting)).await;
            self.stay().await;
        }
        drive(&driver, false, (State::Copying, Activity::Copying)).await;
        self.stay().await;
        self.copy_some().await;
        self.stay().await;
        driver.migration().run().await.unwrap();
        self.verify().await;
        assert_eq!(self.stay().await, State::Moved);
        self.verify().await;
        if N::BY_ROWS || !is_back {
            driver.migration().finish().await.unwrap();
            assert_eq!(self.stay().await, State::New);
            let new = self.new;
            return self.end::<N>(NEW, new).await;
        }
        drive(&driver, true, (State::RollbackPaused, Activity::Waiting)).await;
        self.stay().await;
        drive(&driver, true, (State::RollbackCopying, Activity::Copying)).await;
        self.stay().await;
        driver.migration().roll_back().await.unwrap();
        assert_eq!(self.stay().await, State::RolledBack);
        let old = self.old;
        self.end::<N::Old>(OLD, old).await
    }
}

/// A run of each pair of key types in turn.
pub(crate) async fn run(turn: u64, rng: Rng) -> Met {
    let is_back = turn % 2 == 1;
    match turn % 8 {
        0 => Run::<First>::new(rng).await.run(is_back).await,
        1 => Run::<BeforeTag>::new(rng).await.run(is_back).await,
        2 => Run::<AfterInEpochs>::new(rng).await.run(is_back).await,
        3 => Run::<Ordered>::new(rng).await.run(is_back).await,
        4 => Run::<Epochs>::new(rng).await.run(is_back).await,
        5 => Run::<After>::new(rng).await.run(is_back).await,
        6 => Run::<Turned>::new(rng).await.run(is_back).await,
        _ => Run::<BeforeTagInEpochs>::new(rng).await.run(is_back).await,
    }
}
