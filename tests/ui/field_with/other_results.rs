use keyderive::RowKey;

mod place {
    use keyderive::key::Width;

    pub const WIDTH: Width = Width::Delimited;

    pub fn write(value: &str, out: &mut Vec<u8>) -> Result<(), String> {
        out.extend_from_slice(value.as_bytes());
        Ok(())
    }

    pub fn read(bytes: &[u8]) -> Option<String> {
        String::from_utf8(bytes.to_vec()).ok()
    }
}

mod name {
    use keyderive::key::{FieldError, Width};

    pub const WIDTH: Width = Width::Delimited;

    pub fn write(value: u64, out: &mut Vec<u8>) -> Result<(), FieldError> {
        out.extend_from_slice(&value.to_be_bytes());
        Ok(())
    }

    pub fn read(bytes: Vec<u8>) -> Result<String, FieldError> {
        String::from_utf8(bytes).map_err(FieldError::new)
    }
}

mod width {
    use keyderive::key::FieldError;

    pub const WIDTH: usize = 8;

    pub fn write(value: &str, out: &mut Vec<u8>) -> Result<(), FieldError> {
        out.extend_from_slice(value.as_bytes());
        Ok(())
    }

    pub fn read(bytes: &[u8]) -> Result<String, FieldError> {
        String::from_utf8(bytes.to_vec()).map_err(FieldError::new)
    }
}

#[derive(RowKey)]
struct EventKey {
    #[row_key(with = "place")]
    place: String,
    #[row_key(with = "name")]
    name: String,
    #[row_key(with = "width")]
    site: String,
}

fn main() {}
