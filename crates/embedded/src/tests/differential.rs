//! Sends the same random requests to the embedded Bigtable and to Google's emulator, and compares the answers.
//!
//! The environment variable `KEYDERIVE_DIFFERENTIAL` is the number of operations; the default is 2000. Every fourth
//! operation is followed by a read with a random filter. `KEYDERIVE_DIFFERENTIAL_SEED` is the seed. As many changes of tables and
//! families follow, in a test of their own. The variable `CBTEMULATOR` can name another judge: a program that serves Go's `bttest`, of the
//! newest release of Google's Go client, takes the same arguments.
//!
//! Answers must be equal cell for cell, and both must reject the same requests. Not compared is what the emulator does
//! differently from the service, or what is unspecified:
//!
//! - **codes of errors**: the emulator rejects most requests with `UNKNOWN` and `INTERNAL`;
//! - **half of a rejected write**: the emulator keeps the mutations and rules before the one that it rejects, so each
//!   mutation that may be rejected is alone in its request;
//! - **limits**: the emulator accepts keys, qualifiers and requests of any size, and deletions from missing families;
//! - **row ranges that hold no key**: the emulator accepts them, unless the start is after the end;
//! - **a table to create that has a name, and timestamps that the client made**: the emulator takes no notice of the name, and
//!   emulators before September 2026 none of the origin of a timestamp and of the granularity of a table;
//! - **a condition without mutations**: the emulator accepts it;
//! - **garbage collection**: the emulator collects about once a second, so no family here has a rule;
//! - **minima and maxima**: the emulator has only sums, and keeps the last input of other aggregates;
//! - **the server time**: all server times count as equal, and such cells are deleted afterwards; the emulator takes a
//!   new time for each rule of a read-modify-write, so no two rules of a request are for the same column;
//! - **an offset or limit of cells in a row of several families**: the emulator's order of families is undefined, so
//!   these filters follow one for a family;
//! - **the order of families**: the emulator's is that of their creation, so each is created in the order of the names, or the cells of a
//!   row are sorted by it;
//! - **`sink` and `row_sample_filter`**: the emulator ignores the first, and the second is random;
//! - **two labels in a `chain`, and filters after an `interleave` that keeps a cell in two forms**: the service rejects
//!   the first, and the emulator's order of the second is undefined;
//! - **samples of row keys**: the emulator's are random;
//! - **a filter that the service rejects**: the emulator accepts some.

mod filters;
mod operations;
mod side;
mod tables;

use std::env;

use bytes::Bytes;
use fastrand::Rng;
use keyderive_tests::emulator::Emulator;
use keyderive_tests::left_out;

pub(super) use self::operations::{Operation, operation};
use self::side::Outcome;
pub(super) use self::side::Side;
use self::tables::Answer;
use super::aggregates::{add, big_endian};
use keyderive_proto::admin::table::TimestampGranularity;
use keyderive_proto::data::mutation::{
    AddToCell, DeleteFromColumn, Mutation as Kind, SetCell, TimestampOrigin,
};
use keyderive_proto::data::read_rows_request::RequestStatsView;
use keyderive_proto::data::row_filter::Filter;
use keyderive_proto::data::{
    Mutation, ReadRowsRequest, RowFilter, RowRange, RowSet, TimestampRange, row_range,
};

const TABLE: &str = "projects/p/instances/i/tables/differential";

/// Families in the order of their names, which the emulator keeps if they are created one by one. The last one holds
/// sums.
const FAMILIES: [&str; 3] = ["a", "b", SUMS];
const SUMS: &str = "sum";

const KEYS: [&[u8]; 16] = [
    b"\x00",
    b"0",
    b"a",
    b"a\x00",
    b"a#",
    b"a#1",
    b"a#2",
    b"a\n",
    b"a\xff",
    b"a\xff\xff",
    b"ab",
    b"b",
    b"b.c",
    b"\xc3\xbc",
    b"\xff",
    b"\xff\xff",
];
const QUALIFIERS: [&[u8]; 7] = [b"", b"q", b"q\x00", b"q.r", b"q|r", b"r", b"\xff"];
/// The qualifier of columns that hold only integers.
const COUNTER: &[u8] = b"n";

/// Server times are between these.
const PAST: i64 = 1_600_000_000_000_000;
const FUTURE: i64 = 4_000_000_000_000_000;
const TIMESTAMPS: [i64; 7] = [0, 1000, 2000, 3000, 5_000_000, FUTURE, FUTURE + 1000];

