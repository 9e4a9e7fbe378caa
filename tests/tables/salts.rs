//! Salts in every position and with both hashes: point reads find each row, and scans find all their rows, in the
//! order that their plans promise.

use keyderive::key::OwnedRowKey;
use keyderive::plan::Plan;
use keyderive::{Client, RowKey, Table};
use keyderive_tests::fixtures::created;

use crate::servers::on_every_bigtable;

/// Names that are prefixes of one another, with bytes on both sides of the separators.
const NAMES: [&str; 6] = ["", "a", "a-", "a0", "ab", "b"];

/// A key of a user, a site and a number, salted in some way.
trait Salted: OwnedRowKey + Clone + PartialEq + std::fmt::Debug {
    fn new(user: &str, site: &str, number: u32) -> Self;
    /// The fields, in scan order.
    fn fields(&self) -> (&str, &str, u32);
    /// A read of one row.
    fn point(user: &str, site: &str, number: u32) -> Plan<Self>;
    /// Plans, each with the rows it selects.
    fn plans() -> Vec<(Plan<Self>, Select)>;
}

type Select = fn((&str, &str, u32)) -> bool;

macro_rules! salted {
    ($($(#[$attribute:meta])* $key:ident;)*) => {$(
        #[derive(RowKey, Clone, Debug, PartialEq)]
        $(#[$attribute])*
        struct $key {
            user: String,
            site: String,
            #[pad(3)]
            number: u32,
        }

        impl Salted for $key {
            fn new(user: &str, site: &str, number: u32) -> Self {
                Self { user: user.into(), site: site.into(), number }
            }

            fn fields(&self) -> (&str, &str, u32) {
                (&self.user, &self.site, self.number)
            }

            fn point(user: &str, site: &str, number: u32) -> Plan<Self> {
                Self::scan().user(user).site(site).number(number).into_plan().unwrap()
            }

            fn plans() -> Vec<(Plan<Self>, Select)> {
                let plans: [(_, Select); 8] = [
                    (Self::scan().into_plan(), |_| true),
                    (Self::scan().user_prefix("a").into_plan(), |(user, ..)| user.starts_with('a')),
                    (Self::scan().user_range("a0"..).into_plan(), |(user, ..)| user >= "a0"),
                    (Self::scan().user("a").into_plan(), |(user, ..)| user == "a"),
                    (Self::scan().user("").site_range("a".."b").into_plan(), |(user, site, _)| {
                        user.is_empty() && ("a".."b").contains(&site)
                    }),
                    (Self::scan().user("ab").site_prefix("a").into_plan(), |(user, site, _)| {
                        user == "ab" && site.starts_with('a')
                    }),
                    (Self::scan().user("b").site("").into_plan(), |(user, site, _)| {
                        (user, site) == ("b", "")
                    }),
                    (Self::scan().user("b").site("a").number_range(3..=9).into_plan(), |(user, site, n)| {
                        (user, site) == ("b", "a") && (3..=9).contains(&n)
                    }),
                ];
                plans.map(|(plan, select)| (plan.unwrap(), select)).into()
            }
        }
    )*};
}

salted! {
    #[salt(range = 4, sep = "-", over = "user,site")]
    Separated;
    #[row_key(tag = "EVENT")]
    #[salt(range = 11, position = "front", over = "site")]
    Front;
    #[salt(range = 4, sep = "-", hash = "java")]
    Java;
    #[row_key(tag = "EVENT")]
    #[salt(range = 11, hash = "java")]
    JavaWithTag;
    #[row_key(tag = "EVENT")]
    #[salt(range = 4, over = "number", after = "user")]
    AfterUser;
    #[salt(range = 4, over = "user,number", after = "site", sep = "/")]
    AfterSite;
}

on_every_bigtable! {
    separated
    in_front_of_a_tag
    by_javas_hash
    by_javas_hash_with_a_tag
    behind_the_first_field
    behind_the_second_field
}

async fn separated(client: Client) {
    scans_are_exact_in_order::<Separated>(client).await;
}

async fn in_front_of_a_tag(client: Client) {
    scans_are_exact_in_order::<Front>(client).await;
}

async fn by_javas_hash(client: Client) {
    let negative = keys::<Java>().iter().filter(|key| key.encode().unwrap()[0] == b'-').count();
    assert!(negative > 50, "{negative} keys are in the buckets that Google's sample never scans");
    scans_are_exact_in_order::<Java>(client).await;
}

async fn by_javas_hash_with_a_tag(client: Client) {
    scans_are_exact_in_order::<JavaWithTag>(client).await;
}

async fn behind_the_first_field(client: Client) {
    scans_are_exact_in_order::<AfterUser>(client).await;
}

async fn behind_the_second_field(client: Client) {
    scans_are_exact_in_order::<AfterSite>(client).await;
}

fn keys<K: Salted>() -> Vec<K> {
    let numbers = |user, site| (0..8).map(move |number| K::new(user, site, number * number));
    NAMES.iter().flat_map(|user| NAMES.iter().flat_map(|site| numbers(*user, *site))).collect()
}

async fn scans_are_exact_in_order<K: Salted>(client: Client) {
    let keys = keys::<K>();
    let table = created::<K, ()>(&client, "events").await;
    table.put_all(keys.iter().map(|key| (key.clone(), ()))).await.unwrap();

    for key in &keys {
        assert_eq!(table.get(key).await.unwrap(), Some(()), "{key:?}");
        let (user, site, number) = key.fields();
        let read = K::point(user, site, number).requests();
        assert_eq!(key.salt_bucket().unwrap(), read[0].bucket(), "{key:?}");
    }
    assert_eq!(table.get(&K::new("a", "c", 0)).await.unwrap(), None);
    for (plan, select) in K::plans() {
        is_exact_in_order(&table, &keys, plan, select).await;
    }
}

async fn is_exact_in_order<K: Salted>(table: &Table<K, ()>, keys: &[K], plan: Plan<K>, select: Select) {
    let mut expected: Vec<_> = keys.iter().filter(|key| select(key.fields())).cloned().collect();
    assert!(expected.len() > 1);
    // Where one request reads all buckets, rows arrive in stored order.
    if plan.requests()[0].bucket().is_some() {
        expected.sort_by(|one, other| one.fields().cmp(&other.fields()));
    } else {
        expected.sort_by_key(|key| key.encode().unwrap());
        assert!(plan.explain().to_string().contains("as stored, by row key"), "{}", plan.explain());
    }
    for limit in [expected.len() as u64, 2] {
        let rows = table.scan(plan.clone()).limit(limit).collect().await.unwrap();
        let found: Vec<_> = rows.into_iter().map(|(key, ())| key).collect();
        assert_eq!(found, expected[..expected.len().min(limit as usize)], "{}", plan.explain());
    }
}
