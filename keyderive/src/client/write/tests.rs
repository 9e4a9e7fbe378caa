//! Protobuf by hand against the generated messages, and what batches and retries promise.

use bytes::Bytes;
use fastrand::Rng;
use keyderive_proto::data::{
    self, MutateRowsRequest, MutateRowsResponse, RateLimitInfo, mutate_rows_response,
};
use keyderive_proto::values;
use prost::Message as _;
use tonic::Code;

use super::encode::{entry_bytes, message};
use super::outcomes::{EntryStatus, read_statuses};
use super::{Batch, Entry, Mutations};
use crate::client::operation::Idempotency;
use crate::row::{Mutation, MutationKind, Row as _, RowWriter, TimeRange};

fn rounds() -> u64 {
    keyderive_tests::amount("KEYDERIVE_WRITE_ROUNDS", "random writes beside generated messages", 1500, 5000)
}

fn generated(mutation: &Mutation) -> data::Mutation {
    message(&mutation.0)
}

/// Bytes whose length takes one, two or three bytes, just below and above each boundary.
fn any_bytes(rng: &mut Rng) -> Vec<u8> {
    let len = *rng.choice(&[0, 1, 5, 126, 127, 128, 129, 300, 16_383, 16_384]).unwrap();
    (0..len).map(|_| rng.u8(..)).collect()
}

fn any_number(rng: &mut Rng) -> i64 {
    match rng.u8(..5) {
        0 => 0,
        1 => -1,
        2 => rng.i64(..),
        3 => 1 << rng.u8(..63),
        _ => 1_700_000_000_000_000,
    }
}

fn any_mutation(rng: &mut Rng) -> Mutation {
    let family = *rng.choice(&["", "cf", "a family of a longer name, with é", "f"]).unwrap();
    let qualifier = any_bytes(rng);
    match rng.u8(..7) {
        0 | 1 => Mutation::set(family, qualifier, any_number(rng), any_bytes(rng)),
        2 => Mutation::add_to_cell(family, qualifier, any_number(rng), any_number(rng)),
        3 => Mutation::merge_to_cell(family, qualifier, any_number(rng), any_bytes(rng)),
        4 if rng.bool() => Mutation::delete_column(family, qualifier),
        4 => {
            let (start, end) = (any_number(rng), any_number(rng));
            Mutation(MutationKind::DeleteColumn {
                family: family.into(),
                qualifier: qualifier.into(),
                versions: Some(TimeRange { start, end: rng.bool().then_some(end) }),
            })
        }
        5 => Mutation::delete_family(family),
        _ => Mutation::delete_row(),
    }
}

/// A few entries, each with its generated message.
fn any_entries(rng: &mut Rng) -> Vec<(Entry, data::mutate_rows_request::Entry)> {
    let entry = |rng: &mut Rng| {
        let key: Vec<u8> = (0..rng.usize(1..300)).map(|_| rng.u8(..)).collect();
        let mutations: Vec<_> = (0..rng.usize(1..5)).map(|_| any_mutation(rng)).collect();
        let message = data::mutate_rows_request::Entry {
            row_key: key.clone().into(),
            mutations: mutations.iter().map(generated).collect(),
            idempotency: None,
        };
        (Entry { key, mutations: mutations.into() }, message)
    };
    (0..rng.usize(1..4)).map(|_| entry(rng)).collect()
}

/// The entries of a request, and apart from them their tokens.
fn without_tokens(
    request: &Bytes,
) -> (Vec<data::mutate_rows_request::Entry>, Vec<Option<data::Idempotency>>) {
    let mut entries = MutateRowsRequest::decode(request.clone()).unwrap().entries;
    let tokens = entries.iter_mut().map(|entry| entry.idempotency.take()).collect();
    (entries, tokens)
}

