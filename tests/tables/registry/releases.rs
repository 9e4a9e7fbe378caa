//! Random releases of a program, which start, write, restart, roll back and are retired, with old records and on servers whose clocks
//! differ, beside a model of the rule: of two types, each must read what both write, and the newer one also what only the older one reads.
//!
//! The model knows nothing of how layouts are compared: it tries all that two programs can store. `KEYDERIVE_RELEASES` is how many runs.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, UNIX_EPOCH};

use keyderive::Row;
use keyderive::dynamic::TableLayout;
use keyderive::embedded::Bigtable;
use keyderive::key::Value;
use keyderive::layouts::Layouts;
use keyderive::row::{Mutation, RowSchema};
use keyderive::table::DynTable;
use keyderive_tests::amount;
use keyderive_tests::fixtures::UserKey;
use serde_json::json;

const STEPS: usize = 60;
/// What the columns of all releases mean.
const COLUMNS: usize = 3;
const ROWS: usize = 2;
/// As many run at once.
const PROGRAMS: usize = 5;
/// How long a client relies on a record that has its type.
const OLD: Duration = Duration::from_secs(60);

#[derive(Row)]
struct Any {
    any: Option<i64>,
}

/// How a release stores a column.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Column {
    name: String,
    aliases: Vec<String>,
    is_text: bool,
}

/// The columns of a release, by what they mean.
type Release = [Option<Column>; COLUMNS];
/// What a row has, by the same.
type Values = [Option<i64>; COLUMNS];

/// The cells of a column, by their names: a number, and whether it is stored as text.
type Cells = BTreeMap<String, (i64, bool)>;

impl Column {
    fn places(&self) -> impl Iterator<Item = &String> {
        [&self.name].into_iter().chain(&self.aliases)
    }

    /// What a program reads; an error if it cannot.
    fn read(&self, cells: &Cells) -> Result<Option<i64>, ()> {
        match self.places().find_map(|place| cells.get(place)) {
            Some((value, is_text)) if *is_text == self.is_text => Ok(Some(*value)),
            Some(_) => Err(()),
            None => Ok(None),
        }
    }

    fn write(&self, cells: &mut Cells, value: i64) {
        self.aliases.iter().for_each(|alias| _ = cells.remove(alias));
        cells.insert(self.name.clone(), (value, self.is_text));
    }
}

/// Whether both read what both write, and the newer one what the older one reads, whatever is stored.
fn fit(older: &Column, newer: &Column) -> bool {
    let stored = |place: &String| Cells::from([(place.clone(), (1, older.is_text))]);
    let begins: Vec<_> = [Cells::new()].into_iter().chain(older.places().map(stored)).collect();
    let reads_older = begins.iter().all(|cells| newer.read(cells) == older.read(cells));
    let writes = |cells: &Cells, by: &[&Column]| {
        let mut cells = cells.clone();
        by.iter().zip(2..).all(|(program, value)| {
            program.write(&mut cells, value);
            [older, newer].into_iter().all(|program| program.read(&cells) == Ok(Some(value)))
        })
    };
    let orders: [[&Column; 3]; 2] = [[older, newer, older], [newer, older, newer]];
    reads_older && begins.iter().all(|cells| orders.iter().all(|order| writes(cells, order)))
}

fn releases_fit(older: &Release, newer: &Release) -> bool {
    older.iter().zip(newer).all(|pair| match pair {
        (Some(older), Some(newer)) => fit(older, newer),
        _ => true,
    })
}

/// What the registry is to have: the types in the order in which they were first declared, with what programs write of each.
#[derive(Clone, Debug, Default, PartialEq)]
struct Declared(Vec<(usize, BTreeSet<bool>)>);

impl Declared {
    fn has(&self, release: usize, whole: bool) -> bool {
        self.0
            .iter()
            .any(|(known, kinds)| *known == release && (kinds.contains(&whole) || kinds.contains(&true)))
    }

