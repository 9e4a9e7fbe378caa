//! Converts between the protocol's messages and the values of keyderive's public API.

mod filter;
mod mutation;
mod query;
mod read;
mod row;
mod status;

pub(crate) use filter::optional_filter;
pub(crate) use mutation::{mutations, rules};
pub(crate) use query::{bind, metadata, of_query_error, sql_row};
pub(crate) use read::read_rows;
pub(crate) use row::row;
pub(crate) use status::{of_entries, of_error, ok};
