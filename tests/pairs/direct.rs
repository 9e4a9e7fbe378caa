//! Runs on tables of one key type, and on their copies.

use fastrand::Rng;
use keyderive::Table;
use keyderive::table::Direct;

use crate::features::{Feature, Met};
use crate::layouts::{
    After, AfterInEpochs, BeforeTag, BeforeTagInEpochs, Epochs, First, Layout, Ordered, Plain,
};
use crate::reads::{Order, Question, check_export, check_points, check_scan, check_select};
use crate::rows::{Everything, Former, Part, WideKind};
use crate::world::{Lens, World};
use crate::writes::{Handles, Keys, warm_up, write, write_many, write_second};

const TABLE: &str = "rows";

/// How often a run writes and then reads.
const ROUNDS: u32 = 8;

async fn create<K: Layout, R: WideKind>(world: &mut World, name: &str) {
    let create =
        world.client.table::<K, R>(name).create().granularity(world.granularity()).without_row_key_schema();
    let splits: Vec<_> = (0..world.rng.u32(..4)).map(|_| world.point()).collect();
    splits.into_iter().fold(create, |create, point| create.split_at(&K::of(point))).await.unwrap();
}

pub(crate) struct Tables<K, R> {
    pub(crate) wide: Handles<K, R, Direct>,
    pub(crate) former: Table<K, Former>,
}

impl<K: Layout, R: WideKind> Tables<K, R> {
    pub(crate) async fn new(world: &mut World, name: &str) -> Self {
        create::<K, R>(world, name).await;
        Self::opened(world, name).await
    }

    pub(crate) async fn opened(world: &World, name: &str) -> Self {
        let slow = world.slow.table(name);
        warm_up(&slow).await;
        let wide = Handles { table: world.client.table(name), slow: Some(slow) };
        Self { wide, former: world.bigtable.client().table(name) }
    }

    pub(crate) async fn writes(&self, world: &mut World, keys: Keys) {
        for _ in 0..world.rng.u32(1..8) {
            match world.rng.u32(..9) {
                0..=3 => write(world, &self.wide, keys).await,
                4 | 5 => write_second(world, &self.former, keys).await,
                6 | 7 => write_many(world, &self.wide.table, &self.former, keys).await,
                _ => world.advance(),
            }
        }
        if world.rng.u32(..8) == 0 {
            world.collect().await;
        }
    }

    pub(crate) async fn reads(&self, world: &mut World) {
        let table = &self.wide.table;
        for _ in 0..3 {
            let range = world.range();
            let question = Question::random(world, range.clone(), true, R::HAS_AGGREGATES);
            check_scan(world, table, Lens::<R>::whole(), &question, Order::OfTable, &[]).await;
            if world.rng.u32(..6) == 0 {
                check_export(world, table, Lens::<R>::whole(), &question).await;
            }
            if world.rng.u32(..4) == 0 {
                check_select(world, table, &question).await;
            }
            let question = Question::random(world, range, false, false);
            match world.rng.u32(..4) {
                0 => {
                    let by = [Feature::TwoTypes];
                    check_scan(world, &self.former, Lens::whole(), &question, Order::OfTable, &by).await;
                }
                1 => {
                    let part = table.rows_as::<Part>();
                    let lens = Lens::<Part>::of_table::<R>();
                    check_scan(world, &part, lens, &question, Order::OfTable, &[]).await;
                }
                _ => {}
            }
        }
        match world.rng.u32(..4) {
            0 => check_points(world, &self.former, Lens::whole(), true).await,
            1 => {
                let part = table.rows_as::<Part>();
                check_points(world, &part, Lens::<Part>::of_table::<R>(), false).await;
            }
            _ => check_points(world, table, Lens::<R>::whole(), false).await,
        }
    }
}

/// Compares two tables of which the model has the same rows, and then two that differ in one.
pub(crate) async fn check_diff<K: Layout, N: Layout, R: WideKind>(
    world: &mut World,
    old: &Table<K, R>,
    new: &Table<N, R>,
) {
    let skew = world.skew();
    let diff = async || old.diff(new, |key, _| N::of(key.point())).await;
    let found = world.read(skew, diff).await.unwrap();
    assert!(found.is_equal() && found.compared() == world.rows.len() as u64, "{found}");
    let mut features = world.table;
    for cells in world.rows.values() {
        features = features.and(cells.features(&Lens::<R>::whole().live(cells, world.now)));
    }
    features.insert(Feature::Diff);
    features.insert_if(skew != 0, Feature::Clocks);
    K::FEATURES.iter().chain(N::FEATURES).for_each(|feature| features.insert(*feature));
    world.met.count(features, Default::default());
    let Some(point) = world.rng.choice(world.rows.keys().copied()) else { return };
    let client = world.bigtable.client();
    let raw = client.raw_table(new.name());
    let cell = |value| keyderive::row::Mutation::set("cf", "unknown", world.now, value);
    raw.mutate_row(N::of(point).encode().unwrap(), [cell("x")]).await.unwrap();
    let found = world.read(skew, diff).await.unwrap();
    assert_eq!((found.different(), found.is_equal()), (1, false), "{found}");
    let undo = keyderive::row::Mutation::delete_column("cf", "unknown");
    raw.mutate_row(N::of(point).encode().unwrap(), [undo]).await.unwrap();
}

/// Writes and reads a table, copies it to one of another key type, and goes on there.
async fn of_layouts<K: Layout, N: Layout>(rng: Rng) -> Met {
    let mut world = World::new(rng);
    let own = world.table;
    K::FEATURES.iter().for_each(|feature| world.table.insert(*feature));
    let tables = Tables::<K, Everything>::new(&mut world, TABLE).await;
    for _ in 0..ROUNDS {
        tables.writes(&mut world, Keys::Given).await;
        tables.reads(&mut world).await;
    }
    let copy = Tables::<N, Everything>::new(&mut world, "copy").await;
    let copied = tables.wide.table.copy_to(&copy.wide.table, |key, _| N::of(key.point()));
    let copied = copied.batch_rows(world.rng.usize(1..9)).await.unwrap();
    assert_eq!(copied.copied(), world.rows.len() as u64);
    world.rows.values_mut().for_each(|cells| cells.by.insert(Feature::Copy));
    check_diff(&mut world, &tables.wide.table, &copy.wide.table).await;
    world.table = own;
    N::FEATURES.iter().for_each(|feature| world.table.insert(*feature));
    for _ in 0..ROUNDS / 2 {
        copy.reads(&mut world).await;
        copy.writes(&mut world, Keys::Given).await;
    }
    world.met
}

/// A run of each pair of key types in turn.
pub(crate) async fn run(turn: u64, rng: Rng) -> Met {
    match turn % 8 {
        0 => of_layouts::<Plain, First>(rng).await,
        1 => of_layouts::<First, After>(rng).await,
        2 => of_layouts::<BeforeTag, AfterInEpochs>(rng).await,
        3 => of_layouts::<After, BeforeTagInEpochs>(rng).await,
        4 => of_layouts::<Epochs, Plain>(rng).await,
        5 => of_layouts::<AfterInEpochs, Ordered>(rng).await,
        6 => of_layouts::<BeforeTagInEpochs, Epochs>(rng).await,
        _ => of_layouts::<Ordered, BeforeTag>(rng).await,
    }
}