    fn allows(&self, releases: &[Release], release: usize) -> bool {
        let position = |of| self.0.iter().position(|(known, _)| *known == of).unwrap_or(usize::MAX);
        self.0.iter().filter(|(other, _)| *other != release).all(|(other, _)| {
            match position(*other) < position(release) {
                true => releases_fit(&releases[*other], &releases[release]),
                false => releases_fit(&releases[release], &releases[*other]),
            }
        })
    }

    fn add(&mut self, release: usize, whole: bool) {
        match self.0.iter_mut().find(|(known, _)| *known == release) {
            Some((_, kinds)) => _ = kinds.insert(whole),
            None => self.0.push((release, BTreeSet::from([whole]))),
        }
    }
}

/// A process with a release.
struct Program {
    release: usize,
    table: DynTable,
    /// Which writes were accepted: of whole rows, of columns.
    accepted: BTreeSet<bool>,
}

struct Run {
    random: fastrand::Rng,
    bigtable: Bigtable,
    /// The server's clock, in milliseconds, and that of another server.
    now: u64,
    lag_micros: i64,
    releases: Vec<Release>,
    programs: Vec<Program>,
    declared: Declared,
    /// What was declared, since when.
    history: Vec<(tokio::time::Instant, Declared)>,
    /// What is stored in each row.
    rows: [Values; ROWS],
    names: usize,
    met: BTreeMap<&'static str, usize>,
}

fn layout_of(release: &Release) -> TableLayout {
    let text = Layouts::new().table::<UserKey, Any>("users").to_json();
    let mut file: serde_json::Value = serde_json::from_str(&text).unwrap();
    let mut layout = file["tables"]["users"][0]["rows"][0]["row"].take();
    let columns = &mut layout["fields"][0]["struct"]["columns"];
    let any = columns[0].take();
    let made = release.iter().flatten().map(|column| {
        let mut made = any.clone();
        let aliases = column.aliases.iter().map(|alias| json!({ "family": "cf", "name": alias }));
        (made["name"], made["aliases"]) = (json!(column.name), aliases.collect());
        if column.is_text {
            made["stored"] = json!("text");
        }
        made
    });
    *columns = made.collect();
    // The error has the fingerprint that the columns have.
    let error = RowSchema::from_json(&layout.to_string()).unwrap_err().to_string();
    layout["fingerprint"] = json!(error.split("of the fields is `").nth(1).unwrap()[..16]);
    file["tables"]["users"][0]["rows"][0]["row"] = layout;
    Layouts::from_json(&file.to_string()).unwrap().table_layout("users").unwrap()
}

impl Run {
    async fn new(seed: u64) -> Self {
        let bigtable = Bigtable::in_memory();
        let random = fastrand::Rng::with_seed(seed);
        let mut run = Self {
            lag_micros: [0, 0, 3_000_000, -3_000_000][seed as usize % 4],
            random,
            bigtable,
            now: 1_000_000_000,
            releases: Vec::new(),
            programs: Vec::new(),
            declared: Declared::default(),
            history: Vec::new(),
            rows: Default::default(),
            names: 0,
            met: BTreeMap::new(),
        };
        run.set_clock(0);
        run.bigtable.client().table::<UserKey, Any>("users").create_if_absent().await.unwrap();
        let mut first = Release::default();
        first[0] = Some(run.column());
        first[1] = Some(run.column());
        run.releases.push(first);
        run.note();
        run
    }

    fn column(&mut self) -> Column {
        Column { name: self.name(), aliases: Vec::new(), is_text: false }
    }

    fn name(&mut self) -> String {
        self.names += 1;
        format!("c{}", self.names)
    }

    fn set_clock(&self, ahead: i64) {
        let now = self.now.checked_add_signed(ahead).unwrap();
        self.bigtable.set_time(UNIX_EPOCH + Duration::from_millis(now));
    }

    fn met(&mut self, what: &'static str) {
        *self.met.entry(what).or_default() += 1;
    }

    fn note(&mut self) {
        let is_new = self.history.last().is_none_or(|(_, last)| *last != self.declared);
        if is_new {
            self.history.push((tokio::time::Instant::now(), self.declared.clone()));
        }
    }

