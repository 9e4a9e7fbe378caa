//! What is known of a connection without asking it: how busy it is, and whether the server lives.

use std::sync::atomic::{AtomicIsize, AtomicU8, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

use crate::client::fault::ConnectError;

/// How long to wait before a connection that failed, and that no request waits for, is dialed again.
const REDIAL_AFTER: Duration = Duration::from_secs(1);

/// The stream of a request, until dropped.
#[derive(Debug)]
pub(in crate::client) struct StreamPermit {
    health: Arc<Health>,
    generation: u32,
    _permit: OwnedSemaphorePermit,
}

impl StreamPermit {
    pub(super) fn new(health: Arc<Health>, generation: u32, permit: OwnedSemaphorePermit) -> Self {
        health.take_stream(generation);
        Self { health, generation, _permit: permit }
    }
}

impl Drop for StreamPermit {
    fn drop(&mut self) {
        self.health.return_stream(self.generation);
    }
}

/// What is known of a connection without asking it: how busy it is, and whether the server lives.
///
/// Successive connections share it, each with its generation: a connection that takes no more requests may still have some
/// in flight when the next one opens.
#[derive(Debug, Default)]
pub(super) struct Health {
    /// How many requests are in flight.
    pub(super) in_flight: AtomicUsize,
    /// How many requests the server takes at a time; 0 while the connection is not open.
    streams: AtomicUsize,
    /// The [generation](Generation) of the current connection, and how many requests have a stream of it.
    current: AtomicU64,
    /// How many requests have a stream of an earlier connection. Below zero for a moment, when one returns its stream while the
    /// next generation begins.
    draining: AtomicIsize,
    pulse: AtomicU8,
    /// How many requests there have been.
    pub(super) requests: AtomicU64,
    /// When an attempt to connect failed last, and why, if none has succeeded since.
    failed: Mutex<Option<(Instant, ConnectError)>>,
}

/// What [`Health::current`] holds: a generation in the upper half, and the streams in use in the lower.
struct Generation;

impl Generation {
    fn of(current: u64) -> u32 {
        u32::try_from(current >> 32).unwrap_or(u32::MAX)
    }

    fn streams_in_use(current: u64) -> usize {
        usize::try_from(current & u64::from(u32::MAX)).unwrap_or(usize::MAX)
    }

    /// The next generation, without streams in use.
    fn next(current: u64) -> u64 {
        u64::from(Self::of(current).wrapping_add(1)) << 32
    }
}

/// Whether a server lives, as far as its connection shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Pulse {
    Lively,
    /// It has requests in flight, has sent nothing for a while, and was pinged.
    Quiet,
    /// It did not answer the ping in time.
    Stalled,
}

impl Health {
    /// For a server in this process, which is never busy.
    pub(super) fn in_process() -> Self {
        Self { streams: AtomicUsize::new(usize::MAX), ..Self::default() }
    }

    /// Records that a request is in flight; returns how many are.
    pub(super) fn enter(&self) -> usize {
        self.requests.fetch_add(1, Ordering::Relaxed);
        self.in_flight.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Whether the connection is not open.
    pub(super) fn is_closed(&self) -> bool {
        self.streams.load(Ordering::Relaxed) == 0
    }

    pub(super) fn dial_failed(&self, error: &ConnectError) {
        *self.failed() = Some((Instant::now(), error.clone()));
    }

    pub(super) fn dialed(&self) {
        *self.failed() = None;
    }

    /// Why the connection could not be made, if the last attempt failed.
    pub(super) fn connect_error(&self) -> Option<ConnectError> {
        self.failed().as_ref().map(|(_, error)| error.clone())
    }

    /// Whether a connection that no request waits for may be dialed.
    pub(super) fn may_dial(&self) -> bool {
        self.failed().as_ref().is_none_or(|(failed_at, _)| failed_at.elapsed() >= REDIAL_AFTER)
    }

    fn failed(&self) -> MutexGuard<'_, Option<(Instant, ConnectError)>> {
        // Nothing panics while it holds the lock.
        self.failed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn in_flight(&self) -> usize {
        self.in_flight.load(Ordering::Relaxed)
    }

    /// How many requests have a stream, or find one free.
    fn streams(&self) -> usize {
        let in_use = Generation::streams_in_use(self.current.load(Ordering::Relaxed));
        let streams = self.streams.load(Ordering::Relaxed).max(in_use);
        streams.saturating_add(usize::try_from(self.draining.load(Ordering::Relaxed)).unwrap_or(0))
    }

    /// How many requests wait until the server takes more, or until the connection is open.
    pub(super) fn waiting(&self) -> usize {
        self.in_flight().saturating_sub(self.streams())
    }

    /// Whether one more request would wait.
    pub(super) fn would_wait(&self) -> bool {
        self.in_flight() >= self.streams()
    }

    /// Begins the next generation: the streams in use are of an earlier connection now.
    pub(super) fn next_generation(&self) -> u32 {
        let next = |current| Some(Generation::next(current));
        let before = self.current.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next);
        let before = before.unwrap_or_else(|current| current);
        let in_use = isize::try_from(Generation::streams_in_use(before)).unwrap_or(isize::MAX);
        self.draining.fetch_add(in_use, Ordering::Relaxed);
        Generation::of(Generation::next(before))
    }

