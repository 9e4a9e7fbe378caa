// Made by `keyderive codegen --rust` from a layout file.
// It needs `chrono`, and the feature `chrono` of keyderive, `serde_json`, `uuid`, and the feature `uuid` of keyderive.

pub mod counts {
    /// A row key of the table `counts`: `a#<id>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[row_key(tag = "a")]
    #[row_key(fingerprint = "82ba016f688bef31")]
    pub struct SharedKey {
        pub id: u64,
    }

    /// A row of the table `counts`.
    pub type SharedKeyRow = std::collections::HashMap<String, i64>;
}

pub mod epochs {
    /// A row key of the table `epochs`: `[<salt by at>!]<user>#<at>#<seq>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[row_key(
        salt(range = 4, over(user), sep = "!", since(at = "2026-06-01T00:00:00Z")),
        salt(range = 16, sep = "!", since(at = "2026-12-01T00:00:00.5Z")),
    )]
    #[row_key(fingerprint = "4d362db4884dba31")]
    pub struct EpochKey {
        pub user: String,
        #[reverse_ts]
        pub at: chrono::DateTime<chrono::Utc>,
        #[pad(4)]
        pub seq: u16,
    }
}

pub mod events {
    /// A row key of the table `events`: `<salt 0 to 3>#<user_id>#<site>#<at>#<seq>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 4, over(user_id, site))]
    #[row_key(fingerprint = "6c1705375cfbd9b0")]
    pub struct EventKey {
        pub user_id: String,
        pub site: String,
        #[reverse_ts]
        pub at: u64,
        #[pad(6)]
        pub seq: u32,
    }

    /// A row of the table `events`.
    #[derive(::keyderive::Row, Clone, Debug, PartialEq)]
    #[row(fingerprint = "454fb0b53de582ca")]
    pub struct Event {
        pub kind: String,
        pub amount: Option<i64>,
    }
}

pub mod every_thing {
    /// A row key of the table `every-thing`: `<salt 0 to 3>#<user_id>#<site>#<at>#<seq>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 4, over(user_id, site))]
    #[row_key(fingerprint = "6c1705375cfbd9b0")]
    pub struct EventKey {
        pub user_id: String,
        pub site: String,
        #[reverse_ts]
        pub at: u64,
        #[pad(6)]
        pub seq: u32,
    }

    #[derive(::keyderive::Cell, Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
    #[row(code)]
    pub enum Level {
        #[default]
        Low = 0,
        High = 20,
    }

    #[derive(::keyderive::Cell, Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
    pub enum State {
        #[default]
        Open,
        #[row(name = "clo sed")]
        CloSed,
        #[row(name = "self")]
        Self_,
        None,
    }

    /// A row of the table `every-thing`.
    #[derive(::keyderive::Row, Clone, Debug, PartialEq)]
    #[row(family = "e")]
    #[row(gc(all(max_age = "30d", max_versions = 3)))]
    #[row(ttl = "7d")]
    #[row(exclusive)]
    #[row(fingerprint = "6f0db83c0b2ebc0b")]
    pub struct Everything {
        #[row(name = "a b")]
        #[row(alias = "old")]
        #[row(alias = "e:with:colon")]
        pub a_b: String,
        pub r#type: Option<String>,
        pub schema_: u8,
        #[row(name = "Name")]
        pub name: i8,
        // The type's default: layouts do not say the program's.
        #[row(default)]
        pub retries: u32,
        // The type's default: layouts do not say the program's.
        #[row(default)]
        pub level: Level,
        // The type's default: layouts do not say the program's.
        #[row(default)]
        pub seen: keyderive::row::Timestamped<i16>,
        pub last: keyderive::row::Timestamped<bool>,
        pub perhaps: Option<keyderive::row::Timestamped<f64>>,
        pub small: f32,
        pub letter: char,
        pub data: Vec<u8>,
        pub four: [u8; 4],
        pub mark: (),
        pub id: uuid::Uuid,
        pub one: Option<std::num::NonZeroU64>,
        pub two: std::num::NonZeroI16,
        pub host: std::net::IpAddr,
        pub four_host: std::net::Ipv4Addr,
        pub six_host: Option<std::net::Ipv6Addr>,
        pub at: chrono::DateTime<chrono::Utc>,
        pub day: chrono::NaiveDate,
        pub state: State,
        pub u64: u64,
        #[row(json)]
        pub tags: Option<serde_json::Value>,
        #[row(ts(unit = "millis"))]
        pub stored_at: Option<chrono::DateTime<chrono::Utc>>,
        #[row(ts(unit = "nanos"))]
        pub fine: chrono::DateTime<chrono::Utc>,
        #[row(family = "counts")]
        #[row(counter)]
        pub count: i64,
        #[row(family = "h")]
        #[row(gc(never))]
        pub history: keyderive::row::Versions<String>,
        #[row(family = "h")]
        #[row(alias = "cf:older:one")]
        #[row(alias = "olds")]
        pub states: keyderive::row::Versions<State>,
        #[row(family = "sums")]
        pub views: keyderive::row::Sum,
        #[row(family = "mins")]
        pub least: keyderive::row::Min,
        #[row(family = "maxs")]
        #[row(gc(never))]
        pub greatest: keyderive::row::Max,
        #[row(family = "f")]
        #[row(gc(max_age = "90s"))]
        pub short_lived: Option<String>,
    }
}

pub mod format_001 {
    /// A row key of the table `format-001`: `<salt 0 to 6>#<first>#<value>#<last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(fingerprint = "a8126f169bc379e9")]
    pub struct Stored {
        pub first: String,
        pub value: u8,
        pub last: String,
    }
}

pub mod format_002 {
    /// A row key of the table `format-002`: `<salt 0 to 6>#<first>#<value>#<last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(fingerprint = "6fa2ba33e073fb5f")]
    pub struct Stored {
        pub first: String,
        pub value: u16,
        pub last: String,
    }
}

pub mod format_003 {
    /// A row key of the table `format-003`: `<salt 0 to 6>#<first>#<value>#<last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(fingerprint = "8241a2ba011592a6")]
    pub struct Stored {
        pub first: String,
        pub value: u32,
        pub last: String,
    }
}

pub mod format_004 {
    /// A row key of the table `format-004`: `<salt 0 to 6>#<first>#<value>#<last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(fingerprint = "03c78ed11c05d754")]
    pub struct Stored {
        pub first: String,
        pub value: u64,
        pub last: String,
    }
}

pub mod format_005 {
    /// A row key of the table `format-005`: `<salt 0 to 6>#<first>#<value>#<last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(fingerprint = "413dfc40255d441d")]
    pub struct Stored {
        pub first: String,
        pub value: u128,
        pub last: String,
    }
}

pub mod format_006 {
    /// A row key of the table `format-006`: `<salt 0 to 6>#<first>#<value>#<last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(fingerprint = "8bdcd42b401c2ad4")]
    pub struct Stored {
        pub first: String,
        pub value: i8,
        pub last: String,
    }
}

pub mod format_007 {
    /// A row key of the table `format-007`: `<salt 0 to 6>#<first>#<value>#<last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(fingerprint = "a970c2b577d95492")]
    pub struct Stored {
        pub first: String,
        pub value: i16,
        pub last: String,
    }
}

pub mod format_008 {
    /// A row key of the table `format-008`: `<salt 0 to 6>#<first>#<value>#<last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(fingerprint = "972deb4089400e71")]
    pub struct Stored {
        pub first: String,
        pub value: i32,
        pub last: String,
    }
}

pub mod format_009 {
    /// A row key of the table `format-009`: `<salt 0 to 6>#<first>#<value>#<last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(fingerprint = "b475110a53ba4c44")]
    pub struct Stored {
        pub first: String,
        pub value: i64,
        pub last: String,
    }
}

pub mod format_010 {
    /// A row key of the table `format-010`: `<salt 0 to 6>#<first>#<value>#<last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(fingerprint = "0bcaffe82029bed8")]
    pub struct Stored {
        pub first: String,
        pub value: i128,
        pub last: String,
    }
}

pub mod format_011 {
    /// A row key of the table `format-011`: `<salt 0 to 6>#<first>#<value>#<last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(fingerprint = "afb789d23b1ce6ae")]
    pub struct Stored {
        pub first: String,
        pub value: bool,
        pub last: String,
    }
}

pub mod format_012 {
    /// A row key of the table `format-012`: `<salt 0 to 6>#<first>#<value>#<last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(fingerprint = "4ae245e0c138c8fc")]
    pub struct Stored {
        pub first: String,
        pub value: char,
        pub last: String,
    }
}

pub mod format_013 {
    /// A row key of the table `format-013`: `<salt 0 to 6>#<first>#<value>#<last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(fingerprint = "4ae245e0c138c8fc")]
    pub struct Stored {
        pub first: String,
        pub value: String,
        pub last: String,
    }
}

pub mod format_014 {
    /// A row key of the table `format-014`: `<salt 0 to 6>#<first>#<value>#<last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(fingerprint = "1a483a1f28d1fc31")]
    pub struct Stored {
        pub first: String,
        pub value: Vec<u8>,
        pub last: String,
    }
}

pub mod format_015 {
    /// A row key of the table `format-015`: `<salt 0 to 6>#<first>#<value>#<last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(fingerprint = "4d2c8ce5c6855d1e")]
    pub struct Stored {
        pub first: String,
        pub value: [u8; 4],
        pub last: String,
    }
}

pub mod format_016 {
    #[derive(::keyderive::KeyField, Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum Value {
        Created = 1,
        Type = 2,
        Deleted = 120,
    }

    /// A row key of the table `format-016`: `<salt 0 to 6>#<first>#<value>#<last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(fingerprint = "a8126f169bc379e9")]
    pub struct Stored {
        pub first: String,
        pub value: Value,
        pub last: String,
    }
}

pub mod format_017 {
    /// A row key of the table `format-017`: `<salt 0 to 6>#<first>#<value>#<last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(fingerprint = "34643bac54af55c8")]
    pub struct Stored {
        pub first: String,
        pub value: chrono::DateTime<chrono::Utc>,
        pub last: String,
    }
}

pub mod format_018 {
    /// A row key of the table `format-018`: `<salt 0 to 6>#<first>#<value>#<last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(fingerprint = "358f41427f737939")]
    pub struct Stored {
        pub first: String,
        pub value: chrono::NaiveDate,
        pub last: String,
    }
}

pub mod format_019 {
    /// A row key of the table `format-019`: `<salt 0 to 6>#<first>#<value>#<last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(fingerprint = "1a7e493c07d51c98")]
    pub struct Stored {
        pub first: String,
        pub value: uuid::Uuid,
        pub last: String,
    }
}

pub mod format_020 {
    /// A row key of the table `format-020`: `<salt 0 to 6>#<first>#<value>#<last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(fingerprint = "f74bac72f774ec82")]
    pub struct Stored {
        pub first: String,
        #[pad(6)]
        pub value: u8,
        pub last: String,
    }
}

pub mod format_021 {
    /// A row key of the table `format-021`: `<salt 0 to 6>#<first>#<value>#<last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(fingerprint = "f74bac72f774ec82")]
    pub struct Stored {
        pub first: String,
        #[pad(6)]
        pub value: u16,
        pub last: String,
    }
}

