extern crate keyderive;

use other_keys::events::{EventKey, ReadingKey};

fn main() {
    let _ = EventKey::scan().site("home");
    let _ = EventKey::scan().user("alice").site_range("a".."b").at(7);
    let _ = ReadingKey::scan().meter(7).explain();
}
