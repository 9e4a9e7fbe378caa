//! Records what clients did to the rows of one table, in the time of the world.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use fastrand::Rng;
use keyderive::Error;
use keyderive_tests::history::{Arrival, Checked, History, check};
use keyderive_tests::linearizable::{Op, Outcome};
use tokio::time::timeout;

use crate::calls::{Record, number};
use crate::points::passes;
use crate::rows::first;
use crate::world::{Application, World};

/// Records the calls of a client.
pub(crate) struct Recorder {
    pub(crate) client: usize,
    pub(crate) world: World,
    pub(crate) history: Arc<Mutex<History>>,
}

impl Recorder {
    /// Records that a call ends so.
    fn ends(&mut self, begun: u64, how: &str, outcome: Option<Outcome>) {
        let (client, mut history) = (self.client, self.history.lock().unwrap());
        let call = history.call(usize::try_from(begun).unwrap());
        let time = self.world.event(format_args!("c{client} {:?} of {}{how}", call.operation.op, call.at));
        match outcome {
            Some(outcome) => (call.operation.outcome, call.operation.end) = (outcome, time),
            None => call.is_void = true,
        }
    }
}

impl Record for Recorder {
    fn begin(&mut self, at: u64, op: Op) -> u64 {
        let client = self.client;
        let begin = self.world.event(format_args!("c{client} {op:?} of {at}"));
        let by = format!("c{client} at {begin}");
        self.history.lock().unwrap().begin(client, at, op, begin, by) as u64
    }

    fn end(&mut self, begun: u64, outcome: Outcome) {
        self.ends(begun, &format!(": {outcome:?}"), Some(outcome));
    }

    fn void(&mut self, begun: u64) {
        self.ends(begun, " had no effect", None);
    }

    fn failed(&mut self, error: &Error) {
        passes(error);
    }

    fn fault(&mut self, text: String) {
        panic!("{text}");
    }

    /// Some calls are dropped.
    async fn patient<T>(&mut self, rng: &mut Rng, call: impl Future<Output = T>) -> Option<T> {
        match rng.u8(..12) {
            0 => timeout(Duration::from_millis(rng.u64(..400)), call).await.ok(),
            _ => Some(call.await),
        }
    }
}

/// Fails unless the operations on each row have an order that explains every answer. In a table that is not re-keyed, a write that must not be
/// repeated is sent once. Returns also how many writes reached the server again.
pub(crate) fn decide(world: &World, history: &mut History) -> (Checked, usize) {
    let applied = world.inner().applied.lock().unwrap();
    let arrivals = applied.iter().filter_map(|Application { client, key, arrived, begin }| {
        let (client, arrived, begin) = (*client, *arrived, *begin);
        Some(Arrival { client, at: number(key)?, arrived, begin })
    });
    let (repeated, refused) = history.add_repeats(arrivals);
    assert!(
        world.inner().is_rekeyed || refused.is_empty(),
        "calls that must not be repeated reached the server again: {refused:?}"
    );
    let checked = check(history.rows(), first);
    assert!(checked.violations.is_empty(), "no order explains a history: {}", checked.violations.join("\n"));
    (checked, repeated)
}
