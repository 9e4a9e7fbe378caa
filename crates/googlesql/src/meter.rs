//! What a query may hold in memory, and whether its caller still waits.
//!
//! A query runs on a thread of its own, whose meter this is: functions of values reach it without a parameter.

use std::cell::RefCell;

use keyderive_embedded::QueryCaller;
use tonic::Status;

struct Meter {
    caller: QueryCaller,
    /// In bytes.
    limit: usize,
    held: usize,
}

thread_local! {
    static METER: RefCell<Option<Meter>> = const { RefCell::new(None) };
}

/// Begins the query of this thread.
pub(crate) fn begin(caller: QueryCaller, limit: usize) {
    METER.set(Some(Meter { caller, limit, held: 0 }));
}

/// Fails if the caller has gone. Each operator calls it for each row, and so does a function that searches a text many times.
pub(crate) fn check_caller() -> Result<(), Status> {
    METER.with_borrow(|meter| match meter {
        Some(meter) if meter.caller.has_gone() => Err(Status::cancelled("the caller of the query has gone")),
        _ => Ok(()),
    })
}

/// Counts bytes as held until what is returned is dropped.
///
/// # Errors
/// If the query holds too many.
pub(crate) fn hold(bytes: usize) -> Result<Held, Status> {
    let mut held = Held::default();
    held.add(bytes)?;
    Ok(held)
}

/// Bytes that a query holds.
#[derive(Debug, Default)]
pub(crate) struct Held {
    pub(crate) bytes: usize,
}

impl Held {
    /// Counts more bytes.
    ///
    /// # Errors
    /// If the query holds too many.
    pub(crate) fn add(&mut self, bytes: usize) -> Result<(), Status> {
        METER.with_borrow_mut(|meter| {
            let Some(meter) = meter else { return Ok(()) };
            let held = meter.held.saturating_add(bytes);
            if held > meter.limit {
                return Err(Status::resource_exhausted(format!(
                    "a query holds more than {} bytes of rows and values, the limit of its engine; select less, or raise \
                     `Engine::memory_limit`, which is `keyderive serve --query-memory`",
                    meter.limit
                )));
            }
            meter.held = held;
            self.bytes += bytes;
            Ok(())
        })
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        METER.with_borrow_mut(|meter| {
            if let Some(meter) = meter {
                meter.held -= self.bytes;
            }
        });
    }
}
