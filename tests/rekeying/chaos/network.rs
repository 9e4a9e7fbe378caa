//! The network of a process: requests that a process sent before it was stopped do not arrive after it, and some networks break a
//! rule of the protocol on purpose.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use keyderive_proto::data::mutation::Mutation as Change;
use keyderive_proto::data::{MutateRowResponse, Mutation, ReadRowsResponse};
use keyderive_tests::proxy::{Fault, Moment, Network, Request, Response, answered, lost};
use tonic::Status;

use super::calls::number;
use super::history::now;

/// The family of the origins.
const ORIGINS: &str = "keyderive-origin";
/// The row that holds the state.
pub(super) const CONTROL: &[u8] = b"rekey/events/";

/// A rule of the protocol that a network breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Broken {
    /// Writes leave no origin.
    WithoutOrigin,
    /// Copies are made whether or not the row has an origin.
    CopiesOverwrite,
    /// A write of a row that has no origin yet does not copy it. The pass does not come to it before.
    Uncopied,
    /// One writer sees the first state for ever, as if its lease had no end.
    Frozen,
    /// The state changes at once, without the wait. The run itself breaks this one.
    NoWait,
}

/// Each fault, and how many of a thousand requests meet it.
const FAULTS: [(Fault, u16); 6] = [
    (Fault::Refused, 10),
    (Fault::Swallowed, 4),
    (Fault::Lost, 12),
    (Fault::Late, 10),
    (Fault::Held, 8),
    (Fault::Delayed, 120),
];

/// The network of one process.
#[derive(Debug, Default)]
pub(super) struct ProcessNetwork {
    pub(super) slot: usize,
    pub(super) is_driver: bool,
    pub(super) broken: Option<Broken>,
    /// The part of the faults that requests meet.
    pub(super) share: f64,
    /// The longest time after its arrival at which a request is still applied.
    pub(super) latest: Duration,
    /// Until then writes are refused: a process that was stopped sends what it wanted to send before.
    pub(super) quiet_until: AtomicU64,
    /// Whether the state is not told.
    pub(super) is_mute: AtomicBool,
}

impl ProcessNetwork {
    /// Refuses writes for some time.
    pub(super) fn be_quiet(&self, time: Duration) {
        self.quiet_until.store(now() + u64::try_from(time.as_nanos()).unwrap(), Ordering::SeqCst);
    }

    /// Tells the process no state any more, so that it acts by the one it knows until its lease ends.
    pub(super) fn be_mute(&self) {
        self.is_mute.store(true, Ordering::SeqCst);
    }

    /// Makes of a write what the broken rule makes of it; answers it where nothing is left to send.
    fn break_rule(&self, request: &mut Request) -> Result<Option<Response>, Status> {
        match (self.broken, request) {
            (Some(Broken::WithoutOrigin), Request::MutateRow(request)) if !self.is_driver => {
                request.mutations.retain(|mutation| !is_origin(mutation));
                return Ok(request.mutations.is_empty().then(|| answered(&MutateRowResponse::default())));
            }
            (Some(Broken::WithoutOrigin), Request::MutateRows(request)) if !self.is_driver => {
                for entry in &mut request.entries {
                    entry.mutations.retain(|mutation| !is_origin(mutation));
                }
            }
            (Some(Broken::CopiesOverwrite), Request::CheckAndMutateRow(request))
                if self.is_driver
                    && request.true_mutations.is_empty()
                    && request.false_mutations.iter().any(is_origin) =>
            {
                request.true_mutations.clone_from(&request.false_mutations);
            }
            (Some(Broken::Uncopied), Request::CheckAndMutateRow(request)) => {
                if self.is_driver && request.row_key != CONTROL {
                    return Err(lost());
                }
                if request.true_mutations.iter().any(is_origin) {
                    request.false_mutations.clone_from(&request.true_mutations);
                }
            }
            _ => {}
        }
        Ok(None)
    }
}

impl Network for ProcessNetwork {
    fn faults(&self, _: bool) -> &[(Fault, u16)] {
        &FAULTS
    }

    fn share(&self) -> f64 {
        self.share
    }

    fn pause(&self, fault: Fault, drawn: f64) -> Duration {
        let longest = match fault {
            Fault::Delayed => Duration::from_millis(60).min(self.latest),
            _ => self.latest,
        };
        longest.mul_f64(drawn)
    }

    fn latest(&self) -> Duration {
        self.latest
    }

    fn arrives(&self, request: &mut Request, at: Moment) -> Result<Option<Response>, Status> {
        if let Request::ReadRows(request) = request {
            let keys = request.rows.iter().flat_map(|rows| &rows.row_keys);
            let is_control = keys.into_iter().any(|key| key == CONTROL);
            if is_control && self.broken == Some(Broken::Frozen) && self.slot == 0 {
                return Ok(Some(answered(&ReadRowsResponse::default())));
            }
            if is_control && self.is_mute.load(Ordering::SeqCst) {
                return Err(lost());
            }
        }
        let answer = self.break_rule(request)?;
        if answer.is_none() && request.is_write() && at < self.quiet_until.load(Ordering::SeqCst) {
            return Err(lost());
        }
        Ok(answer)
    }

    /// The number of the row. What drivers write is not recorded.
    fn id(&self, key: &[u8], _: &[Mutation]) -> Option<u64> {
        number(key).filter(|_| !self.is_driver)
    }
}

fn is_origin(mutation: &Mutation) -> bool {
    matches!(&mutation.mutation, Some(Change::SetCell(cell)) if cell.family_name == ORIGINS)
}
