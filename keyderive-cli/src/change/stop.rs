//! Ctrl-C: the command ends after the rows in flight, and says how far it is.

use std::future::{Future, pending};
use std::process;

use tokio::sync::watch;

use crate::exit::{Exit, Failure, Outcome};
use crate::output;

/// Whether the command is to end.
#[derive(Clone)]
pub(crate) struct Stop(watch::Receiver<bool>);

impl Stop {
    /// Listens for Ctrl-C from now on; the second one ends the process.
    pub(crate) fn listen() -> Self {
        let (asked, stop) = watch::channel(false);
        tokio::spawn(async move {
            while tokio::signal::ctrl_c().await.is_ok() {
                if asked.send_replace(true) {
                    process::exit(Exit::Failed as i32);
                }
                output::note("stopping after the rows in flight; once more ends at once");
            }
        });
        Self(stop)
    }

    /// Waits until the command is to end.
    pub(crate) async fn asked(&mut self) {
        if self.0.wait_for(|is_asked| *is_asked).await.is_err() {
            pending::<()>().await;
        }
    }

    /// Waits for a future, unless the command is to end.
    pub(crate) async fn or<T>(&mut self, future: impl Future<Output = T>) -> Outcome<T> {
        tokio::select! {
            biased;
            () = self.asked() => Err(Failure::failed("stopped")),
            output = future => Ok(output),
        }
    }
}
