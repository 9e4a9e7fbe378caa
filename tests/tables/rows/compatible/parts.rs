//! Each of 40 row types as a part of each, by `rows_as` and every read: what fits reads what the whole reads, by all of them alike, and
//! what does not fit fails in all of them.
//!
//! `KEYDERIVE_PART_ROWS` is how many rows of each kind a whole has, and `KEYDERIVE_PART_TYPES` how many of the types the emulator has.

use std::sync::Mutex;

use keyderive::row::OwnedRow;
use keyderive::table::{ReadOnly, RowRef};
use keyderive::{Error, ErrorKind, OnUnreadable, Table};
use keyderive_tests::failed_runs;

use super::*;

const TABLE: &str = "events";
/// The rows of the table without the first.
const COPY: &str = "copy";

/// A type as the whole of others.
trait AsWhole {
    fn program(&self) -> &dyn Program;
    fn parts(&self, client: &Client) -> Vec<Box<dyn AsPart>>;
    /// Calls `each` on every row of a scan of the whole type.
    fn visit<'a>(
        &'a self,
        client: &'a Client,
        each: &'a mut dyn FnMut(&str, RowRef<'_>),
    ) -> Answer<'a, Result<u64, Error>>;
}

/// A type as a part of a whole.
trait AsPart {
    fn at(&self) -> &At;
    /// The columns that the type needs.
    fn required(&self) -> Vec<ColumnName>;
    /// What each row is read as, by every read.
    fn reads<'a>(&'a self, keys: &'a [PageKey]) -> Answer<'a, Result<Found, String>>;
    fn of_row(&self, row: RowRef<'_>) -> Result<Expected, Error>;
    /// How many rows the copy lacks, has more, has twice, and has otherwise.
    fn differences(&self) -> Answer<'_, Result<[u64; 4], Error>>;
}

/// The rows that a part has, by their URLs. None for one that lacks what the part needs.
type Found = BTreeMap<String, Option<Expected>>;

/// Selects a column, or a family, of a part's rows.
trait Selected: Sized {
    /// Which of the fields it is.
    const FIELD: usize;

    fn select<'a>(
        table: &'a Table<PageKey, Self, ReadOnly>,
        at: &'a At,
    ) -> Answer<'a, Result<BTreeMap<String, Expected>, Error>>;
}

/// Rows by their URLs: collected by a loop, since code that is generic over 40 types takes long to compile.
fn by_url<T: Made>(rows: &[(PageKey, T)], at: &At) -> BTreeMap<String, Expected> {
    let mut by_url = BTreeMap::new();
    for (key, row) in rows {
        by_url.insert(key.url.clone(), row.recorded(at));
    }
    by_url
}

/// The rows that have what the part needs.
fn readable(found: &Found) -> BTreeMap<String, Expected> {
    found.iter().filter_map(|(url, row)| Some((url.clone(), row.clone()?))).collect()
}

/// A selected column, or a family, is what it is in the whole part.
fn assert_selected(field: &At, selected: &BTreeMap<String, Expected>, readable: &BTreeMap<String, Expected>) {
    let leaves = field.leaves();
    let is_selected = |(family, name): &ColumnName| {
        leaves.iter().any(|leaf| match leaf {
            At::Column { family: of, name: own, .. } => of == family && own.as_bytes() == name,
            At::Map { family: of, .. } => of == family,
            At::Columns(_) => false,
        })
    };
    for (url, row) in readable {
        let mut expected = row.clone();
        expected.retain(|place, _| is_selected(place));
        assert_eq!(selected.get(url), Some(&expected), "{url}");
    }
}

struct Both<R> {
    at: At,
    table: Table<PageKey, R, ReadOnly>,
    copy: Table<PageKey, R, ReadOnly>,
}

#[expect(clippy::needless_pass_by_value, reason = "`map_err` passes it so")]
fn text(error: Error) -> String {
    error.to_string()
}

