//! `rekey`: a table to new keys, while programs read and write it.

use std::io::Write as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use clap::{Args, Subcommand};
use keyderive::dynamic::TableLayout;
use keyderive::table::rekey::{Activity, Migration, MigrationProgress, MigrationStatus, State};
use serde::Serialize;

use super::block_on;
use super::rows::shown;
use crate::change::{Stop, is_agreed, name_production};
use crate::exit::{Exit, Failure, Outcome};
use crate::output::{self, Meter, Out, Safe, TextFormat, json_line};
use crate::pair::{PairArgs, Tables, ToInstance};

/// Move a table to new keys while programs read and write it
///
///     keyderive rekey check events events-64
///     keyderive rekey run events events-64 --yes
///     keyderive rekey status events events-64
///
/// Every program must open both tables by `Client::rekeyed` before `run` begins, with the mapping of keys that is given here: the first
/// driver records some keys, and whoever has another mapping is refused. Ctrl-C and kills are safe at any moment: the same command goes
/// on from the state that is recorded.
#[derive(Args, Debug)]
#[command(verbatim_doc_comment)]
pub(crate) struct Rekey {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand, Debug)]
enum Action {
    /// Read all rows, and find those that cannot be re-keyed; exits with 1 if there are any
    Check(PairArgs),
    /// Move the table to its new keys, as far as the way back is open
    ///
    /// Without `--yes` it reads the table, and says what it would do; on a terminal it asks then.
    Run(ChangeArgs),
    /// Show where the re-keying is, and where reads and writes go
    Status {
        #[command(flatten)]
        pair: PairArgs,
        #[arg(long, value_enum, default_value_t = TextFormat::Text)]
        format: TextFormat,
    },
    /// Compare both tables; exits with 1 if they differ
    Verify(PairArgs),
    /// End the re-keying with the new table: there is no way back
    ///
    /// Without `--yes` it says what it would do; on a terminal it asks then. It needs no mapping, but compares one that is given.
    Finish(ChangeArgs),
    /// Take everything back to the old table, with all that was written meanwhile
    ///
    /// Without `--yes` it says what it would do; on a terminal it asks then.
    RollBack(ChangeArgs),
}

#[derive(Args, Debug)]
struct ChangeArgs {
    #[command(flatten)]
    pair: PairArgs,
    /// Do it without asking; otherwise the command shows what it would do, and on a terminal asks
    #[arg(long, help_heading = "Change")]
    yes: bool,
}

/// The tables of a re-keying, and its driver.
struct Driver {
    tables: Tables,
    migration: Migration,
    status: MigrationStatus,
    meter: Arc<Mutex<Meter>>,
}

impl Rekey {
    pub(crate) fn run(self) -> Outcome {
        block_on(async {
            match &self.action {
                Action::Check(pair) => {
                    let driver = Driver::open(pair, true).await?;
                    driver.check().await
                }
                Action::Run(args) => Driver::open(&args.pair, true).await?.run(args.yes).await,
                Action::Status { pair, format } => {
                    let driver = Driver::open(pair, false).await?;
                    driver.print_status(format.is_json())
                }
                Action::Verify(pair) => {
                    let driver = Driver::open(pair, true).await?;
                    driver.verify().await
                }
                Action::Finish(args) => Driver::open(&args.pair, false).await?.finish(args.yes).await,
                Action::RollBack(args) => Driver::open(&args.pair, true).await?.roll_back(args.yes).await,
            }
        })
    }
}

impl Driver {
    /// Opens both tables; without the mapping if none is given that the command needs, or new keys are made of rows.
    async fn open(pair: &PairArgs, needs_mapping: bool) -> Outcome<Self> {
        let tables = pair.open(&ToInstance::default()).await?;
        let ([old, new], client) = (&tables.layouts, &tables.clients[0]);
        let meter = Arc::new(Mutex::new(Meter::new("copied")));
        let tell = |migration: Migration| {
            let meter = Arc::clone(&meter);
            migration.on_progress(move |progress| tell(&mut locked(&meter), progress))
        };
        let migration = client.dynamic_migration(old, new, None).await?;
        let status = migration.status().await.map_err(refused)?;
        if status.is_by_row {
            output::note(
                "new keys are made of rows, by a program: only that can check, copy and compare; here are the state and `finish`",
            );
        }
        if status.is_by_row || (!needs_mapping && pair.maps.is_empty()) {
            return Ok(Self { migration: tell(migration), tables, status, meter });
        }
        let mapping = pair.mapping(&tables.layouts)?;
        let migration = client.dynamic_migration(old, new, Some(&mapping)).await.map_err(refused)?;
        Ok(Self { migration: tell(migration), tables, status, meter })
    }

    fn names(&self) -> [Safe<'_>; 2] {
        let [old, new] = &self.tables.layouts;
        [Safe(old.name()), Safe(new.name())]
    }

    async fn check(&self) -> Outcome {
        Ok(Exit::found(!self.find_faults().await?))
    }

