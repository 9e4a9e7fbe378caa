//! Randomly broken requests are rejected or answered, and never panic.

use fastrand::Rng;
use keyderive_proto::data::ReadRowsRequest;
use prost::Message;

use super::differential::{Operation, Side, operation, read};

/// A message with some bytes changed, removed or inserted, if it can still be decoded.
fn broken<M: Message + Default>(rng: &mut Rng, message: &M) -> Option<M> {
    let mut bytes = message.encode_to_vec();
    for _ in 0..rng.usize(1..4) {
        let place = rng.usize(..=bytes.len());
        match rng.u8(..3) {
            0 if place < bytes.len() => bytes[place] = rng.u8(..),
            1 if place < bytes.len() => {
                bytes.remove(place);
            }
            _ => bytes.insert(place, rng.u8(..)),
        }
    }
    M::decode(&bytes[..]).ok()
}

fn broken_operation(rng: &mut Rng, operation: Operation) -> Option<Operation> {
    Some(match operation {
        Operation::Mutate(message) => Operation::Mutate(broken(rng, &message)?),
        Operation::MutateMany(message) => Operation::MutateMany(broken(rng, &message)?),
        Operation::Check(message) => Operation::Check(broken(rng, &message)?),
        Operation::Modify(message) => Operation::Modify(broken(rng, &message)?),
        Operation::Drop(message) => Operation::Drop(broken(rng, &message)?),
        Operation::Read(message) => Operation::Read(broken(rng, &message)?),
    })
}

#[tokio::test]
async fn no_request_panics() {
    let rng = &mut Rng::with_seed(1);
    let embedded = Side::embedded();
    embedded.create_table().await;
    let (mut sent, requests) =
        (0, keyderive_tests::amount("KEYDERIVE_BROKEN_REQUESTS", "broken requests", 1000, 10_000));
    while sent < requests {
        let whole = if rng.u8(..3) == 0 { Operation::Read(read(rng)) } else { operation(rng) };
        if rng.u8(..4) == 0 {
            embedded.run(&whole).await;
        } else if let Some(broken) = broken_operation(rng, whole) {
            embedded.run(&broken).await;
            sent += 1;
        }
    }
    // It still answers.
    embedded.run(&Operation::Read(ReadRowsRequest::default())).await;
}
