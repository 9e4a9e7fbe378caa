//! A scan fixes the fields of a key from the left, each once.

use keyderive::RowKey;

#[derive(RowKey)]
struct EventKey {
    user_id: String,
    site: String,
    #[reverse_ts]
    at: u64,
}

#[derive(RowKey)]
struct ReadingKey {
    #[row_key(method = "by_meter")]
    meter: String,
    value: u64,
}

#[derive(RowKey)]
#[row_key(allow(point_reads))]
struct OrderKey {
    shop: String,
    #[row_key(sequential, hash(md5))]
    number: u64,
    line: u32,
}

fn main() {
    let _ = EventKey::scan().site("home");
    let _ = EventKey::scan().user_id("alice").at(7);
    let _ = EventKey::scan().site_prefix("ho");
    let _ = EventKey::scan().at_range(1..2);
    let _ = EventKey::scan().site_any_of(["home", "shop"]);
    let _ = EventKey::scan().user_id("alice").user_id("bob");
    let _ = EventKey::scan().user_id_any_of(["alice", "bob"]).user_id("alice");
    let _ = EventKey::scan().user_id_prefix("a").site("home");
    let _ = EventKey::scan().user_id_range("a".."b").site("home");
    let _ = EventKey::scan().user_id("alice").site("home").at(7).at_range(1..2);
    let _ = ReadingKey::scan().value(7);
    let scan = OrderKey::scan().shop("paris");
    let _ = scan.clone().into_plan();
    let _ = scan.clone().number(7).explain();
    run(scan.number(7));
}

fn run(_: impl keyderive::plan::IntoPlan<OrderKey>) {}
