//! Pairs of row types, a whole and a part: the cases that were once read wrong, and random ones beside a model.

mod cases;
mod layouts;
mod model;

use std::collections::BTreeMap;

use fastrand::Rng;
use keyderive_tests::amount;

use self::layouts::{FAMILIES, RowType, random_types};
use self::model::{CellPlace, Cells, Reading, is_same, projection, whole_reading};
use crate::Client;
use crate::client::{Aggregate, Family, GcRule, ReadRows};
use crate::row::schema::ColumnKind;
use crate::row::{Mutation, VisibleCells};

/// Each type of a group is the whole of each, and they differ by a few changes.
const GROUP: usize = 14;
/// How many rows each whole writes; the last ones also have cells of columns that it does not have.
const ROWS: usize = 12;
const FOREIGN_ROWS: usize = 4;

/// What the rule says if it refuses: a phrase of each reason.
const REASONS: [&str; 11] = [
    "give both fields the same type",
    "give the field that alias",
    "remove the alias, or give the field of",
    "has an alias that is the column",
    "has an alias that is a former name of the column",
    "is a former name of",
    "write them in the same order",
    "has a map there, which does not",
    "give the map keys that read all names",
    "give the field another family",
    "says holds for it too",
];

/// How many pairs the rule refused for a reason, and of how many a row shows why.
#[derive(Debug, Default)]
struct Refused {
    pairs: u64,
    shown: u64,
}

#[tokio::test]
async fn a_part_that_fits_reads_what_the_whole_reads() {
    let pairs = amount("KEYDERIVE_PART_PAIRS", "pairs of row types, a whole and a part", 400, 10_000);
    let (mut fits, mut wrong) = (0, Vec::new());
    let mut refused: BTreeMap<&str, Refused> = BTreeMap::new();
    for seed in 0..pairs.div_ceil((GROUP * GROUP) as u64) {
        let group = Group::new(seed);
        for (number, whole) in group.types.iter().enumerate() {
            let table = group.table(number, whole).await;
            for part in &group.types {
                let misfit = whole.schema.misfit_of_part(&whole.family, part.schema, &part.family);
                let place = || format!("seed {seed}\n{whole:?}\n{part:?}");
                match misfit {
                    None => {
                        fits += 1;
                        let differs = match table.differs(part, ROWS - FOREIGN_ROWS).await {
                            None => table.differs_beside(part, seed).await,
                            differs => differs,
                        };
                        wrong.extend(differs.map(|differs| format!("{}\n{differs}", place())));
                    }
                    Some(text) => {
                        let reason = REASONS.iter().find(|reason| text.contains(**reason));
                        let reason = reason.unwrap_or_else(|| panic!("{text}: {}", place()));
                        let refused = refused.entry(reason).or_default();
                        refused.pairs += 1;
                        let shown = table.differs(part, ROWS).await.is_some();
                        refused.shown += u64::from(shown);
                    }
                }
            }
        }
    }
    println!("{fits} fit, {refused:#?}");
    assert!(
        wrong.is_empty(),
        "{} of {fits} that fit are read wrong, such as {}",
        wrong.len(),
        wrong.join("\n").chars().take(9_000).collect::<String>()
    );
    let all: u64 = refused.values().map(|refused| refused.pairs).sum();
    let shown: u64 = refused.values().map(|refused| refused.shown).sum();
    assert!(fits * 5 > all && all * 5 > fits, "{fits} fit, {all} do not");
    assert!(shown * 2 > all, "of {all} refused pairs, {shown} read a row wrong");
    let every = REASONS.iter().all(|reason| refused.contains_key(*reason));
    assert!(every || pairs < 10_000, "a reason never occurs: {refused:#?}");
}

struct Group {
    client: Client,
    types: Vec<RowType>,
    seed: u64,
}

impl Group {
    fn new(seed: u64) -> Self {
        let mut random = Rng::with_seed(seed);
        Self { client: Client::embedded(), types: random_types(&mut random, GROUP), seed }
    }

