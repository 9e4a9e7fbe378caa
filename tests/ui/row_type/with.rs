use keyderive::Row;

mod hex {
    use keyderive::row::{CellError, CellWriter};

    pub fn encode(_: &u64, _: &mut CellWriter<'_>) -> Result<(), CellError> {
        Ok(())
    }
}

#[derive(Row)]
struct Event {
    #[row(with = "hex")]
    color: u32,
}

fn main() {}
