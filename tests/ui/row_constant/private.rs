mod events {
    #[derive(keyderive::Row)]
    pub struct Event {
        pub kind: String,
        note: Option<String>,
    }
}

fn main() {
    let _ = events::Event::KIND;
    let _ = events::Event::NOTE;
}
