//! One stream of rows of other shapes than the readings: three columns of text, and 24 columns.

use bytes::Bytes;
use keyderive::row::OwnedRow;
use keyderive::{Client, Error, Row};
use keyderive_scripted::Cell;
use tonic::transport::Channel;

use super::data::{Outcome, SITE, Seen, USER_ID, one_bucket};
use super::floor::{self, Columns, Refused, number, text};
use super::report::{Comparison, Line, Table};
use super::server::{Server, Stored};
use super::turns::{self, Path};
use super::{Print, Size, raw};
use crate::program::Failure;
use crate::{EventKey, LentKey, hand};

/// A row type, owned and borrowed, with the code by hand that reads it.
trait Shape: OwnedRow + Send + Sync + 'static {
    /// The columns by hand.
    type Columns<'m>: Columns<'m, Row = Self::Lent<'m>>;
    /// The row with its texts borrowed.
    type Lent<'m>: Row<Decoded<'m> = Self::Lent<'m>>;

    const TITLE: &'static str;

    fn of(number: u32) -> Self;
    fn owned(lent: &Self::Lent<'_>) -> Self;
    fn cells(&self) -> Vec<Cell>;
    fn sum(&self) -> u64;
    fn sum_of(lent: &Self::Lent<'_>) -> u64;
}

/// The types of columns, by what they are: a text or a number.
macro_rules! column {
    (owned text) => { String };
    (owned float) => { f64 };
    (owned int) => { i64 };
    (lent text $a:lifetime) => { &$a str };
    (lent float $a:lifetime) => { f64 };
    (lent int $a:lifetime) => { i64 };
    (read text $value:ident) => { text($value)? };
    (read float $value:ident) => { f64::from_be_bytes(number($value)?) };
    (read int $value:ident) => { i64::from_be_bytes(number($value)?) };
    (of text $number:expr) => { format!("text of {:07}", $number) };
    (of float $number:expr) => { f64::from($number) / 8.0 };
    (of int $number:expr) => { i64::from($number) };
    (own text $value:expr) => { $value.to_owned() };
    (own $number:ident $value:expr) => { $value };
    (bytes text $value:expr) => { Bytes::copy_from_slice($value.as_bytes()) };
    (bytes $number:ident $value:expr) => { Bytes::copy_from_slice(&$value.to_be_bytes()) };
    (sum text $value:expr) => { ($value.len() as u64) << 32 | u64::from($value.as_bytes()[$value.len() - 1]) };
    (sum float $value:expr) => { $value.to_bits() };
    (sum int $value:expr) => { $value.cast_unsigned() };
}

macro_rules! shapes {
    ($($title:literal $name:ident $lent:ident $columns:ident { $($column:ident: $kind:tt,)* })*) => {$(
        #[derive(Row)]
        struct $name {
            $($column: column!(owned $kind),)*
        }

        #[derive(Clone, Copy, Row)]
        struct $lent<'a> {
            $($column: column!(lent $kind 'a),)*
        }

        #[derive(Default)]
        struct $columns<'a> {
            $($column: Option<column!(lent $kind 'a)>,)*
        }

        impl<'m> Columns<'m> for $columns<'m> {
            type Row = $lent<'m>;

            #[inline(always)]
            fn take(&mut self, qualifier: &[u8], value: &'m [u8]) -> Result<(), Refused> {
                #[expect(non_upper_case_globals, reason = "they are named as their columns")]
                mod names {
                    $(pub(super) const $column: &[u8] = stringify!($column).as_bytes();)*
                }
                match qualifier {
                    $(names::$column => self.$column = Some(column!(read $kind value)),)*
                    _ => {}
                }
                Ok(())
            }

            #[inline(always)]
            fn row(&self) -> Option<$lent<'m>> {
                Some($lent { $($column: self.$column?,)* })
            }
        }

        impl Shape for $name {
            type Columns<'m> = $columns<'m>;
            type Lent<'m> = $lent<'m>;

            const TITLE: &'static str = $title;

            fn of(number: u32) -> Self {
                Self { $($column: column!(of $kind number),)* }
            }

            #[inline(always)]
            fn owned(lent: &$lent<'_>) -> Self {
                Self { $($column: column!(own $kind lent.$column),)* }
            }

            fn cells(&self) -> Vec<Cell> {
                vec![$((stringify!($column).into(), column!(bytes $kind self.$column)),)*]
            }

            #[inline(always)]
            fn sum(&self) -> u64 {
                0 $(^ column!(sum $kind self.$column))*
            }

            #[inline(always)]
            fn sum_of(lent: &$lent<'_>) -> u64 {
                0 $(^ column!(sum $kind lent.$column))*
            }
        }
    )*};
}

shapes! {
    "Rows of three columns of text" Visit LentVisit VisitColumns {
        country: text, page: text, referrer: text,
    }
    "Rows of 24 columns" Wide LentWide WideColumns {
        battery: float, celsius: float, city: text, country: text, current: float, dew_point: float,
        errors: int, firmware: text, fog: int, gust: float, humidity: float, latitude: float,
        longitude: float, model: text, noise: float, owner: text, power: float, pressure: float,
        rain: float, restarts: int, snow: float, station: text, voltage: float, wind: float,
    }
}

/// Measures each shape.
pub(super) fn measure(size: Size<'_>, print: Print<'_>) -> Result<(), Failure> {
    if size.has(Visit::TITLE) {
        print(measure_shape::<Visit>(size)?);
    }
    if size.has(Wide::TITLE) {
        // Eight times the columns.
        print(measure_shape::<Wide>(Size { rows: (size.rows / 8).max(1), ..size })?);
    }
    Ok(())
}

fn measure_shape<S: Shape>(size: Size<'_>) -> Result<Table, Failure> {
    let rows = size.rows;
    let keys: Vec<_> = one_bucket(rows).into_iter().map(|(key, _)| key).collect();
    let mut seen = Seen::default();
    let mut stored = Vec::with_capacity(keys.len());
    for (key, number) in keys.iter().zip(0..) {
        let row = S::of(number);
        seen.cells_of(&key.lend(), row.sum());
        stored.push((Bytes::from(key.encode()?), row.cells()));
    }
    let read = Outcome::Read(seen);
    let server = Server::start(Stored::of_cells(&stored));
    let runtime = turns::runtime()?;
    let channel = runtime.block_on(raw::connect(&server.host()))?;
    let client = runtime.block_on(Client::emulator(server.host()))?;
    let none = Comparison::default();
    let paths = [
        Path::new("by hand, borrowed", read, || {
            by_hand::<S>(&channel, |seen, key, row| {
                seen.cells_of(key, S::sum_of(&row));
            })
        }),
        Path::new("by hand, owned", read, || {
            by_hand::<S>(&channel, |seen, key, row| {
                let key = key.to_owned();
                let row = S::owned(&row);
                seen.cells_of(&key.lend(), row.sum());
            })
        }),
        Path::new("keyderive, owned", read, || owned::<S>(&client)).beside(none.floor(1, 1.3)),
        Path::new("keyderive, borrowed", read, || borrowed::<S>(&client)).beside(none.floor(0, 1.3)),
    ];
    let costs = turns::least(&runtime, S::TITLE, &paths, size)?;
    Ok(Table {
        title: S::TITLE.to_owned(),
        about: "One stream of the rows of one bucket, as in the scans, with `#[derive(Row)]` beside code by hand for this row \
                type only."
            .to_owned(),
        unit: "row",
        units: rows.into(),
        lines: Line::of(&paths, costs),
    })
}

async fn by_hand<S: Shape>(
    channel: &Channel,
    see: impl Fn(&mut Seen, &LentKey<'_>, S::Lent<'_>),
) -> Result<Outcome, Failure> {
    let mut messages = raw::read_rows(channel, &raw::read_request(None)).await?;
    let mut seen = Seen::default();
    while let Some(message) = messages.message().await? {
        let mut rest = message.as_ref();
        while let Some(row) = floor::next_row_of::<S::Columns<'_>>(&mut rest)? {
            let key = hand::decode(row.key).map_err(|_| Refused)?;
            see(&mut seen, &key, row.reading);
        }
    }
    Ok(Outcome::Read(seen))
}

async fn owned<S: Shape>(client: &Client) -> Result<Outcome, Failure> {
    let table = client.table::<EventKey, S>("readings");
    let mut rows = table.scan(EventKey::scan().user_id(USER_ID).site(SITE)).stream();
    let mut seen = Seen::default();
    while let Some(row) = rows.next().await {
        let (key, row) = row?;
        seen.cells_of(&key.lend(), row.sum());
    }
    Ok(Outcome::Read(seen))
}

async fn borrowed<S: Shape>(client: &Client) -> Result<Outcome, Failure> {
    let table = client.table::<EventKey, S>("readings");
    let mut seen = Seen::default();
    table
        .scan(EventKey::scan().user_id(USER_ID).site(SITE))
        .visit::<LentKey<'_>, Error>(|key, row| {
            seen.cells_of(&key, S::sum_of(&row.read::<S::Lent<'_>>()?));
            Ok(())
        })
        .await?;
    Ok(Outcome::Read(seen))
}
