//! Where the work on a store is done: at once where it is in memory and short, else on threads of its own.

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

/// How many writes share a commit at most, and for how long one takes in more; those after them wait for the next.
const GROUP_WRITES: usize = 1024;
pub(super) const GROUP_TIME: Duration = Duration::from_millis(20);

/// How much work a change may be that is made on a thread of tasks and while other writers wait: so many mutations,
/// each of which counts once more for so many bytes.
pub(super) const SHORT_WORK: usize = 256;
pub(super) const WORK_BYTES: usize = 1 << 10;

/// How often a change is made aside of a row that is another one each time, before it is made while other writers wait.
const ATTEMPTS: usize = 8;

/// Runs reads and writes of one store.
///
/// Writes to a file go to one thread, which makes all changes that wait for it and then commits them together: what
/// comes in while it waits for the disk shares the next commit. None of them is answered before it is committed.
///
/// What takes long is done on a thread for that, so that the tasks of other clients go on.
pub(super) struct Worker {
    store: Arc<Store>,
    writer: Option<Writer>,
}

struct Writer {
    jobs: mpsc::Sender<Job>,
    thread: JoinHandle<()>,
}

/// Changes a store, at a turn or at several, and returns what tells its caller of the commit that followed.
type Job = Box<dyn FnMut(&Store) -> Poll<Answer> + Send>;

type Answer = Box<dyn FnOnce(&Result<(), Status>)>;

impl Worker {
    pub(super) fn in_memory() -> Self {
        Self { store: Arc::new(Store::in_memory()), writer: None }
    }

    /// # Errors
    /// When the system has no thread for a store that waits.
    pub(super) fn new(store: Arc<Store>) -> io::Result<Self> {
        let writer = store.waits().then(|| Writer::spawn(Arc::clone(&store))).transpose()?;
        Ok(Self { store, writer })
    }

    /// The store, for what needs no disk.
    pub(super) fn store(&self) -> &Arc<Store> {
        &self.store
    }

    /// What `read` returns, which may take long.
    pub(super) async fn read<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Store) -> Result<T, Status> + Send + 'static,
    ) -> Result<T, Status> {
        let store = Arc::clone(&self.store);
        run_blocking(move || read(&store)).await?
    }

    /// What `write` returns, when its changes are there for good.
    pub(super) async fn write<T: Send + 'static>(
        &self,
        write: impl FnOnce(&Store) -> Result<T, Status> + Send + 'static,
    ) -> Result<T, Status> {
        let Some(writer) = &self.writer else { return write(&self.store) };
        let mut write = Some(write);
        let once = move |store: &Store| match write.take() {
            Some(write) => Poll::Ready(write(store)),
            None => Poll::Ready(Err(Status::internal("a write is made twice"))),
        };
        writer.send(once).await
    }

    /// As `write`, of what may take long.
    pub(super) async fn write_long<T: Send + 'static>(
        &self,
        write: impl FnOnce(&Store) -> Result<T, Status> + Send + 'static,
    ) -> Result<T, Status> {
        if self.writer.is_some() { self.write(write).await } else { self.read(write).await }
    }

    /// What a change of one row returns, when it is there for good.
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
        for _ in 0..ATTEMPTS {
            let prepared = {
                let change = Arc::clone(&change);
                self.read(move |store| store.prepare(&change)).await?
            };
            let change = Arc::clone(&change);
            if let Some(outcome) = self.write(move |store| store.put_prepared(&change, prepared)).await? {
                return Ok(outcome);
            }
        }
        let outcome = self.write_long(move |store| store.change_under_lock(&change)).await?;
        outcome.ok_or_else(|| Status::internal("a row has no size"))
    }

    /// What a change of many rows comes to, when it is there for good; `is_short` where it takes no time.
    pub(super) async fn change_each<E, F>(
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
            let turns = move |store: &Store| match bulk.as_mut().map(|bulk| bulk.step(store)) {
                Some(Poll::Pending) => Poll::Pending,
                Some(Poll::Ready(Err(status))) => Poll::Ready(Err(status)),
                Some(Poll::Ready(Ok(()))) | None => {
                    Poll::Ready(bulk.take().ok_or_else(|| Status::internal("a write is made twice")))
                }
            };
            return writer.send(turns).await;
        }
        let store = Arc::clone(&self.store);
        let turns = move || {
            loop {
                match bulk.step(&store) {
                    Poll::Ready(outcome) => return outcome.map(|()| bulk),
                    // Others have their turn with the lock.
                    Poll::Pending => thread::yield_now(),
                }
            }
        };
        if is_short { turns() } else { run_blocking(turns).await? }
    }
}

