use keyderive::RowKey;
use keyderive::plan::IntoPlan;

#[derive(RowKey)]
#[row_key(allow(point_reads))]
struct EventKey {
    user_id: String,
    #[row_key(sequential, hash(md5))]
    number: u64,
    seq: u32,
}

fn main() {
    let scan = EventKey::scan().user_id("alice");
    let _ = scan.clone().into_plan();
    let _ = scan.clone().number(7).explain();
    run(scan.number(7));
}

fn run(_: impl IntoPlan<EventKey>) {}
