//! The tables of the sessions, as a program that has the types makes them, and a table of no layout.

use std::error::Error;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use keyderive::client::{Family, FamilyChange};
use keyderive::layouts::Layouts;
use keyderive::row::Mutation;
use keyderive::{Client, GcRule, Row, RowKey};

/// Keys with a salt, the newest event first, and a padded number.
#[derive(RowKey, Clone, Debug)]
#[salt(range = 4, over = "user_id")]
pub(crate) struct EventKey {
    user_id: String,
    site: String,
    #[reverse_ts]
    at: SystemTime,
    #[pad(6)]
    seq: u32,
}

#[derive(Row, Clone, Debug)]
pub(crate) struct Event {
    kind: String,
    amount: Option<f64>,
    note: Option<String>,
}

#[derive(RowKey, Clone, Debug)]
pub(crate) struct UserKey {
    id: u64,
}

#[derive(Row, Clone, Debug)]
pub(crate) struct User {
    name: String,
    email: Option<String>,
    #[row(counter)]
    visits: i64,
}

/// The text of the lock file of that program.
pub(crate) fn layouts() -> String {
    Layouts::new().table::<EventKey, Event>("events").table::<UserKey, User>("users").to_json()
}

/// The lock file of a release that has changed the salt of events.
pub(crate) fn later_layouts() -> String {
    #[derive(RowKey)]
    #[salt(range = 8, over = "user_id")]
    struct EventKey {
        user_id: String,
        site: String,
        #[reverse_ts]
        at: SystemTime,
        #[pad(6)]
        seq: u32,
    }

    Layouts::new().table::<EventKey, Event>("events").table::<UserKey, User>("members").to_json()
}

/// The lock file of a release in which the addresses of users have another name.
pub(crate) fn renamed_layouts() -> String {
    #[derive(Row)]
    #[allow(dead_code)]
    struct User {
        name: String,
        mail: Option<String>,
        #[row(counter)]
        visits: i64,
    }

    Layouts::new().table::<EventKey, Event>("events").table::<UserKey, User>("users").to_json()
}

/// The lock file of a program whose orders get other keys: in a copy, and in a table that it moves to while it runs.
pub(crate) fn shop_layouts() -> String {
    Layouts::new()
        .table::<OrderKey, Order>("orders")
        .table::<ShopOrderKey, Order>("orders-copied")
        .table::<ShopOrderKey, Order>("orders-by-shop")
        .to_json()
}

/// The lock file of a program that has not decided yet which keys its views get.
pub(crate) fn view_layouts() -> String {
    #[derive(RowKey)]
    #[row_key(allow(hotspot))]
    struct DailyKey {
        #[row_key(ts(unit = "millis"))]
        at: SystemTime,
        user_id: String,
    }

    #[derive(RowKey)]
    #[salt(range = 8, over = "user_id")]
    struct SaltedKey {
        #[row_key(ts(unit = "millis"))]
        at: SystemTime,
        user_id: String,
    }

    #[derive(RowKey)]
    struct PageKey {
        page: String,
        number: u32,
    }

    let layouts = Layouts::new().table::<DailyKey, Event>("daily").table::<SaltedKey, Event>("salted");
    layouts.table::<PageKey, Event>("pages").to_json()
}

/// Those of a program that knows no addresses of users.
pub(crate) fn user_layouts() -> String {
    #[derive(Row)]
    #[allow(dead_code)]
    struct User {
        name: String,
        #[row(counter)]
        visits: i64,
    }

    Layouts::new().table::<UserKey, User>("users").to_json()
}

/// A table of names.
pub(crate) fn thing_layouts() -> String {
    #[derive(RowKey)]
    struct ThingKey {
        name: String,
    }

    Layouts::new().table::<ThingKey, Event>("things").to_json()
}

/// So many views of two hours of a morning, as csv; the n-th most frequent of 200 users has a share as 1 / n.
pub(crate) fn views(count: u64) -> String {
    let mut random = fastrand::Rng::with_seed(1);
    let mut text = "time,user,page\n".to_owned();
    for at in 0..count {
        let millis = (FIRST_DAY + 6 * 3600) * 1000 + at * 7_200_000 / count;
        let time = keyderive::dynamic::Value::Time(i128::from(millis) * 1_000_000);
        let user = (200_f64.powf(random.f64()) - 1.0) as u32;
        text += &format!("{time},u-{user:03},/page/{}\n", random.u32(..50));
    }
    text
}

#[derive(RowKey, Clone, Debug)]
struct OrderKey {
    order: u64,
    shop: String,
}

#[derive(RowKey, Clone, Debug)]
#[salt(range = 4, over = "shop")]
struct ShopOrderKey {
    shop: String,
    number: u64,
}

#[derive(Row, Clone, Debug)]
struct Order {
    total: i64,
}

async fn create_orders(client: &Client) -> Result<(), Box<dyn Error>> {
    let client = client.with(|settings| settings.registry = false);
    let orders = client.table::<OrderKey, Order>("orders");
    orders.create().without_row_key_schema().await?;
    for order in 0..40 {
        let shop = ["Basel", "Chur", "Zug"][(order % 3) as usize].into();
        orders.put(&OrderKey { order, shop }, &Order { total: 10 }).await?;
    }
    client.table::<ShopOrderKey, Order>("orders-copied").create().await?;
    Ok(())
}

