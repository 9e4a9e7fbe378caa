use keyderive::RowKey;
use keyderive::plan::Plan;

#[derive(RowKey)]
struct EventKey {
    tenant: String,
}

fn main() {
    let _ = Plan::<EventKey>::new();
}