#[test]
fn entries_are_those_of_the_generated_messages() {
    let mut rng = Rng::with_seed(0x7772_6974);
    for _ in 0..rounds() {
        let all = any_entries(&mut rng);
        let (mut batch, mut copied) = (Batch::default(), Batch::default());
        for (entry, _) in &all {
            batch.add(&entry.key, &entry.mutations);
            let mut encoded = Vec::new();
            let key = entry.encode(&mut encoded);
            assert_eq!(encoded[key..][..entry.key.len()], entry.key);
            copied.add_encoded(&encoded, entry.meta());
        }
        let sum: usize = all.iter().map(|(entry, _)| entry_bytes(&entry.key, &entry.mutations)).sum();
        assert_eq!((batch.len(), batch.bytes()), (all.len(), sum));

        let (entries, copied) = (batch.take(), copied.take());
        let (decoded, tokens) = without_tokens(entries.bytes());
        let messages: Vec<_> = all.iter().map(|(_, message)| message.clone()).collect();
        assert_eq!(decoded, messages);
        assert_eq!(without_tokens(copied.bytes()).0, messages);
        // Entries are as the generated messages encode them, with their tokens.
        let with_tokens = MutateRowsRequest::decode(entries.bytes().clone()).unwrap();
        assert_eq!(*entries.bytes(), with_tokens.encode_to_vec());
        for ((entry, _), token) in all.iter().zip(&tokens) {
            assert_eq!(token.is_some(), entry.mutations.idempotency() == Idempotency::ByToken);
        }

        let some: Vec<usize> = (0..all.len()).filter(|_| rng.bool()).collect();
        let (again, same_tokens) = without_tokens(&entries.select(some.iter().copied()));
        assert!(again.iter().eq(some.iter().map(|place| &all[*place].1)));
        assert!(same_tokens.iter().eq(some.iter().map(|place| &tokens[*place])));
        assert!(entries.keys().eq(all.iter().map(|(entry, _)| &entry.key[..])));
        for (place, (entry, _)) in all.iter().enumerate() {
            assert_eq!(entries.key(place), entry.key);
        }
    }
}

#[test]
fn kept_buffers_are_bounded_and_reused() {
    let mutations = Mutations::delete_row();
    for (key_bytes, most) in [(10, 8), (3 << 20, 2)] {
        let mut batch = Batch::default();
        let answered: Vec<_> = (0..20)
            .map(|_| {
                batch.add(&vec![b'k'; key_bytes], &mutations);
                batch.take()
            })
            .collect();
        answered.into_iter().for_each(|entries| batch.reuse(entries));
        let kept = batch.free_buffers();
        assert!((1..=most).contains(&kept), "{kept}");
        batch.add(b"key", &mutations);
        assert_eq!((batch.free_buffers(), batch.bytes()), (kept - 1, entry_bytes(b"key", &mutations)));
    }
}

#[test]
fn mutations_of_one_row_are_those_of_the_generated_messages() {
    let mut rng = Rng::with_seed(0x726f_7773);
    for _ in 0..rounds() {
        let (entry, message) = any_entries(&mut rng).remove(0);
        let mutations = message.mutations;
        let request = data::MutateRowRequest { mutations: mutations.clone(), ..Default::default() };
        assert_eq!(entry.mutations.clone().into_field(3), request.encode_to_vec());
        let request = data::CheckAndMutateRowRequest { false_mutations: mutations, ..Default::default() };
        assert_eq!(entry.mutations.into_field(5), request.encode_to_vec());
    }
}

#[test]
fn deletions_come_before_cells() {
    #[derive(crate::Row)]
    struct Part {
        first: String,
        absent: Option<i64>,
        last: f64,
    }
    let part = Part { first: "a".into(), absent: None, last: 0.5 };
    let mut mutations = Mutations::default();
    for _ in 0..2 {
        mutations.write(|sink| part.encode(&mut RowWriter::new(sink, "cf", false))).unwrap();
    }
    assert_eq!((mutations.count(), mutations.idempotency()), (6, Idempotency::Idempotent));
    let expected = [
        Mutation::delete_column("cf", "absent"),
        Mutation::set_now("cf", "first", "a"),
        Mutation::set_now("cf", "last", 0.5_f64.to_be_bytes().to_vec()),
    ];
    let expected = data::mutate_rows_request::Entry {
        mutations: expected.iter().chain(&expected).map(generated).collect(),
        ..Default::default()
    };
    assert_eq!(mutations.bytes(), expected.encode_to_vec());
}

#[test]
fn successive_rows_are_those_of_the_generated_messages() {
    let mut rng = Rng::with_seed(0x6b6e_6f77);
    let mut mutations = Mutations::default();
    for _ in 0..rounds() {
        // Successive rows mostly have the same columns.
        let columns: Vec<_> = (0..rng.usize(1..5)).map(|_| (any_mutation(&mut rng), rng.u8(..8))).collect();
        for _ in 0..rng.usize(1..5) {
            mutations.clear();
            let mut expected = data::mutate_rows_request::Entry::default();
            let written = mutations.write(|sink| {
                for (column, changes) in &columns {
                    let MutationKind::SetCell { family, qualifier, timestamp_micros, value } = &column.0
                    else {
                        continue;
                    };
                    let (mut micros, mut value) = (*timestamp_micros, value.clone());
                    match rng.u8(..8) {
                        0 => micros = any_number(&mut rng),
                        1..4 => value = any_bytes(&mut rng).into(),
                        4 if *changes == 0 => continue,
                        _ => {}
                    }
                    sink.set(family, qualifier, micros, &value);
                    expected.mutations.push(generated(&Mutation::set(
                        &**family,
                        qualifier.clone(),
                        micros,
                        value,
                    )));
                }
                Ok(())
            });
            assert!(written.is_ok() && mutations.bytes() == expected.encode_to_vec());
        }
    }
}

