//! The driver of a re-keying, which is dropped and made again.

use std::time::Duration;

use fastrand::Rng;
use keyderive::Client;
use keyderive::table::rekey::{Migration, Rekeyed, State};
use tokio::time::{sleep, timeout};

use crate::points::passes;
use crate::rows::{Event, New, Old};
use crate::world::World;

/// Where a re-keying goes.
#[derive(Clone, Copy, Debug)]
enum Goal {
    Moved,
    New,
    RolledBack,
}

pub(crate) struct Driver {
    rng: Rng,
    world: World,
    client: Client,
    goal: Goal,
    lease: Duration,
}

/// Opens the table that is re-keyed, over a network that may fail.
pub(crate) async fn rekeyed(client: &Client) -> Rekeyed<Old, New, Event> {
    loop {
        match client.rekeyed("events", "events-new").await {
            Ok(events) => return events,
            Err(error) => passes(&error),
        }
        sleep(Duration::from_millis(200)).await;
    }
}

impl Driver {
    pub(crate) fn new(mut rng: Rng, world: &World, client: Client) -> Self {
        let goal = [Goal::Moved, Goal::Moved, Goal::New, Goal::RolledBack][rng.usize(..4)];
        let lease = Duration::from_millis(rng.u64(400..2_000));
        Self { rng, world: world.clone(), client, goal, lease }
    }

    /// Drives as long as there are faults, at most so many times.
    pub(crate) async fn run(mut self) -> Self {
        let begin = Duration::from_millis(self.rng.u64(..3_000));
        sleep(begin).await;
        let events = rekeyed(&self.client).await;
        for _ in 0..self.rng.u32(1..8) {
            let patience =
                Duration::from_millis(if self.rng.bool() { self.rng.u64(50..9_000) } else { 40_000 });
            // Some go forward before they go back.
            let goal = if self.rng.bool() { Goal::Moved } else { self.goal };
            let _ = timeout(patience, self.drive(&events, goal)).await;
            let pause = Duration::from_millis(self.rng.u64(..1_000));
            sleep(pause).await;
        }
        self
    }

    fn migration(&self, events: &Rekeyed<Old, New, Event>) -> Migration {
        events.migration().lease(self.lease).parallel(2)
    }

    /// Whether it has come to the goal.
    async fn drive(&self, events: &Rekeyed<Old, New, Event>, goal: Goal) -> bool {
        self.world.event(format_args!("the driver goes to {goal:?}"));
        let migration = self.migration(events);
        let driven = match goal {
            Goal::Moved => migration.run().await,
            Goal::New => match migration.run().await {
                Ok(()) => migration.finish().await,
                Err(error) => Err(error),
            },
            Goal::RolledBack => migration.roll_back().await,
        };
        let state = migration.state().await.ok();
        self.world.event(format_args!("the driver ends in {state:?}: {}", driven.is_ok()));
        match driven {
            Ok(()) => true,
            // It cannot go forward while it goes back, nor back after its end.
            Err(_) if matches!(goal, Goal::Moved) && !matches!(self.goal, Goal::Moved) => false,
            Err(error) => {
                passes(&error);
                false
            }
        }
    }

    /// Goes on to the goal, over a network without faults.
    pub(crate) async fn end(self) {
        let events = rekeyed(&self.client).await;
        assert!(self.drive(&events, self.goal).await, "the re-keying does not come to {:?}", self.goal);
        let state = self.migration(&events).state().await.unwrap();
        let is_there = match self.goal {
            Goal::Moved => state == State::Moved,
            Goal::New => state == State::New,
            Goal::RolledBack => matches!(state, State::Old | State::RolledBack),
        };
        assert!(is_there, "the re-keying is in {state}, and not in {:?}", self.goal);
    }
}