pub mod format_022 {
    /// A row key of the table `format-022`: `<salt 0 to 6>#<first>#<value>#<last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(fingerprint = "f74bac72f774ec82")]
    pub struct Stored {
        pub first: String,
        #[pad(6)]
        pub value: u32,
        pub last: String,
    }
}

pub mod format_023 {
    /// A row key of the table `format-023`: `<salt 0 to 6>#<first>#<value>#<last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(fingerprint = "f74bac72f774ec82")]
    pub struct Stored {
        pub first: String,
        #[pad(6)]
        pub value: u64,
        pub last: String,
    }
}

pub mod format_024 {
    /// A row key of the table `format-024`: `<salt 0 to 6>#<first>#<value>#<last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(fingerprint = "f74bac72f774ec82")]
    pub struct Stored {
        pub first: String,
        #[pad(6)]
        pub value: u128,
        pub last: String,
    }
}

pub mod format_025 {
    /// A row key of the table `format-025`: `<salt 0 to 6>#<first>#<value>#<last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(fingerprint = "f74bac72f774ec82")]
    pub struct Stored {
        pub first: String,
        #[pad(6)]
        pub value: i8,
        pub last: String,
    }
}

pub mod format_026 {
    /// A row key of the table `format-026`: `<salt 0 to 6>#<first>#<value>#<last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(fingerprint = "f74bac72f774ec82")]
    pub struct Stored {
        pub first: String,
        #[pad(6)]
        pub value: i16,
        pub last: String,
    }
}

pub mod format_027 {
    /// A row key of the table `format-027`: `<salt 0 to 6>#<first>#<value>#<last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(fingerprint = "f74bac72f774ec82")]
    pub struct Stored {
        pub first: String,
        #[pad(6)]
        pub value: i32,
        pub last: String,
    }
}

pub mod format_028 {
    /// A row key of the table `format-028`: `<salt 0 to 6>#<first>#<value>#<last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(fingerprint = "f74bac72f774ec82")]
    pub struct Stored {
        pub first: String,
        #[pad(6)]
        pub value: i64,
        pub last: String,
    }
}

pub mod format_029 {
    /// A row key of the table `format-029`: `<salt 0 to 6>#<first>#<value>#<last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(fingerprint = "f74bac72f774ec82")]
    pub struct Stored {
        pub first: String,
        #[pad(6)]
        pub value: i128,
        pub last: String,
    }
}

pub mod format_030 {
    /// A row key of the table `format-030`: `<salt 0 to 6>#<first>#<value>#<last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(fingerprint = "e95b0b6d8a0a83fd")]
    pub struct Stored {
        pub first: String,
        #[pad(6)]
        pub value: String,
        pub last: String,
    }
}

pub mod format_031 {
    /// A row key of the table `format-031`: `<salt 0 to 6>#<first>#<value>#<last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(fingerprint = "b4c257b3a3234e4a")]
    pub struct Stored {
        pub first: String,
        #[pad(30)]
        pub value: u8,
        pub last: String,
    }
}

pub mod format_032 {
    /// A row key of the table `format-032`: `<salt 0 to 6>#<first>#<value>#<last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(fingerprint = "b4c257b3a3234e4a")]
    pub struct Stored {
        pub first: String,
        #[pad(30)]
        pub value: u16,
        pub last: String,
    }
}

pub mod format_033 {
    /// A row key of the table `format-033`: `<salt 0 to 6>#<first>#<value>#<last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(fingerprint = "b4c257b3a3234e4a")]
    pub struct Stored {
        pub first: String,
        #[pad(30)]
        pub value: u32,
        pub last: String,
    }
}

pub mod format_034 {
    /// A row key of the table `format-034`: `<salt 0 to 6>#<first>#<value>#<last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(fingerprint = "b4c257b3a3234e4a")]
    pub struct Stored {
        pub first: String,
        #[pad(30)]
        pub value: u64,
        pub last: String,
    }
}

pub mod format_035 {
    /// A row key of the table `format-035`: `<salt 0 to 6>#<first>#<value>#<last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(fingerprint = "b4c257b3a3234e4a")]
    pub struct Stored {
        pub first: String,
        #[pad(30)]
        pub value: u128,
        pub last: String,
    }
}

pub mod format_036 {
    /// A row key of the table `format-036`: `<salt 0 to 6>#<first>#<value>#<last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(fingerprint = "b4c257b3a3234e4a")]
    pub struct Stored {
        pub first: String,
        #[pad(30)]
        pub value: i8,
        pub last: String,
    }
}

pub mod format_037 {
    /// A row key of the table `format-037`: `<salt 0 to 6>#<first>#<value>#<last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(fingerprint = "b4c257b3a3234e4a")]
    pub struct Stored {
        pub first: String,
        #[pad(30)]
        pub value: i16,
        pub last: String,
    }
}

pub mod format_038 {
    /// A row key of the table `format-038`: `<salt 0 to 6>#<first>#<value>#<last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(fingerprint = "b4c257b3a3234e4a")]
    pub struct Stored {
        pub first: String,
        #[pad(30)]
        pub value: i32,
        pub last: String,
    }
}

pub mod format_039 {
    /// A row key of the table `format-039`: `<salt 0 to 6>#<first>#<value>#<last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(fingerprint = "b4c257b3a3234e4a")]
    pub struct Stored {
        pub first: String,
        #[pad(30)]
        pub value: i64,
        pub last: String,
    }
}

pub mod format_040 {
    /// A row key of the table `format-040`: `<salt 0 to 6>#<first>#<value>#<last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(fingerprint = "b4c257b3a3234e4a")]
    pub struct Stored {
        pub first: String,
        #[pad(30)]
        pub value: i128,
        pub last: String,
    }
}

pub mod format_041 {
    /// A row key of the table `format-041`: `<salt 0 to 6>#<first>#<value>#<last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(fingerprint = "46ed3044ab893dc5")]
    pub struct Stored {
        pub first: String,
        #[pad(30)]
        pub value: String,
        pub last: String,
    }
}

pub mod format_042 {
    /// A row key of the table `format-042`: `<salt 0 to 6>#<first>#<value>#<last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(fingerprint = "fedc9fa17d966c91")]
    pub struct Stored {
        pub first: String,
        #[reverse_ts]
        pub value: u8,
        pub last: String,
    }
}

pub mod format_043 {
    /// A row key of the table `format-043`: `<salt 0 to 6>#<first>#<value>#<last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(fingerprint = "fedc9fa17d966c91")]
    pub struct Stored {
        pub first: String,
        #[reverse_ts]
        pub value: u16,
        pub last: String,
    }
}

pub mod format_044 {
    /// A row key of the table `format-044`: `<salt 0 to 6>#<first>#<value>#<last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(fingerprint = "fedc9fa17d966c91")]
    pub struct Stored {
        pub first: String,
        #[reverse_ts]
        pub value: u32,
        pub last: String,
    }
}

pub mod format_045 {
    /// A row key of the table `format-045`: `<salt 0 to 6>#<first>#<value>#<last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(fingerprint = "fedc9fa17d966c91")]
    pub struct Stored {
        pub first: String,
        #[reverse_ts]
        pub value: u64,
        pub last: String,
    }
}

pub mod format_046 {
    /// A row key of the table `format-046`: `<salt 0 to 6>#<first>#<value>#<last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(fingerprint = "fedc9fa17d966c91")]
    pub struct Stored {
        pub first: String,
        #[reverse_ts]
        pub value: u128,
        pub last: String,
    }
}

pub mod format_047 {
    /// A row key of the table `format-047`: `<salt 0 to 6>#<first>#<value>#<last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(fingerprint = "fedc9fa17d966c91")]
    pub struct Stored {
        pub first: String,
        #[reverse_ts]
        pub value: i8,
        pub last: String,
    }
}

pub mod format_048 {
    /// A row key of the table `format-048`: `<salt 0 to 6>#<first>#<value>#<last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(fingerprint = "fedc9fa17d966c91")]
    pub struct Stored {
        pub first: String,
        #[reverse_ts]
        pub value: i16,
        pub last: String,
    }
}

pub mod format_049 {
    /// A row key of the table `format-049`: `<salt 0 to 6>#<first>#<value>#<last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(fingerprint = "fedc9fa17d966c91")]
    pub struct Stored {
        pub first: String,
        #[reverse_ts]
        pub value: i32,
        pub last: String,
    }
}

pub mod format_050 {
    /// A row key of the table `format-050`: `<salt 0 to 6>#<first>#<value>#<last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(fingerprint = "fedc9fa17d966c91")]
    pub struct Stored {
        pub first: String,
        #[reverse_ts]
        pub value: i64,
        pub last: String,
    }
}

pub mod format_051 {
    /// A row key of the table `format-051`: `<salt 0 to 6>#<first>#<value>#<last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(fingerprint = "fedc9fa17d966c91")]
    pub struct Stored {
        pub first: String,
        #[reverse_ts]
        pub value: i128,
        pub last: String,
    }
}

pub mod format_052 {
    /// A row key of the table `format-052`: `<salt 0 to 6>#<first>#<value>#<last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(fingerprint = "64f7031c1f8af619")]
    pub struct Stored {
        pub first: String,
        #[reverse_ts]
        pub value: chrono::DateTime<chrono::Utc>,
        pub last: String,
    }
}

pub mod format_053 {
    /// A row key of the table `format-053`: `<salt 0 to 6>#<first>#<value>#<last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(fingerprint = "643516e36c466e30")]
    pub struct Stored {
        pub first: String,
        #[row_key(desc)]
        #[pad(4)]
        pub value: u8,
        pub last: String,
    }
}

pub mod format_054 {
    /// A row key of the table `format-054`: `<salt 0 to 6>#<first>#<value>#<last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(fingerprint = "643516e36c466e30")]
    pub struct Stored {
        pub first: String,
        #[row_key(desc)]
        #[pad(4)]
        pub value: u16,
        pub last: String,
    }
}

pub mod format_055 {
    /// A row key of the table `format-055`: `<salt 0 to 6>#<first>#<value>#<last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(fingerprint = "643516e36c466e30")]
    pub struct Stored {
        pub first: String,
        #[row_key(desc)]
        #[pad(4)]
        pub value: u32,
        pub last: String,
    }
}

pub mod format_056 {
    /// A row key of the table `format-056`: `<salt 0 to 6>#<first>#<value>#<last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(fingerprint = "643516e36c466e30")]
    pub struct Stored {
        pub first: String,
        #[row_key(desc)]
        #[pad(4)]
        pub value: u64,
        pub last: String,
    }
}

pub mod format_057 {
    /// A row key of the table `format-057`: `<salt 0 to 6>#<first>#<value>#<last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(fingerprint = "643516e36c466e30")]
    pub struct Stored {
        pub first: String,
        #[row_key(desc)]
        #[pad(4)]
        pub value: u128,
        pub last: String,
    }
}

pub mod format_058 {
    /// A row key of the table `format-058`: `<salt 0 to 6>#<first>#<value>#<last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(fingerprint = "643516e36c466e30")]
    pub struct Stored {
        pub first: String,
        #[row_key(desc)]
        #[pad(4)]
        pub value: i8,
        pub last: String,
    }
}

pub mod format_059 {
    /// A row key of the table `format-059`: `<salt 0 to 6>#<first>#<value>#<last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(fingerprint = "643516e36c466e30")]
    pub struct Stored {
        pub first: String,
        #[row_key(desc)]
        #[pad(4)]
        pub value: i16,
        pub last: String,
    }
}