impl<R: OwnedRow + Made + Selected + 'static> Both<R> {
    /// All reads, of which each result is compared with those of the first.
    async fn read_all(&self, keys: &[PageKey]) -> Result<Found, String> {
        let scan = || self.table.scan(PageKey::scan());
        let mut found = Found::new();
        for key in keys {
            match self.table.get(key).await {
                Ok(None) => {}
                Ok(Some(row)) => drop(found.insert(key.url.clone(), Some(row.recorded(&self.at)))),
                Err(error) if error.kind() == ErrorKind::InvalidRow => {
                    found.insert(key.url.clone(), None);
                }
                Err(error) => return Err(self.fails_alike(keys, text(error)).await),
            }
            assert_eq!(self.table.exists(key).await.map_err(text), Ok(found.contains_key(&key.url)));
        }
        assert_eq!(self.table.count(PageKey::scan()).await.map_err(text), Ok(found.len() as u64));
        let readable = readable(&found);
        let scanned = scan().collect().await.map_err(text)?;
        assert_eq!(by_url(&scanned, &self.at), readable);
        let mut many = BTreeMap::new();
        for (key, row) in keys.iter().zip(self.table.get_many(keys).await.map_err(text)?) {
            if let Some(row) = row {
                many.insert(key.url.clone(), row.recorded(&self.at));
            }
        }
        assert_eq!(many, readable);
        let (mut exported, mut stream) = (BTreeMap::new(), self.table.export(PageKey::scan()).stream());
        while let Some(row) = stream.next().await {
            let (key, row) = row.map_err(text)?;
            exported.insert(key.url, row.recorded(&self.at));
        }
        assert_eq!(exported, readable);
        let mut visited = BTreeMap::new();
        let visit = scan().visit::<PageKey, Error>(|key, row| {
            visited.insert(key.url, self.of_row(row)?);
            Ok(())
        });
        visit.await.map_err(text)?;
        assert_eq!(visited, readable);
        let field = self.field();
        assert_selected(field, &R::select(&self.table, field).await.map_err(text)?, &readable);
        Ok(found)
    }

    fn field(&self) -> &At {
        let At::Columns(fields) = &self.at else { panic!("{:?} is not a struct", self.at) };
        &fields[R::FIELD]
    }

    /// The error of every other read, which is that of the first.
    async fn fails_alike(&self, keys: &[PageKey], error: String) -> String {
        let key = &keys[0];
        let fails = |read: Result<(), Error>| {
            // A comparison asks its other table first.
            let found = read.map_err(|found| text(found).replacen("table `copy`", "table `events`", 1));
            assert_eq!(found, Err(error.clone()));
        };
        let scan = || self.table.scan(PageKey::scan());
        fails(self.table.exists(key).await.map(drop));
        fails(self.table.get_many(keys).await.map(drop));
        fails(self.table.count(PageKey::scan()).await.map(drop));
        fails(scan().collect().await.map(drop));
        fails(scan().visit::<PageKey, Error>(|_, _| Ok(())).await.map(drop));
        fails(self.table.export(PageKey::scan()).stream().next().await.unwrap().map(drop));
        fails(R::select(&self.table, self.field()).await.map(drop));
        fails(self.table.diff(&self.copy, |key, _| key).await.map(drop));
        // A handle that checks no table compares its row type all the same.
        fails(self.table.unchecked().get(key).await.map(drop));
        error
    }
}

impl<R: OwnedRow + Made + Selected + 'static> AsPart for Both<R> {
    fn at(&self) -> &At {
        &self.at
    }

    fn required(&self) -> Vec<ColumnName> {
        let required = R::SCHEMA.columns().filter(|(_, column)| column.is_required());
        required.map(|(family, column)| (family.to_owned(), column.name().as_bytes().to_vec())).collect()
    }

    fn reads<'a>(&'a self, keys: &'a [PageKey]) -> Answer<'a, Result<Found, String>> {
        Box::pin(self.read_all(keys))
    }

    fn of_row(&self, row: RowRef<'_>) -> Result<Expected, Error> {
        Ok(row.read::<R>()?.recorded(&self.at))
    }

    fn differences(&self) -> Answer<'_, Result<[u64; 4], Error>> {
        Box::pin(async {
            let diff = self.table.diff(&self.copy, |key, _| key).await?;
            Ok([diff.missing(), diff.extra(), diff.collisions(), diff.differing()])
        })
    }
}

impl<R: OwnedRow + Made + 'static> AsWhole for Typed<R> {
    fn program(&self) -> &dyn Program {
        self
    }

    fn parts(&self, client: &Client) -> Vec<Box<dyn AsPart>> {
        // A part of a part is compared with the whole, so that no code is needed for each pair of types.
        let part = |name| client.table::<PageKey, R>(name).rows_as::<()>();
        parts(&part(TABLE), &part(COPY))
    }

    fn visit<'a>(
        &'a self,
        client: &'a Client,
        each: &'a mut dyn FnMut(&str, RowRef<'_>),
    ) -> Answer<'a, Result<u64, Error>> {
        Box::pin(async move {
            let scan = client.table::<PageKey, R>(TABLE).scan(PageKey::scan());
            let visit = |key: PageKey, row: RowRef<'_>| {
                each(&key.url, row);
                Ok(())
            };
            scan.visit::<PageKey, Error>(visit).await
        })
    }
}