/// A cell is copied at its own time, unless no column may have so long a name.
#[test]
fn copied_cells_are_those_of_the_generated_messages() {
    let mut copied = Mutations::default();
    copied.copy_cell("cf", b"q", 1000, b"v");
    copied.copy_cell("cf", b"", 1001, b"");
    let set = [Mutation::set("cf", "q", 1000, "v"), Mutation::set("cf", "", 1001, "")];
    let expected = data::mutate_rows_request::Entry {
        mutations: set.iter().map(generated).collect(),
        ..Default::default()
    };
    assert_eq!(copied.bytes(), expected.encode_to_vec());
    assert_eq!((copied.count(), copied.idempotency()), (2, Idempotency::Idempotent));
    copied.copy_cell("cf", &[b'q'; (16 << 10) + 1], 1000, b"v");
    assert_eq!(copied.bytes(), expected.encode_to_vec());
    assert_eq!((copied.count(), copied.large().len()), (3, 1));
}

#[test]
fn mutations_that_add_need_a_token() {
    let replay = |mutation| Mutations::from(vec![mutation]).idempotency();
    assert_eq!(replay(Mutation::set_now("cf", "q", "v")), Idempotency::NotIdempotent);
    assert_eq!(replay(Mutation::add_to_cell("cf", "q", 0, 1)), Idempotency::ByToken);
    assert_eq!(replay(Mutation::merge_to_cell("cf", "q", 0, "s")), Idempotency::ByToken);
    // The least and the greatest value stay the same.
    assert_eq!(replay(Mutation::add_to_extreme("cf", "q", 0, 1)), Idempotency::Idempotent);
    // A token does not make a cell at the server's time one.
    let both = vec![Mutation::add_to_cell("cf", "q", 0, 1), Mutation::set_now("cf", "q", "v")];
    assert_eq!(Mutations::from(both).idempotency(), Idempotency::NotIdempotent);
    assert_eq!(replay(Mutation::set("cf", "q", 0, "v")), Idempotency::Idempotent);
    assert_eq!(replay(Mutation::delete_row()), Idempotency::Idempotent);
}

/// The status of an entry: none if the answer has none.
type Outcome = Option<(Code, String)>;

const CONTRADICTORY: (Code, String) = (Code::DataLoss, String::new());

/// The statuses in the generated message; none if it names an entry out of range.
fn generated_statuses(message: &MutateRowsResponse, entries: usize) -> Option<Vec<Outcome>> {
    let mut outcomes: Vec<Outcome> = vec![None; entries];
    for mutate_rows_response::Entry { index, status } in message.entries.clone() {
        let status = status.unwrap_or_default();
        let outcome = outcomes.get_mut(usize::try_from(index).ok()?)?;
        let next = match Code::from_i32(status.code) {
            Code::Ok => (Code::Ok, String::new()),
            code => (code, status.message),
        };
        let is_equal = outcome.as_ref().is_none_or(|first| first.0 == next.0);
        *outcome = Some(if is_equal { outcome.take().unwrap_or(next) } else { CONTRADICTORY });
    }
    Some(outcomes)
}

fn statuses(answer: &[u8], entries: usize) -> Option<(Vec<Outcome>, Option<RateLimitInfo>)> {
    let mut statuses = vec![EntryStatus::Missing; entries];
    let info = read_statuses(answer, &mut statuses).ok()?;
    let outcome = |status| match status {
        EntryStatus::Missing => None,
        EntryStatus::Applied => Some((Code::Ok, String::new())),
        EntryStatus::Failed(status) => Some((status.code(), status.message().to_owned())),
        EntryStatus::Contradictory => Some(CONTRADICTORY),
    };
    Some((statuses.into_iter().map(outcome).collect(), info))
}

fn any_answer(rng: &mut Rng) -> MutateRowsResponse {
    let entry = |rng: &mut Rng| {
        let code = rng.choice([0, 0, 1, 4, 14, 16, 17, -1]).unwrap_or(0);
        let message = if code == 0 { "" } else { "because of é" }.to_owned();
        let details = vec![values::Any::default(); rng.usize(..2)];
        let status = values::Status { code, message, details };
        let status = if rng.bool() { Some(values::Status::default()) } else { rng.bool().then_some(status) };
        let index = if rng.u8(..20) == 0 { any_number(rng) } else { rng.i64(0..4) };
        mutate_rows_response::Entry { index, status }
    };
    let period = Some(values::Duration { seconds: 10, nanos: 0 });
    MutateRowsResponse {
        entries: (0..rng.usize(..5)).map(|_| entry(rng)).collect(),
        rate_limit_info: rng.bool().then_some(RateLimitInfo { period, factor: 0.7 }),
    }
}

