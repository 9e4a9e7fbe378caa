//! Random rows: all kinds of cells, versions, aggregates, and columns that the row type lacks.

use keyderive::GcRule;
use keyderive::client::Aggregate;
use keyderive::row::Mutation;
use keyderive::table::CreateTable;

use super::*;

on_every_bigtable! {
    random_rows_are_copied_exactly
}

/// A mutation that a program may have made, from a small set of columns, so that several hit one cell.
fn mutation(rng: &mut fastrand::Rng) -> Mutation {
    let qualifier: &[u8] =
        rng.choice([&b"kind"[..], b"amount", b"", b"unknown", b"\xff\x00", b"hits"]).unwrap();
    let qualifier = qualifier.to_vec();
    // Few timestamps, among them 0.
    let at = rng.i64(0..6) * 1_000;
    match rng.u8(..10) {
        0..4 => {
            let mut value = vec![0; rng.usize(..40)];
            rng.fill(&mut value);
            Mutation::set(rng.choice(["cf", "versions", "other"]).unwrap(), qualifier, at, value)
        }
        4..9 => {
            let family = rng.choice(["sums", "least", "most"]).unwrap();
            Mutation::add_to_cell(family, qualifier, at, rng.i64(-1_000..1_000))
        }
        _ => Mutation::delete_column("cf", qualifier),
    }
}

fn declared<K: keyderive::key::TableKey>(create: CreateTable<K>) -> CreateTable<K> {
    create
        .family("cf", GcRule::never())
        .family("versions", GcRule::max_versions(3))
        .family("other", GcRule::never())
        .aggregate_family("sums", Aggregate::Sum, GcRule::never())
        .aggregate_family("least", Aggregate::Min, GcRule::never())
        .aggregate_family("most", Aggregate::Max, GcRule::never())
}

async fn random_rows_are_copied_exactly(client: Client) {
    for seed in 0..8 {
        let mut rng = fastrand::Rng::with_seed(seed);
        let (old, new) = tables(&client);
        declared(old.create()).await.unwrap();
        declared(new.create()).await.unwrap();
        let raw = client.raw_table("events");
        for id in 0..60 {
            let mutations: Vec<_> = (0..rng.usize(1..30)).map(|_| mutation(&mut rng)).collect();
            raw.mutate_row(key(id).encode().unwrap(), mutations).await.unwrap();
        }
        let copy = old.copy_to(&new, |key, _| user_key(key)).batch_rows(rng.usize(1..30));
        let report =
            copy.look_ahead(rng.usize(..5_000)).await.unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        assert_copied(&client).await;
        // A second copy over the first one, as of a resumed copy, changes nothing.
        let again = old.copy_to(&new, |key, _| user_key(key)).allow_existing().await;
        let again = again.unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        assert_copied(&client).await;
        assert_eq!(report.copied(), again.copied());
        old.delete_table().await.unwrap();
        new.delete_table().await.unwrap();
    }
}
