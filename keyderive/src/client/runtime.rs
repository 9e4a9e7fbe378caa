//! What a tokio runtime must have: timers, and sockets where connections run.

use std::cell::Cell;
use std::net::{Ipv4Addr, UdpSocket};
use std::panic::catch_unwind;
use std::time::Duration;

use tokio::runtime::{Handle, Id};

use super::error::Error;

/// Fails unless this runs inside a tokio runtime with timers. `what` says what needs them, such as `operations run`.
///
/// # Errors
/// A configuration error that says what is missing.
#[inline]
pub(super) fn check_timers(what: &str) -> Result<Handle, Error> {
    thread_local! {
        /// The runtime that was last found to have them.
        static FOUND: Cell<Option<Id>> = const { Cell::new(None) };
    }
    let runtime = Handle::try_current().map_err(|_| none(what))?;
    if FOUND.get() == Some(runtime.id()) {
        return Ok(runtime);
    }
    if !has_timers() {
        return Err(Error::configuration(format!(
            "{what} inside a tokio runtime with timers, and the one that is running has none; build it with \
             `enable_all`, or with `enable_time`"
        )));
    }
    FOUND.set(Some(runtime.id()));
    Ok(runtime)
}

/// Fails unless this runs inside a tokio runtime that connections can run in.
///
/// # Errors
/// A configuration error that says what is missing.
pub(super) fn check_connections() -> Result<Handle, Error> {
    let runtime = check_timers("a client is made")?;
    match has_sockets() {
        true => Ok(runtime),
        false => Err(Error::configuration(
            "a client is made inside a tokio runtime with sockets, since its connections run there, and the one that is \
             running has none; build it with `enable_all`, or with `enable_io` and `enable_time`",
        )),
    }
}

#[cold]
fn none(what: &str) -> Error {
    Error::configuration(format!("{what} inside a tokio runtime, for its timers, and none is running"))
}

// tokio cannot be asked whether a runtime has timers or sockets: making one panics. That panic is caught here, before
// anything else happens, rather than in the middle of an operation. The program's panic hook is left as it is, and
// says what has happened: to replace it would silence the panics of other threads. A program whose panics abort ends here,
// as it would at the first timer.

fn has_timers() -> bool {
    catch_unwind(|| drop(tokio::time::sleep(Duration::ZERO))).is_ok()
}

/// True too where no socket can be had to find out: then connections fail by themselves, and say why.
fn has_sockets() -> bool {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0));
    let Ok(socket) = socket.and_then(|socket| socket.set_nonblocking(true).map(|()| socket)) else {
        return true;
    };
    catch_unwind(|| drop(tokio::net::UdpSocket::from_std(socket))).is_ok()
}
