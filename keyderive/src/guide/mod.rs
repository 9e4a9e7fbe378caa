//! The manual, one page per subject.
//!
//! | page | subject |
//! |---|---|
//! | [`choosing`] | which fields a key has, in which order, and how to avoid a hotspot |
//! | [`heat`] | how to read a heatmap of a table's load: which key makes which pattern, and its remedy; with the feature `heat` |
//! | [`attributes`] | what each attribute stores, for which types, and what it rejects |
//! | [`scans`] | how to select, order, limit and page rows, and how to read `explain()` |
//! | [`tables`] | how to create a table, compare it with its key type, and change it |
//! | [`rows`] | how to write, change and read rows |
//! | [`layouts`] | a file of the layouts of all tables, compared in a test: what a change of a type does to stored rows |
//! | [`from_serde`] | `#[derive(Row)]` for users of serde, sqlx and ORMs |
//! | [`promises`] | what each write guarantees, under concurrent writes, after failures and next to older programs; what each call does with rows that a `ttl` hides |
//! | [`loading`] | how to load and export many rows |
//! | [`rekeying`] | when a key must change: three ways, what each costs, and a checklist |
//! | [`recipes`] | what services build from rows: lookups, erasures, rankings, totals |
//! | [`compiler`] | compiler errors that do not name the remedy, and what to write instead |
//! | [`errors`] | what each predicate means, what to do, and how retries work |
//! | [`limits`] | what is rejected, and what is out of scope |
//! | [`deployment`] | how to connect to an emulator and to the cloud, permissions, a checklist |
//! | [`operating`] | what to look at when something is slow, hot, large or wrong; setting up a service in the cloud |
//! | [`testing`] | how to test a service: clocks, garbage collection, faults, waits in virtual time |
//! | [`sql`] | how to run Bigtable's SQL |
//! | [`running`] | running a service: start, health checks, shutdown, pools, who repeats a write, alerts |
//! | [`serving`] | a service under load: timeouts, overload, slow servers, what to alert on |
//!
//! Elsewhere: [`designs`](crate::designs) has the schema designs of Google's guides as key types,
//! [`key::codec`](crate::key::codec) specifies the key format for programs in other languages, and [`row`](crate::row)
//! says how cells store values. The `examples` of the repository are whole programs.

pub mod attributes {
    #![doc = include_str!("attributes.md")]
}
pub mod choosing {
    #![doc = include_str!("choosing.md")]
}
pub mod compiler {
    #![doc = include_str!("compiler.md")]
}
pub mod deployment {
    #![doc = include_str!("deployment.md")]
}
pub mod errors {
    #![doc = include_str!("errors.md")]
}
pub mod from_serde {
    #![doc = include_str!("from_serde.md")]
}
#[cfg(feature = "heat")]
pub mod heat {
    #![doc = include_str!("heat.md")]
}
pub mod layouts {
    #![doc = include_str!("layouts.md")]
}
pub mod limits {
    #![doc = include_str!("limits.md")]
}
pub mod loading {
    #![doc = include_str!("loading.md")]
}
pub mod operating {
    #![doc = include_str!("operating.md")]
}
pub mod promises {
    #![doc = include_str!("promises.md")]
}
pub mod recipes {
    #![doc = include_str!("recipes.md")]
}
pub mod rekeying {
    #![doc = include_str!("rekeying.md")]
}
pub mod rows {
    #![doc = include_str!("rows.md")]
}
pub mod running {
    #![doc = include_str!("running.md")]
}
pub mod scans {
    #![doc = include_str!("scans.md")]
}
pub mod serving {
    #![doc = include_str!("serving.md")]
}
pub mod sql {
    #![doc = include_str!("sql.md")]
}
pub mod tables {
    #![doc = include_str!("tables.md")]
}
#[cfg(feature = "embedded")]
pub mod testing {
    #![doc = include_str!("testing.md")]
}