#[tokio::test]
async fn the_emulator_answers_alike() {
    let Some(emulator) = Emulator::start() else { return };
    let operations = number("KEYDERIVE_DIFFERENTIAL").unwrap_or(2000);
    let seed = number("KEYDERIVE_DIFFERENTIAL_SEED").unwrap_or(6);
    let rng = &mut Rng::with_seed(seed);
    let (emulator, embedded) = (Side::emulator(&emulator.host()), Side::embedded());
    emulator.create_table().await;
    embedded.create_table().await;
    let (mut rejected, mut found) = (0, 0);
    for step in 0..operations {
        let place = || format!("seed {seed}, operation {step}");
        let operation = operation(rng);
        let outcome = same(&embedded, &emulator, &operation, &place()).await;
        rejected += u64::from(matches!(outcome, Outcome::Rejected(_)));
        for follower in operation.followers() {
            same(&embedded, &emulator, &follower, &place()).await;
        }
        if step % 4 == 0 {
            let read = Operation::Read(read(rng));
            let outcome = same(&embedded, &emulator, &read, &place()).await;
            found += u64::from(matches!(outcome, Outcome::Read(rows, _) if !rows.is_empty()));
        }
    }
    for reversed in [false, true] {
        let whole = ReadRowsRequest { reversed, ..read_of(RowSet::default()) };
        same(&embedded, &emulator, &Operation::Read(whole), &format!("seed {seed}, the end")).await;
    }
    // Most requests should have an effect.
    assert!(rejected < operations / 5, "{rejected} of {operations} operations were rejected");
    assert!(found > operations / 16, "{found} of {} reads found a row", operations / 4);
}

#[tokio::test]
async fn the_emulator_changes_tables_alike() {
    let Some(emulator) = Emulator::start() else { return };
    let (seed, changes) = (
        number("KEYDERIVE_DIFFERENTIAL_SEED").unwrap_or(6),
        number("KEYDERIVE_DIFFERENTIAL").unwrap_or(2000),
    );
    let rng = &mut Rng::with_seed(seed);
    let (emulator, embedded) = (Side::emulator(&emulator.host()), Side::embedded());
    let mut families = [const { None }; 3];
    let mut accepted = 0;
    for step in 0..changes {
        let change = tables::change(rng, &families);
        let (ours, theirs) = (embedded.change(change.clone()).await, emulator.change(change.clone()).await);
        assert_eq!(
            ours, theirs,
            "embedded on the left, the emulator on the right, at seed {seed}, change {step}: {change:#?}"
        );
        if !matches!(ours, Answer::Rejected) {
            change.account(&mut families);
            accepted += 1;
        }
    }
    assert!(accepted > changes / 3, "{accepted} of {changes} changes were accepted");
}

#[tokio::test]
async fn the_emulator_updates_value_types_alike() {
    let Some(emulator) = Emulator::start() else { return };
    let sides = [Side::embedded(), Side::emulator(&emulator.host())];
    for side in &sides {
        side.create_table().await;
    }
    for (id, new) in [("a", Some(big_endian())), ("a", None), (SUMS, Some(big_endian())), (SUMS, None)] {
        let [ours, theirs] = &sides;
        let [ours, theirs] =
            [ours.update_value_type(id, new.clone()).await, theirs.update_value_type(id, new.clone()).await];
        assert_eq!(ours, theirs, "embedded on the left, the emulator on the right: `{id}`, {new:?}");
        assert_eq!(ours.is_err(), id == SUMS, "{ours:?}");
    }
}