    /// Counts a stream of this generation as in use.
    fn take_stream(&self, generation: u32) {
        let taken = self.current.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |current| {
            (Generation::of(current) == generation).then_some(current + 1)
        });
        if taken.is_err() {
            self.draining.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Counts a stream that was taken as no longer in use.
    fn return_stream(&self, generation: u32) {
        let returned = self.current.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |current| {
            (Generation::of(current) == generation).then_some(current - 1)
        });
        if returned.is_err() {
            self.draining.fetch_sub(1, Ordering::Relaxed);
        }
    }

    pub(super) fn pulse(&self) -> Pulse {
        match self.pulse.load(Ordering::Relaxed) {
            0 => Pulse::Lively,
            1 => Pulse::Quiet,
            _ => Pulse::Stalled,
        }
    }
}

/// What a connection reports of itself while it is the current one. An older connection that still finishes requests
/// reports nothing.
#[derive(Clone)]
pub(super) struct Vitals {
    pub(super) health: Arc<Health>,
    pub(super) generation: u32,
    /// How often bytes were received.
    pub(super) reads: Arc<AtomicU64>,
    /// The streams that the server allows and no request has.
    pub(super) permits: Arc<Semaphore>,
    /// How many permits there are, with those that requests have.
    streams: usize,
}

impl Vitals {
    /// For a connection that now replaces the one before.
    pub(super) fn begin(health: &Arc<Health>) -> Self {
        let generation = health.next_generation();
        let permits = Arc::new(Semaphore::new(0));
        let vitals =
            Self { health: Arc::clone(health), generation, reads: Arc::default(), permits, streams: 0 };
        vitals.show_streams(0);
        vitals.set_pulse(Pulse::Lively);
        vitals
    }

    pub(super) fn is_current(&self) -> bool {
        Generation::of(self.health.current.load(Ordering::Relaxed)) == self.generation
    }

    /// Allows `streams` streams. If more are in use, their permits go when they end.
    pub(super) fn set_streams(&mut self, streams: usize) {
        let streams = streams.min(Semaphore::MAX_PERMITS);
        match streams.checked_sub(self.streams) {
            Some(0) => return,
            Some(more) => {
                self.permits.add_permits(more);
                self.streams = streams;
            }
            None => self.streams -= self.permits.forget_permits(self.streams - streams),
        }
        self.show_streams(streams);
    }

    pub(super) fn show_streams(&self, streams: usize) {
        if self.is_current() {
            self.health.streams.store(streams, Ordering::Relaxed);
        }
    }

    pub(super) fn set_pulse(&self, pulse: Pulse) {
        if self.is_current() {
            self.health.pulse.store(pulse as u8, Ordering::Relaxed);
        }
    }

    pub(super) fn reads(&self) -> u64 {
        self.reads.load(Ordering::Relaxed)
    }

    pub(super) fn is_busy(&self) -> bool {
        self.health.in_flight() > 0
    }
}
