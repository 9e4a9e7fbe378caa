//! Writes, each of which the model repeats.

use keyderive::key::TableKey;
use keyderive::row::{Condition, Mutation};
use keyderive::table::Writes;
use keyderive::{Error, Table};

use crate::features::Feature;
use crate::layouts::{Layout, Point, Range, USERS};
use crate::model::{Cells, How, MINUTE, Write};
use crate::rows::{Asked, Change, Former, Kind, WORDS, WideKind, WrittenKind};
use crate::world::{Lens, World};

/// A table, by a client whose clock is right, and by the slow one, whose clock need not be.
pub(crate) struct Handles<K, R, S> {
    pub(crate) table: Table<K, R, S>,
    pub(crate) slow: Option<Table<K, R, S>>,
}

impl<K: TableKey, R, S: Writes> Handles<K, R, S> {
    /// The table by one of the clients, and how far its clock is ahead.
    fn draw(&self, world: &mut World) -> (&Table<K, R, S>, i64) {
        match (&self.slow, world.skew()) {
            (None, _) | (_, 0) => (&self.table, 0),
            (Some(slow), skew) => (slow, skew),
        }
    }
}

/// What a table takes that is re-keyed by rows.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Keys {
    /// Keys are made of keys.
    Given,
    /// The new key is in the row, which the new table has.
    OfRows,
    /// The old table has the row, which every write needs.
    OfStoredRows,
    /// The new key will be in the row.
    OfRowsLater,
}

impl World {
    /// Writes a row as the model does.
    fn stores<Q: WrittenKind>(&mut self, point: Point, row: &Q, how: How, adds: bool, by: &[Feature]) {
        let now = self.now;
        let cells = self.rows.entry(point).or_default();
        by.iter().for_each(|feature| cells.by.insert(*feature));
        row.write(Write::new(cells, now, how, adds));
    }

    /// Writes a row over one that no reader sees, or over none; returns whether it does.
    fn stores_if_absent<Q: WrittenKind>(
        &mut self,
        lens: Lens<Q>,
        point: Point,
        row: &Q,
        skew: i64,
        by: &[Feature],
    ) -> bool {
        let cells = self.rows.get(&point).cloned().unwrap_or_default();
        let is_absent = lens.live(&cells, self.now + skew).is_empty();
        if is_absent {
            self.rows.remove(&point);
            self.stores(point, row, How::Put, false, by);
        }
        is_absent
    }

    fn holds<Q: Kind>(&self, lens: Lens<Q>, point: Point, asked: &Asked, skew: i64) -> bool {
        let cells = self.rows.get(&point).cloned().unwrap_or_default();
        asked.holds(&lens.live(&cells, self.now + skew), Q::IS_FORMER)
    }

    fn row<R: WideKind>(&mut self, point: Point, keys: Keys) -> R {
        let mut row = R::random(&mut self.rng, self.now, self.is_fine);
        if keys != Keys::Given {
            point.0.clone_into(row.name_mut());
        }
        row
    }
}

fn by_clock(skew: i64) -> &'static [Feature] {
    if skew == 0 { &[] } else { &[Feature::Clocks] }
}

fn assert_needs_row<T: std::fmt::Debug>(written: Result<T, Error>) {
    assert_eq!(written.unwrap_err().kind(), keyderive::ErrorKind::InvalidArgument);
}