#[test]
fn answers_are_read_as_the_generated_messages_are() {
    const ENTRIES: usize = 4;
    let mut rng = Rng::with_seed(0x616e_7377);
    for _ in 0..rounds() {
        let message = any_answer(&mut rng);
        let expected =
            generated_statuses(&message, ENTRIES).map(|statuses| (statuses, message.rate_limit_info));
        assert_eq!(statuses(&message.encode_to_vec(), ENTRIES), expected);
    }
}

#[test]
fn damaged_answers_are_read_as_the_generated_messages_are() {
    let mut rng = Rng::with_seed(0x6162_6364);
    for _ in 0..20 * rounds() {
        let mut bytes = any_answer(&mut rng).encode_to_vec();
        for _ in 0..rng.usize(1..4) {
            match rng.u8(..3) {
                0 => bytes.truncate(rng.usize(..=bytes.len())),
                1 => bytes.insert(rng.usize(..=bytes.len()), rng.u8(..)),
                _ if bytes.is_empty() => {}
                _ => {
                    let at = rng.usize(..bytes.len());
                    bytes[at] = rng.u8(..);
                }
            }
        }
        let message = MutateRowsResponse::decode(Bytes::from(bytes.clone())).ok();
        let expected =
            message.and_then(|message| Some((generated_statuses(&message, 4)?, message.rate_limit_info)));
        assert_eq!(statuses(&bytes, 4), expected, "{bytes:?}");
    }
}

#[tokio::test]
#[cfg(feature = "embedded")]
async fn entries_that_fail_alike_share_their_error() {
    use crate::client::error::Repr;
    use crate::client::{Client, Error, NewTable};
    let client = Client::embedded();
    client.create_table("t", NewTable::with_family("f")).await.unwrap();
    let entry =
        |key: &'static str, family: &'static str| (key.into(), vec![Mutation::set(family, "q", 0, "v")]);
    let entries = || vec![entry("a", "g"), entry("b", "g"), entry("c", "h")];
    for table in ["t", "absent"] {
        let outcomes = client.mutate_rows(&client.route(table), entries()).await;
        let shared = |outcome: &Result<(), Error>| match outcome.as_ref().unwrap_err().repr() {
            Repr::Entry { error, .. } => std::ptr::from_ref(error.repr()),
            other => std::ptr::from_ref(other),
        };
        let errors: Vec<_> = outcomes.iter().map(shared).collect();
        assert!(std::ptr::eq(errors[0], errors[1]));
        assert_eq!(std::ptr::eq(errors[0], errors[2]), table == "absent");
    }
}

/// A row becomes by mutations what the server makes of it.
#[tokio::test]
#[cfg(feature = "embedded")]
async fn mutations_make_of_a_row_what_the_server_makes_of_it() {
    use crate::client::{Client, Family, GcRule, NewTable};
    use crate::row::{RawRow, now_micros};
    let client = Client::embedded();
    let families = ["f", "g"].map(|name| Family::new(name, GcRule::never())).to_vec();
    client.create_table("t", NewTable { families, ..NewTable::default() }).await.unwrap();
    let table = &client.route("t");
    let key = || Bytes::from_static(b"k");
    let cells = |row: Option<&RawRow>| -> Vec<_> {
        let cells = row.into_iter().flat_map(RawRow::cells);
        let cell = |cell: crate::row::RawCell<'_>| {
            let column = (cell.family().to_owned(), cell.qualifier().to_vec());
            (column, cell.timestamp_micros(), cell.value().to_vec())
        };
        cells.map(cell).collect()
    };
    let mut rng = Rng::with_seed(22);
    for round in 0..500 {
        let mutations: Vec<_> = (0..rng.usize(1..5))
            .map(|_| {
                let (family, qualifier) = (["f", "g"][rng.usize(..2)], ["a", "b"][rng.usize(..2)]);
                let time = rng.i64(0..4) * 1000;
                match rng.u8(..10) {
                    0..6 => Mutation::set(family, qualifier, time, vec![rng.u8(..)]),
                    6 => Mutation::delete_column(family, qualifier),
                    7 => Mutation::delete_versions(family, qualifier, time..rng.i64(1..5) * 1000),
                    8 => Mutation::delete_family(family),
                    _ => Mutation::delete_row(),
                }
            })
            .collect();
        let before = client.read_row(table, key(), None).await.unwrap();
        let applied =
            Mutations::from(mutations.as_slice()).applied_to(before.as_ref(), &key(), now_micros()).unwrap();
        client.mutate_row(table, key(), mutations.clone()).await.unwrap();
        let after = client.read_row(table, key(), None).await.unwrap();
        assert_eq!(cells(applied.as_ref()), cells(after.as_ref()), "round {round}: {mutations:?}");
        assert_eq!(applied.is_some(), after.is_some(), "round {round}: {mutations:?}");
    }
}
