use std::collections::BTreeMap;

use super::*;
use crate::RowKey;
use crate::dynamic::KeyLayout;
use crate::plan::KeyRange;

const SECONDS: u64 = 3600;

/// A battery's reading, as in Google's page on time series: the date first.
#[derive(RowKey)]
#[row_key(tag = "BATTERY", allow(hotspot))]
struct DateFirst {
    #[row_key(sequential)]
    #[pad(17)]
    at: u64,
    user: String,
}

#[derive(RowKey)]
#[row_key(tag = "BATTERY")]
struct Promoted {
    user: String,
    #[row_key(sequential)]
    #[pad(17)]
    at: u64,
}

#[derive(RowKey)]
#[row_key(tag = "BATTERY")]
#[salt(range = 8)]
struct Salted {
    #[row_key(sequential)]
    #[pad(17)]
    at: u64,
    user: String,
}

#[derive(RowKey)]
#[row_key(tag = "BATTERY", allow(point_reads))]
struct Randomized {
    #[row_key(hash(md5))]
    #[pad(17)]
    at: u64,
    user: String,
}

#[derive(RowKey)]
#[row_key(tag = "BATTERY", allow(hotspot))]
struct Reversed {
    #[reverse_ts]
    at: u64,
    user: String,
}

#[derive(RowKey)]
#[row_key(allow(hotspot))]
struct Sequential {
    #[row_key(sequential)]
    order: u64,
}

#[derive(RowKey)]
struct BitReversed {
    #[row_key(bit_reverse)]
    order: u64,
}

#[derive(RowKey)]
#[salt(range = 4, over = "user,site")]
struct EventKey {
    user: String,
    site: String,
    #[reverse_ts]
    at: u64,
}

/// Many users of whom none is very popular.
fn workload() -> Workload {
    Workload::zipf(2000, 0.4).events(20_000).seed(3)
}

fn peak<K: RowKey>(key: impl Fn(Draw) -> K) -> f64 {
    let events = workload().into_iter().map(|draw| (draw.time, key(draw), 200));
    simulate(events).finish().unwrap().outcome.tablets.peak
}

fn user(draw: Draw) -> String {
    format!("u-{:04}", draw.item)
}

#[test]
fn layouts_rank_as_the_guides_rank_them() {
    let date_first = peak(|draw| DateFirst { at: draw.time as u64, user: user(draw) });
    let reversed = peak(|draw| Reversed { at: draw.time as u64, user: user(draw) });
    let sequential = peak(|draw| Sequential { order: draw.index });
    // "All of your writes will target a single node", whether times grow or fall, or numbers do.
    assert_eq!([date_first, reversed, sequential], [1.0; 3]);
    let salted = peak(|draw| Salted { at: draw.time as u64, user: user(draw) });
    // "N hotspots of strength 1/N".
    assert!((0.125..0.18).contains(&salted), "{salted}");
    let promoted = peak(|draw| Promoted { user: user(draw), at: draw.time as u64 });
    let randomized = peak(|draw| Randomized { at: draw.time as u64, user: user(draw) });
    let bit_reversed = peak(|draw| BitReversed { order: draw.index });
    // Promotion comes before salting, which comes before none; a hash and reversed bits spread everything.
    for spread in [promoted, randomized, bit_reversed] {
        assert!(spread < salted, "{spread}, {salted}");
    }
}