pub mod format_060 {
    /// A row key of the table `format-060`: `<salt 0 to 6>#<first>#<value>#<last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(fingerprint = "643516e36c466e30")]
    pub struct Stored {
        pub first: String,
        #[row_key(desc)]
        #[pad(4)]
        pub value: i32,
        pub last: String,
    }
}

pub mod format_061 {
    /// A row key of the table `format-061`: `<salt 0 to 6>#<first>#<value>#<last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(fingerprint = "643516e36c466e30")]
    pub struct Stored {
        pub first: String,
        #[row_key(desc)]
        #[pad(4)]
        pub value: i64,
        pub last: String,
    }
}

pub mod format_062 {
    /// A row key of the table `format-062`: `<salt 0 to 6>#<first>#<value>#<last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(fingerprint = "643516e36c466e30")]
    pub struct Stored {
        pub first: String,
        #[row_key(desc)]
        #[pad(4)]
        pub value: i128,
        pub last: String,
    }
}

pub mod format_063 {
    /// A row key of the table `format-063`: `<salt 0 to 6>#<first>#<value>#<last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(fingerprint = "aa8f68d987e83328")]
    pub struct Stored {
        pub first: String,
        #[reverse_ts(max = 9999)]
        pub value: chrono::DateTime<chrono::Utc>,
        pub last: String,
    }
}

pub mod format_064 {
    /// A row key of the table `format-064`: `<salt 0 to 6>#<first>#<value>#<last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(fingerprint = "e945989aacefeacc")]
    pub struct Stored {
        pub first: String,
        #[row_key(desc)]
        pub value: u8,
        pub last: String,
    }
}

pub mod format_065 {
    /// A row key of the table `format-065`: `<salt 0 to 6>#<first>#<value>#<last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(fingerprint = "4173d6441ad7cc69")]
    pub struct Stored {
        pub first: String,
        #[row_key(desc)]
        pub value: u16,
        pub last: String,
    }
}

pub mod format_066 {
    /// A row key of the table `format-066`: `<salt 0 to 6>#<first>#<value>#<last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(fingerprint = "91b171d6a970b87c")]
    pub struct Stored {
        pub first: String,
        #[row_key(desc)]
        pub value: u32,
        pub last: String,
    }
}

pub mod format_067 {
    /// A row key of the table `format-067`: `<salt 0 to 6>#<first>#<value>#<last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(fingerprint = "726e42a416ebfd82")]
    pub struct Stored {
        pub first: String,
        #[row_key(desc)]
        pub value: u64,
        pub last: String,
    }
}

pub mod format_068 {
    /// A row key of the table `format-068`: `<salt 0 to 6>#<first>#<value>#<last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(fingerprint = "ec8fba9397585f39")]
    pub struct Stored {
        pub first: String,
        #[row_key(desc)]
        pub value: u128,
        pub last: String,
    }
}

pub mod format_069 {
    /// A row key of the table `format-069`: `<salt 0 to 6>#<first>#<value>#<last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(fingerprint = "8fcf080bbb6c9b3a")]
    pub struct Stored {
        pub first: String,
        #[row_key(desc)]
        pub value: i8,
        pub last: String,
    }
}

pub mod format_070 {
    /// A row key of the table `format-070`: `<salt 0 to 6>#<first>#<value>#<last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(fingerprint = "0148d0cd53771ef4")]
    pub struct Stored {
        pub first: String,
        #[row_key(desc)]
        pub value: i16,
        pub last: String,
    }
}

pub mod format_071 {
    /// A row key of the table `format-071`: `<salt 0 to 6>#<first>#<value>#<last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(fingerprint = "def91eeca7c8f5d9")]
    pub struct Stored {
        pub first: String,
        #[row_key(desc)]
        pub value: i32,
        pub last: String,
    }
}

pub mod format_072 {
    /// A row key of the table `format-072`: `<salt 0 to 6>#<first>#<value>#<last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(fingerprint = "c6e75570708221ca")]
    pub struct Stored {
        pub first: String,
        #[row_key(desc)]
        pub value: i64,
        pub last: String,
    }
}

pub mod format_073 {
    /// A row key of the table `format-073`: `<salt 0 to 6>#<first>#<value>#<last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(fingerprint = "eb63c57e6a28ba56")]
    pub struct Stored {
        pub first: String,
        #[row_key(desc)]
        pub value: i128,
        pub last: String,
    }
}

pub mod format_074 {
    /// A row key of the table `format-074`: `<salt 0 to 6>#<first>#<value>#<last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(fingerprint = "7d1bfacf10d64a98")]
    pub struct Stored {
        pub first: String,
        #[row_key(desc)]
        pub value: bool,
        pub last: String,
    }
}

pub mod format_075 {
    /// A row key of the table `format-075`: `<salt 0 to 6>#<first>#<value>#<last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(fingerprint = "2aa179d7732556a6")]
    pub struct Stored {
        pub first: String,
        #[row_key(desc)]
        pub value: chrono::DateTime<chrono::Utc>,
        pub last: String,
    }
}

pub mod format_076 {
    /// A row key of the table `format-076`: `<salt 0 to 6>#<first>#<value>#<last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(fingerprint = "6c7b56244282ccb1")]
    pub struct Stored {
        pub first: String,
        #[row_key(desc)]
        pub value: chrono::NaiveDate,
        pub last: String,
    }
}

pub mod format_077 {
    /// A row key of the table `format-077`: `<salt 0 to 6>#<first>#<value>#<last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(fingerprint = "b2f49b5a6e00595e")]
    pub struct Stored {
        pub first: String,
        #[row_key(desc)]
        #[pad(6)]
        pub value: u8,
        pub last: String,
    }
}

pub mod format_078 {
    /// A row key of the table `format-078`: `<salt 0 to 6>#<first>#<value>#<last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(fingerprint = "b2f49b5a6e00595e")]
    pub struct Stored {
        pub first: String,
        #[row_key(desc)]
        #[pad(6)]
        pub value: u16,
        pub last: String,
    }
}

pub mod format_079 {
    /// A row key of the table `format-079`: `<salt 0 to 6>#<first>#<value>#<last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(fingerprint = "b2f49b5a6e00595e")]
    pub struct Stored {
        pub first: String,
        #[row_key(desc)]
        #[pad(6)]
        pub value: u32,
        pub last: String,
    }
}

pub mod format_080 {
    /// A row key of the table `format-080`: `<salt 0 to 6>#<first>#<value>#<last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(fingerprint = "b2f49b5a6e00595e")]
    pub struct Stored {
        pub first: String,
        #[row_key(desc)]
        #[pad(6)]
        pub value: u64,
        pub last: String,
    }
}

pub mod format_081 {
    /// A row key of the table `format-081`: `<salt 0 to 6>#<first>#<value>#<last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(fingerprint = "b2f49b5a6e00595e")]
    pub struct Stored {
        pub first: String,
        #[row_key(desc)]
        #[pad(6)]
        pub value: u128,
        pub last: String,
    }
}

pub mod format_082 {
    /// A row key of the table `format-082`: `<salt 0 to 6>#<first>#<value>#<last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(fingerprint = "b2f49b5a6e00595e")]
    pub struct Stored {
        pub first: String,
        #[row_key(desc)]
        #[pad(6)]
        pub value: i8,
        pub last: String,
    }
}

pub mod format_083 {
    /// A row key of the table `format-083`: `<salt 0 to 6>#<first>#<value>#<last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(fingerprint = "b2f49b5a6e00595e")]
    pub struct Stored {
        pub first: String,
        #[row_key(desc)]
        #[pad(6)]
        pub value: i16,
        pub last: String,
    }
}

pub mod format_084 {
    /// A row key of the table `format-084`: `<salt 0 to 6>#<first>#<value>#<last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(fingerprint = "b2f49b5a6e00595e")]
    pub struct Stored {
        pub first: String,
        #[row_key(desc)]
        #[pad(6)]
        pub value: i32,
        pub last: String,
    }
}

pub mod format_085 {
    /// A row key of the table `format-085`: `<salt 0 to 6>#<first>#<value>#<last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(fingerprint = "b2f49b5a6e00595e")]
    pub struct Stored {
        pub first: String,
        #[row_key(desc)]
        #[pad(6)]
        pub value: i64,
        pub last: String,
    }
}

pub mod format_086 {
    /// A row key of the table `format-086`: `<salt 0 to 6>#<first>#<value>#<last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(fingerprint = "b2f49b5a6e00595e")]
    pub struct Stored {
        pub first: String,
        #[row_key(desc)]
        #[pad(6)]
        pub value: i128,
        pub last: String,
    }
}

pub mod format_087 {
    /// A row key of the table `format-087`: `<salt 0 to 6>#<first>#<value>#<last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(fingerprint = "6505158de6899682")]
    pub struct Stored {
        pub first: String,
        #[row_key(desc)]
        #[pad(30)]
        pub value: u8,
        pub last: String,
    }
}

pub mod format_088 {
    /// A row key of the table `format-088`: `<salt 0 to 6>#<first>#<value>#<last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(fingerprint = "6505158de6899682")]
    pub struct Stored {
        pub first: String,
        #[row_key(desc)]
        #[pad(30)]
        pub value: u16,
        pub last: String,
    }
}

pub mod format_089 {
    /// A row key of the table `format-089`: `<salt 0 to 6>#<first>#<value>#<last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(fingerprint = "6505158de6899682")]
    pub struct Stored {
        pub first: String,
        #[row_key(desc)]
        #[pad(30)]
        pub value: u32,
        pub last: String,
    }
}

pub mod format_090 {
    /// A row key of the table `format-090`: `<salt 0 to 6>#<first>#<value>#<last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(fingerprint = "6505158de6899682")]
    pub struct Stored {
        pub first: String,
        #[row_key(desc)]
        #[pad(30)]
        pub value: u64,
        pub last: String,
    }
}

pub mod format_091 {
    /// A row key of the table `format-091`: `<salt 0 to 6>#<first>#<value>#<last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(fingerprint = "6505158de6899682")]
    pub struct Stored {
        pub first: String,
        #[row_key(desc)]
        #[pad(30)]
        pub value: u128,
        pub last: String,
    }
}

pub mod format_092 {
    /// A row key of the table `format-092`: `<salt 0 to 6>#<first>#<value>#<last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(fingerprint = "6505158de6899682")]
    pub struct Stored {
        pub first: String,
        #[row_key(desc)]
        #[pad(30)]
        pub value: i8,
        pub last: String,
    }
}

pub mod format_093 {
    /// A row key of the table `format-093`: `<salt 0 to 6>#<first>#<value>#<last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(fingerprint = "6505158de6899682")]
    pub struct Stored {
        pub first: String,
        #[row_key(desc)]
        #[pad(30)]
        pub value: i16,
        pub last: String,
    }
}

pub mod format_094 {
    /// A row key of the table `format-094`: `<salt 0 to 6>#<first>#<value>#<last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(fingerprint = "6505158de6899682")]
    pub struct Stored {
        pub first: String,
        #[row_key(desc)]
        #[pad(30)]
        pub value: i32,
        pub last: String,
    }
}

pub mod format_095 {
    /// A row key of the table `format-095`: `<salt 0 to 6>#<first>#<value>#<last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(fingerprint = "6505158de6899682")]
    pub struct Stored {
        pub first: String,
        #[row_key(desc)]
        #[pad(30)]
        pub value: i64,
        pub last: String,
    }
}

