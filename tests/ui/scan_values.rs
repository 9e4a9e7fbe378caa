//! What a scan takes for a field, and which scans a call takes.

use keyderive::RowKey;
use keyderive::plan::{IntoPlan, Plan};

#[derive(RowKey)]
struct EventKey {
    user_id: String,
    site: String,
    #[reverse_ts]
    at: u64,
}

#[derive(RowKey)]
struct FileKey {
    name: Vec<u8>,
    size: u64,
}

#[derive(RowKey)]
struct OrderKey {
    shop: String,
    #[row_key(sequential, hash(md5))]
    number: u64,
}

#[derive(RowKey)]
struct TicketKey {
    #[row_key(bit_reverse)]
    id: u64,
}

#[derive(Debug)]
pub struct Place;

mod place {
    use keyderive::key::{FieldError, Width};

    pub const WIDTH: Width = Width::Fixed(8);

    pub fn write(value: &super::Place, out: &mut Vec<u8>) -> Result<(), FieldError> {
        let _ = (value, out);
        Ok(())
    }

    pub fn read(bytes: &[u8]) -> Result<super::Place, FieldError> {
        let _ = bytes;
        Ok(super::Place)
    }
}

#[derive(RowKey)]
struct PlaceKey {
    #[row_key(with = "place")]
    place: Place,
}

fn values() {
    let _ = EventKey::scan().user_id(7);
    let _ = EventKey::scan().user("alice");
    let _ = EventKey::scan().user_id("alice").site("home").at_prefix(17);
    let _ = EventKey::scan().user_id_any_of([1, 2]);
    let ids: Vec<u64> = Vec::new();
    let _ = EventKey::scan().user_id_any_of(&ids);
    let _ = FileKey::scan().name(b"a").size_any_of(["now"]);
    let _ = EventKey::scan().user_id_any_of("alice");
}

fn ranges(from: String, to: String) {
    let _ = EventKey::scan().user_id("alice").site_range(from.clone()..to.clone());
    let _ = EventKey::scan().user_id("alice").site_range(from..);
    let _ = EventKey::scan().user_id("alice").site_range(&to..);
    let _ = FileKey::scan().name_range(b"a".to_vec()..b"b".to_vec());
    let _ = FileKey::scan().name(b"a").size_range(&1..&2);
    let _ = FileKey::scan().name(b"a").size_range(1.5..2.0);
    let _ = FileKey::scan().name(b"a").size_range(7);
    let _ = OrderKey::scan().shop("paris").number_range(..7);
    let _ = TicketKey::scan().id_range(1..7);
    let _ = PlaceKey::scan().place_range(&Place..);
}

fn branches(site: Option<&str>) {
    let _ = match site {
        Some(site) => EventKey::scan().user_id("alice").site(site),
        None => EventKey::scan().user_id("alice"),
    };
    let _ = if site.is_some() { EventKey::scan().user_id("alice") } else { EventKey::scan() };
    let mut scan = EventKey::scan().user_id("alice");
    if let Some(site) = site {
        scan = scan.site(site);
    }
}

fn calls() {
    run::<EventKey>(OrderKey::scan().shop("paris"));
    let _ = Plan::<EventKey>::new();
}

fn run<K>(_: impl IntoPlan<K>) {}

fn main() {}