    /// A release that differs in one column from an earlier one.
    fn release(&mut self) {
        let from = self.random.usize(self.releases.len().saturating_sub(3)..self.releases.len());
        let mut next = self.releases[from].clone();
        let at = self.random.usize(..COLUMNS);
        let (fresh, change) = (self.name(), self.random.u8(..12));
        next[at] = match next[at].take() {
            None if self.releases.iter().all(|release| release[at].is_none()) => Some(self.column()),
            // A column that was dropped does not return under another name.
            None => return,
            Some(mut column) => {
                match change {
                    0 => return self.drop_column(from, at),
                    1 => column.is_text = !column.is_text,
                    2..=4 => column.aliases.push(fresh),
                    5..=8 if !column.aliases.is_empty() => {
                        let new = column.aliases.remove(0);
                        column.aliases.push(std::mem::replace(&mut column.name, new));
                    }
                    5 => column.aliases.push(std::mem::replace(&mut column.name, fresh)),
                    _ => _ = column.aliases.pop(),
                }
                Some(column)
            }
        };
        self.add_release(next);
    }

    fn drop_column(&mut self, from: usize, at: usize) {
        let mut next = self.releases[from].clone();
        next[at] = None;
        self.add_release(next);
    }

    fn add_release(&mut self, next: Release) {
        if !self.releases.contains(&next) && next.iter().any(Option::is_some) {
            self.releases.push(next);
        }
    }

    async fn start(&mut self) {
        let newest = self.releases.len() - 1;
        let release = match self.random.u8(..3) {
            0 => newest,
            _ => self.random.usize(newest.saturating_sub(3)..=newest),
        };
        let client = self.bigtable.client();
        let table = client.dynamic_table(&layout_of(&self.releases[release]));
        // It reads the record now, and may write later.
        if self.random.bool() {
            client.table::<UserKey, Any>("users").create_if_absent().await.unwrap();
        }
        if self.programs.len() == PROGRAMS {
            self.programs.remove(0);
        }
        self.programs.push(Program { release, table, accepted: BTreeSet::new() });
    }

    fn key(row: usize) -> Vec<u8> {
        UserKey { id: row as u64 }.encode().unwrap().to_vec()
    }

    fn value(column: &Column, value: i64) -> Value {
        if column.is_text { Value::from(value.to_string()) } else { Value::from(value) }
    }

    /// Adds one to a column, or writes all of them.
    async fn write(&mut self) {
        if self.programs.is_empty() {
            return;
        }
        let (at, whole) = (self.random.usize(..self.programs.len()), self.random.bool());
        let program = &self.programs[at];
        let release = self.releases[program.release].clone();
        if !program.accepted.contains(&whole) && !self.is_accepted(at, whole).await {
            return;
        }
        let program = &self.programs[at];
        let row = self.random.usize(..ROWS);
        let read = read(&program.table, row, &release).await.unwrap();
        let mut values = self.rows[row];
        let chosen = self.random.usize(..COLUMNS);
        for index in (0..COLUMNS).filter(|index| release[*index].is_some() && (whole || *index == chosen)) {
            values[index] = Some(read[index].unwrap_or_default() + 1);
        }
        let columns =
            release.iter().zip(values).filter_map(|(column, value)| Some((column.as_ref()?, value?)));
        if whole {
            let mut written = program.table.new_row();
            for (column, value) in columns {
                written.set(&column.name, Self::value(column, value)).unwrap();
            }
            program.table.put(Self::key(row), &written).await.unwrap();
        } else if let Some(column) = &release[chosen] {
            let value = Self::value(column, values[chosen].unwrap());
            program.table.update(Self::key(row), [(&column.name, value)]).await.unwrap();
        }
        self.rows[row] = values;
        self.check(row).await;
    }

    /// Whether a release finds each column of the types that are declared under one of its names: a new name without an alias is another
    /// column to all but the people who know better.
    fn is_deployed(&self, release: usize) -> bool {
        let shares = |(one, other): (&Option<Column>, &Option<Column>)| match (one, other) {
            (Some(one), Some(other)) => one.places().any(|place| other.places().any(|other| other == place)),
            _ => true,
        };
        let columns = |known: usize| self.releases[known].iter().zip(&self.releases[release]);
        self.declared.0.iter().all(|(known, _)| columns(*known).all(shares))
    }

