use keyderive::RowKey;

mod place {
    pub const WIDTH: keyderive::key::Width = keyderive::key::Width::Delimited;

    pub fn write(value: &str) -> String {
        value.into()
    }
}

#[derive(RowKey)]
struct EventKey {
    #[row_key(with = "place")]
    place: String,
}

fn main() {}
