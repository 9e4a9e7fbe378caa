//! The connections of a client: which one a request goes by, and how they are renewed.

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};
use std::time::Duration;

use tokio::time::Instant;

use super::dial::Dial;
#[cfg(feature = "embedded")]
use super::transport::InProcess;
use super::transport::Transport;

/// After so many attempts in a row that were cut off by the clock, with not a word from the server between, a
/// connection counts as dead, whatever its keepalive will say later.
const SILENT_ATTEMPTS: usize = 3;

/// How long no second warning of failures follows on one.
const QUIET: Duration = Duration::from_secs(30);

/// The connections of a client. Each request goes by the one that carries the fewest.
pub(super) struct Channels {
    slots: Vec<RwLock<Arc<Connection>>>,
    /// Makes another connection in the place of a dead one.
    dialer: Option<Arc<dyn Dial>>,
    /// Where the search for the least busy connection begins, so that equal ones take turns.
    next: AtomicUsize,
    /// When it was last warned that operations fail.
    warned: Quiet,
    /// When it was last warned that cells of the future are read.
    warned_of_future_cells: Quiet,
}

/// Connections that are there when they are needed first.
pub(super) struct LazyPool {
    dialer: Arc<dyn Dial>,
    count: usize,
    channels: OnceLock<Arc<Channels>>,
}

impl LazyPool {
    /// Connects as `dialer` does, with [small windows](Dial::small_windows).
    pub(super) fn small_windows(dialer: Arc<dyn Dial>, count: usize) -> Self {
        Self { dialer, count, channels: OnceLock::new() }
    }

    pub(super) fn channels(&self) -> &Arc<Channels> {
        self.channels.get_or_init(|| {
            let dialer = self.dialer.small_windows();
            let dialed = (0..self.count).map(|_| dialer.dial());
            Arc::new(Channels::new(dialed).replaced_by(Arc::clone(&dialer)))
        })
    }
}

/// A connection and how many requests it carries.
#[derive(Debug)]
struct Connection {
    transport: Transport,
    in_flight: AtomicUsize,
    /// How many attempts have been cut off by the clock since a server was heard.
    silent: AtomicUsize,
}

/// A request's hold on its connection, for as long as its answer takes.
#[derive(Debug)]
pub(super) struct Lease {
    connection: Arc<Connection>,
    slot: usize,
}

impl Channels {
    /// Over these connections, of which there is at least one.
    pub(super) fn new(transports: impl IntoIterator<Item = Transport>) -> Self {
        Self {
            slots: transports.into_iter().map(|transport| RwLock::new(Connection::new(transport))).collect(),
            dialer: None,
            next: AtomicUsize::new(0),
            warned: Quiet::default(),
            warned_of_future_cells: Quiet::default(),
        }
    }

    /// The same, where a dead connection is replaced by one that `dialer` makes.
    pub(super) fn replaced_by(self, dialer: Arc<dyn Dial>) -> Self {
        Self { dialer: Some(dialer), ..self }
    }

    pub(super) fn len(&self) -> usize {
        self.slots.len()
    }

    /// The least busy connection; another one than `avoided`, by which a request has just failed.
    pub(super) fn lease(&self, avoided: Option<usize>) -> Option<Lease> {
        let count = self.slots.len();
        let first = self.next.fetch_add(1, Ordering::Relaxed);
        let slots = (0..count).map(|offset| first.wrapping_add(offset) % count);
        let leasable = slots.filter(|slot| count == 1 || Some(*slot) != avoided);
        let busy =
            |slot: &usize| self.slots.get(*slot).map(|slot| current(slot).in_flight.load(Ordering::Relaxed));
        let slot = leasable.min_by_key(busy)?;
        Some(Lease::new(current(self.slots.get(slot)?), slot))
    }

    /// Puts a new connection into a slot. The old one is closed when its last request has ended.
    pub(super) fn replace(&self, slot: usize, transport: Transport) {
        if let Some(slot) = self.slots.get(slot) {
            *slot.write().unwrap_or_else(PoisonError::into_inner) = Connection::new(transport);
        }
    }

    /// An attempt has heard from a server.
    pub(super) fn heard(&self, lease: &Lease) {
        lease.connection.silent.store(0, Ordering::Relaxed);
    }

    /// An attempt has heard nothing for as long as it may take.
    pub(super) fn lost(&self, lease: &Lease) {
        let silent = lease.connection.silent.fetch_add(1, Ordering::Relaxed) + 1;
        let (Some(dialer), Some(slot)) = (&self.dialer, self.slots.get(lease.slot)) else { return };
        if silent < SILENT_ATTEMPTS {
            return;
        }
        let mut slot = slot.write().unwrap_or_else(PoisonError::into_inner);
        if Arc::ptr_eq(&slot, &lease.connection) {
            *slot = Connection::new(dialer.dial());
            tracing::warn!(silent, "a connection has gone silent; another takes its place");
        }
    }

    /// Whether it is time for a warning that operations fail; from now on it is not, for a while.
    pub(super) fn may_warn(&self) -> bool {
        self.warned.ends()
    }

    /// As [`may_warn`](Self::may_warn), that cells of the future are read.
    pub(super) fn may_warn_of_future_cells(&self) -> bool {
        self.warned_of_future_cells.ends()
    }

    /// The servers that requests go to without a connection, where they do.
    #[cfg(feature = "embedded")]
    pub(super) fn in_process(&self) -> Option<Arc<dyn InProcess>> {
        match &current(self.slots.first()?).transport {
            Transport::InProcess(servers) => Some(Arc::clone(servers)),
            Transport::Channel(..) | Transport::Ended => None,
        }
    }
}

/// The time after a warning in which it is not repeated.
#[derive(Default)]
struct Quiet(Mutex<Option<Instant>>);

impl Quiet {
    /// Whether it is over, or has never begun; it begins now then.
    fn ends(&self) -> bool {
        // Nothing panics while it holds the lock.
        let mut warned = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_over = warned.is_none_or(|warned| warned.elapsed() >= QUIET);
        if is_over {
            *warned = Some(Instant::now());
        }
        is_over
    }
}

impl fmt::Debug for Channels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Channels").field("slots", &self.slots).finish_non_exhaustive()
    }
}

fn current(slot: &RwLock<Arc<Connection>>) -> Arc<Connection> {
    // Nothing panics while it holds the lock.
    Arc::clone(&slot.read().unwrap_or_else(PoisonError::into_inner))
}

impl Connection {
    fn new(transport: Transport) -> Arc<Self> {
        Arc::new(Self { transport, in_flight: AtomicUsize::new(0), silent: AtomicUsize::new(0) })
    }
}

impl Lease {
    fn new(connection: Arc<Connection>, slot: usize) -> Self {
        connection.in_flight.fetch_add(1, Ordering::Relaxed);
        Self { connection, slot }
    }

    pub(super) fn transport(&self) -> Transport {
        self.connection.transport.clone()
    }

    pub(super) fn slot(&self) -> usize {
        self.slot
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.connection.in_flight.fetch_sub(1, Ordering::Relaxed);
    }
}