    /// Makes the first write of such a kind, to a row that nobody reads, on one of the two servers.
    async fn is_accepted(&mut self, at: usize, whole: bool) -> bool {
        let program = &self.programs[at];
        let release = program.release;
        if !self.is_deployed(release) {
            self.programs.swap_remove(at);
            return false;
        }
        let column = self.releases[release].iter().flatten().next().unwrap();
        if self.random.bool() {
            self.set_clock(self.lag_micros);
        }
        let probe = Self::key(1000 + self.random.usize(..1000));
        let outcome = match whole {
            true => program.table.put(probe, &program.table.new_row()).await,
            false => program.table.update(probe, [(&column.name, Self::value(column, 1))]).await,
        };
        self.set_clock(0);
        let is_accepted = match outcome {
            Ok(()) => true,
            Err(error) if error.is_table_mismatch() => {
                let text = error.to_string();
                if let Some(offered) = text.split("retire_row_type(\"").nth(1) {
                    self.check_offer(offered.split('"').next().unwrap(), release).await;
                }
                false
            }
            Err(error) => panic!("{error}"),
        };
        let allows = |declared: &Declared| declared.allows(&self.releases, release);
        let since = tokio::time::Instant::now() - OLD;
        let ends = self.history.iter().skip(1).map(|(begun, _)| Some(*begun)).chain([None]);
        let mut recent = self
            .history
            .iter()
            .zip(ends)
            .filter(|(_, end)| end.is_none_or(|end| end >= since))
            .map(|((_, declared), _)| declared);
        // An old record refuses what it does not know to be retired, and lets in what it has.
        let is_expected = match is_accepted {
            true => allows(&self.declared) || recent.any(|old| old.has(release, whole) && allows(old)),
            false => recent.any(|old| !allows(old)),
        };
        let shown = || {
            let types = self.declared.0.iter().map(|(known, _)| (known, &self.releases[*known]));
            types.map(|shown| format!("{shown:?}")).collect::<Vec<_>>().join("\n")
        };
        assert!(
            is_expected,
            "release {release} {:?} is accepted: {is_accepted}, beside\n{}",
            self.releases[release],
            shown()
        );
        let is_old = self.declared.0.iter().any(|(known, _)| *known == release);
        let is_last = self.declared.0.last().is_none_or(|(last, _)| *last == release);
        self.met(match (is_accepted, is_old, is_last) {
            (true, false, _) => "a new type",
            (true, true, false) => "an older type again",
            (true, true, true) => "the newest type again",
            (false, ..) => "refused",
        });
        if is_accepted {
            self.declared.add(release, whole);
            self.note();
            self.programs[at].accepted.insert(whole);
        }
        is_accepted
    }

    /// What a refusal offers to retire is no newer type.
    async fn check_offer(&self, offered: &str, release: usize) {
        let own = self.declared.0.iter().position(|(known, _)| *known == release);
        let types = self.bigtable.client().table::<UserKey, Any>("users").row_types().await.unwrap();
        let mut order = Vec::new();
        types.iter().for_each(|row_type| {
            if !order.contains(&&row_type.fingerprint) {
                order.push(&row_type.fingerprint);
            }
        });
        let offered = order.iter().position(|fingerprint| *fingerprint == offered);
        if let (Some(own), Some(offered)) = (own, offered) {
            assert!(offered < own, "{offered} is offered to {own}");
        }
    }

    /// All programs that write read a row as it was written.
    async fn check(&self, row: usize) {
        for program in self.programs.iter().filter(|program| !program.accepted.is_empty()) {
            let release = &self.releases[program.release];
            let read = read(&program.table, row, release).await;
            let expected = std::array::from_fn(|at| self.rows[row][at].filter(|_| release[at].is_some()));
            assert_eq!(read, Ok(expected), "release {} of {release:?}", program.release);
        }
    }