pub mod format_096 {
    /// A row key of the table `format-096`: `<salt 0 to 6>#<first>#<value>#<last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(fingerprint = "6505158de6899682")]
    pub struct Stored {
        pub first: String,
        #[row_key(desc)]
        #[pad(30)]
        pub value: i128,
        pub last: String,
    }
}

pub mod format_097 {
    /// A row key of the table `format-097`: `<salt 0 to 6>#<first>#<value>#<last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(fingerprint = "f3c10b996d7f5de2")]
    pub struct Stored {
        pub first: String,
        #[row_key(bit_reverse)]
        pub value: u32,
        pub last: String,
    }
}

pub mod format_098 {
    /// A row key of the table `format-098`: `<salt 0 to 6>#<first>#<value>#<last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(fingerprint = "f519ea04f38c95f4")]
    pub struct Stored {
        pub first: String,
        #[row_key(bit_reverse)]
        pub value: u64,
        pub last: String,
    }
}

pub mod format_099 {
    /// A row key of the table `format-099`: `<salt 0 to 6>#<first>#<value>#<last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(fingerprint = "7abc5df204b19c75")]
    pub struct Stored {
        pub first: String,
        #[row_key(escape)]
        pub value: char,
        pub last: String,
    }
}

pub mod format_100 {
    /// A row key of the table `format-100`: `<salt 0 to 6>#<first>#<value>#<last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(fingerprint = "7abc5df204b19c75")]
    pub struct Stored {
        pub first: String,
        #[row_key(escape)]
        pub value: String,
        pub last: String,
    }
}

pub mod format_101 {
    /// A row key of the table `format-101`: `<salt 0 to 6>#<first>#<value>#<last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(fingerprint = "f8f527d457759bec")]
    pub struct Stored {
        pub first: String,
        #[row_key(uuid(simple))]
        pub value: uuid::Uuid,
        pub last: String,
    }
}

pub mod format_102 {
    /// A row key of the table `format-102`: `<salt 0 to 6>#<first>#<value>#<last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(fingerprint = "1a7e493c07d51c98")]
    pub struct Stored {
        pub first: String,
        #[row_key(uuid(v4))]
        pub value: uuid::Uuid,
        pub last: String,
    }
}

pub mod format_103 {
    /// A row key of the table `format-103`: `<salt 0 to 6>#<first>#<value>#<last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(fingerprint = "f8f527d457759bec")]
    pub struct Stored {
        pub first: String,
        #[row_key(uuid(simple, v4))]
        pub value: uuid::Uuid,
        pub last: String,
    }
}

pub mod format_104 {
    /// A row key of the table `format-104`: `<salt 0 to 6>#<first>#<value>#<last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(fingerprint = "15c48de658aa47ea")]
    pub struct Stored {
        pub first: String,
        #[row_key(ts(unit = "secs"))]
        pub value: chrono::DateTime<chrono::Utc>,
        pub last: String,
    }
}

pub mod format_105 {
    /// A row key of the table `format-105`: `<salt 0 to 6>#<first>#<value>#<last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(fingerprint = "15c48de658aa47ea")]
    pub struct Stored {
        pub first: String,
        #[row_key(ts(unit = "secs", exact))]
        pub value: chrono::DateTime<chrono::Utc>,
        pub last: String,
    }
}

pub mod format_106 {
    /// A row key of the table `format-106`: `<salt 0 to 6>#<first>#<value>#<last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(fingerprint = "38665b3010a8887a")]
    pub struct Stored {
        pub first: String,
        #[row_key(ts(unit = "millis"))]
        pub value: chrono::DateTime<chrono::Utc>,
        pub last: String,
    }
}

pub mod format_107 {
    /// A row key of the table `format-107`: `<salt 0 to 6>#<first>#<value>#<last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(fingerprint = "38665b3010a8887a")]
    pub struct Stored {
        pub first: String,
        #[row_key(ts(unit = "millis", exact))]
        pub value: chrono::DateTime<chrono::Utc>,
        pub last: String,
    }
}

pub mod format_108 {
    /// A row key of the table `format-108`: `<salt 0 to 6>#<first>#<value>#<last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(fingerprint = "34643bac54af55c8")]
    pub struct Stored {
        pub first: String,
        #[row_key(ts(exact))]
        pub value: chrono::DateTime<chrono::Utc>,
        pub last: String,
    }
}

pub mod format_109 {
    /// A row key of the table `format-109`: `<salt 0 to 6>#<first>#<value>#<last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(fingerprint = "9fe512b0068fab63")]
    pub struct Stored {
        pub first: String,
        #[row_key(ts(unit = "nanos"))]
        pub value: chrono::DateTime<chrono::Utc>,
        pub last: String,
    }
}

pub mod format_110 {
    /// A row key of the table `format-110`: `<salt 0 to 6>#<first>#<value>#<last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(fingerprint = "9fe512b0068fab63")]
    pub struct Stored {
        pub first: String,
        #[row_key(ts(unit = "nanos", exact))]
        pub value: chrono::DateTime<chrono::Utc>,
        pub last: String,
    }
}

pub mod format_111 {
    /// A row key of the table `format-111`: `<salt 0 to 6>#<first>#<value>#<last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(fingerprint = "deb3f3bdba5edb0d")]
    pub struct Stored {
        pub first: String,
        #[row_key(ts(format = "datetime17"))]
        pub value: chrono::DateTime<chrono::Utc>,
        pub last: String,
    }
}

pub mod format_112 {
    /// A row key of the table `format-112`: `<salt 0 to 6>#<first>#<value>#<last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(fingerprint = "deb3f3bdba5edb0d")]
    pub struct Stored {
        pub first: String,
        #[row_key(ts(format = "datetime17", exact))]
        pub value: chrono::DateTime<chrono::Utc>,
        pub last: String,
    }
}

pub mod format_113 {
    /// A row key of the table `format-113`: `<salt 0 to 6>#<first>#<value>#<last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(fingerprint = "25f0c53c5efa5905")]
    pub struct Stored {
        pub first: String,
        #[reverse_ts]
        #[row_key(ts(unit = "secs"))]
        pub value: chrono::DateTime<chrono::Utc>,
        pub last: String,
    }
}

pub mod format_114 {
    /// A row key of the table `format-114`: `<salt 0 to 6>#<first>#<value>#<last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(fingerprint = "25f0c53c5efa5905")]
    pub struct Stored {
        pub first: String,
        #[reverse_ts]
        #[row_key(ts(unit = "secs", exact))]
        pub value: chrono::DateTime<chrono::Utc>,
        pub last: String,
    }
}

pub mod format_115 {
    /// A row key of the table `format-115`: `<salt 0 to 6>#<first>#<value>#<last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(fingerprint = "4df549be12aa8d9e")]
    pub struct Stored {
        pub first: String,
        #[reverse_ts]
        #[row_key(ts(unit = "millis"))]
        pub value: chrono::DateTime<chrono::Utc>,
        pub last: String,
    }
}

pub mod format_116 {
    /// A row key of the table `format-116`: `<salt 0 to 6>#<first>#<value>#<last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(fingerprint = "4df549be12aa8d9e")]
    pub struct Stored {
        pub first: String,
        #[reverse_ts]
        #[row_key(ts(unit = "millis", exact))]
        pub value: chrono::DateTime<chrono::Utc>,
        pub last: String,
    }
}

pub mod format_117 {
    /// A row key of the table `format-117`: `<salt 0 to 6>#<first>#<value>#<last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(fingerprint = "64f7031c1f8af619")]
    pub struct Stored {
        pub first: String,
        #[reverse_ts]
        #[row_key(ts(exact))]
        pub value: chrono::DateTime<chrono::Utc>,
        pub last: String,
    }
}

pub mod format_118 {
    /// A row key of the table `format-118`: `<salt 0 to 6>#<first>#<value>#<last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(fingerprint = "bf554c14a4893a1f")]
    pub struct Stored {
        pub first: String,
        #[reverse_ts]
        #[row_key(ts(unit = "nanos"))]
        pub value: chrono::DateTime<chrono::Utc>,
        pub last: String,
    }
}

pub mod format_119 {
    /// A row key of the table `format-119`: `<salt 0 to 6>#<first>#<value>#<last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(fingerprint = "bf554c14a4893a1f")]
    pub struct Stored {
        pub first: String,
        #[reverse_ts]
        #[row_key(ts(unit = "nanos", exact))]
        pub value: chrono::DateTime<chrono::Utc>,
        pub last: String,
    }
}

pub mod format_120 {
    /// A row key of the table `format-120`: `<salt 0 to 6>#<first>#<value>#<last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(fingerprint = "28a62b014b01d15c")]
    pub struct Stored {
        pub first: String,
        #[row_key(desc)]
        #[row_key(ts(unit = "secs"))]
        pub value: chrono::DateTime<chrono::Utc>,
        pub last: String,
    }
}

pub mod format_121 {
    /// A row key of the table `format-121`: `<salt 0 to 6>#<first>#<value>#<last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(fingerprint = "28a62b014b01d15c")]
    pub struct Stored {
        pub first: String,
        #[row_key(desc)]
        #[row_key(ts(unit = "secs", exact))]
        pub value: chrono::DateTime<chrono::Utc>,
        pub last: String,
    }
}

pub mod format_122 {
    /// A row key of the table `format-122`: `<salt 0 to 6>#<first>#<value>#<last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(fingerprint = "6de9449fb4c01e0c")]
    pub struct Stored {
        pub first: String,
        #[row_key(desc)]
        #[row_key(ts(unit = "millis"))]
        pub value: chrono::DateTime<chrono::Utc>,
        pub last: String,
    }
}

pub mod format_123 {
    /// A row key of the table `format-123`: `<salt 0 to 6>#<first>#<value>#<last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(fingerprint = "6de9449fb4c01e0c")]
    pub struct Stored {
        pub first: String,
        #[row_key(desc)]
        #[row_key(ts(unit = "millis", exact))]
        pub value: chrono::DateTime<chrono::Utc>,
        pub last: String,
    }
}

pub mod format_124 {
    /// A row key of the table `format-124`: `<salt 0 to 6>#<first>#<value>#<last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(fingerprint = "2aa179d7732556a6")]
    pub struct Stored {
        pub first: String,
        #[row_key(desc)]
        #[row_key(ts(exact))]
        pub value: chrono::DateTime<chrono::Utc>,
        pub last: String,
    }
}

pub mod format_125 {
    /// A row key of the table `format-125`: `<salt 0 to 6>#<first>#<value>#<last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(fingerprint = "8796a4488733c307")]
    pub struct Stored {
        pub first: String,
        #[row_key(desc)]
        #[row_key(ts(unit = "nanos"))]
        pub value: chrono::DateTime<chrono::Utc>,
        pub last: String,
    }
}

pub mod format_126 {
    /// A row key of the table `format-126`: `<salt 0 to 6>#<first>#<value>#<last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(fingerprint = "8796a4488733c307")]
    pub struct Stored {
        pub first: String,
        #[row_key(desc)]
        #[row_key(ts(unit = "nanos", exact))]
        pub value: chrono::DateTime<chrono::Utc>,
        pub last: String,
    }
}

pub mod format_127 {
    /// A row key of the table `format-127`: `<salt 0 to 6>#<first>#<value>#<last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(fingerprint = "12674aff58abbd1d")]
    pub struct Stored {
        pub first: String,
        #[row_key(desc)]
        #[row_key(ts(format = "datetime17"))]
        pub value: chrono::DateTime<chrono::Utc>,
        pub last: String,
    }
}

