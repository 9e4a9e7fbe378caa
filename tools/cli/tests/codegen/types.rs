//! Key types and row types of every kind, from which code is generated.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::num::{NonZeroI16, NonZeroU64};
use std::time::SystemTime;

use chrono::{DateTime, NaiveDate, Utc};
use jiff::{Timestamp, civil};
use keyderive::client::TableInfo;
use keyderive::dynamic::TableLayout;
use keyderive::key::OwnedRowKey;
use keyderive::layouts::Layouts;
use keyderive::row::{Max, Min, OwnedRow, Sum, Timestamped, Versions};
use keyderive::{Cell, Client, KeyField, Row, RowKey};
use time::{OffsetDateTime, UtcDateTime};
use uuid::Uuid;

#[derive(KeyField, Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Created = 1,
    Type = 2,
    r#Deleted = 120,
}

/// Layouts of tables, of which no two have the same keys.
struct Formats {
    layouts: Layouts,
    seen: BTreeSet<String>,
}

impl Formats {
    fn add<K: RowKey>(&mut self) {
        let schema = K::SCHEMA;
        let values: Vec<_> = schema.fields().iter().map(|field| (field.values(), field.hash_of())).collect();
        if self.seen.insert(format!("{} {values:?}", schema.fingerprint())) {
            let name = format!("format-{:03}", self.seen.len());
            let layouts = std::mem::take(&mut self.layouts);
            self.layouts = layouts.table::<K, ()>(&name);
        }
    }
}

