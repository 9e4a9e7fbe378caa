//! What a client needs of its tokio runtime: timers, and sockets.

use std::cell::Cell;
use std::net::{Ipv4Addr, UdpSocket};
use std::panic::catch_unwind;
use std::time::Duration;

use tokio::runtime::{Handle, Id};

use crate::client::error::Error;

/// Fails outside of a tokio runtime with timers. `what` begins the error's text, such as `operations run`.
///
/// # Errors
/// A configuration error that says what is missing.
#[inline]
pub(in crate::client) fn check_timers(what: &str) -> Result<Handle, Error> {
    thread_local! {
        /// The runtime in which the last check succeeded.
        static FOUND: Cell<Option<Id>> = const { Cell::new(None) };
    }
    let runtime = Handle::try_current().map_err(|_| no_runtime(what))?;
    if FOUND.get() == Some(runtime.id()) {
        return Ok(runtime);
    }
    if !has_timers() {
        return Err(Error::configuration(format!(
            "{what} only inside a tokio runtime with timers, and the current runtime has none; build it with \
             `enable_all`, or with `enable_time`"
        )));
    }
    FOUND.set(Some(runtime.id()));
    Ok(runtime)
}

/// Fails outside of a tokio runtime with sockets and timers, which connections need.
///
/// # Errors
/// A configuration error that says what is missing.
pub(super) fn check_connections() -> Result<Handle, Error> {
    let runtime = check_timers("a client is made")?;
    match has_sockets() {
        true => Ok(runtime),
        false => Err(Error::configuration(
            "a client is made only inside a tokio runtime with sockets, since its connections run there, and the \
             current runtime has none; build it with `enable_all`, or with `enable_io` and `enable_time`",
        )),
    }
}

#[cold]
fn no_runtime(what: &str) -> Error {
    Error::configuration(format!("{what} only inside a tokio runtime, and none is running"))
}

// tokio does not say whether a runtime has timers or sockets: creating one panics. These functions catch the panic before
// an operation begins, rather than in the middle of it. The program's panic hook still reports it: replacing the hook would
// silence the panics of other threads. A program with `panic = "abort"` ends here, as it would at the first timer.

fn has_timers() -> bool {
    catch_unwind(|| drop(tokio::time::sleep(Duration::ZERO))).is_ok()
}

/// True also if no socket can be created to find out: connections then fail with the reason.
fn has_sockets() -> bool {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0));
    let Ok(socket) = socket.and_then(|socket| socket.set_nonblocking(true).map(|()| socket)) else {
        return true;
    };
    catch_unwind(|| drop(tokio::net::UdpSocket::from_std(socket))).is_ok()
}
