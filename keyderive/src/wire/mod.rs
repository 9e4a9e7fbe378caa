//! Bigtable's protocol: the messages, and the clients and servers of its services.
//!
//! `proto/` states the part that is spoken here; `generated/` is made from it by
//! `KEYDERIVE_BLESS=1 cargo test -p keyderive-tests --test wire`, and the same test without the variable
//! fails when the two differ. Modules follow the packages, because the generated paths between them do.
// The protocol is stated in whole messages, and a message's documentation is Google's to write.
#![allow(dead_code, missing_docs, unreachable_pub, clippy::all, clippy::doc_markdown)]

mod rows;

pub(crate) mod google {
    pub(crate) mod bigtable {
        pub(crate) mod v2 {
            include!("generated/google.bigtable.v2.rs");
        }
        pub(crate) mod admin {
            pub(crate) mod v2 {
                include!("generated/google.bigtable.admin.v2.rs");
            }
        }
    }
}

pub(crate) mod keyderive {
    pub(crate) mod values {
        include!("generated/keyderive.values.rs");
    }
}

pub(crate) use self::google::bigtable::admin::v2 as admin;
pub(crate) use self::google::bigtable::v2 as data;
pub(crate) use self::keyderive::values;
pub(crate) use self::rows::RowsMessage;
