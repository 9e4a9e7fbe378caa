use keyderive::{KeyField, RowKey};

#[derive(KeyField, Clone, Debug)]
struct Count(usize);

#[derive(KeyField, Clone, Debug)]
struct Ratio(f64);

#[derive(RowKey)]
struct EventKey {
    user_id: String,
    #[pad(6)]
    count: Count,
    ratio: Ratio,
}

fn main() {
    let key = EventKey { user_id: "alice".into(), count: Count(7), ratio: Ratio(0.5) };
    let _ = key.encode();
    let _ = EventKey::decode(b"alice#000007#0.5").map(|key| key.ratio);
    let _ = EventKey::scan().user_id("alice").count(7).ratio(0.5).into_plan();
    let _ = EventKey::scan().user_id("alice").count_range(7..9);
    let _ = EventKey::scan().user_id("alice").count(7).ratio_range(0.5..);
}
