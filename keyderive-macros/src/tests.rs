//! Snapshots of the printed code, made without a compiler, so that reviews show every change of it.
//! `INSTA_UPDATE=always` rewrites them.

mod hygiene;
mod messages;

use syn::DeriveInput;

use crate::row_key::row_key;

/// One key for each shape of printed code.
const KEYS: [(&str, &str); 7] = [
    (
        "salted",
        r#"
        #[salt(range = 4, over = "user_id,site")]
        struct EventKey {
            user_id: String,
            site: String,
            #[reverse_ts]
            at: u64,
            #[pad(6)]
            seq: u32,
        }
        "#,
    ),
    (
        "strings",
        "
        pub struct PathKey {
            pub country: String,
            pub city: String,
            pub street: String,
        }
        ",
    ),
    (
        "tagged",
        r#"
        #[row_key(tag = "BATTERY", delimiter = '-')]
        #[salt(range = 20, over(at, user))]
        pub(crate) struct BatteryKey {
            user: String,
            level: i16,
            #[reverse_ts(max = 9999999999999)]
            at: i64,
        }
        "#,
    ),
    (
        "borrowed",
        "
        struct LentKey<'user, 'site: 'user> {
            user: &'user str,
            site: std::borrow::Cow<'site, str>,
            at: u32,
        }
        ",
    ),
    (
        "raw_identifiers",
        r#"
        #[row_key(crate = "bigtable_keys")]
        #[salt(range = 4, over(type, r#match))]
        struct r#struct {
            r#type: String,
            r#match: u64,
        }
        "#,
    ),
    ("one_field", "struct OrderKey { id: u64 }"),
    (
        "epochs",
        r#"
        #[salt(range = 4, over = "user_id", sep = "!", since(at = "2026-12-01T00:00:00Z"))]
        #[salt(range = 16, over = "user_id", sep = "!", since(at = "2027-12-01T00:00:00Z"))]
        struct EventKey {
            user_id: String,
            at: SystemTime,
            #[pad(4)]
            seq: u16,
        }
        "#,
    ),
];

fn parse(declaration: &str) -> DeriveInput {
    syn::parse_str(declaration).unwrap()
}

#[test]
fn printed_code() {
    for (name, declaration) in KEYS {
        let printed = syn::parse2(row_key(&parse(declaration))).unwrap();
        insta::with_settings!({ omit_expression => true, prepend_module_to_snapshot => false }, {
            insta::assert_snapshot!(name, prettyplease::unparse(&printed));
        });
    }
}

#[test]
fn the_runtime_is_found_by_the_crate_path_alone() {
    let print = |attributes: &str| {
        let declaration =
            format!("{attributes} struct EventKey {{ user_id: String, #[reverse_ts] at: u64 }}");
        row_key(&parse(&declaration)).to_string()
    };
    assert!(print("").contains(":: keyderive ::"));
    assert!(!print("#[row_key(crate = \"store\")]").contains(":: keyderive ::"));
    // In the stub impls, too.
    assert!(!print("#[row_key(crate = \"store\", tag = \"\")]").contains(":: keyderive ::"));
}