/// A write that both a table and a pair of tables has.
pub(crate) async fn write<K: Layout, R: WideKind, S: Writes>(
    world: &mut World,
    handles: &Handles<K, R, S>,
    keys: Keys,
) {
    let (point, (table, skew)) = (world.point(), handles.draw(world));
    let (key, lens) = (K::of(point), Lens::<R>::whole());
    let is_missing = keys == Keys::OfStoredRows && !world.rows.contains_key(&point);
    let asked = Asked::random(&mut world.rng, true, R::HAS_AGGREGATES);
    let row: R = world.row(point, keys);
    let (is_fine, now) = (world.is_fine, world.now);
    match world.rng.u32(..14) {
        0 | 1 => {
            world.write(skew, table.put(&key, &row)).await.unwrap();
            world.rows.entry(point).or_default().by = by_clock(skew).iter().copied().collect();
            world.stores(point, &row, How::Put, false, by_clock(skew));
        }
        2 if !is_missing => {
            world.write(skew, table.merge(&key, &row)).await.unwrap();
            world.stores(point, &row, How::Merge, false, by_clock(skew));
        }
        3 if keys != Keys::OfStoredRows => {
            let merges = world.rng.bool();
            let points = world.points(6);
            let rows: Vec<(Point, R)> =
                points.into_iter().map(|point| (point, world.row(point, keys))).collect();
            let keyed: Vec<_> = rows.iter().map(|(point, row)| (K::of(*point), row.clone())).collect();
            match merges {
                true => handles.table.merge_all(&keyed).await.unwrap(),
                false => handles.table.put_all(&keyed).await.unwrap(),
            }
            let how = if merges { How::Merge } else { How::Put };
            rows.iter().for_each(|(point, row)| world.stores(*point, row, how, false, &[]));
        }
        4..=7 if keys == Keys::OfRowsLater && !world.rows.contains_key(&point) => {}
        4..=6 => {
            let mut changes = Vec::new();
            for _ in 0..world.rng.u32(1..4) {
                changes.push(Change::random(&mut world.rng, now, is_fine, R::HAS_AGGREGATES));
            }
            let update = changes.iter().fold(table.update(&key), R::change);
            let is_late = skew < -15 * MINUTE && changes.iter().any(Change::adds);
            let is_conditional = world.rng.u32(..3) == 0;
            let written = match is_conditional {
                true => world.write(skew, update.only_if(R::condition(&asked))).await,
                false => world.write(skew, update.into_future()).await.map(|()| true),
            };
            let is_written = match is_conditional {
                true => world.holds(lens, point, &asked, skew),
                false => true,
            };
            let mut alone = Cells::default();
            changes.iter().for_each(|change| change.apply(&mut alone, now));
            // Where the condition does not hold, or there is no row afterwards either, nothing needs the row.
            if is_missing && is_written && !alone.is_empty() {
                return assert_needs_row(written);
            }
            // Its token is older than the server remembers tokens. A conditional update has none.
            if is_late && !is_conditional {
                written.unwrap_err();
                return;
            }
            let shown =
                format!("{changes:?} of {point:?} if {asked:?}, skew {skew}, {:?}", world.rows.get(&point));
            assert_eq!(written.unwrap(), is_written, "{shown}");
            if is_written {
                let cells = world.rows.entry(point).or_default();
                by_clock(skew).iter().for_each(|feature| cells.by.insert(*feature));
                changes.iter().for_each(|change| change.apply(cells, now));
            }
        }
        7 => {
            let counted = handles.table.increment(&key, R::visits(), 2).await;
            if is_missing {
                return assert_needs_row(counted);
            }
            let cells = world.rows.entry(point).or_default();
            let visits = cells.live(0, |_| None).number(("n", "visits")).unwrap_or_default() + 2;
            assert_eq!(counted.unwrap(), visits, "{point:?}");
            cells.set(("n", "visits"), now, visits);
        }
        8 | 9 => {
            let put = world.write(skew, table.put_if(&key, &row, R::condition(&asked))).await.unwrap();
            let is_put = world.holds(lens, point, &asked, skew);
            assert_eq!(
                put,
                is_put,
                "put of {point:?} if {asked:?}, skew {skew}, {:?}",
                world.rows.get(&point)
            );
            if is_put {
                world.stores(point, &row, How::Put, false, by_clock(skew));
            }
        }
        10 | 11 => {
            let put = world.write(skew, table.put_if_absent(&key, &row)).await.unwrap();
            let shown = format!("put of {point:?} if absent, skew {skew}, {:?}", world.rows.get(&point));
            assert_eq!(put, world.stores_if_absent(lens, point, &row, skew, by_clock(skew)), "{shown}");
        }
        12 => {
            let deleted = world.write(skew, table.delete_if(&key, R::condition(&asked))).await.unwrap();
            let is_deleted = world.holds(lens, point, &asked, skew);
            let shown = format!("of {point:?} if {asked:?}, skew {skew}, {:?}", world.rows.get(&point));
            assert_eq!(deleted, is_deleted, "deletion {shown}");
            if is_deleted {
                world.rows.remove(&point);
            }
        }
        _ => {
            handles.table.delete(&key).await.unwrap();
            world.rows.remove(&point);
        }
    }
    world.drop_empty();
}

/// A write of rows of another type.
pub(crate) async fn write_second<K: Layout, S: Writes>(
    world: &mut World,
    former: &Table<K, Former, S>,
    keys: Keys,
) {
    let point = world.point();
    if keys != Keys::Given && !world.rows.contains_key(&point) {
        return;
    }
    let (key, row, now) = (K::of(point), Former::random(&mut world.rng), world.now);
    let lens = Lens::<Former>::whole();
    let asked = Asked::random(&mut world.rng, false, false);
    let by = [Feature::TwoTypes];
    match world.rng.u32(..6) {
        0..=2 => {
            former.put(&key, &row).await.unwrap();
            world.stores(point, &row, How::Put, false, &by);
        }
        3 => {
            let word = world.rng.choice(WORDS).unwrap();
            former.update(&key).set(Former::MAIL, word).await.unwrap();
            let cells = world.rows.entry(point).or_default();
            cells.delete(("cf", "email"));
            cells.set(("cf", "mail"), now, word);
            cells.by.insert(Feature::TwoTypes);
        }
        4 => {
            let put = former.put_if(&key, &row, Former::condition(&asked)).await.unwrap();
            assert_eq!(put, world.holds(lens, point, &asked, 0), "{asked:?} {:?}", world.rows.get(&point));
            if put {
                world.stores(point, &row, How::Put, false, &by);
            }
        }
        _ if keys == Keys::Given => {
            let put = former.put_if_absent(&key, &row).await.unwrap();
            let shown = format!("{point:?} {:?}", world.rows.get(&point));
            assert_eq!(put, world.stores_if_absent(lens, point, &row, 0, &by), "{shown}");
        }
        _ => {}
    }
    world.drop_empty();
}