    /// A table with rows of a whole.
    async fn table<'g>(&'g self, number: usize, whole: &'g RowType) -> Table<'g> {
        let name = format!("whole-{number}");
        let family = |name: &&'static str| {
            let aggregate = match whole.schema.aggregate(name) {
                None => return Family::new(*name, GcRule::never()),
                Some(ColumnKind::Sum | ColumnKind::SumVersions) => Aggregate::Sum,
                Some(ColumnKind::Min | ColumnKind::MinVersions) => Aggregate::Min,
                Some(_) => Aggregate::Max,
            };
            Family::aggregate(*name, aggregate, GcRule::never())
        };
        let raw = self.client.raw_table(&name);
        raw.create(FAMILIES.iter().map(family), [""; 0]).await.unwrap();
        let mut random = Rng::with_seed(self.seed * 1000 + number as u64);
        let now_micros = self.client.now_micros();
        let mut rows = Vec::new();
        for row in 0..ROWS {
            let is_foreign = row >= ROWS - FOREIGN_ROWS;
            let cells = model::cells(whole, is_foreign, now_micros, &mut random);
            if !cells.is_empty() {
                raw.mutate_row(format!("row-{row}"), mutations(whole, &cells)).await.unwrap();
            }
            rows.push(cells);
        }
        Table { client: &self.client, name, whole, rows, now_micros }
    }
}

struct Table<'g> {
    client: &'g Client,
    name: String,
    whole: &'g RowType,
    rows: Vec<Cells>,
    now_micros: i64,
}

impl Table<'_> {
    /// The first of so many rows that a part reads otherwise than as the projection of what the whole reads.
    async fn differs(&self, part: &RowType, rows: usize) -> Option<String> {
        self.compare(part, &self.rows[..rows], "row-").await
    }

    /// The same for a row that has cells of the columns that only the part has.
    async fn differs_beside(&self, part: &RowType, seed: u64) -> Option<String> {
        let mut random = Rng::with_seed(seed);
        let mut cells = model::cells(self.whole, false, self.now_micros, &mut random);
        let of_part = model::cells(part, false, self.now_micros, &mut random);
        let before = cells.len();
        cells.extend(of_part.into_iter().filter(|((family, name, _), _)| {
            let is_storable = self.whole.schema.aggregate(family) == part.schema.aggregate(family);
            is_storable && !self.whole.knows(family, name)
        }));
        if cells.len() == before {
            return None;
        }
        let changes = std::iter::once(Mutation::delete_row()).chain(mutations(self.whole, &cells));
        self.client.raw_table(&self.name).mutate_row("beside-0", changes).await.unwrap();
        self.compare(part, &[cells], "beside-").await
    }

    async fn compare(&self, part: &RowType, rows: &[Cells], prefix: &str) -> Option<String> {
        let visible = VisibleCells::everything(self.whole.schema, &self.whole.family);
        let filter = visible.of_type(part.schema).in_family(&part.family).read(self.now_micros);
        let request = ReadRows::new().prefix(prefix).filter(filter);
        let mut stored = self.client.raw_table(&self.name).read_rows(request);
        let mut read = BTreeMap::new();
        while let Some(row) = stored.next().await {
            let row = row.unwrap();
            read.insert(row.key().to_vec(), row);
        }
        rows.iter().enumerate().find_map(|(number, cells)| {
            let found = read.get(format!("{prefix}{number}").as_bytes());
            let actual = found.map(|row| Reading::by_data(part, row));
            let expected = projection(part, &whole_reading(self.whole, part, cells, self.now_micros));
            (!is_same(actual.as_ref(), expected.as_ref())).then(|| {
                format!("row {number}: {cells:#?}\nis read as {actual:#?}\nand as part of the whole is {expected:#?}")
            })
        })
    }
}

fn mutations(whole: &RowType, cells: &Cells) -> Vec<Mutation> {
    let mutation = |((family, name, at), value): (&CellPlace, &Vec<u8>)| {
        let (family, name, at) = (family.clone(), name.clone(), at.0);
        match whole.schema.aggregate(&family) {
            None => Mutation::set(family, name, at, value.clone()),
            Some(_) => {
                Mutation::add_to_cell(family, name, at, i64::from_be_bytes(value[..].try_into().unwrap()))
            }
        }
    };
    cells.iter().map(mutation).collect()
}
