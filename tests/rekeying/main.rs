//! Tables whose keys change while programs read and write them.

/// Tests that run a migration with a clock that jumps over its waits.
macro_rules! paused {
    ($($(#[$doc:meta])* async fn $name:ident() $body:block)*) => {
        $($(#[$doc])* #[tokio::test(start_paused = true)] async fn $name() $body)*
    };
}

mod calls;
mod chaos;
mod declared;
mod drive;
mod drivers;
mod exact;
mod keys;
mod leases;
mod mappings;
mod model;
mod pauses;
mod refusals;
mod registry;
mod selected;
#[path = "../tables/servers.rs"]
#[allow(unused_macros, unused_imports, reason = "the tests of tables use all of it")]
mod servers;
