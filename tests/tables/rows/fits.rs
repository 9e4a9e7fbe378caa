//! Parts of a row type that read something else than the whole would: each call fails, whichever way the part came about.

use std::collections::BTreeMap;

use keyderive::row::{Mutation, OwnedRow};
use keyderive::table::ReadOnly;
use keyderive::{Client, Error, Row, Table};
use keyderive_tests::fixtures::{created, fails};

use super::{PageKey, key};
use crate::servers::on_every_bigtable;

on_every_bigtable! {
    a_part_that_does_not_fit_reads_nothing
}

/// What fits is asked again by each call that changes the part, and always of the whole.
async fn a_part_that_does_not_fit_reads_nothing(client: Client) {
    #[derive(Row)]
    struct Seen {
        #[row(alias = "old")]
        n: Option<i64>,
        #[row(family = "h", ttl = "1h")]
        hits: Option<i64>,
        #[row(family)]
        place: Option<Town>,
    }

    #[derive(Row)]
    struct Town {
        #[row(alias = "town")]
        city: Option<String>,
    }

    #[derive(Row)]
    struct Former {
        old: Option<i64>,
    }

    #[derive(Row)]
    struct TakesN {
        #[row(alias = "n")]
        m: Option<i64>,
    }

    #[derive(Row)]
    struct MoreFormer {
        #[row(alias = "old", alias = "older")]
        n: Option<i64>,
    }

    #[derive(Row)]
    struct Longer {
        #[row(family = "h", ttl = "10h")]
        hits: Option<i64>,
    }

    #[derive(Row)]
    struct Own {
        #[row(family = "own", ttl = "1h")]
        note: Option<String>,
    }

    type Numbers = BTreeMap<String, i64>;
    type Texts = BTreeMap<String, String>;

    /// What reading a part says, by a point read and in a visit of the whole; both after parts that fit.
    async fn refused<P: OwnedRow>(rows: &Table<PageKey, Seen>, says: &str) {
        let part = rows.rows_as::<()>().rows_as::<P>().unchecked();
        fails(part.get(&key("/")).await.map(drop), says);
        let scan = rows.scan(PageKey::scan());
        let visited = scan.visit::<PageKey, Error>(|_, row| row.read::<P>().map(drop)).await;
        fails(visited, says);
    }

    let rows = created::<PageKey, Seen>(&client, "seen").await;
    let hits = Mutation::set_now("h", "hits", 5_i64.to_be_bytes().to_vec());
    let former = Mutation::set_now("cf", "old", 100_i64.to_be_bytes().to_vec());
    client.raw_table("seen").mutate_row("/", [hits, former]).await.unwrap();
    assert_eq!(rows.get(&key("/")).await.unwrap().unwrap().n, Some(100));

    let under_former =
        "`Seen` reads `cf:n` under its former name `cf:old` too, and `BTreeMap` has a map there";
    refused::<Numbers>(&rows, under_former).await;
    refused::<Former>(&rows, "`cf:old` of `Former` is a former name of `cf:n` of `Seen`").await;
    refused::<TakesN>(&rows, "`cf:m` of `TakesN` has an alias that is the column `cf:n` of `Seen`").await;
    refused::<MoreFormer>(&rows, "under its former name `cf:older` too, and `Seen` does not").await;
    refused::<Longer>(&rows, "the family `h` has a `ttl` of 3600s in `Seen`, and one of 36000s in `Longer`")
        .await;

    // The family of a map makes it another part.
    let got = |part: &Table<PageKey, Numbers, ReadOnly>| {
        let part = part.clone();
        async move { part.get(&key("/")).await.map_err(|error| error.to_string()) }
    };
    let numbers = rows.rows_as::<Numbers>();
    assert!(got(&numbers).await.unwrap_err().contains(under_former));
    let of_hits = numbers.clone().family("h");
    assert_eq!(got(&of_hits).await, Ok(Some(BTreeMap::from([("hits".to_owned(), 5)]))));
    assert!(got(&of_hits.family("cf").unchecked()).await.unwrap_err().contains(under_former));
    let of_place = rows.rows_as::<Texts>().family("place").get(&key("/")).await.unwrap_err().to_string();
    assert!(of_place.contains("reads `place:city` under its former name `place:town` too"), "{of_place}");
    let texts = rows.rows_as::<Texts>().family("h").get(&key("/")).await.unwrap_err().to_string();
    assert!(texts.contains("the column `h:hits` is stored as an integer"), "{texts}");

    // So does that of the whole, which stays when the part has another one.
    let whole = client.table::<PageKey, Numbers>("seen").family("h");
    let texts = whole.rows_as::<Texts>();
    assert!(texts.get(&key("/")).await.unwrap_err().to_string().contains("the column `h:…` is stored as"));
    assert_eq!(texts.family("place").get(&key("/")).await.unwrap(), None);

    // A scan of the whole has cells that this type's own `ttl` hides.
    let visited =
        rows.scan(PageKey::scan()).visit::<PageKey, Error>(|_, row| row.read::<Own>().map(drop)).await;
    fails(visited, "`Own` has a `ttl` in the family `own`, which this scan does not heed");

    // The mark of presence is all that a row without columns has.
    assert_eq!(rows.rows_as::<()>().get(&key("/")).await.unwrap(), None);
    rows.put(&key("empty"), &Seen { n: None, hits: None, place: None }).await.unwrap();
    assert_eq!(rows.rows_as::<()>().get(&key("empty")).await.unwrap(), Some(()));
}