macro_rules! key_type {
    (text [$(#[$($attr:tt)*])*] $a:lifetime $type:ty) => {
        #[derive(RowKey)]
        #[salt(range = 7, over = "first,value")]
        struct Stored<$a> {
            first: Cow<$a, str>,
            $(#[$($attr)*])*
            value: $type,
            last: Cow<$a, str>,
        }
    };
    (ordered [$(#[$($attr:tt)*])*] $a:lifetime $type:ty) => {
        #[derive(RowKey)]
        #[salt(range = 7, over = "first,value")]
        #[row_key(layout = "ordered")]
        struct Stored<$a> {
            first: Cow<$a, str>,
            $(#[$($attr)*])*
            value: $type,
            last: Cow<$a, str>,
        }
    };
}

macro_rules! add {
    ($formats:ident $layout:ident $attrs:tt $a:lifetime [$($type:ty),*]) => {$({
        key_type!($layout $attrs $a $type);
        $formats.add::<Stored<'static>>();
    })*};
}

macro_rules! every_format {
    ($($layout:ident $attrs:tt $codec:tt $order:ident $exact:ident: $($set:ident)*;)*) => {
        fn add_every_format(formats: &mut Formats) {
            $($(
                keyderive::__every_type!($set add formats $layout $attrs);
            )*)*
        }
    };
}

keyderive::__every_format!(every_format);

/// A table for each format of keys.
pub(super) fn formats() -> Layouts {
    let mut formats = Formats { layouts: Layouts::new(), seen: BTreeSet::new() };
    add_every_format(&mut formats);
    formats.layouts
}

#[derive(RowKey)]
#[salt(range = 4, over = "user_id,site")]
pub(super) struct EventKey {
    user_id: String,
    site: String,
    #[reverse_ts]
    at: u64,
    #[pad(6)]
    seq: u32,
}

#[derive(Row)]
pub(super) struct Event {
    kind: String,
    amount: Option<i64>,
}

#[derive(RowKey)]
#[salt(range = 16, position = "front")]
#[row_key(tag = "FRONT")]
struct FrontKey {
    user: String,
}

#[derive(RowKey)]
#[salt(range = 100, after = "type", sep = "--", over = "type")]
#[row_key(tag = "BATTERY \"1\"", delimiter = '\x1f')]
struct AfterKey {
    r#type: String,
    #[pad(9)]
    name: String,
    explain_: u8,
}

#[derive(RowKey)]
#[salt(range = 10, hash = "java")]
#[row_key(tag = "T")]
struct JavaKey {
    user: String,
    #[row_key(escape)]
    path: String,
}

#[derive(RowKey)]
#[salt(range = 4, over = "user", sep = "!", since(at = "2026-06-01T00:00:00Z"))]
#[salt(range = 16, sep = "!", since(at = "2026-12-01T00:00:00.5Z"))]
struct EpochKey {
    user: String,
    #[reverse_ts]
    at: SystemTime,
    #[pad(4)]
    seq: u16,
}

#[derive(RowKey)]
#[salt(range = 2, over = "user")]
#[salt(range = 4, since(number = -5))]
#[row_key(layout = "ordered", tag = "o")]
struct OrderedEpochKey {
    user: String,
    number: i32,
}

#[derive(RowKey)]
#[salt(range = 300, over = "small")]
#[row_key(allow(few_buckets, point_reads))]
struct HashedKey {
    small: u8,
    #[row_key(hash(md5))]
    #[pad(20)]
    user: String,
    last: bool,
}

#[derive(RowKey)]
#[row_key(layout = "ordered")]
struct OrderedHashedKey {
    #[row_key(hash(md5))]
    user: u32,
}

#[derive(RowKey)]
#[row_key(allow(hotspot))]
struct GrowingKey {
    #[row_key(desc)]
    day: NaiveDate,
    #[row_key(name = "into plan")]
    into_plan_of: u8,
    at: u8,
    #[row_key(name = "at_range", method = "at_other")]
    at_other: u8,
}

#[derive(RowKey)]
#[row_key(allow(hotspot), delimiter = '\'')]
struct ReversedKey {
    #[reverse_ts(max = 9999999999999)]
    at: i64,
    größe: String,
}

#[derive(RowKey)]
#[row_key(allow(hotspot))]
struct UuidKey {
    id: Uuid,
    kind: Kind,
}

#[derive(RowKey)]
#[row_key(tag = "a")]
struct SharedKey {
    id: u64,
}

mod other {
    use super::*;

    #[derive(RowKey)]
    #[row_key(tag = "b")]
    pub(super) struct SharedKey {
        id: u32,
    }

    #[derive(Row)]
    pub(super) struct Event {
        kind: Option<String>,
    }
}

#[derive(Cell, Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum State {
    Open,
    #[row(name = "clo sed")]
    Closed,
    #[row(name = "self")]
    Own,
    None,
}

#[derive(Cell, Clone, Copy, Debug, PartialEq, Default)]
#[row(code)]
enum Level {
    #[default]
    Low = 0,
    High = 20,
}

#[derive(Row)]
#[row(family = "e", gc(all(max_age = "30d", max_versions = 3)), ttl = "7d", exclusive)]
struct Everything {
    #[row(name = "a b", alias = "old", alias = "e:with:colon")]
    name: String,
    r#type: Option<String>,
    schema_: u8,
    #[row(name = "Name", constant = "OTHER_NAME")]
    other: i8,
    #[row(default)]
    retries: u32,
    #[row(default)]
    level: Level,
    #[row(default = "no_time")]
    seen: Timestamped<i16>,
    last: Timestamped<bool>,
    perhaps: Option<Timestamped<f64>>,
    small: f32,
    letter: char,
    data: Vec<u8>,
    four: [u8; 4],
    mark: (),
    id: Uuid,
    one: Option<NonZeroU64>,
    two: NonZeroI16,
    host: IpAddr,
    four_host: Ipv4Addr,
    six_host: Option<Ipv6Addr>,
    at: DateTime<Utc>,
    day: NaiveDate,
    state: State,
    u64: u64,
    #[row(json)]
    tags: Option<Vec<String>>,
    #[row(ts(unit = "millis"))]
    stored_at: Option<SystemTime>,
    #[row(ts(unit = "nanos"))]
    fine: SystemTime,
    #[row(family = "counts", counter)]
    count: i64,
    #[row(family = "h", gc(never))]
    history: Versions<String>,
    #[row(family = "h", alias = "cf:older:one", alias = "olds")]
    states: Versions<State>,
    #[row(family = "sums")]
    views: Sum,
    #[row(family = "mins")]
    least: Min,
    #[row(family = "maxs", gc(never))]
    greatest: Max,
    #[row(family = "f", gc(max_age = "90s"))]
    short_lived: Option<String>,
}

fn no_time() -> Timestamped<i16> {
    Timestamped::default()
}

#[derive(Row)]
struct Windows {
    #[row(family = "hours", window = "1h", gc(max_age = "30d"))]
    hourly: Versions<Sum>,
    #[row(family = "least", window = "90s")]
    least: Versions<Min>,
    #[row(family = "most", window = "1d")]
    most: Versions<Max>,
    #[row(family, name = "place-of")]
    place: Place,
    #[row(family)]
    r#where: Option<Place>,
    #[row(family, gc(max_versions = 2), ttl = "12h")]
    daily: BTreeMap<String, f64>,
    #[row(family)]
    by_state: Option<BTreeMap<State, Timestamped<i64>>>,
    #[row(family)]
    by_day: HashMap<NaiveDate, Versions<String>>,
    #[row(family, json)]
    by_bytes: BTreeMap<Vec<u8>, Vec<u32>>,
    #[row(family)]
    views_of: BTreeMap<Uuid, Sum>,
}

#[derive(Row)]
struct Place {
    #[row(alias = "cf:a:b", alias = "town")]
    city: String,
    floor: Option<Level>,
}

#[derive(Row)]
struct Sums {
    one: Sum,
    two: Sum,
}

mod hex_address {
    use keyderive::key::{FieldError, Width};

    pub(super) const WIDTH: Width = Width::Fixed(8);

    pub(super) fn write(value: &u32, out: &mut Vec<u8>) -> Result<(), FieldError> {
        out.extend_from_slice(format!("{value:08x}").as_bytes());
        Ok(())
    }

    pub(super) fn read(bytes: &[u8]) -> Result<u32, FieldError> {
        u32::from_str_radix(str::from_utf8(bytes).map_err(FieldError::new)?, 16).map_err(FieldError::new)
    }
}

#[derive(RowKey)]
pub(super) struct HostKey {
    #[row_key(with = "hex_address")]
    address: u32,
}

/// All of them.
pub(super) fn layouts() -> Layouts {
    formats()
        .table::<EventKey, Event>("events")
        .table::<EventKey, Everything>("every-thing")
        .table::<FrontKey, Windows>("front")
        .table::<AfterKey, Sums>("type")
        .table::<JavaKey, Event>("java")
        .table::<EpochKey, ()>("epochs")
        .table::<OrderedEpochKey, ()>("ordered epochs")
        .table::<HashedKey, ()>("hashed")
        .table::<OrderedHashedKey, ()>("ordered hashed")
        .table::<GrowingKey, ()>("growing")
        .table::<ReversedKey, ()>("reversed")
        .table_with_family::<UuidKey, BTreeMap<State, Vec<u8>>>("maps", "by_state")
        .table::<SharedKey, Event>("shared")
        .table::<other::SharedKey, other::Event>("shared")
        .table_with_family::<SharedKey, HashMap<String, i64>>("counts", "cf")
}

async fn create<K: OwnedRowKey, R: OwnedRow>() -> (TableInfo, TableLayout) {
    let table = Client::embedded().table::<K, R>("t");
    table.create().await.unwrap();
    (table.info().await.unwrap(), Layouts::new().table::<K, R>("t").table_layout("t").unwrap())
}

/// Tables as `create` makes them, with their layouts.
pub(super) async fn created() -> [(TableInfo, TableLayout); 5] {
    [
        create::<EventKey, Event>().await,
        create::<EventKey, Everything>().await,
        create::<FrontKey, Windows>().await,
        create::<AfterKey, Sums>().await,
        create::<UuidKey, BTreeMap<State, Vec<u8>>>().await,
    ]
}
