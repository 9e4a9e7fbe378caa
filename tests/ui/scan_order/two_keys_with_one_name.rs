mod events {
    #[derive(keyderive::RowKey)]
    pub struct EventKey {
        pub user_id: String,
        pub site: String,
    }
}

mod orders {
    #[derive(keyderive::RowKey)]
    pub struct OrderKey {
        pub user_id: String,
        pub shop: String,
        pub site: String,
        pub amount: u32,
    }
}

fn main() {
    let _ = events::EventKey::scan().site("home");
    let _ = orders::OrderKey::scan().user_id("alice").amount(7);
}