#[test]
fn remedies_are_those_of_the_guides_and_computed() {
    let events = workload()
        .into_iter()
        .map(|draw| (draw.time, DateFirst { at: draw.time as u64, user: user(draw) }, 200));
    let forecast = simulate(events).read("a user's readings", 0.1, ["user"]).run().unwrap();
    let of = |variant: &str| {
        forecast
            .remedies
            .iter()
            .find(|remedy| remedy.variant.to_string() == variant)
            .unwrap_or_else(|| panic!("{variant}"))
    };
    let mut before = 1.0;
    for range in [2_u16, 4, 8, 16] {
        let remedy = of(&format!("with {range} buckets"));
        let share = remedy.tablets.peak;
        assert!(share >= 1.0 / f64::from(range) && share < before, "{range}: {share}");
        before = share;
    }
    assert!(of("with `user` first").tablets.peak < 0.13);
    // A promoted field makes the read cheap; a salt multiplies the requests.
    let requests = |variant: &str| (of(variant).reads[0].requests, of(variant).reads[0].reads_everything);
    assert_eq!(requests("with `user` first"), (1.0, false));
    assert_eq!(requests("with 8 buckets"), (8.0, true));
    let line = forecast.line();
    assert!(
        line.starts_with("The busiest tablet takes 100 % of the writes of its worst minute (2026-01-01 00:"),
        "{line}"
    );
    assert!(line.contains("with `user` first") && line.contains("buckets"), "{line}");
    assert_eq!(forecast.fields[0].grows, 1.0);
    assert!(forecast.fields[1].grows.abs() < 0.1 && forecast.fields[1].distinct <= 2000);
    // The simulated variant has the tablets of the type that has it.
    let salted = peak(|draw| Salted { at: draw.time as u64, user: user(draw) });
    assert_eq!(of("with 8 buckets").tablets.peak, salted);
    let json = serde_json::to_value(&forecast).unwrap();
    assert_eq!(json["tablets"]["peak"], 1.0);
    assert_eq!(json["constants"][0]["name"], "nodes");
}

#[test]
fn buckets_and_ranges_are_as_counted() {
    let events: Vec<_> = Workload::zipf(500, 1.0).events(10_000).into_iter().collect();
    let key = |draw: &Draw| EventKey {
        user: user(*draw),
        site: format!("s{}", draw.random % 7),
        at: draw.time as u64,
    };
    let forecast = simulate(events.iter().map(|draw| (draw.time, key(draw), 100))).run().unwrap();
    let mut buckets: BTreeMap<i32, u64> = BTreeMap::new();
    let keys: Vec<_> = events.iter().map(|draw| key(draw).encode().unwrap()).collect();
    for draw in &events {
        *buckets.entry(key(draw).salt_bucket().unwrap().unwrap()).or_default() += 1;
    }
    assert_eq!(forecast.bucket_writes, buckets.clone().into_iter().collect::<Vec<_>>());
    // The grid begins at the splits that `create` makes, so each bucket is exact there too.
    for (bucket, count) in buckets {
        let start = if bucket == 0 { String::new() } else { format!("{bucket}#") };
        let end = (bucket < 3).then(|| format!("{}#", bucket + 1).into_bytes());
        let range = KeyRange::new(start, end);
        assert_eq!(forecast.grid().between(&range, Measure::Writes), (count, count));
    }
    let range = KeyRange::new("1#u-0100", Some("2#u-0300".into()));
    let counted = keys.iter().filter(|key| range.contains(key)).count() as u64;
    let (least, most) = forecast.grid().between(&range, Measure::Writes);
    assert!((least..=most).contains(&counted), "{least}, {counted}, {most}");
    assert!(most - least < 10_000 / 20);
    // The most popular pair of user and site is one bucket's, and named.
    assert!(forecast.heavy_keys().total() == 10_000);
    assert_eq!(forecast.key_lengths.min, forecast.key_lengths.max);
}