    /// Prints what is found; returns whether every row can be re-keyed.
    async fn find_faults(&self) -> Outcome<bool> {
        let findings = self.migration.check().await.map_err(refused)?;
        self.clear_meter();
        print(&findings)?;
        Ok(findings.is_ok())
    }

    /// Takes the progress off the terminal.
    fn clear_meter(&self) {
        *locked(&self.meter) = Meter::new("copied");
    }

    async fn verify(&self) -> Outcome {
        let diff = self.migration.verify().await.map_err(refused)?;
        self.clear_meter();
        print(&diff)?;
        Ok(Exit::found(!diff.is_equal()))
    }

    async fn run(&self, yes: bool) -> Outcome {
        let ([old, new], state) = (self.names(), self.status.state);
        let begins = match state {
            State::Old | State::RolledBack => true,
            State::Paused | State::Copying => false,
            State::Moved | State::New => {
                print(format_args!(
                    "nothing to do: `{old}` is re-keyed to `{new}`, and the state is `{state}`"
                ))?;
                return Ok(Exit::Done);
            }
            _ => return Err(self.not_now("it is being rolled back; let `roll-back` come to its end")),
        };
        name_production(&self.tables.targets[0]);
        // A driver that met such a row would stop when writes go to the new table already.
        if begins {
            let is_ok = self.find_faults().await?;
            if !is_ok && yes {
                return Err(Failure::refused("nothing was changed: these rows cannot be re-keyed"));
            } else if !is_ok {
                return Ok(Exit::Findings);
            }
        }
        if !yes {
            match begins {
                true => print(format_args!(
                    "would re-key `{old}` to `{new}`:\n  create the table `{new}`\n  have all writes of `{old}` wait once, about 7 s\n  copy its rows, \
                     while programs read and write, and compare both tables\nuntil `finish`, `roll-back` takes everything back"
                ))?,
                false => print(format_args!(
                    "would go on from the state `{state}`: copy the rows of `{old}` that are left to `{new}`, and compare both tables\nuntil `finish`, \
                     `roll-back` takes everything back"
                ))?,
            }
            if !is_agreed(&self.tables.targets[0], "Re-key it?")? {
                return Ok(Exit::Done);
            }
        }
        self.drive(self.migration.run()).await?;
        print(format_args!(
            "re-keyed `{old}` to `{new}`: reads and writes go to `{new}`; `finish` ends it, and until then `roll-back` takes everything back"
        ))?;
        Ok(Exit::Done)
    }

    async fn finish(&self, yes: bool) -> Outcome {
        let ([old, new], state) = (self.names(), self.status.state);
        if !matches!(state, State::Moved | State::New) {
            return Err(self.not_now("`run` must come to its end before `finish`"));
        }
        name_production(&self.tables.targets[0]);
        if !yes {
            match state {
                State::New => print(format_args!(
                    "would go on to end the re-keying with `{new}`, which has begun: there is no way back any more"
                ))?,
                _ => print(format_args!(
                    "would end the re-keying with `{new}`: from then on nothing reads `{old}`, and there is no way back; the rows of `{new}` lose their \
                     origins, and `verify` has nothing more to compare"
                ))?,
            }
            if !is_agreed(&self.tables.targets[0], "End it?")? {
                return Ok(Exit::Done);
            }
        }
        self.drive(self.migration.finish()).await?;
        print(format_args!(
            "ended the re-keying with `{new}`; `{old}` is not read any more, and can be deleted"
        ))?;
        Ok(Exit::Done)
    }

    async fn roll_back(&self, yes: bool) -> Outcome {
        let ([old, new], state) = (self.names(), self.status.state);
        let what = match state {
            State::Old => {
                print(format_args!("nothing to do: the re-keying of `{old}` has not begun"))?;
                return Ok(Exit::Done);
            }
            State::New => {
                return Err(self.not_now("it has ended, and there is no way back; re-key the new table"));
            }
            State::Moved if self.status.is_finishing => {
                return Err(self.not_now("`finish` has begun, and there is no way back"));
            }
            State::RolledBack => {
                format!("would remove what the roll-back has left of the re-keying in `{old}`, if anything")
            }
            State::RollbackPaused | State::RollbackCopying => format!(
                "would go on from the state `{state}`: copy what was written to `{new}`, and is left, to `{old}`, and compare both tables"
            ),
            _ => format!(
                "would take everything back from the state `{state}`: have all writes wait once, about 7 s, copy what was written to `{new}` to \
                 `{old}`, and compare both tables"
            ),
        };
        name_production(&self.tables.targets[0]);
        if !yes {
            print(format_args!("{what}; another attempt then needs another new table"))?;
            if !is_agreed(&self.tables.targets[0], "Take it back?")? {
                return Ok(Exit::Done);
            }
        }
        self.drive(self.migration.roll_back()).await?;
        print(format_args!(
            "took everything back to `{old}`; `{new}` can be deleted, and another attempt needs another new table"
        ))?;
        Ok(Exit::Done)
    }