macro_rules! types {
    ($($name:ident $selected:ident $number:literal)*) => {
        $(impl Selected for $name {
            const FIELD: usize = $number;

            fn select<'a>(
                table: &'a Table<PageKey, Self, ReadOnly>,
                at: &'a At,
            ) -> Answer<'a, Result<BTreeMap<String, Expected>, Error>> {
                Box::pin(async move {
                    let rows = table.select($name::$selected).scan(PageKey::scan()).collect().await?;
                    Ok(by_url(&rows, at))
                })
            }
        })*

        fn wholes() -> Vec<Box<dyn AsWhole>> {
            vec![$(Box::new(Typed::<$name>::new()),)*]
        }

        fn parts(table: &Table<PageKey, (), ReadOnly>, copy: &Table<PageKey, (), ReadOnly>) -> Vec<Box<dyn AsPart>> {
            vec![$(Box::new(Both {
                at: Typed::<$name>::new().at,
                table: table.rows_as::<$name>().on_unreadable(OnUnreadable::Skip),
                copy: copy.rows_as::<$name>(),
            }),)*]
        }
    };
}

// Each with a column or a family that is selected, and which of its fields that is.
types! {
    Required KIND 0
    Optional KIND 0
    Defaulted KIND 0
    Blob KIND 0
    OfTwo KIND 0
    OfThree KIND 0
    StampedOptional KIND 0
    History KIND 0
    RenamedOptional SORT 0
    ReadsBothOptional KIND 0
    KindAndSort SORT 1
    KindAndCount COUNT 1
    TakesCount KIND 0
    CountWasN COUNT 1
    KindAndN N 1
    InFamily COUNT 1
    Whole COUNT 0
    Byte COUNT 0
    OfLevel COUNT 0
    Millis COUNT 0
    WholeDefaulted COUNT 0
    WholeHistory COUNT 0
    Json LIST 0
    Total VISITS 1
    Hourly VISITS 1
    Daily VISITS 1
    Windows SUMS 1
    PlaceCity PLACE 1
    PlaceCityOrZip PLACE 1
    PlaceFloor PLACE 1
    PlaceMaybeCity PLACE 1
    PlaceTown PLACE 1
    LooseCity CITY 1
    OwnCity CITY 0
    Words PLACE 1
    Blobs PLACE 1
    Log NOTE 1
    LogOfAnHour NOTE 1
    LogOfADay NOTE 1
    LogMap H 1
}

/// Rows of a whole: as it writes them, under former names, and with cells that have expired. Then a copy without the first row.
async fn fill(client: &Client, whole: &dyn Program) -> Vec<PageKey> {
    let families = || {
        let all = |name| Family::new(name, GcRule::never());
        let sums = Family::aggregate("sums", Aggregate::Sum, GcRule::never());
        [all("cf"), all("place"), all("h"), sums]
    };
    let (raw, copy) = (client.raw_table(TABLE), client.raw_table(COPY));
    raw.create(families(), [""; 0]).await.unwrap();
    copy.create(families(), [""; 0]).await.unwrap();
    let hours_ago = |hours: u64| {
        let at = SystemTime::now() - Duration::from_secs(hours * 3600);
        at.duration_since(UNIX_EPOCH).unwrap().as_millis() as i64 * 1000
    };
    let aliases = whole.at().aliases();
    let mut keys = Vec::new();
    for number in 0..amount("KEYDERIVE_PART_ROWS", "rows of each kind that parts are read of", 2, 6) {
        let first = key(&format!("{number}"));
        whole.write(client, &first, number).await.unwrap();
        let stored = raw.read_row(first.encode().unwrap(), None).await.unwrap().unwrap();
        keys.push(first);
        for (kind, ago) in [("former", 0), ("expired", 2), ("expired-former", 30)] {
            let mut changes = Vec::new();
            for cell in stored.cells().filter(|cell| cell.family() != "sums") {
                let place = (cell.family().to_owned(), cell.qualifier().to_vec());
                let at = if ago == 0 { cell.timestamp_micros() } else { hours_ago(ago) };
                changes.push(Mutation::set(place.0.clone(), place.1.clone(), at, cell.value().to_vec()));
                let former =
                    aliases.iter().find(|(own, _)| *own == place).and_then(|(_, former)| former.first());
                if let (Some((family, name)), true) = (former, kind.ends_with("former")) {
                    *changes.last_mut().unwrap() =
                        Mutation::set(family.clone(), name.clone(), at, cell.value().to_vec());
                }
            }
            if !changes.is_empty() {
                keys.push(key(&format!("{number}-{kind}")));
                raw.mutate_row(keys.last().unwrap().encode().unwrap(), changes).await.unwrap();
            }
        }
    }
    for key in &keys[1..] {
        let key = key.encode().unwrap();
        let row = raw.read_row(key.clone(), None).await.unwrap().unwrap();
        let cells = row.cells().map(|cell| {
            let (family, name, at) = (cell.family(), cell.qualifier().to_vec(), cell.timestamp_micros());
            match family {
                "sums" => Mutation::add_to_cell(
                    family,
                    name,
                    at,
                    i64::from_be_bytes(cell.value().try_into().unwrap()),
                ),
                _ => Mutation::set(family, name, at, cell.value().to_vec()),
            }
        });
        copy.mutate_row(key, cells.collect::<Vec<_>>()).await.unwrap();
    }
    keys
}

