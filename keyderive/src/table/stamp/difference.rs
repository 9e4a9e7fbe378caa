//! How the key layouts of a table and of a program differ, in words.

use crate::key::{BOUNDS, KeyChange, KeySchema};

/// The first part of a table's layout, as the registry has it, that differs from the program's, which is `schema`.
pub(super) fn difference(saved: &str, schema: &KeySchema) -> Option<String> {
    let changes = KeySchema::changes_between(&schema.layout_json(), saved)?;
    let change = changes.into_iter().find(|change| change.effect.is_of_fingerprint())?;
    let KeyChange { part, old, new, .. } = change;
    let has_more = part == BOUNDS && old.parse::<usize>().ok() > new.parse().ok();
    let remedy = if has_more { ": run the newer release, whose key type has all of them" } else { "" };
    Some(format!("{part} is {old} in the table and {new} in this program{remedy}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RowKey;

    #[derive(RowKey)]
    #[salt(range = 4, over = "user")]
    struct Old {
        user: String,
        #[pad(6)]
        number: u32,
    }

    macro_rules! key {
        ($name:ident, $(#[$key:meta])* { $($(#[$field:meta])* $part:ident: $type:ty,)* }) => {
            #[derive(RowKey)]
            $(#[$key])*
            #[allow(dead_code)]
            struct $name { $($(#[$field])* $part: $type,)* }
        };
    }
    key!(Same, #[salt(range = 4, over = "user")] { user: String, #[pad(6)] number: u64, });
    key!(Salt, #[salt(range = 8, over = "user")] { user: String, #[pad(6)] number: u32, });
    key!(NoSalt, { user: String, #[pad(6)] number: u32, });
    key!(Width, #[salt(range = 4, over = "user")] { user: String, #[pad(7)] number: u32, });
    key!(Order, #[salt(range = 4, over = "user")] { user: String, #[pad(6)] #[row_key(desc)] number: u32, });
    key!(Over, #[salt(range = 4, over = "user,number")] { user: String, #[pad(6)] number: u32, });
    key!(Name, #[salt(range = 4, over = "user")] { user: String, #[pad(6)] no: u32, });
    key!(More, #[salt(range = 4, over = "user")] { user: String, #[pad(6)] number: u32, last: u8, });
    key!(Dash, #[salt(range = 4, over = "user")] #[row_key(delimiter = '-')] { user: String, #[pad(6)] number: u32, });

    fn against_old<K: RowKey>() -> Option<String> {
        difference(&Old::SCHEMA.layout_json(), K::SCHEMA)
    }

    #[test]
    fn key_types_of_one_fingerprint_are_the_same() {
        assert_eq!(Old::fingerprint(), Same::fingerprint());
        assert_eq!(against_old::<Same>(), None);
    }

    #[test]
    fn a_difference_names_the_part_and_both_sides() {
        for (text, part) in [
            (against_old::<Salt>(), "the range of the salt is 4 in the table and 8 in this program"),
            (
                against_old::<NoSalt>(),
                "the salt is one of range 4 over `user` in the table and none in this program",
            ),
            (
                against_old::<Over>(),
                "the list of the salt's fields is `user` in the table and `user`, `number` in this program",
            ),
            (
                against_old::<Width>(),
                "the width of the field `number` is 6 bytes in the table and 7 bytes in this program",
            ),
            (
                against_old::<Order>(),
                "the order of the field `number` is `ascending` in the table and reversed from `999999` in this program",
            ),
            (against_old::<Name>(), "the name of field 2 is `number` in the table and `no` in this program"),
            (
                against_old::<More>(),
                "the list of the fields is `user`, `number` in the table and `user`, `number`, `last` in this program",
            ),
            (against_old::<Dash>(), "the delimiter is `#` in the table and `-` in this program"),
        ] {
            assert_eq!(text.unwrap(), part);
        }
    }
}
