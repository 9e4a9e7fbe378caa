use keyderive::RowKey;

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
struct EventKey {
    #[row_key(with = "place")]
    place: Place,
}

fn main() {}