pub mod format_128 {
    /// A row key of the table `format-128`: `<salt 0 to 6>#<first>#<value>#<last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(fingerprint = "12674aff58abbd1d")]
    pub struct Stored {
        pub first: String,
        #[row_key(desc)]
        #[row_key(ts(format = "datetime17", exact))]
        pub value: chrono::DateTime<chrono::Utc>,
        pub last: String,
    }
}

pub mod format_129 {
    /// A row key of the table `format-129`: `<salt 0 to 6> | <first> | <value> | <last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(layout = "ordered")]
    #[row_key(fingerprint = "e906c3bce4a9eafc")]
    pub struct Stored {
        pub first: String,
        pub value: u8,
        pub last: String,
    }
}

pub mod format_130 {
    /// A row key of the table `format-130`: `<salt 0 to 6> | <first> | <value> | <last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(layout = "ordered")]
    #[row_key(fingerprint = "e906c3bce4a9eafc")]
    pub struct Stored {
        pub first: String,
        pub value: u16,
        pub last: String,
    }
}

pub mod format_131 {
    /// A row key of the table `format-131`: `<salt 0 to 6> | <first> | <value> | <last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(layout = "ordered")]
    #[row_key(fingerprint = "e906c3bce4a9eafc")]
    pub struct Stored {
        pub first: String,
        pub value: u32,
        pub last: String,
    }
}

pub mod format_132 {
    /// A row key of the table `format-132`: `<salt 0 to 6> | <first> | <value> | <last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(layout = "ordered")]
    #[row_key(fingerprint = "e906c3bce4a9eafc")]
    pub struct Stored {
        pub first: String,
        pub value: u64,
        pub last: String,
    }
}

pub mod format_133 {
    /// A row key of the table `format-133`: `<salt 0 to 6> | <first> | <value> | <last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(layout = "ordered")]
    #[row_key(fingerprint = "e906c3bce4a9eafc")]
    pub struct Stored {
        pub first: String,
        pub value: i8,
        pub last: String,
    }
}

pub mod format_134 {
    /// A row key of the table `format-134`: `<salt 0 to 6> | <first> | <value> | <last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(layout = "ordered")]
    #[row_key(fingerprint = "e906c3bce4a9eafc")]
    pub struct Stored {
        pub first: String,
        pub value: i16,
        pub last: String,
    }
}

pub mod format_135 {
    /// A row key of the table `format-135`: `<salt 0 to 6> | <first> | <value> | <last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(layout = "ordered")]
    #[row_key(fingerprint = "e906c3bce4a9eafc")]
    pub struct Stored {
        pub first: String,
        pub value: i32,
        pub last: String,
    }
}

pub mod format_136 {
    /// A row key of the table `format-136`: `<salt 0 to 6> | <first> | <value> | <last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(layout = "ordered")]
    #[row_key(fingerprint = "e906c3bce4a9eafc")]
    pub struct Stored {
        pub first: String,
        pub value: i64,
        pub last: String,
    }
}

pub mod format_137 {
    /// A row key of the table `format-137`: `<salt 0 to 6> | <first> | <value> | <last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(layout = "ordered")]
    #[row_key(fingerprint = "84d4a50b66472d40")]
    pub struct Stored {
        pub first: String,
        pub value: bool,
        pub last: String,
    }
}

pub mod format_138 {
    /// A row key of the table `format-138`: `<salt 0 to 6> | <first> | <value> | <last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(layout = "ordered")]
    #[row_key(fingerprint = "a486f6e5b3d75ad3")]
    pub struct Stored {
        pub first: String,
        pub value: char,
        pub last: String,
    }
}

pub mod format_139 {
    /// A row key of the table `format-139`: `<salt 0 to 6> | <first> | <value> | <last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(layout = "ordered")]
    #[row_key(fingerprint = "a486f6e5b3d75ad3")]
    pub struct Stored {
        pub first: String,
        pub value: String,
        pub last: String,
    }
}

pub mod format_140 {
    /// A row key of the table `format-140`: `<salt 0 to 6> | <first> | <value> | <last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(layout = "ordered")]
    #[row_key(fingerprint = "691fafcf6f09fe18")]
    pub struct Stored {
        pub first: String,
        pub value: Vec<u8>,
        pub last: String,
    }
}

pub mod format_141 {
    /// A row key of the table `format-141`: `<salt 0 to 6> | <first> | <value> | <last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(layout = "ordered")]
    #[row_key(fingerprint = "81e1db15fb5175b5")]
    pub struct Stored {
        pub first: String,
        pub value: [u8; 4],
        pub last: String,
    }
}

pub mod format_142 {
    #[derive(::keyderive::KeyField, Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum Value {
        Created = 1,
        Type = 2,
        Deleted = 120,
    }

    /// A row key of the table `format-142`: `<salt 0 to 6> | <first> | <value> | <last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(layout = "ordered")]
    #[row_key(fingerprint = "e906c3bce4a9eafc")]
    pub struct Stored {
        pub first: String,
        pub value: Value,
        pub last: String,
    }
}

pub mod format_143 {
    /// A row key of the table `format-143`: `<salt 0 to 6> | <first> | <value> | <last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(layout = "ordered")]
    #[row_key(fingerprint = "46df2007ffef2d88")]
    pub struct Stored {
        pub first: String,
        pub value: chrono::DateTime<chrono::Utc>,
        pub last: String,
    }
}

pub mod format_144 {
    /// A row key of the table `format-144`: `<salt 0 to 6> | <first> | <value> | <last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(layout = "ordered")]
    #[row_key(fingerprint = "47bfa8227a14be15")]
    pub struct Stored {
        pub first: String,
        pub value: chrono::NaiveDate,
        pub last: String,
    }
}

pub mod format_145 {
    /// A row key of the table `format-145`: `<salt 0 to 6> | <first> | <value> | <last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(layout = "ordered")]
    #[row_key(fingerprint = "36017e9da95c135f")]
    pub struct Stored {
        pub first: String,
        pub value: uuid::Uuid,
        pub last: String,
    }
}

pub mod format_146 {
    /// A row key of the table `format-146`: `<salt 0 to 6> | <first> | <value> | <last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(layout = "ordered")]
    #[row_key(fingerprint = "36017e9da95c135f")]
    pub struct Stored {
        pub first: String,
        #[row_key(uuid(v4))]
        pub value: uuid::Uuid,
        pub last: String,
    }
}

pub mod format_147 {
    /// A row key of the table `format-147`: `<salt 0 to 6> | <first> | <value> | <last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(layout = "ordered")]
    #[row_key(fingerprint = "cf98cbd01aa30aca")]
    pub struct Stored {
        pub first: String,
        #[reverse_ts]
        pub value: u8,
        pub last: String,
    }
}

pub mod format_148 {
    /// A row key of the table `format-148`: `<salt 0 to 6> | <first> | <value> | <last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(layout = "ordered")]
    #[row_key(fingerprint = "cf98cbd01aa30aca")]
    pub struct Stored {
        pub first: String,
        #[reverse_ts]
        pub value: u16,
        pub last: String,
    }
}

pub mod format_149 {
    /// A row key of the table `format-149`: `<salt 0 to 6> | <first> | <value> | <last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(layout = "ordered")]
    #[row_key(fingerprint = "cf98cbd01aa30aca")]
    pub struct Stored {
        pub first: String,
        #[reverse_ts]
        pub value: u32,
        pub last: String,
    }
}

pub mod format_150 {
    /// A row key of the table `format-150`: `<salt 0 to 6> | <first> | <value> | <last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(layout = "ordered")]
    #[row_key(fingerprint = "cf98cbd01aa30aca")]
    pub struct Stored {
        pub first: String,
        #[reverse_ts]
        pub value: u64,
        pub last: String,
    }
}

pub mod format_151 {
    /// A row key of the table `format-151`: `<salt 0 to 6> | <first> | <value> | <last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(layout = "ordered")]
    #[row_key(fingerprint = "cf98cbd01aa30aca")]
    pub struct Stored {
        pub first: String,
        #[reverse_ts]
        pub value: i8,
        pub last: String,
    }
}

pub mod format_152 {
    /// A row key of the table `format-152`: `<salt 0 to 6> | <first> | <value> | <last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(layout = "ordered")]
    #[row_key(fingerprint = "cf98cbd01aa30aca")]
    pub struct Stored {
        pub first: String,
        #[reverse_ts]
        pub value: i16,
        pub last: String,
    }
}

pub mod format_153 {
    /// A row key of the table `format-153`: `<salt 0 to 6> | <first> | <value> | <last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(layout = "ordered")]
    #[row_key(fingerprint = "cf98cbd01aa30aca")]
    pub struct Stored {
        pub first: String,
        #[reverse_ts]
        pub value: i32,
        pub last: String,
    }
}

pub mod format_154 {
    /// A row key of the table `format-154`: `<salt 0 to 6> | <first> | <value> | <last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(layout = "ordered")]
    #[row_key(fingerprint = "cf98cbd01aa30aca")]
    pub struct Stored {
        pub first: String,
        #[reverse_ts]
        pub value: i64,
        pub last: String,
    }
}

pub mod format_155 {
    /// A row key of the table `format-155`: `<salt 0 to 6> | <first> | <value> | <last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(layout = "ordered")]
    #[row_key(fingerprint = "f4017603026ce386")]
    pub struct Stored {
        pub first: String,
        #[reverse_ts]
        pub value: chrono::DateTime<chrono::Utc>,
        pub last: String,
    }
}

pub mod format_156 {
    /// A row key of the table `format-156`: `<salt 0 to 6> | <first> | <value> | <last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(layout = "ordered")]
    #[row_key(fingerprint = "2b8dc785729fd858")]
    pub struct Stored {
        pub first: String,
        #[reverse_ts(max = 9999)]
        pub value: u8,
        pub last: String,
    }
}

pub mod format_157 {
    /// A row key of the table `format-157`: `<salt 0 to 6> | <first> | <value> | <last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(layout = "ordered")]
    #[row_key(fingerprint = "2b8dc785729fd858")]
    pub struct Stored {
        pub first: String,
        #[reverse_ts(max = 9999)]
        pub value: u16,
        pub last: String,
    }
}

pub mod format_158 {
    /// A row key of the table `format-158`: `<salt 0 to 6> | <first> | <value> | <last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(layout = "ordered")]
    #[row_key(fingerprint = "2b8dc785729fd858")]
    pub struct Stored {
        pub first: String,
        #[reverse_ts(max = 9999)]
        pub value: u32,
        pub last: String,
    }
}

pub mod format_159 {
    /// A row key of the table `format-159`: `<salt 0 to 6> | <first> | <value> | <last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(layout = "ordered")]
    #[row_key(fingerprint = "2b8dc785729fd858")]
    pub struct Stored {
        pub first: String,
        #[reverse_ts(max = 9999)]
        pub value: u64,
        pub last: String,
    }
}

pub mod format_160 {
    /// A row key of the table `format-160`: `<salt 0 to 6> | <first> | <value> | <last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(layout = "ordered")]
    #[row_key(fingerprint = "2b8dc785729fd858")]
    pub struct Stored {
        pub first: String,
        #[reverse_ts(max = 9999)]
        pub value: i8,
        pub last: String,
    }
}

