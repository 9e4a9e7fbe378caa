//! Tables whose keys change while programs read and write them.

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
