//! How much a writer has buffered or in flight, and how much there may be.

use tokio::sync::{Semaphore, SemaphorePermit};

/// Bounds what is buffered or in flight.
pub(super) struct FlowControl {
    all: usize,
    left: Semaphore,
    /// How much is taken at once where there is as much.
    step: usize,
}

/// What the rows of a batch have taken of a room.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Permit {
    used: usize,
    /// What rows to come have, so that not each of them goes to the room.
    ahead: usize,
}

impl FlowControl {
    pub(super) fn new(all: usize, step: usize) -> Self {
        let all = all.clamp(1, Semaphore::MAX_PERMITS.min(u32::MAX as usize));
        Self { all, left: Semaphore::new(all), step }
    }

    /// Waits until there is room for so much.
    pub(super) async fn permit(&self, wanted: usize) -> Option<SemaphorePermit<'_>> {
        // The semaphore is never closed.
        self.left.acquire_many(count(self.bounded(wanted))).await.ok()
    }

    pub(super) fn give_back(&self, count: usize) {
        self.left.add_permits(count);
    }

    fn take(&self, wanted: usize) -> bool {
        self.left.try_acquire_many(count(wanted)).map(SemaphorePermit::forget).is_ok()
    }

    /// One row that is larger than all that is allowed goes alone.
    fn bounded(&self, wanted: usize) -> usize {
        wanted.min(self.all)
    }
}

/// No room has more.
fn count(wanted: usize) -> u32 {
    u32::try_from(wanted).unwrap_or(u32::MAX)
}

impl Permit {
    /// Takes so much, if there is room for it now.
    #[inline]
    pub(super) fn take(&mut self, room: &FlowControl, wanted: usize) -> bool {
        let wanted = room.bounded(wanted);
        if self.ahead < wanted && !self.take_ahead(room, wanted - self.ahead) {
            return false;
        }
        self.ahead -= wanted;
        self.used += wanted;
        true
    }

    /// Keeps for rows to come what was taken for one that has not come.
    pub(super) fn keep(&mut self, taken: usize) {
        self.used -= taken;
        self.ahead += taken;
    }

    fn take_ahead(&mut self, room: &FlowControl, missing: usize) -> bool {
        let taken = [missing.max(room.step), missing].into_iter().find(|wanted| room.take(*wanted));
        self.ahead += taken.unwrap_or(0);
        taken.is_some()
    }

    /// Takes what has been waited for.
    pub(super) fn take_permit(&mut self, permit: Option<SemaphorePermit<'_>>) {
        if let Some(permit) = permit {
            self.used += permit.num_permits();
            permit.forget();
        }
    }

    /// What is used, which is to be given back; what is not used is given back now.
    pub(super) fn end(&mut self, room: &FlowControl) -> usize {
        let Self { used, ahead } = std::mem::take(self);
        room.give_back(ahead);
        used
    }

    /// Gives back what is not used.
    pub(super) fn give_back_ahead(&mut self, room: &FlowControl) {
        room.give_back(std::mem::take(&mut self.ahead));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_taken_ahead_is_given_back() {
        let (room, mut share) = (FlowControl::new(100, 64), Permit::default());
        assert!(share.take(&room, 10) && room.left.available_permits() == 36);
        assert!(share.take(&room, 54) && room.left.available_permits() == 36);
        // There is no room for a step, but for what is wanted.
        assert!(share.take(&room, 30) && room.left.available_permits() == 6);
        assert!(!share.take(&room, 7));
        assert!(share.take(&room, 6) && !share.take(&room, 1));
        let used = share.end(&room);
        assert_eq!((used, room.left.available_permits()), (100, 0));
        room.give_back(used);
        // What was not used is given back with what was taken ahead.
        assert!(share.take(&room, 10));
        share.keep(10);
        share.give_back_ahead(&room);
        assert_eq!(room.left.available_permits(), 100);
        // More than there is goes alone.
        assert!(share.take(&room, 1000) && room.left.available_permits() == 0);
        assert_eq!(share.end(&room), 100);
    }

    #[tokio::test]
    async fn who_waits_gets_what_was_taken_ahead() {
        let (room, mut share) = (FlowControl::new(100, 64), Permit::default());
        assert!(share.take(&room, 1));
        share.give_back_ahead(&room);
        assert_eq!(room.permit(99).await.map(|permit| permit.num_permits()), Some(99));
    }
}