#[test]
fn a_hot_user_is_named() {
    let events = Workload::uniform(1000).events(15_000).into_iter().map(|draw| {
        let is_hot = draw.random % 3 == 0 && draw.index > 10_000;
        let user = if is_hot { "u-0042".to_owned() } else { user(draw) };
        (draw.time, EventKey { user, site: format!("s{}", draw.random % 5), at: draw.time as u64 }, 100)
    });
    let forecast = simulate(events).run().unwrap();
    let busiest = forecast.busiest.as_ref().unwrap();
    println!("{forecast}");
    assert!(busiest.place.iter().any(|part| part == r#"user "u-0042""#), "{busiest:?}");
    assert!(busiest.place[0].starts_with("bucket "), "{busiest:?}");
}

#[test]
fn a_failed_assertion_shows_the_line_the_table_and_a_picture() {
    let events = || {
        workload()
            .into_iter()
            .map(|draw| (draw.time, DateFirst { at: draw.time as u64, user: user(draw) }, 200))
    };
    simulate(events()).assert_busiest_tablet_below(1.1);
    let failure =
        std::panic::catch_unwind(|| simulate(events()).assert_busiest_tablet_below(0.2)).unwrap_err();
    let text = failure.downcast_ref::<String>().unwrap();
    for part in [
        "20 % is the limit",
        "The busiest tablet takes 100 %",
        "with 16 buckets",
        "share of writes",
        "assumed",
        "start of table",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn what_is_wrong_with_a_simulation_is_an_error_that_names_it() {
    let none = simulate(std::iter::empty::<(i64, Sequential, u64)>()).run().unwrap_err();
    assert!(none.to_string().contains("no events"), "{none}");
    let user = "a#b".to_owned();
    let events = [(0, Promoted { user, at: 1 }, 1)];
    let error = simulate(events).run().unwrap_err();
    assert!(error.to_string().starts_with("event 0 of the workload: "), "{error}");
    let events = || (0..10).map(|at| (at, Sequential { order: at as u64 }, 1));
    let error = simulate(events()).plan("users", 1.0, Promoted::scan()).run().unwrap_err();
    assert!(error.to_string().contains("`users` is a plan of another key type"), "{error}");
    let error = simulate(events()).variant("users", &KeyLayout::of::<Promoted>()).run().unwrap_err();
    assert!(error.to_string().contains("the field `user` has no value"), "{error}");
    let forecast = simulate(events()).plan("all", 0.5, Sequential::scan()).run().unwrap();
    assert!(forecast.reads[0].reads_everything);
}

#[test]
fn a_large_workload_is_sampled_and_says_so() {
    let events = || {
        workload().into_iter().map(|draw| (draw.time, Salted { at: draw.time as u64, user: user(draw) }, 200))
    };
    let exact = simulate(events()).run().unwrap();
    let sampled = simulate(events()).sample(8000).run().unwrap();
    assert_eq!(exact.sampled, None);
    assert!(sampled.sampled.is_some_and(|events| (2000..=8000).contains(&events)), "{:?}", sampled.sampled);
    assert!(
        (exact.tablets.peak - sampled.tablets.peak).abs() < 0.08,
        "{:?}, {:?}",
        exact.tablets,
        sampled.tablets
    );
    assert_eq!(exact.bucket_writes, sampled.bucket_writes);
    assert_eq!(exact.grid(), sampled.grid());
}

/// Tablets are split once a window, here of a day, so the warm-up is longer than the model says.
#[test]
fn the_first_windows_of_a_long_workload_do_not_count() {
    let year = workload().lasting(std::time::Duration::from_secs(SECONDS * 24 * 365));
    let events = year.into_iter().map(|draw| (draw.time, BitReversed { order: draw.index }, 200));
    let forecast = simulate(events).without_remedies().run().unwrap();
    assert!(forecast.window >= std::time::Duration::from_secs(SECONDS * 24), "{:?}", forecast.window);
    assert_eq!(forecast.at_first, Some(1.0));
    assert!(forecast.tablets.peak < 0.15, "{forecast}");
}

#[test]
fn events_by_data_are_those_of_the_type() {
    let typed = simulate(workload().events(5000).into_iter().map(|draw| {
        (draw.time, EventKey { user: user(draw), site: "home".into(), at: draw.time as u64 }, 9)
    }));
    let layout = KeyLayout::of::<EventKey>();
    let by_data = simulate_layout(
        &layout,
        workload().events(5000).into_iter().map(|draw| {
            let fields = [("at", draw.time.to_string()), ("user", user(draw)), ("site", "home".to_owned())];
            (draw.time, fields, 9)
        }),
    );
    let (typed, by_data) = (typed.run().unwrap(), by_data.run().unwrap());
    assert_eq!(typed.to_string(), by_data.to_string());
    assert_eq!(typed.grid(), by_data.grid());
}

#[test]
fn a_workload_of_any_length_has_windows() {
    for (events, lasting) in [(1, 0), (2, 1), (1000, 10), (1000, SECONDS * 24 * 365), (6000, 30)] {
        let draws = Workload::uniform(100).events(events).lasting(std::time::Duration::from_secs(lasting));
        let forecast =
            simulate(draws.into_iter().map(|draw| (draw.time, Promoted { user: user(draw), at: 1 }, 1)));
        let forecast = forecast.run().unwrap();
        assert!(
            forecast.tablets.peak > 0.0 && forecast.tablets.peak <= 1.0,
            "{events} in {lasting} s: {forecast}"
        );
    }
    let extremes = [(i64::MIN, 1), (0, 2), (i64::MAX, 3)];
    let forecast =
        simulate(extremes.map(|(time, order)| (time, Sequential { order }, u64::MAX))).run().unwrap();
    assert_eq!(forecast.events, 3);
}