/// How a load writes.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Form {
    Put,
    New,
    IfAbsent,
    AddSums,
    AddToNew,
}

/// A write that a table alone has, and no pair of tables.
pub(crate) async fn write_many<K: Layout, R: WideKind>(
    world: &mut World,
    table: &Table<K, R>,
    former: &Table<K, Former>,
    keys: Keys,
) {
    match world.rng.u32(..9) {
        0..=3 => load(world, table, keys).await,
        4 | 5 => {
            let writer = table.writer();
            let points = world.points(6);
            for point in points {
                let key = K::of(point);
                match world.rng.u32(..4) {
                    0 => {
                        writer.delete(&key).await.unwrap();
                        world.rows.remove(&point);
                    }
                    1 if keys == Keys::Given => {
                        let change =
                            Change::random(&mut world.rng, world.now, world.is_fine, R::HAS_AGGREGATES);
                        writer.update(R::change(table.update(&key), &change)).await.unwrap();
                        change.apply(world.rows.entry(point).or_default(), world.now);
                    }
                    _ => {
                        let row: R = world.row(point, keys);
                        writer.put(&key, &row).await.unwrap();
                        world.stores(point, &row, How::Put, false, &[]);
                    }
                }
            }
            writer.close().await.unwrap();
        }
        6 => {
            let points = world.points(3);
            table.delete_all(points.iter().map(|point| K::of(*point))).await.unwrap();
            points.iter().for_each(|point| drop(world.rows.remove(point)));
        }
        7 if keys == Keys::Given && world.rng.u32(..3) == 0 => {
            let range = Range::random(&mut world.rng);
            if !matches!(range, Range::All) {
                table.delete_rows(K::plan(&range)).await.unwrap();
                world.rows.retain(|point, _| !range.contains(*point));
            }
        }
        8 => {
            // A program of a release before the former one, which leaves the newer name as it is.
            let (point, now) = (world.point(), world.now);
            if let Some(cells) = world.rows.get_mut(&point) {
                let mutation = Mutation::set("cf", "mail", now, "red");
                let raw = world.client.raw_table(former.name());
                raw.mutate_row(K::of(point).encode().unwrap(), [mutation]).await.unwrap();
                cells.set(("cf", "mail"), now, "red");
            }
        }
        _ => {}
    }
    world.drop_empty();
}

/// Loads rows in one of the forms.
pub(crate) async fn load<K: Layout, R: WideKind>(world: &mut World, table: &Table<K, R>, keys: Keys) {
    let form =
        world.rng.choice([Form::Put, Form::New, Form::IfAbsent, Form::AddSums, Form::AddToNew]).unwrap();
    let form = match (form, R::HAS_AGGREGATES) {
        (Form::AddSums | Form::AddToNew, false) => Form::IfAbsent,
        (form, _) => form,
    };
    let points = world.points(8);
    let rows: Vec<(Point, R)> = points.into_iter().map(|point| (point, world.row(point, keys))).collect();
    let keyed: Vec<_> = rows.iter().map(|(point, row)| (K::of(*point), row.clone())).collect();
    let load = table.load_iter(&keyed).batch_rows(world.rng.usize(1..5));
    let load = match form {
        Form::Put => load,
        Form::New => load.new_rows(),
        Form::IfAbsent => load.if_absent(),
        Form::AddSums => load.add_sums(),
        Form::AddToNew => load.add_sums().new_rows(),
    };
    let report = load.await.unwrap().all_written().unwrap();
    let mut written = 0;
    for (point, row) in &rows {
        written += u64::from(match form {
            Form::Put => {
                world.stores(*point, row, How::Put, false, &[Feature::Load]);
                true
            }
            Form::New => {
                world.stores(*point, row, How::Merge, false, &[Feature::NewRows]);
                true
            }
            Form::IfAbsent => {
                world.stores_if_absent(Lens::<R>::whole(), *point, row, 0, &[Feature::IfAbsent])
            }
            Form::AddSums => {
                world.stores(*point, row, How::Put, true, &[Feature::AddSums]);
                true
            }
            Form::AddToNew => {
                world.stores(*point, row, How::Merge, true, &[Feature::AddSums, Feature::NewRows]);
                true
            }
        });
    }
    assert_eq!(report.written, written, "{form:?}");
}

/// The condition of no row type, so that a handle is ready before a clock is off.
pub(crate) async fn warm_up<K: Layout, R: WideKind, S: Writes>(table: &Table<K, R, S>) {
    let key = K::of((USERS[0], 0, 0));
    let never = || Condition::row_exists().and(Condition::row_exists().not());
    assert!(!table.put_if(&key, &R::default(), never()).await.unwrap());
    let update = R::change(table.update(&key), &Change::Rank(None));
    assert!(!update.only_if(never()).await.unwrap());
}
