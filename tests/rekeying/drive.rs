//! Drivers of a re-keying that stop where a test wants them, and scans beside them. `tests/pairs` uses them too.

use std::sync::Arc;

use keyderive::table::rekey::{Activity, PairKey, Rekeyed, State};
use keyderive::{Error, Row};

/// Runs a driver until it reports this state and activity, and drops it there; or until it ends.
pub(crate) async fn drive<O, N, R>(table: &Rekeyed<O, N, R>, back: bool, until: (State, Activity))
where
    O: PairKey + for<'a> From<&'a N>,
    N: PairKey,
    R: Row + Send + Sync + 'static,
{
    let reached = Arc::new(tokio::sync::Notify::new());
    let notify = Arc::clone(&reached);
    let migration = table.migration().on_progress(move |progress| {
        if (progress.state, progress.activity) == until {
            notify.notify_one();
        }
    });
    let driven = async {
        match back {
            true => migration.roll_back().await,
            false => migration.run().await,
        }
    };
    tokio::select! {
        biased;
        () = reached.notified() => {}
        ended = driven => ended.unwrap(),
    }
    assert_eq!(migration.state().await.unwrap(), until.0);
}

/// A process that does not know the newest state yet meets it during a scan in no order.
pub(crate) async fn retried<T>(scan: impl AsyncFn() -> Result<T, Error>) -> T {
    for _ in 0..5 {
        match scan().await {
            Err(error) if error.is_retryable() => {}
            ended => return ended.unwrap(),
        }
    }
    scan().await.unwrap()
}