/// What a part reads is what the whole reads, of the columns that both have.
fn check(
    whole: &dyn Program,
    read: &Expected,
    part: &dyn AsPart,
    found: Option<&Option<Expected>>,
) -> Result<(), String> {
    match found {
        // It says what it lacks, and lacks it.
        Some(None) if part.required().iter().any(|place| !read.contains_key(place)) => Ok(()),
        Some(None) => Err("it cannot be read".to_owned()),
        Some(Some(found)) => compare(whole.at(), read, part.at(), &Expected::new(), found),
        None => compare(whole.at(), read, part.at(), &Expected::new(), &Expected::new()),
    }
}

/// How many pairs fit, and how many do not.
async fn pairs_of(client: &Client, number: usize, compared: usize) -> [u64; 2] {
    let (wholes, mut counts) = (wholes(), [0; 2]);
    let whole = &wholes[number];
    let keys = fill(client, whole.program()).await;
    let mut expected = BTreeMap::new();
    for key in &keys {
        expected.insert(&*key.url, whole.program().read(client, key).await);
    }
    let parts = whole.parts(client);
    let mut visited: Vec<BTreeMap<String, Result<Expected, Error>>> =
        parts.iter().map(|_| BTreeMap::new()).collect();
    let mut visit = |url: &str, row: RowRef<'_>| {
        for (part, visited) in parts.iter().zip(&mut visited) {
            visited.insert(url.to_owned(), part.of_row(row));
        }
    };
    whole.visit(client, &mut visit).await.unwrap();
    let has_history = |at: &At| format!("{at:?}").contains("versions");
    for (at, ((part, of_rows), other)) in parts.iter().zip(visited).zip(&wholes).enumerate() {
        let pair = format!("{} as {}", whole.program().name(), other.program().name());
        let found = match part.reads(&keys).await {
            Ok(found) => found,
            Err(misfit) => {
                counts[1] += 1;
                for row in of_rows.into_values() {
                    assert_eq!(row.map_err(text).unwrap_err(), misfit, "{pair}");
                }
                continue;
            }
        };
        counts[0] += 1;
        // Filling and comparing a table of sums takes longer than all other reads.
        if (number + at).is_multiple_of(compared) {
            assert_eq!(part.differences().await.map_err(text), Ok([1, 0, 0, 0]), "{pair}");
        }
        for (url, read) in &expected {
            if let Ok(read) = read {
                let checked = check(whole.program(), read, &**part, found.get(*url));
                assert_eq!(checked, Ok(()), "{pair}, {url}: {read:?}\n{:?}", found.get(*url));
            }
        }
        for (url, row) in of_rows {
            match row {
                Err(error) if error.kind() == ErrorKind::InvalidRow => {
                    assert_eq!(found.get(&url).cloned().flatten(), None);
                }
                // A `ttl` in a family that the whole does not have.
                Err(error) => {
                    assert!(error.to_string().contains("which this scan does not heed"), "{pair}: {error}");
                }
                // A whole without versions is read with the newest alone.
                Ok(_) if has_history(part.at()) && !has_history(whole.program().at()) => {}
                Ok(row) => {
                    assert_eq!(found.get(&url).cloned().flatten().unwrap_or_default(), row, "{pair}, {url}");
                }
            }
        }
    }
    counts
}

#[test]
fn every_part_that_fits_reads_what_the_whole_reads() {
    let compared = one_in(8, "parts of which the table is compared with its copy");
    let counts = Mutex::new([0; 2]);
    let failed = failed_runs(wholes().len() as u64, |number| {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let [fit, others] =
            runtime.block_on(async { pairs_of(&Client::embedded(), number as usize, compared).await });
        let mut counts = counts.lock().unwrap();
        *counts = [counts[0] + fit, counts[1] + others];
    });
    let counts = counts.into_inner().unwrap();
    println!("{} of {} pairs fit", counts[0], counts[0] + counts[1]);
    assert!(failed.is_empty(), "parts of the types {failed:?}");
    assert!(counts.iter().all(|count| *count > 200), "{counts:?}");
}

#[tokio::test]
async fn so_does_it_on_the_emulator() {
    let count = amount("KEYDERIVE_PART_TYPES", "row types of which each is a part, on the emulator", 3, 40);
    let all = wholes().len();
    for number in 0..usize::try_from(count).unwrap().min(all) {
        let Some((_emulator, client)) = crate::servers::emulator().await else { return };
        // The few are spread over all.
        pairs_of(&client, number * all / usize::try_from(count).unwrap(), 1).await;
    }
}