    /// Stops the programs of the oldest type, writes its rows anew, by each type, and retires it.
    async fn retire(&mut self) {
        if self.declared.0.len() < 2 {
            return;
        }
        let (oldest, _) = self.declared.0[0];
        self.programs.retain(|program| program.release != oldest);
        for (release, _) in self.declared.0.clone() {
            let table = self.bigtable.client().dynamic_table(&layout_of(&self.releases[release]));
            for row in 0..ROWS {
                let release = &self.releases[release];
                let read = read(&table, row, release).await.unwrap();
                let stored = |(column, value): (&Option<Column>, _)| Some((column.clone()?, value?));
                for (column, value) in release.iter().zip(read).filter_map(stored) {
                    let value = Self::value(&column, value);
                    table.update(Self::key(row), [(&column.name, value)]).await.unwrap();
                }
            }
        }
        let users = self.bigtable.client().table::<UserKey, Any>("users");
        let fingerprint = &users.row_types().await.unwrap()[0].fingerprint;
        assert!(users.retire_row_type(fingerprint).await.unwrap());
        self.declared.0.remove(0);
        self.note();
        self.met("retired");
        self.forget_columns().await;
        for row in 0..ROWS {
            self.check(row).await;
        }
    }

    /// Columns that no type has any more are gone.
    async fn forget_columns(&mut self) {
        for at in 0..COLUMNS {
            let has_it = |(release, _): &(usize, _)| self.releases[*release][at].is_some();
            let is_new = self.releases.iter().all(|release| release[at].is_none());
            if is_new || self.declared.0.iter().any(has_it) {
                continue;
            }
            let columns = self.releases.iter().filter_map(|release| release[at].as_ref());
            let names: BTreeSet<_> = columns.flat_map(Column::places).collect();
            let delete: Vec<_> =
                names.into_iter().map(|name| Mutation::delete_column("cf", name.clone())).collect();
            for row in 0..ROWS {
                self.rows[row][at] = None;
                let raw = self.bigtable.client().raw_table("users");
                raw.mutate_row(Self::key(row), delete.clone()).await.unwrap();
            }
        }
    }

    async fn step(&mut self) {
        match self.random.u8(..20) {
            0..=2 => self.release(),
            3..=6 => self.start().await,
            7 if !self.programs.is_empty() => {
                _ = self.programs.swap_remove(self.random.usize(..self.programs.len()));
            }
            8 => self.retire().await,
            9..=11 => {
                let by = [1, 1000, 30_000, 61_000][self.random.usize(..4)];
                self.now += by;
                self.set_clock(0);
                tokio::time::advance(Duration::from_millis(by)).await;
            }
            _ => self.write().await,
        }
    }
}

/// What a program reads of a row.
async fn read(table: &DynTable, row: usize, release: &Release) -> Result<Values, String> {
    let read = table.get(Run::key(row)).await.map_err(|error| error.to_string())?;
    Ok(std::array::from_fn(|at| {
        let value = read.as_ref()?.column(&release[at].as_ref()?.name)?.value().newest()?.to_string();
        Some(value.parse().unwrap())
    }))
}

#[tokio::test(start_paused = true)]
async fn every_accepted_write_is_read_by_every_accepted_program() {
    let runs = amount("KEYDERIVE_RELEASES", "runs of random releases", 10, 1000);
    let mut met = BTreeMap::<_, usize>::new();
    for seed in 0..runs {
        let run = async {
            let mut run = Run::new(seed).await;
            for _ in 0..STEPS {
                run.step().await;
            }
            run.met
        };
        let outcome = futures_util::FutureExt::catch_unwind(std::panic::AssertUnwindSafe(run)).await;
        let outcome = outcome.unwrap_or_else(|_| panic!("seed {seed} failed after {seed} others"));
        outcome.into_iter().for_each(|(what, times)| *met.entry(what).or_default() += times);
    }
    println!("{met:?}");
    for what in ["a new type", "an older type again", "the newest type again", "refused", "retired"] {
        assert!(met.get(what).is_some_and(|times| *times as u64 >= runs / 5), "{what}: {met:?}");
    }
}
