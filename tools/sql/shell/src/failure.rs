//! How an error of a statement ends the command.

use std::error::Error;
use std::iter;

use datafusion::common::DataFusionError;
use keyderive_command::exit::Failure;

/// By the exit codes of the command `keyderive`.
pub(crate) fn of(error: &DataFusionError) -> Failure {
    let chain = iter::successors(Some(error as &(dyn Error + 'static)), |error| (*error).source());
    if let Some(of_table) = chain.clone().find_map(|error| error.downcast_ref::<keyderive::Error>()) {
        return of_table.into();
    }
    let text = error.strip_backtrace();
    match error.find_root() {
        DataFusionError::SQL(..)
        | DataFusionError::Plan(_)
        | DataFusionError::SchemaError(..)
        | DataFusionError::Configuration(_)
        | DataFusionError::NotImplemented(_) => Failure::usage(text),
        // As `External`, a value that a table cannot hold.
        DataFusionError::External(_)
        | DataFusionError::Execution(_)
        | DataFusionError::ArrowError(..)
        | DataFusionError::ParquetError(_) => Failure::refused(text),
        DataFusionError::ResourcesExhausted(_) => {
            Failure::failed(format_args!("{text}\nhelp: `--memory` allows more"))
        }
        _ if is_no_file(chain) => Failure::refused(text),
        _ => Failure::failed(text),
    }
}

/// The failure of a statement that was not planned. A literal that is not of its column's type is a fault of the
/// statement, too.
pub(crate) fn of_plan(error: &DataFusionError) -> Failure {
    match error.find_root() {
        root @ DataFusionError::ArrowError(..) => Failure::usage(root.strip_backtrace()),
        _ => of(error),
    }
}

fn is_no_file<'e>(mut chain: impl Iterator<Item = &'e (dyn Error + 'static)>) -> bool {
    chain.any(|error| {
        error
            .downcast_ref::<std::io::Error>()
            .is_some_and(|error| error.kind() == std::io::ErrorKind::NotFound)
    })
}
