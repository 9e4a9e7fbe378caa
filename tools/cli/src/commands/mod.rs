//! The subcommands, a file each: arguments, calls of the library, and printing.

pub(crate) mod apply;
pub(crate) mod codegen;
pub(crate) mod completions;
pub(crate) mod copy;
pub(crate) mod count;
pub(crate) mod create;
pub(crate) mod decode;
pub(crate) mod delete;
pub(crate) mod diff;
pub(crate) mod encode;
pub(crate) mod export;
pub(crate) mod get;
pub(crate) mod heat;
pub(crate) mod import;
pub(crate) mod layouts;
pub(crate) mod man;
pub(crate) mod rekey;
mod rows;
pub(crate) mod scan;
pub(crate) mod serve;
pub(crate) mod simulate;
pub(crate) mod sql;
pub(crate) mod status;
pub(crate) mod tablets;
pub(crate) mod verify;

use std::future::Future;
use std::pin::Pin;

use crate::exit::{Failure, Outcome};

/// Runs a command that may use the network, on this thread alone: so it starts fast.
fn block_on<T>(command: impl Future<Output = Outcome<T>>) -> Outcome<T> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    // Behind a pointer, since tokio has three places that poll a future: each would have a copy of the code of every command.
    let command: Pin<Box<dyn Future<Output = Outcome<T>> + '_>> = Box::pin(command);
    runtime.map_err(Failure::failed)?.block_on(command)
}

/// How many parts of a table are read at a time.
const PARTS_AT_A_TIME: usize = 8;
