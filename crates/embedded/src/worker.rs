//! Runs the work on a store: short work in memory inline, other work on a writer thread or on blocking threads.

use std::collections::VecDeque;
use std::io;
use std::panic::{self, AssertUnwindSafe};
use std::sync::{Arc, mpsc};
use std::task::Poll;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tonic::Status;

use super::store::{ApplyChange, ApplyEntries, Bulk, RowChange, Store};

/// How many writes share a commit at most, and how long a group accepts further writes.
const GROUP_WRITES: usize = 1024;
pub(super) const GROUP_TIME: Duration = Duration::from_millis(20);

/// How many times a slow change is prepared without the lock, if the row changes meanwhile each time. Then it runs
/// under the lock.
const MAX_PREPARE_ATTEMPTS: usize = 8;

/// Runs reads and writes of one store.
///
/// Writes to a file go to one thread, which applies all queued changes and then commits them together. Writes that arrive
/// during a commit share the next one. No write returns before its commit.
///
/// Slow work runs on blocking threads, so that it does not hold up the tasks of other clients.
///
/// While tokio's clock is paused, as in tests, the runtime's thread waits for all of that: other threads would decide the order of its
/// tasks, and no run could be repeated.
pub(super) struct Worker {
    store: Arc<Store>,
    writer: Option<Writer>,
}

struct Writer {
    jobs: mpsc::Sender<Job>,
    thread: JoinHandle<()>,
}

/// Changes a store, in one step or several. Its result sends the outcome to the caller after the commit.
type Job = Box<dyn FnMut(&Store) -> Poll<Reply> + Send>;

type Reply = Box<dyn FnOnce(&Result<(), Status>)>;

impl Worker {
    pub(super) fn in_memory() -> Self {
        Self { store: Arc::new(Store::in_memory()), writer: None }
    }

    /// # Errors
    /// If the system cannot start the writer thread.
    pub(super) fn new(store: Arc<Store>) -> io::Result<Self> {
        let writer = store.blocks().then(|| Writer::spawn(Arc::clone(&store))).transpose()?;
        Ok(Self { store, writer })
    }

    /// The store, for methods that do not use the disk.
    pub(super) fn store(&self) -> &Arc<Store> {
        &self.store
    }

    /// Runs `read` on a blocking thread.
    pub(super) async fn read<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Store) -> Result<T, Status> + Send + 'static,
    ) -> Result<T, Status> {
        let store = Arc::clone(&self.store);
        run_blocking(move || read(&store)).await?
    }

    /// Runs `write`, and returns when its changes are committed.
    pub(super) async fn write<T: Send + 'static>(
        &self,
        write: impl FnOnce(&Store) -> Result<T, Status> + Send + 'static,
    ) -> Result<T, Status> {
        let Some(writer) = &self.writer else { return write(&self.store) };
        let mut write = Some(write);
        let once = move |store: &Store| match write.take() {
            Some(write) => Poll::Ready(write(store)),
            None => Poll::Ready(Err(Status::internal("a write ran twice"))),
        };
        writer.send(once).await
    }

    /// Like [`write`](Self::write), for slow work.
    pub(super) async fn write_long<T: Send + 'static>(
        &self,
        write: impl FnOnce(&Store) -> Result<T, Status> + Send + 'static,
    ) -> Result<T, Status> {
        if self.writer.is_some() { self.write(write).await } else { self.read(write).await }
    }

    /// Changes one row, and returns when the change is committed.
    pub(super) async fn change<T: Send + 'static>(
        &self,
        change: RowChange<impl ApplyChange<T> + Send + Sync + 'static>,
    ) -> Result<T, Status> {
        let change = Arc::new(change);
        if change.inline_bytes.is_some() {
            let change = Arc::clone(&change);
            if let Some(outcome) = self.write(move |store| store.change(&change)).await? {
                return Ok(outcome);
            }
        }
        for _ in 0..MAX_PREPARE_ATTEMPTS {
            let prepared = {
                let change = Arc::clone(&change);
                self.read(move |store| store.prepare(&change)).await?
            };
            let change = Arc::clone(&change);
            if let Some(outcome) = self.write(move |store| store.put_prepared(&change, prepared)).await? {
                return Ok(outcome);
            }
        }
        let outcome = self.write_long(move |store| store.change_any_size(&change)).await?;
        outcome.ok_or_else(|| Status::internal("a change without a size limit was rejected for its size"))
    }

    /// Changes many rows, and returns when the changes are committed. If `is_short`, it may run inline.
    pub(super) async fn change_rows<E, F>(
        &self,
        mut bulk: Bulk<E, F>,
        is_short: bool,
    ) -> Result<Bulk<E, F>, Status>
    where
        E: Default + Send + Sync + 'static,
        F: ApplyEntries<E> + Send + Sync + 'static,
    {
        if let Some(writer) = &self.writer {
            let mut bulk = Some(bulk);
            let steps = move |store: &Store| match bulk.as_mut().map(|bulk| bulk.step(store)) {
                Some(Poll::Pending) => Poll::Pending,
                Some(Poll::Ready(Err(status))) => Poll::Ready(Err(status)),
                Some(Poll::Ready(Ok(()))) | None => {
                    Poll::Ready(bulk.take().ok_or_else(|| Status::internal("a write ran twice")))
                }
            };
            return writer.send(steps).await;
        }
        let store = Arc::clone(&self.store);
        let steps = move || {
            loop {
                match bulk.step(&store) {
                    Poll::Ready(outcome) => return outcome.map(|()| bulk),
                    // Lets other writers take the lock.
                    Poll::Pending => thread::yield_now(),
                }
            }
        };
        if is_short { steps() } else { run_blocking(steps).await? }
    }
}

