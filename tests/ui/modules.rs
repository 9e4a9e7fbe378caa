//! Modules that write a field or a column, but not as the derive calls them.

use keyderive::{Row, RowKey};

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

mod other_functions {
    pub const WIDTH: keyderive::key::Width = keyderive::key::Width::Delimited;

    pub fn write(value: &str) -> String {
        value.into()
    }
}

mod other_results {
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

mod other_arguments {
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

mod other_width {
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
    not_debug: Place,
    #[row_key(with = "other_functions")]
    functions: String,
    #[row_key(with = "other_results")]
    results: String,
    #[row_key(with = "other_arguments")]
    arguments: String,
    #[row_key(with = "other_width")]
    width: String,
}

mod hex {
    use keyderive::row::{CellError, CellWriter};

    pub fn encode(_: &u64, _: &mut CellWriter<'_>) -> Result<(), CellError> {
        Ok(())
    }
}

#[derive(Row)]
struct Pixel {
    #[row(with = "hex")]
    color: u32,
}

fn main() {}
