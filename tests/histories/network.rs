//! The network and the clock of a writer.

use std::time::Duration;

use keyderive_proto::data::Mutation;
use keyderive_proto::data::mutation::{Mutation as Change, SetCell};
use keyderive_tests::proxy::{Fault, Moment, Network, Request, Response};
use tonic::Status;

/// The timeout of a client's attempt.
pub(crate) const ATTEMPT: Duration = Duration::from_millis(300);

/// Each fault, and how many of a thousand writes meet it.
const FAULTS: [(Fault, u16); 6] = [
    (Fault::Refused, 15),
    (Fault::Lost, 50),
    (Fault::Late, 50),
    (Fault::Delayed, 120),
    (Fault::Held, 2),
    (Fault::Partial, 60),
];

pub(crate) struct WriterNetwork {
    /// How far the client's clock is off: added to each timestamp that the client sets.
    pub(crate) skew_micros: i64,
}

impl Network for WriterNetwork {
    fn faults(&self, is_write: bool) -> &[(Fault, u16)] {
        if is_write { &FAULTS } else { &[] }
    }

    fn pause(&self, fault: Fault, drawn: f64) -> Duration {
        let pause = Duration::from_millis(4).mul_f64(drawn);
        // Until the client's attempt has timed out.
        if fault == Fault::Held { ATTEMPT + 10 * pause } else { pause }
    }

    fn arrives(&self, request: &mut Request, _: Moment) -> Result<Option<Response>, Status> {
        for mutation in request.mutations().flatten() {
            // -1 is the server's time.
            if let Some(Change::SetCell(cell)) = &mut mutation.mutation
                && cell.timestamp_micros > 0
            {
                cell.timestamp_micros += self.skew_micros;
            }
        }
        Ok(None)
    }

    /// The number in the column `val`.
    fn id(&self, _: &[u8], mutations: &[Mutation]) -> Option<u64> {
        mutations.iter().find_map(|mutation| match &mutation.mutation {
            Some(Change::SetCell(SetCell { family_name, column_qualifier, value, .. }))
                if family_name == "cf" && column_qualifier == "val" =>
            {
                Some(u64::from_be_bytes(value.as_ref().try_into().ok()?))
            }
            _ => None,
        })
    }
}