/// Runs slow work on a blocking thread if there [are some](blocking_threads), else inline.
pub(super) async fn run_blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Status> {
    match blocking_threads() {
        Some(runtime) => runtime.spawn_blocking(work).await.map_err(internal),
        None => Ok(work()),
    }
}

/// The runtime whose threads slow work runs on; none outside of a runtime, and while its clock is paused.
pub(super) fn blocking_threads() -> Option<Handle> {
    Handle::try_current().ok().filter(|_| !is_clock_paused())
}

/// Whether tokio's clock is paused, as tests can: it stands still while this machine's clock goes on.
fn is_clock_paused() -> bool {
    let shown = tokio::time::Instant::now();
    let before = Instant::now();
    while Instant::now() == before {
        std::hint::spin_loop();
    }
    tokio::time::Instant::now() == shown
}

impl Drop for Worker {
    /// Closes the file before it returns, so that another process can open it.
    fn drop(&mut self) {
        if let Some(Writer { jobs, thread }) = self.writer.take() {
            drop(jobs);
            // The thread does not panic, and never drops a worker itself: jobs own none.
            let _ = thread.join();
            self.store.close();
        }
    }
}

impl Writer {
    fn spawn(store: Arc<Store>) -> io::Result<Self> {
        let (jobs, queue) = mpsc::channel();
        // The thread's random numbers follow from the program's seed, if it has set one.
        let seed = fastrand::u64(..);
        let thread = thread::Builder::new().name("keyderive-writes".to_owned()).spawn(move || {
            fastrand::seed(seed);
            run_jobs(&store, &queue);
        })?;
        Ok(Self { jobs, thread })
    }

    /// Queues `work`, and returns the result of its last step when its changes are committed.
    async fn send<T: Send + 'static>(
        &self,
        mut work: impl FnMut(&Store) -> Poll<Result<T, Status>> + Send + 'static,
    ) -> Result<T, Status> {
        let (sender, mut receiver) = oneshot::channel();
        let (ends, ended) = is_clock_paused().then(mpsc::channel::<()>).unzip();
        let mut sender = Some((sender, ends));
        let job: Job = Box::new(move |store| {
            work(store).map(|outcome| -> Reply {
                let sender = sender.take();
                Box::new(move |committed| {
                    // The caller may have dropped its future.
                    let _ = sender.map(|(sender, _)| sender.send(committed.clone().and(outcome)));
                })
            })
        });
        self.jobs.send(job).map_err(|_| Status::internal("the writer thread has ended"))?;
        let reply = match ended {
            Some(ended) => {
                // An error when the job is dropped, at its end or because it panicked.
                let _ = ended.recv();
                receiver.try_recv().ok()
            }
            None => receiver.await.ok(),
        };
        reply.ok_or_else(|| Status::internal("a write panicked"))?
    }
}

/// Runs jobs in order until all senders are dropped. A job of several steps queues again after the jobs that arrived
/// during its step.
fn run_jobs(store: &Store, queue: &mpsc::Receiver<Job>) {
    let mut unfinished: VecDeque<Job> = VecDeque::new();
    while let Some(first) = unfinished.pop_front().or_else(|| queue.recv().ok()) {
        let start = Instant::now();
        let mut replies = Vec::new();
        let mut next = Some(first);
        while let Some(mut job) = next {
            // A job that panics changes nothing, since a step writes its rows at its end. Its caller gets an error because
            // the sender is dropped.
            match panic::catch_unwind(AssertUnwindSafe(|| job(store))) {
                Ok(Poll::Ready(reply)) => replies.push(reply),
                Ok(Poll::Pending) => unfinished.push_back(job),
                Err(_) => {}
            }
            // Without a finished job, nobody waits for a commit.
            if replies.len() >= GROUP_WRITES || (!replies.is_empty() && start.elapsed() >= GROUP_TIME) {
                break;
            }
            next = queue.try_recv().ok().or_else(|| unfinished.pop_front());
        }
        let committed = store.commit();
        for reply in replies {
            reply(&committed);
        }
    }
}

fn internal(error: impl std::fmt::Display) -> Status {
    Status::internal(error.to_string())
}
