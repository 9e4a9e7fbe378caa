//! A key type may have the name that a type parameter usually has.
#![deny(warnings)]
#![allow(dead_code)]

use keyderive::RowKey;

macro_rules! keys {
    ($($key:ident)*) => {$(
        #[derive(RowKey)]
        #[salt(range = 4, over = "user")]
        struct $key {
            user: String,
            #[reverse_ts]
            at: u64,
        }

        impl $key {
            fn plan() -> Result<keyderive::plan::Plan<Self>, keyderive::plan::PlanError> {
                Self::scan().user("alice").into_plan()
            }
        }
    )*};
}

keys! { S K R T Stage Codec }

pub(crate) fn main() {
    S::plan().unwrap();
}
