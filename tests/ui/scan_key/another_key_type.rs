use keyderive::RowKey;
use keyderive::plan::IntoPlan;

#[derive(RowKey)]
struct EventKey {
    user_id: String,
}

#[derive(RowKey)]
struct OrderKey {
    user_id: String,
}

fn main() {
    run::<EventKey>(OrderKey::scan().user_id("alice"));
}

fn run<K>(_: impl IntoPlan<K>) {}
