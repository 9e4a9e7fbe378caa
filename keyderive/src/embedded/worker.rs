//! Where the work on a store is done: at once where it is in memory, else on threads that may wait for a disk.

use std::io;
use std::panic::{self, AssertUnwindSafe};
use std::sync::{Arc, mpsc};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use tokio::sync::oneshot;
use tonic::Status;

use super::store::Store;

/// How many writes share a commit at most, and for how long one takes in more; those behind them wait for the next.
const GROUP_WRITES: usize = 1024;
pub(super) const GROUP_TIME: Duration = Duration::from_millis(20);

/// Runs reads and writes of one store.
///
/// Writes to a file go to one thread, which makes all changes that wait for it and then commits them together: what
/// comes in while it waits for the disk shares the next commit. None of them is answered before it is committed.
pub(super) struct Worker {
    store: Arc<Store>,
    writer: Option<Writer>,
}

struct Writer {
    jobs: mpsc::Sender<Job>,
    thread: JoinHandle<()>,
}

/// Changes a store, and returns what tells its caller of the commit that followed.
type Job = Box<dyn FnOnce(&Store) -> Answer + Send>;

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

    pub(super) async fn read<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Store) -> Result<T, Status> + Send + 'static,
    ) -> Result<T, Status> {
        if self.writer.is_none() {
            return read(&self.store);
        }
        let runtime = tokio::runtime::Handle::try_current().map_err(internal)?;
        let store = Arc::clone(&self.store);
        runtime.spawn_blocking(move || read(&store)).await.map_err(internal)?
    }

    /// What `write` returns, when its changes are there for good.
    pub(super) async fn write<T: Send + 'static>(
        &self,
        write: impl FnOnce(&Store) -> Result<T, Status> + Send + 'static,
    ) -> Result<T, Status> {
        let Some(writer) = &self.writer else { return write(&self.store) };
        let (sender, receiver) = oneshot::channel();
        let job: Job = Box::new(move |store| {
            let outcome = write(store);
            Box::new(move |committed| {
                // Nobody may wait for it any more.
                let _ = sender.send(committed.clone().and(outcome));
            })
        });
        writer.jobs.send(job).map_err(|_| Status::internal("the thread of writes has ended"))?;
        receiver.await.map_err(|_| Status::internal("a write panicked"))?
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
}

/// Does jobs in the order in which they come until nobody can send another.
fn run(store: &Store, waiting: &mpsc::Receiver<Job>) {
    // A job that panics changes nothing by it: rows are put when all of a job's are made. Its caller is told by its
    // sender, which is dropped.
    let answer = |job: Job| panic::catch_unwind(AssertUnwindSafe(|| job(store))).ok();
    while let Ok(first) = waiting.recv() {
        let begun = Instant::now();
        let mut answers = vec![answer(first)];
        while answers.len() < GROUP_WRITES && begun.elapsed() < GROUP_TIME {
            let Ok(next) = waiting.try_recv() else { break };
            answers.push(answer(next));
        }
        let committed = store.commit();
        for answer in answers.into_iter().flatten() {
            answer(&committed);
        }
    }
}

fn internal(error: impl std::fmt::Display) -> Status {
    Status::internal(error.to_string())
}