/// What `work` returns, which takes long: from a thread for that, where a runtime has one.
pub(super) async fn run_blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Status> {
    match Handle::try_current() {
        Ok(runtime) => runtime.spawn_blocking(work).await.map_err(internal),
        Err(_) => Ok(work()),
    }
}

impl Drop for Worker {
    /// Returns when the file is free for another.
    fn drop(&mut self) {
        if let Some(Writer { jobs, thread }) = self.writer.take() {
            drop(jobs);
            // It does not panic, and does not drop a worker: jobs have none.
            let _ = thread.join();
            self.store.close();
        }
    }
}

impl Writer {
    fn spawn(store: Arc<Store>) -> io::Result<Self> {
        let (jobs, waiting) = mpsc::channel();
        let thread = thread::Builder::new()
            .name("keyderive-writes".to_owned())
            .spawn(move || run(&store, &waiting))?;
        Ok(Self { jobs, thread })
    }

    /// What `work` returns at its last turn, when its changes are committed.
    async fn send<T: Send + 'static>(
        &self,
        mut work: impl FnMut(&Store) -> Poll<Result<T, Status>> + Send + 'static,
    ) -> Result<T, Status> {
        let (sender, receiver) = oneshot::channel();
        let mut sender = Some(sender);
        let job: Job = Box::new(move |store| {
            work(store).map(|outcome| -> Answer {
                let sender = sender.take();
                Box::new(move |committed| {
                    // Nobody may wait for it any more.
                    let _ = sender.map(|sender| sender.send(committed.clone().and(outcome)));
                })
            })
        });
        self.jobs.send(job).map_err(|_| Status::internal("the thread of writes has ended"))?;
        receiver.await.map_err(|_| Status::internal("a write panicked"))?
    }
}

/// Does jobs in the order in which they come until nobody can send another. One of several turns has the next when the
/// jobs that have come meanwhile have had theirs.
fn run(store: &Store, waiting: &mpsc::Receiver<Job>) {
    let mut unfinished: VecDeque<Job> = VecDeque::new();
    while let Some(first) = unfinished.pop_front().or_else(|| waiting.recv().ok()) {
        let begun = Instant::now();
        let mut answers = Vec::new();
        let mut next = Some(first);
        while let Some(mut job) = next {
            // A job that panics changes nothing by it: rows are put when all of a turn's are made. Its caller is told
            // by its sender, which is dropped.
            match panic::catch_unwind(AssertUnwindSafe(|| job(store))) {
                Ok(Poll::Ready(answer)) => answers.push(answer),
                Ok(Poll::Pending) => unfinished.push_back(job),
                Err(_) => {}
            }
            // While nobody waits for the commit, it is not made for the sake of one that goes on.
            if answers.len() >= GROUP_WRITES || (!answers.is_empty() && begun.elapsed() >= GROUP_TIME) {
                break;
            }
            next = waiting.try_recv().ok().or_else(|| unfinished.pop_front());
        }
        let committed = store.commit();
        for answer in answers {
            answer(&committed);
        }
    }
}

fn internal(error: impl std::fmt::Display) -> Status {
    Status::internal(error.to_string())
}