pub mod format_161 {
    /// A row key of the table `format-161`: `<salt 0 to 6> | <first> | <value> | <last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(layout = "ordered")]
    #[row_key(fingerprint = "2b8dc785729fd858")]
    pub struct Stored {
        pub first: String,
        #[reverse_ts(max = 9999)]
        pub value: i16,
        pub last: String,
    }
}

pub mod format_162 {
    /// A row key of the table `format-162`: `<salt 0 to 6> | <first> | <value> | <last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(layout = "ordered")]
    #[row_key(fingerprint = "2b8dc785729fd858")]
    pub struct Stored {
        pub first: String,
        #[reverse_ts(max = 9999)]
        pub value: i32,
        pub last: String,
    }
}

pub mod format_163 {
    /// A row key of the table `format-163`: `<salt 0 to 6> | <first> | <value> | <last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(layout = "ordered")]
    #[row_key(fingerprint = "2b8dc785729fd858")]
    pub struct Stored {
        pub first: String,
        #[reverse_ts(max = 9999)]
        pub value: i64,
        pub last: String,
    }
}

pub mod format_164 {
    /// A row key of the table `format-164`: `<salt 0 to 6> | <first> | <value> | <last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(layout = "ordered")]
    #[row_key(fingerprint = "d65d0d27af0a6784")]
    pub struct Stored {
        pub first: String,
        #[reverse_ts(max = 9999)]
        pub value: chrono::DateTime<chrono::Utc>,
        pub last: String,
    }
}

pub mod format_165 {
    /// A row key of the table `format-165`: `<salt 0 to 6> | <first> | <value> | <last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(layout = "ordered")]
    #[row_key(fingerprint = "f799bb9602a496b2")]
    pub struct Stored {
        pub first: String,
        #[row_key(desc)]
        pub value: u8,
        pub last: String,
    }
}

pub mod format_166 {
    /// A row key of the table `format-166`: `<salt 0 to 6> | <first> | <value> | <last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(layout = "ordered")]
    #[row_key(fingerprint = "f799bb9602a496b2")]
    pub struct Stored {
        pub first: String,
        #[row_key(desc)]
        pub value: u16,
        pub last: String,
    }
}

pub mod format_167 {
    /// A row key of the table `format-167`: `<salt 0 to 6> | <first> | <value> | <last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(layout = "ordered")]
    #[row_key(fingerprint = "f799bb9602a496b2")]
    pub struct Stored {
        pub first: String,
        #[row_key(desc)]
        pub value: u32,
        pub last: String,
    }
}

pub mod format_168 {
    /// A row key of the table `format-168`: `<salt 0 to 6> | <first> | <value> | <last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(layout = "ordered")]
    #[row_key(fingerprint = "f799bb9602a496b2")]
    pub struct Stored {
        pub first: String,
        #[row_key(desc)]
        pub value: u64,
        pub last: String,
    }
}

pub mod format_169 {
    /// A row key of the table `format-169`: `<salt 0 to 6> | <first> | <value> | <last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(layout = "ordered")]
    #[row_key(fingerprint = "f799bb9602a496b2")]
    pub struct Stored {
        pub first: String,
        #[row_key(desc)]
        pub value: i8,
        pub last: String,
    }
}

pub mod format_170 {
    /// A row key of the table `format-170`: `<salt 0 to 6> | <first> | <value> | <last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(layout = "ordered")]
    #[row_key(fingerprint = "f799bb9602a496b2")]
    pub struct Stored {
        pub first: String,
        #[row_key(desc)]
        pub value: i16,
        pub last: String,
    }
}

pub mod format_171 {
    /// A row key of the table `format-171`: `<salt 0 to 6> | <first> | <value> | <last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(layout = "ordered")]
    #[row_key(fingerprint = "f799bb9602a496b2")]
    pub struct Stored {
        pub first: String,
        #[row_key(desc)]
        pub value: i32,
        pub last: String,
    }
}

pub mod format_172 {
    /// A row key of the table `format-172`: `<salt 0 to 6> | <first> | <value> | <last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(layout = "ordered")]
    #[row_key(fingerprint = "f799bb9602a496b2")]
    pub struct Stored {
        pub first: String,
        #[row_key(desc)]
        pub value: i64,
        pub last: String,
    }
}

pub mod format_173 {
    /// A row key of the table `format-173`: `<salt 0 to 6> | <first> | <value> | <last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(layout = "ordered")]
    #[row_key(fingerprint = "5dbf85e28c7662ae")]
    pub struct Stored {
        pub first: String,
        #[row_key(desc)]
        pub value: bool,
        pub last: String,
    }
}

pub mod format_174 {
    /// A row key of the table `format-174`: `<salt 0 to 6> | <first> | <value> | <last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(layout = "ordered")]
    #[row_key(fingerprint = "916cb716d4fe8e66")]
    pub struct Stored {
        pub first: String,
        #[row_key(desc)]
        pub value: chrono::DateTime<chrono::Utc>,
        pub last: String,
    }
}

pub mod format_175 {
    /// A row key of the table `format-175`: `<salt 0 to 6> | <first> | <value> | <last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(layout = "ordered")]
    #[row_key(fingerprint = "a59d1eae2e4e8055")]
    pub struct Stored {
        pub first: String,
        #[row_key(desc)]
        pub value: chrono::NaiveDate,
        pub last: String,
    }
}

pub mod format_176 {
    /// A row key of the table `format-176`: `<salt 0 to 6> | <first> | <value> | <last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(layout = "ordered")]
    #[row_key(fingerprint = "e1cbd23eca962666")]
    pub struct Stored {
        pub first: String,
        #[row_key(ts(unit = "secs"))]
        pub value: chrono::DateTime<chrono::Utc>,
        pub last: String,
    }
}

pub mod format_177 {
    /// A row key of the table `format-177`: `<salt 0 to 6> | <first> | <value> | <last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(layout = "ordered")]
    #[row_key(fingerprint = "e1cbd23eca962666")]
    pub struct Stored {
        pub first: String,
        #[row_key(ts(unit = "secs", exact))]
        pub value: chrono::DateTime<chrono::Utc>,
        pub last: String,
    }
}

pub mod format_178 {
    /// A row key of the table `format-178`: `<salt 0 to 6> | <first> | <value> | <last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(layout = "ordered")]
    #[row_key(fingerprint = "8ac0a13915520563")]
    pub struct Stored {
        pub first: String,
        #[row_key(ts(unit = "millis"))]
        pub value: chrono::DateTime<chrono::Utc>,
        pub last: String,
    }
}

pub mod format_179 {
    /// A row key of the table `format-179`: `<salt 0 to 6> | <first> | <value> | <last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(layout = "ordered")]
    #[row_key(fingerprint = "8ac0a13915520563")]
    pub struct Stored {
        pub first: String,
        #[row_key(ts(unit = "millis", exact))]
        pub value: chrono::DateTime<chrono::Utc>,
        pub last: String,
    }
}

pub mod format_180 {
    /// A row key of the table `format-180`: `<salt 0 to 6> | <first> | <value> | <last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(layout = "ordered")]
    #[row_key(fingerprint = "46df2007ffef2d88")]
    pub struct Stored {
        pub first: String,
        #[row_key(ts(exact))]
        pub value: chrono::DateTime<chrono::Utc>,
        pub last: String,
    }
}

pub mod format_181 {
    /// A row key of the table `format-181`: `<salt 0 to 6> | <first> | <value> | <last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(layout = "ordered")]
    #[row_key(fingerprint = "aee4cdfc66e37cb8")]
    pub struct Stored {
        pub first: String,
        #[row_key(ts(unit = "nanos"))]
        pub value: chrono::DateTime<chrono::Utc>,
        pub last: String,
    }
}

pub mod format_182 {
    /// A row key of the table `format-182`: `<salt 0 to 6> | <first> | <value> | <last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(layout = "ordered")]
    #[row_key(fingerprint = "aee4cdfc66e37cb8")]
    pub struct Stored {
        pub first: String,
        #[row_key(ts(unit = "nanos", exact))]
        pub value: chrono::DateTime<chrono::Utc>,
        pub last: String,
    }
}

pub mod format_183 {
    /// A row key of the table `format-183`: `<salt 0 to 6> | <first> | <value> | <last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(layout = "ordered")]
    #[row_key(fingerprint = "b0c25c5f77492b28")]
    pub struct Stored {
        pub first: String,
        #[reverse_ts]
        #[row_key(ts(unit = "secs"))]
        pub value: chrono::DateTime<chrono::Utc>,
        pub last: String,
    }
}

pub mod format_184 {
    /// A row key of the table `format-184`: `<salt 0 to 6> | <first> | <value> | <last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(layout = "ordered")]
    #[row_key(fingerprint = "b0c25c5f77492b28")]
    pub struct Stored {
        pub first: String,
        #[reverse_ts]
        #[row_key(ts(unit = "secs", exact))]
        pub value: chrono::DateTime<chrono::Utc>,
        pub last: String,
    }
}

pub mod format_185 {
    /// A row key of the table `format-185`: `<salt 0 to 6> | <first> | <value> | <last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(layout = "ordered")]
    #[row_key(fingerprint = "7abc8a83ec1bc81f")]
    pub struct Stored {
        pub first: String,
        #[reverse_ts]
        #[row_key(ts(unit = "millis"))]
        pub value: chrono::DateTime<chrono::Utc>,
        pub last: String,
    }
}

pub mod format_186 {
    /// A row key of the table `format-186`: `<salt 0 to 6> | <first> | <value> | <last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(layout = "ordered")]
    #[row_key(fingerprint = "7abc8a83ec1bc81f")]
    pub struct Stored {
        pub first: String,
        #[reverse_ts]
        #[row_key(ts(unit = "millis", exact))]
        pub value: chrono::DateTime<chrono::Utc>,
        pub last: String,
    }
}

pub mod format_187 {
    /// A row key of the table `format-187`: `<salt 0 to 6> | <first> | <value> | <last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(layout = "ordered")]
    #[row_key(fingerprint = "f4017603026ce386")]
    pub struct Stored {
        pub first: String,
        #[reverse_ts]
        #[row_key(ts(exact))]
        pub value: chrono::DateTime<chrono::Utc>,
        pub last: String,
    }
}

pub mod format_188 {
    /// A row key of the table `format-188`: `<salt 0 to 6> | <first> | <value> | <last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(layout = "ordered")]
    #[row_key(fingerprint = "00076a007f430296")]
    pub struct Stored {
        pub first: String,
        #[reverse_ts]
        #[row_key(ts(unit = "nanos"))]
        pub value: chrono::DateTime<chrono::Utc>,
        pub last: String,
    }
}

pub mod format_189 {
    /// A row key of the table `format-189`: `<salt 0 to 6> | <first> | <value> | <last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(layout = "ordered")]
    #[row_key(fingerprint = "00076a007f430296")]
    pub struct Stored {
        pub first: String,
        #[reverse_ts]
        #[row_key(ts(unit = "nanos", exact))]
        pub value: chrono::DateTime<chrono::Utc>,
        pub last: String,
    }
}

pub mod format_190 {
    /// A row key of the table `format-190`: `<salt 0 to 6> | <first> | <value> | <last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(layout = "ordered")]
    #[row_key(fingerprint = "8d6d8d66e0f55f40")]
    pub struct Stored {
        pub first: String,
        #[row_key(desc)]
        #[row_key(ts(unit = "secs"))]
        pub value: chrono::DateTime<chrono::Utc>,
        pub last: String,
    }
}

