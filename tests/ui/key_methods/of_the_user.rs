use keyderive::RowKey;

#[derive(RowKey)]
struct EventKey {
    user_id: String,
}

impl EventKey {
    const SCHEMA: u32 = 1;

    fn encode(&self) -> String {
        self.user_id.clone()
    }
}

fn main() {}