    /// Runs a driver until it ends, or somebody presses Ctrl-C.
    async fn drive(&self, driver: impl Future<Output = Result<(), keyderive::Error>>) -> Outcome<()> {
        let mut stop = Stop::listen();
        let ended = stop.or(driver).await.and_then(|ended| ended.map_err(refused));
        self.clear_meter();
        let Err(failure) = ended else { return Ok(()) };
        // As far as it can be read.
        let place = match self.migration.status().await {
            Ok(status) => {
                let [reads, writes] = self.places(status.state);
                format!("the state is `{}`: reads go to {reads}, writes {writes}; ", status.state)
            }
            Err(_) => String::new(),
        };
        Err(failure.after(format_args!("{place}nothing is lost, and the same command goes on from there")))
    }

    fn not_now(&self, why: &str) -> Failure {
        Failure::refused(format_args!(
            "the re-keying of `{}` is in the state `{}`: {why}",
            self.names()[0],
            self.status.state
        ))
    }

    /// Where reads and writes go.
    fn places(&self, state: State) -> [String; 2] {
        let [old, new] = self.names().map(|name| format!("`{name}`"));
        let both = format!("{old} and {new}");
        match state {
            State::Old | State::RolledBack => [old.clone(), format!("go to {old}")],
            State::Moved | State::New => [new.clone(), format!("go to {new}")],
            State::Copying => [both, format!("go to {new}, each after a copy of the row of {old}")],
            State::RollbackCopying => [both, format!("go to {old}, each after a copy of the row of {new}")],
            _ => [both, "wait for the next state".to_owned()],
        }
    }

    fn next(&self) -> &'static str {
        match self.status.state {
            State::Old => "`run` begins",
            State::Paused => "`run` goes on, or `roll-back` takes it back: writes wait until then",
            State::Copying if self.status.is_by_row => "the program goes on; there is no way back",
            State::Copying => "`run` goes on; `roll-back` takes it back",
            State::Moved if self.status.is_finishing => "`finish` goes on; there is no way back",
            State::Moved if self.status.is_by_row => "`finish` ends it; there is no way back",
            State::Moved => "`finish` ends it, after which there is no way back; `roll-back` takes it back",
            State::New => {
                "there is no way back; once `finish` has ended without an error, the old table can be deleted"
            }
            State::RollbackPaused => "`roll-back` goes on: writes wait until then",
            State::RollbackCopying => "`roll-back` goes on",
            State::RolledBack => {
                "once `roll-back` has ended without an error, programs of the old keys can run; another attempt needs another new table"
            }
            _ => "",
        }
    }

    fn print_status(&self, json: bool) -> Outcome {
        let MigrationStatus { state, is_by_row, is_finishing, examples, .. } = &self.status;
        let ([old, new], [reads, writes]) = (self.names(), self.places(*state));
        let mut out = Out::new();
        if json {
            let examples = examples.iter().map(|(old, new)| [shown(old), shown(new)]).collect();
            let status = StatusLine {
                state: state.to_string(),
                reads,
                writes,
                is_by_row: *is_by_row,
                is_finishing: *is_finishing,
                examples,
            };
            json_line(&mut out, &status)?;
        } else {
            writeln!(out, "state    {state}, of `{old}` to `{new}`")?;
            writeln!(out, "reads    go to {reads}")?;
            writeln!(out, "writes   {writes}")?;
            writeln!(out, "next     {}", self.next())?;
            for (old_key, new_key) in examples.iter().take(3) {
                let [of_old, of_new] = &self.tables.layouts;
                let text = format!("{} is {}", key_text(of_old, old_key), key_text(of_new, new_key));
                writeln!(out, "mapping  {}", Safe(&text))?;
            }
        }
        out.finish()?;
        Ok(Exit::Done)
    }
}

#[derive(Serialize)]
struct StatusLine {
    state: String,
    reads: String,
    writes: String,
    is_by_row: bool,
    is_finishing: bool,
    /// Old keys with their new ones.
    examples: Vec<[String; 2]>,
}

fn key_text(layout: &TableLayout, key: &[u8]) -> String {
    layout.key().decode(key).map_or_else(|_| shown(key), |key| key.to_string())
}

/// Prints text of the library, line by line.
fn print(text: impl std::fmt::Display) -> Outcome<()> {
    let mut out = Out::new();
    text.to_string().lines().try_for_each(|line| writeln!(out, "{}", Safe(line)))?;
    Ok(out.finish()?)
}

/// The arguments are right: it is the table that is not as the command needs it.
fn refused(error: keyderive::Error) -> Failure {
    let failure = Failure::from(error);
    match failure.exit {
        Exit::Usage => Failure::refused(failure),
        _ => failure,
    }
}

fn locked(meter: &Mutex<Meter>) -> MutexGuard<'_, Meter> {
    // A thread that panicked has left a whole one.
    meter.lock().unwrap_or_else(PoisonError::into_inner)
}

fn tell(meter: &mut Meter, progress: &MigrationProgress) {
    let rows = &progress.rows;
    match progress.activity {
        Activity::Copying => meter.rows_as("copied", rows.written + rows.kept),
        Activity::Verifying => meter.rows_as("compared", rows.compared + rows.counted),
        Activity::Waiting => meter.rows_as("copied, waiting until every program acts by the state", 0),
        _ => {}
    }
}