pub mod format_191 {
    /// A row key of the table `format-191`: `<salt 0 to 6> | <first> | <value> | <last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(layout = "ordered")]
    #[row_key(fingerprint = "8d6d8d66e0f55f40")]
    pub struct Stored {
        pub first: String,
        #[row_key(desc)]
        #[row_key(ts(unit = "secs", exact))]
        pub value: chrono::DateTime<chrono::Utc>,
        pub last: String,
    }
}

pub mod format_192 {
    /// A row key of the table `format-192`: `<salt 0 to 6> | <first> | <value> | <last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(layout = "ordered")]
    #[row_key(fingerprint = "5d03d72c9b72b107")]
    pub struct Stored {
        pub first: String,
        #[row_key(desc)]
        #[row_key(ts(unit = "millis"))]
        pub value: chrono::DateTime<chrono::Utc>,
        pub last: String,
    }
}

pub mod format_193 {
    /// A row key of the table `format-193`: `<salt 0 to 6> | <first> | <value> | <last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(layout = "ordered")]
    #[row_key(fingerprint = "5d03d72c9b72b107")]
    pub struct Stored {
        pub first: String,
        #[row_key(desc)]
        #[row_key(ts(unit = "millis", exact))]
        pub value: chrono::DateTime<chrono::Utc>,
        pub last: String,
    }
}

pub mod format_194 {
    /// A row key of the table `format-194`: `<salt 0 to 6> | <first> | <value> | <last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(layout = "ordered")]
    #[row_key(fingerprint = "916cb716d4fe8e66")]
    pub struct Stored {
        pub first: String,
        #[row_key(desc)]
        #[row_key(ts(exact))]
        pub value: chrono::DateTime<chrono::Utc>,
        pub last: String,
    }
}

pub mod format_195 {
    /// A row key of the table `format-195`: `<salt 0 to 6> | <first> | <value> | <last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(layout = "ordered")]
    #[row_key(fingerprint = "a151bf0a2f39a2b6")]
    pub struct Stored {
        pub first: String,
        #[row_key(desc)]
        #[row_key(ts(unit = "nanos"))]
        pub value: chrono::DateTime<chrono::Utc>,
        pub last: String,
    }
}

pub mod format_196 {
    /// A row key of the table `format-196`: `<salt 0 to 6> | <first> | <value> | <last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 7, over(first, value))]
    #[row_key(layout = "ordered")]
    #[row_key(fingerprint = "a151bf0a2f39a2b6")]
    pub struct Stored {
        pub first: String,
        #[row_key(desc)]
        #[row_key(ts(unit = "nanos", exact))]
        pub value: chrono::DateTime<chrono::Utc>,
        pub last: String,
    }
}

pub mod front {
    /// A row key of the table `front`: `<salt 0 to 15>#FRONT#<user>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 16, position = "front")]
    #[row_key(tag = "FRONT")]
    #[row_key(fingerprint = "889eb4e0ffe92c50")]
    pub struct FrontKey {
        pub user: String,
    }

    #[derive(::keyderive::Cell, Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
    #[row(code)]
    pub enum Floor {
        #[default]
        Low = 0,
        High = 20,
    }

    /// The family `place-of` of `Windows`.
    #[derive(::keyderive::Row, Clone, Debug, PartialEq)]
    pub struct PlaceOf {
        #[row(alias = "cf:a:b")]
        #[row(alias = "town")]
        pub city: String,
        pub floor: Option<Floor>,
    }

    /// The family `where` of `Windows`.
    #[derive(::keyderive::Row, Clone, Debug, PartialEq)]
    pub struct Where {
        #[row(alias = "cf:a:b")]
        #[row(alias = "town")]
        pub city: String,
        pub floor: Option<Floor>,
    }

    #[derive(::keyderive::Cell, Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
    pub enum ByStateKey {
        #[default]
        Open,
        #[row(name = "clo sed")]
        CloSed,
        #[row(name = "self")]
        Self_,
        None,
    }

    /// A row of the table `front`.
    #[derive(::keyderive::Row, Clone, Debug, PartialEq)]
    #[row(fingerprint = "c013d182d64a9a4d")]
    pub struct Windows {
        #[row(family = "hours")]
        #[row(gc(max_age = "30d"))]
        #[row(window = "1h")]
        pub hourly: keyderive::row::Versions<keyderive::row::Sum>,
        #[row(family = "least")]
        #[row(window = "90s")]
        pub least: keyderive::row::Versions<keyderive::row::Min>,
        #[row(family = "most")]
        #[row(window = "1d")]
        pub most: keyderive::row::Versions<keyderive::row::Max>,
        #[row(family)]
        #[row(name = "place-of")]
        pub place_of: PlaceOf,
        #[row(family)]
        pub r#where: Option<Where>,
        #[row(family)]
        #[row(gc(max_versions = 2))]
        #[row(ttl = "12h")]
        pub daily: std::collections::BTreeMap<String, f64>,
        #[row(family)]
        pub by_state: Option<std::collections::BTreeMap<ByStateKey, keyderive::row::Timestamped<i64>>>,
        #[row(family)]
        pub by_day: std::collections::BTreeMap<chrono::NaiveDate, keyderive::row::Versions<String>>,
        #[row(family)]
        #[row(json)]
        pub by_bytes: std::collections::BTreeMap<Vec<u8>, serde_json::Value>,
        #[row(family)]
        pub views_of: std::collections::BTreeMap<uuid::Uuid, keyderive::row::Sum>,
    }
}

pub mod growing {
    /// A row key of the table `growing`: `<day>#<into plan>#<at>#<at_range>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[row_key(allow(hotspot))]
    #[row_key(fingerprint = "10efe1231aa3ee9f")]
    pub struct GrowingKey {
        #[row_key(desc)]
        pub day: chrono::NaiveDate,
        #[row_key(name = "into plan")]
        pub into_plan_: u8,
        pub at: u8,
        #[row_key(name = "at_range")]
        pub at_range_: u8,
    }
}

pub mod hashed {
    /// A row key of the table `hashed`: `<salt 0 to 299>#<small>#<user>#<last>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 300, over(small))]
    #[row_key(allow(point_reads))]
    #[row_key(allow(few_buckets))]
    #[row_key(fingerprint = "090d209659663413")]
    pub struct HashedKey {
        pub small: u8,
        #[pad(20)]
        #[row_key(hash(md5))]
        pub user: String,
        pub last: bool,
    }
}

pub mod java {
    /// A row key of the table `java`: `<salt -9 to 9>#T#<user>#<path>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 10, hash = "java")]
    #[row_key(tag = "T")]
    #[row_key(fingerprint = "a7918bfe06c244c1")]
    pub struct JavaKey {
        pub user: String,
        #[row_key(escape)]
        pub path: String,
    }

    /// A row of the table `java`.
    #[derive(::keyderive::Row, Clone, Debug, PartialEq)]
    #[row(fingerprint = "454fb0b53de582ca")]
    pub struct Event {
        pub kind: String,
        pub amount: Option<i64>,
    }
}

pub mod maps {
    #[derive(::keyderive::KeyField, Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum Kind {
        Created = 1,
        Type = 2,
        Deleted = 120,
    }

    /// A row key of the table `maps`: `<id>#<kind>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[row_key(allow(hotspot))]
    #[row_key(fingerprint = "368c6684d2dd0a74")]
    pub struct UuidKey {
        pub id: uuid::Uuid,
        pub kind: Kind,
    }

    #[derive(::keyderive::Cell, Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
    pub enum ByStateKey {
        #[default]
        Open,
        #[row(name = "clo sed")]
        CloSed,
        #[row(name = "self")]
        Self_,
        None,
    }

    /// A row of the table `maps`.
    pub type UuidKeyRow = std::collections::BTreeMap<ByStateKey, Vec<u8>>;
}

pub mod ordered_epochs {
    /// A row key of the table `ordered epochs`: `o | <salt by number> | <user> | <number>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[row_key(
        salt(range = 2, over(user)),
        salt(range = 4, since(number = -5)),
    )]
    #[row_key(layout = "ordered")]
    #[row_key(tag = "o")]
    #[row_key(fingerprint = "60b2037029ee8bc0")]
    pub struct OrderedEpochKey {
        pub user: String,
        pub number: i32,
    }
}

pub mod ordered_hashed {
    /// A row key of the table `ordered hashed`: `<user>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[row_key(layout = "ordered")]
    #[row_key(fingerprint = "e62a44639dbe3785")]
    pub struct OrderedHashedKey {
        #[row_key(hash(md5))]
        pub user: u32,
    }
}

pub mod reversed {
    /// A row key of the table `reversed`: `<at>'<größe>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[row_key(delimiter = '\'')]
    #[row_key(fingerprint = "a0be114258c5991e")]
    pub struct ReversedKey {
        #[row_key(desc)]
        #[pad(13)]
        pub at: i64,
        #[row_key(name = "größe")]
        pub gr_e: String,
    }
}

pub mod shared {
    /// A row key of the table `shared`: `a#<id>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[row_key(tag = "a")]
    #[row_key(fingerprint = "82ba016f688bef31")]
    pub struct SharedKey {
        pub id: u64,
    }

    /// A row of the table `shared`.
    #[derive(::keyderive::Row, Clone, Debug, PartialEq)]
    #[row(fingerprint = "454fb0b53de582ca")]
    pub struct Event {
        pub kind: String,
        pub amount: Option<i64>,
    }
}

pub mod shared_2 {
    /// A row key of the table `shared`: `b#<id>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[row_key(tag = "b")]
    #[row_key(fingerprint = "140ebe1ca78149f4")]
    pub struct SharedKey {
        pub id: u32,
    }

    /// A row of the table `shared`.
    #[derive(::keyderive::Row, Clone, Debug, PartialEq)]
    #[row(fingerprint = "7396f0f0b8c12e28")]
    pub struct Event {
        pub kind: Option<String>,
    }
}

pub mod type_ {
    /// A row key of the table `type`: `BATTERY "1"\x1f<type>\x1f<salt 0 to 99>--<name>\x1f<explain_>`.
    #[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 100, over(r#type), after = "type", sep = "--")]
    #[row_key(delimiter = '\u{1f}')]
    #[row_key(tag = "BATTERY \"1\"")]
    #[row_key(fingerprint = "2b83624c37c5341d")]
    pub struct AfterKey {
        pub r#type: String,
        #[pad(9)]
        pub name: String,
        pub explain_: u8,
    }

    /// A row of the table `type`.
    #[derive(::keyderive::Row, Clone, Debug, PartialEq)]
    #[row(fingerprint = "0630043b49ed2868")]
    pub struct Sums {
        pub one: keyderive::row::Sum,
        pub two: keyderive::row::Sum,
    }
}

