//! How many copies of a pass are in flight: fewer while the server rejects them, or takes longer than it has to.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{Semaphore, SemaphorePermit};

/// More copies than that only wait for each other at a slow server, and the reads and writes of the program wait with them.
const FLOOR: usize = 64;
/// A request is slow if it takes longer than twice the fastest one plus this. Less shows no queue: times vary.
const SLACK: Duration = Duration::from_millis(10);

/// At the floor, the fastest time is forgotten over this many copies.
const AGING: u32 = 512;

/// Bounds how many requests of a pass, which copy a row each, are in flight at a time: `most` at first, half as many after a failure, and
/// an eighth less, down to [`FLOOR`], after one that took more than twice as long as the fastest. It rises again as they succeed.
pub(super) struct Pace {
    permits: Semaphore,
    most: usize,
    state: Mutex<PaceState>,
}

struct PaceState {
    /// How many requests may be in flight.
    bound: usize,
    /// How many permits there are: more than the bound, until enough of them were given back.
    permits: usize,
    /// How many requests took no longer than they have to, since the bound changed.
    in_time: usize,
    fastest: Duration,
}

/// How a request ended.
#[derive(Clone, Copy)]
pub(super) enum Sent {
    /// With a copy, after this time.
    Copied(Duration),
    /// Without one, since the row has an origin: it says nothing about how long a copy takes.
    Kept,
    Failed,
}

impl Pace {
    pub(super) fn new(most: usize) -> Self {
        let state = PaceState { bound: most, permits: most, in_time: 0, fastest: Duration::MAX };
        Self { permits: Semaphore::new(most), most, state: Mutex::new(state) }
    }

    /// Waits until another request may be sent.
    pub(super) async fn turn(&self) -> Option<SemaphorePermit<'_>> {
        // It is never closed.
        self.permits.acquire().await.ok()
    }

    /// Gives a turn back, and moves the bound by how its request ended.
    pub(super) fn end(&self, turn: Option<SemaphorePermit<'_>>, sent: Sent) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let is_reached = state.permits <= state.bound;
        match sent {
            Sent::Copied(took) => {
                state.fastest = state.fastest.min(took);
                if state.bound <= FLOOR {
                    // No copy waits for another one: the server takes that long now.
                    state.fastest = state.fastest + (took - state.fastest) / AGING;
                }
                let is_in_time = took <= state.fastest.saturating_mul(2).saturating_add(SLACK);
                if state.bound < FLOOR {
                    // After failures: however long a request takes, so few do not wait for each other.
                    state.bound += 1;
                } else if is_in_time {
                    state.in_time += 1;
                    if state.in_time > state.bound && state.bound < self.most {
                        (state.bound, state.in_time) = (state.bound + 1, 0);
                    }
                } else if is_reached && state.bound > FLOOR {
                    (state.bound, state.in_time) = (FLOOR.max(state.bound - state.bound / 8), 0);
                }
            }
            // The requests that are in flight fail together: they count once.
            Sent::Failed if is_reached => (state.bound, state.in_time) = ((state.bound / 2).max(1), 0),
            Sent::Kept if state.bound < FLOOR => state.bound += 1,
            Sent::Failed | Sent::Kept => {}
        }
        if state.permits < state.bound {
            self.permits.add_permits(state.bound - state.permits);
            state.permits = state.bound;
        }
        if state.permits > state.bound
            && let Some(turn) = turn
        {
            turn.forget();
            state.permits -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOST: usize = 512;

    fn bound(pace: &Pace) -> usize {
        pace.state.lock().unwrap().bound
    }

    /// Takes all turns, and ends as many requests; each turn that is given back goes to a request that waits for it.
    fn end_all(pace: &Pace, requests: usize, sent: Sent) {
        let mut turns = Vec::new();
        for _ in 0..requests {
            while let Ok(turn) = pace.permits.try_acquire() {
                turns.push(turn);
            }
            pace.end(turns.pop(), sent);
        }
        drop(turns);
        assert_eq!(pace.permits.available_permits(), pace.state.lock().unwrap().permits);
    }

    fn took(millis: u64) -> Sent {
        Sent::Copied(Duration::from_millis(millis))
    }

    #[test]
    fn slow_requests_lower_the_bound_to_the_floor_and_fast_ones_raise_it() {
        let pace = Pace::new(MOST);
        end_all(&pace, 1, took(1));
        end_all(&pace, 600, took(100));
        assert_eq!((bound(&pace), pace.permits.available_permits()), (FLOOR, FLOOR));
        end_all(&pace, MOST * MOST, took(1));
        assert_eq!((bound(&pace), pace.permits.available_permits()), (MOST, MOST));
    }

    /// As when the rows are larger, or the server is busy with others.
    #[test]
    fn a_server_that_becomes_slower_is_not_slow_for_ever() {
        let pace = Pace::new(MOST);
        end_all(&pace, 1, took(1));
        end_all(&pace, 600, took(100));
        assert_eq!(bound(&pace), FLOOR);
        end_all(&pace, MOST * MOST, took(100));
        assert_eq!(bound(&pace), MOST);
        // What is kept is no measure, but shows that the server takes requests.
        end_all(&pace, 1000, Sent::Kept);
        assert_eq!(bound(&pace), MOST);
        end_all(&pace, 5000, Sent::Failed);
        end_all(&pace, FLOOR, Sent::Kept);
        assert_eq!(bound(&pace), FLOOR);
    }

    #[test]
    fn a_server_that_is_far_away_is_not_slow() {
        let pace = Pace::new(MOST);
        end_all(&pace, 10 * MOST, took(100));
        assert_eq!(bound(&pace), MOST);
    }

    #[test]
    fn requests_that_fail_together_count_once() {
        let pace = Pace::new(MOST);
        end_all(&pace, 200, Sent::Failed);
        assert_eq!(bound(&pace), MOST / 2);
        end_all(&pace, 5000, Sent::Failed);
        assert_eq!((bound(&pace), pace.permits.available_permits()), (1, 1));
    }

    #[test]
    fn after_failures_the_bound_rises_to_the_floor_whatever_a_request_takes() {
        let pace = Pace::new(MOST);
        end_all(&pace, 1, took(1));
        end_all(&pace, 5000, Sent::Failed);
        end_all(&pace, MOST * MOST, took(100));
        assert!(bound(&pace) >= FLOOR && pace.permits.available_permits() >= FLOOR);
    }
}