/// A lock file of a program that keeps three versions of drafts, and has notes beside them.
pub(crate) fn changed_layouts() -> String {
    #[derive(Row)]
    #[row(gc(max_versions = 3))]
    #[allow(dead_code)]
    struct Draft {
        text: String,
    }

    #[derive(Row)]
    #[row(family = "notes")]
    #[allow(dead_code)]
    struct Note {
        text: String,
    }

    let layouts = Layouts::new().table::<UserKey, Draft>("drafts").table::<UserKey, Note>("drafts");
    layouts.table::<UserKey, User>("users").to_json()
}

/// 2026-11-24, the day of the first event.
const FIRST_DAY: u64 = 1_795_478_400;

fn event_key(user_id: &str, site: &str, hour: u64, seq: u32) -> EventKey {
    let at = UNIX_EPOCH + Duration::from_secs(FIRST_DAY + hour * 3600);
    EventKey { user_id: user_id.into(), site: site.into(), at, seq }
}

/// Creates the tables with their rows.
pub(crate) async fn create(client: &Client) -> Result<(), Box<dyn Error>> {
    let events = client.table::<EventKey, Event>("events");
    events.create().await?;
    for (at, user) in ["alice", "bob", "carol", "dave", "erin"].into_iter().enumerate() {
        for (site, hours) in [("home", 0..6), ("work", 3..9)] {
            for hour in hours {
                let kind = ["login", "view", "buy"][(hour % 3) as usize];
                let event = Event {
                    kind: kind.into(),
                    amount: (kind == "buy").then_some(9.5 + hour as f64),
                    note: (user == "bob" && hour == 4).then(|| "twice\u{1b}[31m".into()),
                };
                events.put(&event_key(user, site, hour * 8 + at as u64, 42), &event).await?;
            }
        }
    }
    let users = client.table::<UserKey, User>("users");
    users.create().split_at(&UserKey { id: 3 }).await?;
    for (id, name) in ["Alice", "Bob", "Carol", "Dave", "Erin"].into_iter().enumerate() {
        let email = (id % 2 == 0).then(|| format!("{}@example.org", name.to_lowercase()));
        users.put(&UserKey { id: id as u64 + 1 }, &User { name: name.into(), email, visits: 1 }).await?;
    }
    let visits = client.table::<UserKey, User>("visits");
    (1..64).fold(visits.create(), |create, at| create.split_at(&UserKey { id: at * 10 })).await?;
    for id in 0..640 {
        visits.put(&UserKey { id }, &User { name: String::new(), email: None, visits: 1 }).await?;
    }
    let drafts = client.table::<UserKey, User>("drafts");
    drafts.create().family("cf", GcRule::max_versions(5)).await?;
    create_shipments(client).await?;
    create_legacy(client).await?;
    create_orders(client).await?;
    create_faulty(client).await
}

/// A table of another program: without a stamp, and in no lock file.
async fn create_legacy(client: &Client) -> Result<(), Box<dyn Error>> {
    let legacy = client.raw_table("legacy");
    legacy.create([Family::new("cf", GcRule::max_versions(1))], [""; 0]).await?;
    for (key, value) in
        [(&b"a\x00b"[..], &b"one"[..]), (b"c\x1b[2J", b"t\x1b[31mwo"), (b"d\xff", b"\x00\x01")]
    {
        legacy.mutate_row(key.to_vec(), vec![Mutation::set("cf", "v", 1_000_000, value.to_vec())]).await?;
    }
    Ok(())
}

/// A table of another program with a row key schema, which is in no lock file and no registry.
async fn create_shipments(client: &Client) -> Result<(), Box<dyn Error>> {
    #[derive(RowKey)]
    #[row_key(layout = "ordered")]
    struct ShipmentKey {
        port: String,
        number: i64,
    }

    #[derive(Row)]
    #[row(family = "f")]
    struct Shipment {
        weight: String,
    }

    let client = client.with(|settings| settings.registry = false);
    let shipments = client.table::<ShipmentKey, Shipment>("shipments");
    shipments.create().await?;
    let info = shipments.info().await?;
    let stamps = info.families().iter().filter(|family| family.name().starts_with("keyderive."));
    shipments.modify_families(stamps.map(|family| FamilyChange::drop(family.name()))).await?;
    let key = ShipmentKey { port: "Basel".into(), number: 12 }.encode()?;
    client
        .raw_table("shipments")
        .mutate_row(key, vec![Mutation::set("f", "weight", 1_000_000, "7 t")])
        .await?;
    Ok(())
}

/// Events among which are rows that do not belong: a key of another layout, a row without its kind, a cell of the future.
async fn create_faulty(client: &Client) -> Result<(), Box<dyn Error>> {
    let table = client.table::<EventKey, Event>("faulty");
    table.create().await?;
    let event = Event { kind: "login".into(), amount: None, note: None };
    table.put(&event_key("alice", "home", 1, 1), &event).await?;
    let raw = client.raw_table("faulty");
    let set = |at, column: &'static str, value: &'static str| Mutation::set("cf", column, at, value);
    let partial = event_key("alice", "home", 2, 2).encode()?;
    let future = event_key("alice", "home", 3, 3).encode()?;
    raw.mutate_row(partial, vec![set(1_000_000, "note", "no kind")]).await?;
    raw.mutate_row(future, vec![set(4_102_444_800_000_000, "kind", "login")]).await?;
    raw.mutate_row("1#alice#\u{1b}]0;x\u{7}", vec![set(1_000_000, "kind", "login")]).await?;
    Ok(())
}