/// The layouts of these types, for a test that compares them with the file: `layouts().check("layouts.json")`.
#[must_use]
pub fn layouts() -> ::keyderive::layouts::Layouts {
    ::keyderive::layouts::Layouts::new()
        .table_with_family::<counts::SharedKey, counts::SharedKeyRow>("counts", "cf")
        .table::<epochs::EpochKey, ()>("epochs")
        .table::<events::EventKey, events::Event>("events")
        .table::<every_thing::EventKey, every_thing::Everything>("every-thing")
        .table::<format_001::Stored, ()>("format-001")
        .table::<format_002::Stored, ()>("format-002")
        .table::<format_003::Stored, ()>("format-003")
        .table::<format_004::Stored, ()>("format-004")
        .table::<format_005::Stored, ()>("format-005")
        .table::<format_006::Stored, ()>("format-006")
        .table::<format_007::Stored, ()>("format-007")
        .table::<format_008::Stored, ()>("format-008")
        .table::<format_009::Stored, ()>("format-009")
        .table::<format_010::Stored, ()>("format-010")
        .table::<format_011::Stored, ()>("format-011")
        .table::<format_012::Stored, ()>("format-012")
        .table::<format_013::Stored, ()>("format-013")
        .table::<format_014::Stored, ()>("format-014")
        .table::<format_015::Stored, ()>("format-015")
        .table::<format_016::Stored, ()>("format-016")
        .table::<format_017::Stored, ()>("format-017")
        .table::<format_018::Stored, ()>("format-018")
        .table::<format_019::Stored, ()>("format-019")
        .table::<format_020::Stored, ()>("format-020")
        .table::<format_021::Stored, ()>("format-021")
        .table::<format_022::Stored, ()>("format-022")
        .table::<format_023::Stored, ()>("format-023")
        .table::<format_024::Stored, ()>("format-024")
        .table::<format_025::Stored, ()>("format-025")
        .table::<format_026::Stored, ()>("format-026")
        .table::<format_027::Stored, ()>("format-027")
        .table::<format_028::Stored, ()>("format-028")
        .table::<format_029::Stored, ()>("format-029")
        .table::<format_030::Stored, ()>("format-030")
        .table::<format_031::Stored, ()>("format-031")
        .table::<format_032::Stored, ()>("format-032")
        .table::<format_033::Stored, ()>("format-033")
        .table::<format_034::Stored, ()>("format-034")
        .table::<format_035::Stored, ()>("format-035")
        .table::<format_036::Stored, ()>("format-036")
        .table::<format_037::Stored, ()>("format-037")
        .table::<format_038::Stored, ()>("format-038")
        .table::<format_039::Stored, ()>("format-039")
        .table::<format_040::Stored, ()>("format-040")
        .table::<format_041::Stored, ()>("format-041")
        .table::<format_042::Stored, ()>("format-042")
        .table::<format_043::Stored, ()>("format-043")
        .table::<format_044::Stored, ()>("format-044")
        .table::<format_045::Stored, ()>("format-045")
        .table::<format_046::Stored, ()>("format-046")
        .table::<format_047::Stored, ()>("format-047")
        .table::<format_048::Stored, ()>("format-048")
        .table::<format_049::Stored, ()>("format-049")
        .table::<format_050::Stored, ()>("format-050")
        .table::<format_051::Stored, ()>("format-051")
        .table::<format_052::Stored, ()>("format-052")
        .table::<format_053::Stored, ()>("format-053")
        .table::<format_054::Stored, ()>("format-054")
        .table::<format_055::Stored, ()>("format-055")
        .table::<format_056::Stored, ()>("format-056")
        .table::<format_057::Stored, ()>("format-057")
        .table::<format_058::Stored, ()>("format-058")
        .table::<format_059::Stored, ()>("format-059")
        .table::<format_060::Stored, ()>("format-060")
        .table::<format_061::Stored, ()>("format-061")
        .table::<format_062::Stored, ()>("format-062")
        .table::<format_063::Stored, ()>("format-063")
        .table::<format_064::Stored, ()>("format-064")
        .table::<format_065::Stored, ()>("format-065")
        .table::<format_066::Stored, ()>("format-066")
        .table::<format_067::Stored, ()>("format-067")
        .table::<format_068::Stored, ()>("format-068")
        .table::<format_069::Stored, ()>("format-069")
        .table::<format_070::Stored, ()>("format-070")
        .table::<format_071::Stored, ()>("format-071")
        .table::<format_072::Stored, ()>("format-072")
        .table::<format_073::Stored, ()>("format-073")
        .table::<format_074::Stored, ()>("format-074")
        .table::<format_075::Stored, ()>("format-075")
        .table::<format_076::Stored, ()>("format-076")
        .table::<format_077::Stored, ()>("format-077")
        .table::<format_078::Stored, ()>("format-078")
        .table::<format_079::Stored, ()>("format-079")
        .table::<format_080::Stored, ()>("format-080")
        .table::<format_081::Stored, ()>("format-081")
        .table::<format_082::Stored, ()>("format-082")
        .table::<format_083::Stored, ()>("format-083")
        .table::<format_084::Stored, ()>("format-084")
        .table::<format_085::Stored, ()>("format-085")
        .table::<format_086::Stored, ()>("format-086")
        .table::<format_087::Stored, ()>("format-087")
        .table::<format_088::Stored, ()>("format-088")
        .table::<format_089::Stored, ()>("format-089")
        .table::<format_090::Stored, ()>("format-090")
        .table::<format_091::Stored, ()>("format-091")
        .table::<format_092::Stored, ()>("format-092")
        .table::<format_093::Stored, ()>("format-093")
        .table::<format_094::Stored, ()>("format-094")
        .table::<format_095::Stored, ()>("format-095")
        .table::<format_096::Stored, ()>("format-096")
        .table::<format_097::Stored, ()>("format-097")
        .table::<format_098::Stored, ()>("format-098")
        .table::<format_099::Stored, ()>("format-099")
        .table::<format_100::Stored, ()>("format-100")
        .table::<format_101::Stored, ()>("format-101")
        .table::<format_102::Stored, ()>("format-102")
        .table::<format_103::Stored, ()>("format-103")
        .table::<format_104::Stored, ()>("format-104")
        .table::<format_105::Stored, ()>("format-105")
        .table::<format_106::Stored, ()>("format-106")
        .table::<format_107::Stored, ()>("format-107")
        .table::<format_108::Stored, ()>("format-108")
        .table::<format_109::Stored, ()>("format-109")
        .table::<format_110::Stored, ()>("format-110")
        .table::<format_111::Stored, ()>("format-111")
        .table::<format_112::Stored, ()>("format-112")
        .table::<format_113::Stored, ()>("format-113")
        .table::<format_114::Stored, ()>("format-114")
        .table::<format_115::Stored, ()>("format-115")
        .table::<format_116::Stored, ()>("format-116")
        .table::<format_117::Stored, ()>("format-117")
        .table::<format_118::Stored, ()>("format-118")
        .table::<format_119::Stored, ()>("format-119")
        .table::<format_120::Stored, ()>("format-120")
        .table::<format_121::Stored, ()>("format-121")
        .table::<format_122::Stored, ()>("format-122")
        .table::<format_123::Stored, ()>("format-123")
        .table::<format_124::Stored, ()>("format-124")
        .table::<format_125::Stored, ()>("format-125")
        .table::<format_126::Stored, ()>("format-126")
        .table::<format_127::Stored, ()>("format-127")
        .table::<format_128::Stored, ()>("format-128")
        .table::<format_129::Stored, ()>("format-129")
        .table::<format_130::Stored, ()>("format-130")
        .table::<format_131::Stored, ()>("format-131")
        .table::<format_132::Stored, ()>("format-132")
        .table::<format_133::Stored, ()>("format-133")
        .table::<format_134::Stored, ()>("format-134")
        .table::<format_135::Stored, ()>("format-135")
        .table::<format_136::Stored, ()>("format-136")
        .table::<format_137::Stored, ()>("format-137")
        .table::<format_138::Stored, ()>("format-138")
        .table::<format_139::Stored, ()>("format-139")
        .table::<format_140::Stored, ()>("format-140")
        .table::<format_141::Stored, ()>("format-141")
        .table::<format_142::Stored, ()>("format-142")
        .table::<format_143::Stored, ()>("format-143")
        .table::<format_144::Stored, ()>("format-144")
        .table::<format_145::Stored, ()>("format-145")
        .table::<format_146::Stored, ()>("format-146")
        .table::<format_147::Stored, ()>("format-147")
        .table::<format_148::Stored, ()>("format-148")
        .table::<format_149::Stored, ()>("format-149")
        .table::<format_150::Stored, ()>("format-150")
        .table::<format_151::Stored, ()>("format-151")
        .table::<format_152::Stored, ()>("format-152")
        .table::<format_153::Stored, ()>("format-153")
        .table::<format_154::Stored, ()>("format-154")
        .table::<format_155::Stored, ()>("format-155")
        .table::<format_156::Stored, ()>("format-156")
        .table::<format_157::Stored, ()>("format-157")
        .table::<format_158::Stored, ()>("format-158")
        .table::<format_159::Stored, ()>("format-159")
        .table::<format_160::Stored, ()>("format-160")
        .table::<format_161::Stored, ()>("format-161")
        .table::<format_162::Stored, ()>("format-162")
        .table::<format_163::Stored, ()>("format-163")
        .table::<format_164::Stored, ()>("format-164")
        .table::<format_165::Stored, ()>("format-165")
        .table::<format_166::Stored, ()>("format-166")
        .table::<format_167::Stored, ()>("format-167")
        .table::<format_168::Stored, ()>("format-168")
        .table::<format_169::Stored, ()>("format-169")
        .table::<format_170::Stored, ()>("format-170")
        .table::<format_171::Stored, ()>("format-171")
        .table::<format_172::Stored, ()>("format-172")
        .table::<format_173::Stored, ()>("format-173")
        .table::<format_174::Stored, ()>("format-174")
        .table::<format_175::Stored, ()>("format-175")
        .table::<format_176::Stored, ()>("format-176")
        .table::<format_177::Stored, ()>("format-177")
        .table::<format_178::Stored, ()>("format-178")
        .table::<format_179::Stored, ()>("format-179")
        .table::<format_180::Stored, ()>("format-180")
        .table::<format_181::Stored, ()>("format-181")
        .table::<format_182::Stored, ()>("format-182")
        .table::<format_183::Stored, ()>("format-183")
        .table::<format_184::Stored, ()>("format-184")
        .table::<format_185::Stored, ()>("format-185")
        .table::<format_186::Stored, ()>("format-186")
        .table::<format_187::Stored, ()>("format-187")
        .table::<format_188::Stored, ()>("format-188")
        .table::<format_189::Stored, ()>("format-189")
        .table::<format_190::Stored, ()>("format-190")
        .table::<format_191::Stored, ()>("format-191")
        .table::<format_192::Stored, ()>("format-192")
        .table::<format_193::Stored, ()>("format-193")
        .table::<format_194::Stored, ()>("format-194")
        .table::<format_195::Stored, ()>("format-195")
        .table::<format_196::Stored, ()>("format-196")
        .table::<front::FrontKey, front::Windows>("front")
        .table::<growing::GrowingKey, ()>("growing")
        .table::<hashed::HashedKey, ()>("hashed")
        .table::<java::JavaKey, java::Event>("java")
        .table_with_family::<maps::UuidKey, maps::UuidKeyRow>("maps", "by_state")
        .table::<ordered_epochs::OrderedEpochKey, ()>("ordered epochs")
        .table::<ordered_hashed::OrderedHashedKey, ()>("ordered hashed")
        .table::<reversed::ReversedKey, ()>("reversed")
        .table::<shared::SharedKey, shared::Event>("shared")
        .table::<shared_2::SharedKey, shared_2::Event>("shared")
        .table::<type_::AfterKey, type_::Sums>("type")
}
