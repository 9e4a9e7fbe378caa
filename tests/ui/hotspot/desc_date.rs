use keyderive::{KeyField, RowKey};

/// A stand-in for the type of a date.
#[derive(KeyField)]
struct NaiveDate(u32);

#[derive(RowKey)]
struct ReadingKey {
    #[row_key(desc)]
    day: NaiveDate,
    meter: u64,
}

fn main() {}
