//! The signals that end a program that serves.

use std::future::Future;
use std::io;

/// Completes on the first SIGINT or SIGTERM. The function installs the handlers before it returns. On the second, the
/// process exits at once, with the exit code 128 plus the signal's number.
///
/// A dedicated thread handles the signals, even if all others are busy.
///
/// # Errors
/// If the system refuses a handler or the thread.
#[cfg(unix)]
pub fn shutdown_signal() -> io::Result<impl Future<Output = ()>> {
    use tokio::signal::unix::{SignalKind, signal};
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let (mut interrupt, mut terminate) = {
        let _inside = runtime.enter();
        (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?)
    };
    let (sender, receiver) = tokio::sync::oneshot::channel();
    let mut signalled = async move || {
        let kind = tokio::select! {
            _ = interrupt.recv() => SignalKind::interrupt(),
            _ = terminate.recv() => SignalKind::terminate(),
        };
        kind.as_raw_value()
    };
    let listening = async move {
        signalled().await;
        // The receiver is gone if the server has ended by itself.
        let _ = sender.send(());
        let signal = signalled().await;
        std::process::exit(128 + signal);
    };
    std::thread::Builder::new().name("signals".to_owned()).spawn(move || runtime.block_on(listening))?;
    Ok(async { drop(receiver.await) })
}

/// Completes on the first ctrl-c. On the second, the process exits at once.
///
/// # Errors
/// Never on this system.
#[cfg(not(unix))]
pub fn shutdown_signal() -> io::Result<impl Future<Output = ()>> {
    let (sender, receiver) = tokio::sync::oneshot::channel();
    tokio::spawn(async move {
        if tokio::signal::ctrl_c().await.is_ok() {
            drop(sender.send(()));
        }
        if tokio::signal::ctrl_c().await.is_ok() {
            std::process::exit(130);
        }
    });
    Ok(async { drop(receiver.await) })
}