/// Emulators before September 2026 do not know the origin of a timestamp, and reject microseconds in each table.
#[tokio::test]
async fn the_emulator_keeps_timestamps_alike() {
    use TimestampOrigin::{ClientAutoGenerated, Unspecified, UserSpecified};
    for granularity in [TimestampGranularity::Micros, TimestampGranularity::Millis] {
        let Some(emulator) = Emulator::start() else { return };
        let (embedded, emulator) = (Side::embedded(), Side::emulator(&emulator.host()));
        for side in [&embedded, &emulator] {
            side.create_table_of(granularity).await;
        }
        let mutate = |origin: TimestampOrigin, mutation| {
            let mutation = Mutation { mutation: Some(mutation), timestamp_origin: origin.into() };
            operations::mutate("a".into(), vec![mutation])
        };
        if granularity == TimestampGranularity::Micros {
            let set = SetCell { family_name: "b".to_owned(), timestamp_micros: 1, ..SetCell::default() };
            let probe = mutate(Unspecified, Kind::SetCell(set));
            if let Outcome::Rejected(_) = emulator.run(&probe).await {
                left_out("timestamps on Google's emulator, since this one has no tables of microseconds");
                return;
            }
            embedded.run(&probe).await;
        }
        let times = [-2, -1, 0, 1, 999, 1000, 1001, 1999, 2000, i64::MAX - i64::MAX % 1000, i64::MAX];
        for at in times {
            for origin in [Unspecified, UserSpecified, ClientAutoGenerated] {
                // The emulator rounds -2 of a client to 0.
                if at < -1 && origin == ClientAutoGenerated {
                    continue;
                }
                let set = SetCell {
                    family_name: "a".to_owned(),
                    column_qualifier: Bytes::copy_from_slice(format!("{origin:?}").as_bytes()),
                    timestamp_micros: at,
                    value: "v".into(),
                };
                let operation = mutate(origin, Kind::SetCell(set));
                same(&embedded, &emulator, &operation, &format!("{granularity:?}")).await;
            }
            let added = AddToCell { family_name: SUMS.to_owned(), ..add("", at, 1) };
            same(&embedded, &emulator, &mutate(Unspecified, Kind::AddToCell(added)), "a sum").await;
        }
        let whole = Operation::Read(read_of(RowSet::default()));
        same(&embedded, &emulator, &whole, &format!("{granularity:?}")).await;
        for start in times {
            for end in times {
                let range = TimestampRange { start_timestamp_micros: start, end_timestamp_micros: end };
                let filter = Some(RowFilter { filter: Some(Filter::TimestampRangeFilter(range)) });
                let filtered = ReadRowsRequest { filter, ..read_of(RowSet::default()) };
                if start >= 0 && (end == 0 || end >= start) {
                    let place = format!("{granularity:?}, the filter from {start} to {end}");
                    same(&embedded, &emulator, &Operation::Read(filtered), &place).await;
                }
                let set = |at| {
                    Kind::SetCell(SetCell {
                        family_name: "b".to_owned(),
                        column_qualifier: "q".into(),
                        timestamp_micros: at,
                        value: "v".into(),
                    })
                };
                let sets = times.map(|at| mutate(ClientAutoGenerated, set(at)));
                for operation in sets.iter().skip(2) {
                    same(&embedded, &emulator, operation, "a version to delete").await;
                }
                let delete = DeleteFromColumn {
                    family_name: "b".to_owned(),
                    column_qualifier: "q".into(),
                    time_range: Some(range),
                };
                let place = format!("{granularity:?}, the deletion from {start} to {end}");
                let delete = mutate(Unspecified, Kind::DeleteFromColumn(delete));
                same(&embedded, &emulator, &delete, &place).await;
                same(&embedded, &emulator, &whole, &place).await;
            }
        }
    }
}

fn number(name: &str) -> Option<u64> {
    env::var(name).ok().map(|text| text.parse().unwrap())
}

async fn same(embedded: &Side, emulator: &Side, operation: &Operation, place: &str) -> Outcome {
    let (ours, theirs) = (embedded.run(operation).await, emulator.run(operation).await);
    assert_eq!(ours, theirs, "embedded on the left, the emulator on the right, at {place}: {operation:#?}");
    ours
}

fn read_of(rows: RowSet) -> ReadRowsRequest {
    ReadRowsRequest { table_name: TABLE.to_owned(), rows: Some(rows), ..ReadRowsRequest::default() }
}

pub(super) fn read(rng: &mut Rng) -> ReadRowsRequest {
    let mut rows = RowSet::default();
    if rng.u8(..5) > 0 {
        rows.row_keys = (0..rng.usize(..4)).map(|_| one(rng, &KEYS)).collect();
        rows.row_ranges = (0..rng.usize(..4)).map(|_| range(rng)).collect();
    }
    ReadRowsRequest {
        rows_limit: if rng.bool() { rng.i64(1..8) } else { 0 },
        reversed: rng.bool(),
        request_stats_view: if rng.u8(..4) > 0 { RequestStatsView::RequestStatsFull.into() } else { 0 },
        filter: (rng.u8(..10) > 0).then(|| filters::filter(rng)),
        ..read_of(rows)
    }
}

fn range(rng: &mut Rng) -> RowRange {
    use row_range::{EndKey, StartKey};
    let (first, second) = (one(rng, &KEYS), one(rng, &KEYS));
    let (start, end) = if first <= second { (first, second) } else { (second, first) };
    if start == end || end.strip_prefix(&start[..]) == Some(b"\0") {
        return RowRange {
            start_key: Some(StartKey::StartKeyClosed(start)),
            end_key: Some(EndKey::EndKeyClosed(end)),
        };
    }
    RowRange {
        start_key: match rng.u8(..3) {
            0 => None,
            1 => Some(StartKey::StartKeyOpen(start)),
            _ => Some(StartKey::StartKeyClosed(start)),
        },
        end_key: match rng.u8(..3) {
            0 => None,
            1 => Some(EndKey::EndKeyOpen(end)),
            _ => Some(EndKey::EndKeyClosed(end)),
        },
    }
}

fn one(rng: &mut Rng, choices: &[&'static [u8]]) -> Bytes {
    Bytes::from_static(rng.choice(choices).copied().unwrap_or_default())
}

fn any_family(rng: &mut Rng) -> String {
    rng.choice(FAMILIES).unwrap_or_default().to_owned()
}
