//! Times in every format, after a user or after a salt.

use std::time::SystemTime;

use keyderive::RowKey;

#[derive(RowKey)]
pub struct Plain {
    pub user_id: String,
    pub at: SystemTime,
}

#[derive(RowKey)]
pub struct Newest {
    pub user_id: String,
    #[reverse_ts]
    #[row_key(ts(unit = "millis", exact))]
    pub at: SystemTime,
}

#[derive(RowKey)]
#[salt(range = 4)]
pub struct Calendar {
    #[row_key(ts(format = "datetime17", exact))]
    pub at: SystemTime,
}

pub(crate) fn main() {
    let key = Plain { user_id: "alice".into(), at: SystemTime::UNIX_EPOCH };
    assert_eq!(key.encode().unwrap(), b"alice#0000000000000000");
    let key = Newest { user_id: "alice".into(), at: SystemTime::UNIX_EPOCH };
    assert_eq!(key.encode().unwrap(), b"alice#9223372036854775807");
    let _ = Newest::scan().user_id("alice").at_range(SystemTime::UNIX_EPOCH..);
    let key = Calendar { at: SystemTime::UNIX_EPOCH };
    assert!(key.encode().unwrap().ends_with(b"#19700101000000000"));
}
