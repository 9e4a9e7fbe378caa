//! Keys of pages, without a salt and with one.

use keyderive::RowKey;

#[derive(RowKey, Clone, Debug, PartialEq)]
pub(crate) struct Old {
    pub(crate) id: u64,
}

#[derive(RowKey, Clone, Debug, PartialEq)]
#[salt(range = 4, over = "id")]
pub(crate) struct New {
    pub(crate) id: u64,
}

impl From<Old> for New {
    fn from(key: Old) -> Self {
        Self { id: key.id }
    }
}

impl From<&New> for Old {
    fn from(key: &New) -> Self {
        Self { id: key.id }
    }
}
