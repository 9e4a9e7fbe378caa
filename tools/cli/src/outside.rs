//! Rows outside of every bucket of a salt: no scan of the layout reads them.

use futures_util::stream::TryStreamExt as _;
use keyderive::Client;
use keyderive::client::ReadRows;
use keyderive::dynamic::TableLayout;
use keyderive::row::RowFilter;

use crate::change::counted;
use crate::exit::Outcome;
use crate::output;

/// At most this many are counted.
const MOST: u64 = 1000;

/// What is read of a row to know that it is there.
pub(crate) fn presence() -> RowFilter {
    RowFilter::chain([RowFilter::cells_per_row(1), RowFilter::strip_value()])
}

/// Counts the rows that lie outside of every bucket, up to 1000, by one read without values.
///
/// For a key type with a tag it counts none: other key types share its table.
pub(crate) async fn count_outside(client: &Client, layout: &TableLayout) -> Outcome<u64> {
    if layout.key().schema().tag().is_some() {
        return Ok(0);
    }
    let gaps = layout.key().scan().plan()?.complement();
    if gaps.is_empty() {
        return Ok(0);
    }
    let request = gaps.into_iter().fold(ReadRows::new(), ReadRows::range).limit(MOST).filter(presence());
    let rows = client.raw_table(layout.name()).read_rows(request);
    Ok(rows.try_fold(0, async |rows, _| Ok(rows + 1)).await?)
}

/// Says how many these are, and that the command has not done this with them.
pub(crate) fn note_outside(rows: u64, layout: &TableLayout, done: &str) {
    if rows == 0 {
        return;
    }
    let schema = layout.key().schema();
    let least = if rows == MOST { "at least " } else { "" };
    let buckets = match schema.salt() {
        Some(salt) if schema.epochs().is_empty() => format!("the {} buckets", salt.buckets().len()),
        _ => "the buckets".to_owned(),
    };
    output::note(format_args!(
        "{least}{} not {done}: {} outside {buckets} of the layout; `keyderive verify {}` shows which",
        counted(rows, "row"),
        if rows == 1 { "it lies" } else { "they lie" },
        layout.name()
    ));
}
