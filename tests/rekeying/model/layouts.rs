//! The pairs of key types of the model.

use std::fmt::Debug;

use keyderive::plan::IntoPlan;
use keyderive::table::rekey::{Pair, PairKey, Rekeyed};
use keyderive::{Client, RowKey, Scan};

use super::{Job, Key, SHOPS};

/// A pair of key types, each of a shop and a number.
pub(super) trait Layout {
    type Old: PairKey + RowKey<Scan: IntoPlan<Self::Old>> + for<'a> From<&'a Self::New>;
    type New: PairKey + RowKey<Scan: IntoPlan<Self::New>> + Debug;
    /// Whether the keys of both types sort the same.
    const IS_ORDERED: bool;
    /// Whether the shop is in the row, and not in the old key.
    const BY_ROW: bool;

    fn new_key(key: Key) -> Self::New;
    fn key(key: &Self::New) -> Key;
    async fn open(client: &Client) -> Rekeyed<Self::Old, Self::New, Job>;
    /// All rows, or those of a shop, if the keys sort the same.
    fn scan(
        table: &Rekeyed<Self::Old, Self::New, Job>,
        shop: Option<&str>,
    ) -> Scan<Self::New, Job, Pair<Self::Old>>;
}

fn shop(name: &str) -> &'static str {
    SHOPS.into_iter().find(|shop| *shop == name).unwrap()
}

#[derive(RowKey, Debug)]
#[salt(range = 2, over = "shop")]
pub(super) struct Keyed {
    shop: String,
    id: u64,
}

#[derive(RowKey, Debug)]
#[salt(range = 5, over = "shop,id")]
pub(super) struct Salted {
    shop: String,
    id: u64,
}

#[derive(RowKey, Debug)]
pub(super) struct Turned {
    id: u64,
    shop: String,
}

/// Other bytes for each part, that sort the same.
#[derive(RowKey, Debug)]
#[row_key(tag = "jobs", delimiter = '!')]
#[salt(range = 3, over = "shop")]
pub(super) struct Reformatted {
    #[row_key(escape)]
    shop: String,
    #[pad(4)]
    id: u64,
}

#[derive(RowKey, Debug)]
pub(super) struct Numbered {
    id: u64,
}

macro_rules! converted {
    ($one:ident, $other:ident) => {
        impl From<$one> for $other {
            fn from($one { shop, id }: $one) -> Self {
                Self { shop, id }
            }
        }

        impl From<&$other> for $one {
            fn from($other { shop, id }: &$other) -> Self {
                Self { shop: shop.clone(), id: *id }
            }
        }
    };
}

converted!(Keyed, Salted);
converted!(Keyed, Turned);
converted!(Keyed, Reformatted);

impl From<&Salted> for Numbered {
    fn from(key: &Salted) -> Self {
        Self { id: key.id }
    }
}

/// Another salt.
pub(super) struct SameOrder;

/// The same fields, stored otherwise.
pub(super) struct OtherFormat;

macro_rules! ordered {
    ($layout:ident, $new:ident) => {
        impl Layout for $layout {
            type Old = Keyed;
            type New = $new;
            const IS_ORDERED: bool = true;
            const BY_ROW: bool = false;

            fn new_key((shop, id): Key) -> $new {
                $new { shop: shop.to_owned(), id }
            }

            fn key(key: &$new) -> Key {
                (shop(&key.shop), key.id)
            }

            async fn open(client: &Client) -> Rekeyed<Keyed, $new, Job> {
                client.rekeyed("jobs", "jobs-new").await.unwrap()
            }

            fn scan(table: &Rekeyed<Keyed, $new, Job>, shop: Option<&str>) -> Scan<$new, Job, Pair<Keyed>> {
                match shop {
                    None => table.scan_both($new::scan(), Keyed::scan()),
                    Some(shop) => table.scan_both($new::scan().shop(shop), Keyed::scan().shop(shop)),
                }
            }
        }
    };
}

ordered!(SameOrder, Salted);
ordered!(OtherFormat, Reformatted);

/// The fields in another order.
pub(super) struct OtherOrder;

impl Layout for OtherOrder {
    type Old = Keyed;
    type New = Turned;
    const IS_ORDERED: bool = false;
    const BY_ROW: bool = false;

    fn new_key((shop, id): Key) -> Turned {
        Turned { id, shop: shop.to_owned() }
    }

    fn key(key: &Turned) -> Key {
        (shop(&key.shop), key.id)
    }

    async fn open(client: &Client) -> Rekeyed<Keyed, Turned, Job> {
        client.rekeyed("jobs", "jobs-new").await.unwrap()
    }

    fn scan(table: &Rekeyed<Keyed, Turned, Job>, _: Option<&str>) -> Scan<Turned, Job, Pair<Keyed>> {
        table.scan_both(Turned::scan(), Keyed::scan())
    }
}

/// A field of the row becomes one of the key.
pub(super) struct ByRow;

impl Layout for ByRow {
    type Old = Numbered;
    type New = Salted;
    const IS_ORDERED: bool = false;
    const BY_ROW: bool = true;

    fn new_key(key: Key) -> Salted {
        SameOrder::new_key(key)
    }

    fn key(key: &Salted) -> Key {
        SameOrder::key(key)
    }

    async fn open(client: &Client) -> Rekeyed<Numbered, Salted, Job> {
        let key_of =
            |old: &Numbered, job: &Job| Salted { shop: job.shop.clone().unwrap_or_default(), id: old.id };
        client.rekeyed_by_row("jobs", "jobs-new", key_of).await.unwrap()
    }

    fn scan(table: &Rekeyed<Numbered, Salted, Job>, _: Option<&str>) -> Scan<Salted, Job, Pair<Numbered>> {
        table.scan_both(Salted::scan(), Numbered::scan())
    }
}
