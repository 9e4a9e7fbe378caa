//! Salts in every position and with both hashes, byte for byte: the keys of Google's salting guide and samples.

use keyderive::RowKey;
use keyderive::key::OwnedRowKey;

use crate::keys::{PageView, Phone, Trade};
use crate::{assert_says, assert_stored};

fn phone(device: &str, date: u32) -> Phone {
    Phone { device: device.into(), date }
}

fn splits<K: OwnedRowKey>() -> Vec<String> {
    K::SCHEMA.bucket_splits().into_iter().map(|split| String::from_utf8(split).unwrap()).collect()
}

/// The guide's `user_id-site-timestamp` in four divisions, with the hash that SQL can compute and with the guide's
/// own.
#[test]
fn the_guides_key() {
    #[derive(RowKey, Debug, PartialEq)]
    #[row_key(delimiter = '-')]
    #[salt(range = 4, over = "user_id,site")]
    struct Farm {
        user_id: String,
        site: String,
        #[pad(13)]
        timestamp: u64,
    }

    #[derive(RowKey, Debug, PartialEq)]
    #[row_key(delimiter = '-')]
    #[salt(range = 4, hash = "java")]
    struct Java {
        user_id: String,
        site: String,
        #[pad(13)]
        timestamp: u64,
    }

    let (user_id, site, timestamp) = ("alice".to_owned(), "home".to_owned(), 1_426_535_612_156);
    let farm = Farm { user_id: user_id.clone(), site: site.clone(), timestamp };
    assert_stored(&farm, "2-alice-home-1426535612156");
    let java = Java { user_id: user_id.clone(), site: site.clone(), timestamp };
    assert_stored(&java, "-2-alice-home-1426535612156");
    // FarmHash is over the salted fields only, `String.hashCode` over the timestamp too.
    assert_stored(&Farm { timestamp: timestamp + 1, ..farm }, "2-alice-home-1426535612157");
    assert_stored(&Java { timestamp: timestamp + 1, ..java }, "-1-alice-home-1426535612157");
}

#[test]
fn the_guides_battery_levels() {
    #[derive(RowKey, Debug, PartialEq)]
    #[row_key(tag = "BATTERY")]
    #[salt(range = 3, over = "at")]
    struct BatteryKey {
        #[pad(17)]
        at: u64,
    }

    assert_stored(&BatteryKey { at: 20_150_301_124_501_003 }, "BATTERY#0#20150301124501003");
    assert_eq!(splits::<BatteryKey>(), ["BATTERY#1#", "BATTERY#2#"]);
    assert_eq!(BatteryKey::SCHEMA.template().to_string(), "BATTERY#<salt 0 to 2>#<at>");
}

/// The keys that the sample itself writes.
#[test]
fn the_samples_phones() {
    assert_stored(&phone("5c10102", 20_190_501), "-2-phone#5c10102#20190501");
    assert_stored(&phone("5c10102", 20_190_502), "-1-phone#5c10102#20190502");
    assert_eq!(Phone::SCHEMA.template().to_string(), "<salt -3 to 3>-phone#<device>#<date>");
    assert_eq!(splits::<Phone>(), ["-2-", "-3-", "0-", "1-", "2-", "3-"]);
}

/// The sample scans buckets 0 to N-1 only, so it never reads rows in negative buckets.
#[test]
fn rows_with_a_negative_hash_are_in_the_range_of_a_scan() {
    let scans = [
        Phone::scan().into_plan().unwrap(),
        Phone::scan().device_prefix("5c").into_plan().unwrap(),
        Phone::scan().device("5c10102").into_plan().unwrap(),
    ];
    let keys: Vec<_> =
        (20_190_501..20_190_531).map(|date| phone("5c10102", date).encode().unwrap()).collect();
    let negative = keys.iter().filter(|key| key[0] == b'-').count();
    assert!((5..25).contains(&negative), "{negative} of 30");
    for plan in scans {
        let buckets: Vec<_> = plan.requests().iter().map(|request| request.bucket().unwrap()).collect();
        assert_eq!(buckets, [-3, -2, -1, 0, 1, 2, 3]);
        for key in &keys {
            assert_eq!(plan.requests().iter().filter(|request| request.asks_for(key)).count(), 1);
        }
    }
    let point = Phone::scan().device("5c10102").date(20_190_501).into_plan().unwrap();
    assert_eq!(point.requests()[0].keys(), [b"-2-phone#5c10102#20190501"]);
}

/// Java counts UTF-16 units: this user is one character, two units, and four bytes.
#[test]
fn java_hashes_utf_16() {
    // The hash code of `phone#😀#00000002`; hashing the code point or the bytes gives another one.
    assert_eq!(952_810_381 % 4, 1);
    assert_stored(&phone("😀", 2), "1-phone#😀#00000002");
}

#[test]
fn keys_of_other_buckets_are_refused() {
    for (key, parts) in [
        ("2-phone#5c10102#20190501", &["bucket 2", "bucket -2"][..]),
        ("-02-phone#5c10102#20190501", &["a bucket from -3 to 3, not padded, followed by `-`"]),
        ("-4-phone#5c10102#20190501", &["a bucket from -3 to 3"]),
        ("-2#phone#5c10102#20190501", &["a bucket from -3 to 3"]),
        ("-2-tablet#5c10102#20190501", &["the tag `phone`"]),
    ] {
        assert_says(Phone::decode(key.as_bytes()).unwrap_err(), parts);
    }
    let error = Trade::decode(b"TRADE-07-abc-3/42-x").unwrap_err();
    assert!(error.is_wrong_bucket());
    assert_says(
        error,
        &["it has no salt after `symbol`: a bucket from 0 to 2, zero padded, followed by `/`"],
    );
}

#[test]
fn a_salt_in_front_of_a_tag() {
    let key = PageView { user: "alice".into(), page: "home".into() };
    assert_stored(&key, "09::VISIT#alice#home");
    assert_eq!(PageView::SCHEMA.template().to_string(), "<salt 0 to 11>::VISIT#<user>#<page>");
    // Key types with other tags share the bucket's tablet.
    assert_eq!(splits::<PageView>()[..2], ["01::", "02::"]);
    let requests = PageView::scan().user("alice").into_plan().unwrap().requests();
    assert_eq!(requests.len(), 12);
    assert_eq!(format!("{:?}", requests[11].ranges()), "[[11::VISIT#alice#, 11::VISIT#alice$)]");
}

/// Key types that write the same bytes have the same schema.
#[test]
fn one_layout_has_one_schema() {
    #[derive(RowKey)]
    #[salt(range = 4)]
    struct Plain {
        _id: u8,
    }

    #[derive(RowKey)]
    #[salt(range = 4, sep = "#", position = "front")]
    struct Spelled {
        _id: u8,
    }

    assert_eq!(Plain::SCHEMA.salt(), Spelled::SCHEMA.salt());
}

#[test]
fn a_salt_after_a_field() {
    let key = Trade { exchange: 7, symbol: "abc".into(), at: 57, id: "x".into() };
    assert_stored(&key, "TRADE-07-abc-0/42-x");
    assert_eq!(Trade::SCHEMA.template().to_string(), "TRADE-<exchange>-<symbol>-<salt 0 to 2>/<at>-<id>");
    assert_eq!(splits::<Trade>(), [""; 0]);
}

/// If the fields left of it are fixed, a salt splits rows into buckets; otherwise it does not, and `explain` says so.
#[test]
fn scans_with_a_salt_after_a_field() {
    let rows = |plan: keyderive::plan::Plan<Trade>| -> Vec<String> {
        plan.requests().iter().flat_map(keyderive::plan::Request::ranges).map(ToString::to_string).collect()
    };
    let scan = || Trade::scan().exchange(7);
    assert_eq!(rows(Trade::scan().into_plan().unwrap()), ["[TRADE-, TRADE.)"]);
    assert_eq!(rows(scan().into_plan().unwrap()), ["[TRADE-07-, TRADE-07.)"]);
    assert_eq!(rows(scan().symbol_prefix("a").into_plan().unwrap()), ["[TRADE-07-a, TRADE-07-b)"]);
    assert_eq!(
        rows(scan().symbol("abc").into_plan().unwrap()),
        [0, 1, 2].map(|bucket| format!("[TRADE-07-abc-{bucket}/, TRADE-07-abc-{bucket}0)")),
    );
    assert_eq!(
        rows(scan().symbol("abc").at(57).into_plan().unwrap()),
        ["[TRADE-07-abc-0/42-, TRADE-07-abc-0/42.)"]
    );

    let parts = [
        "all 3, in one request: the salt stands after exchange, symbol; not fixed: symbol",
        "as stored, by row key, not by field",
    ];
    assert_says(scan().explain().unwrap(), &parts);
    let explain = scan().symbol("abc").explain().unwrap();
    assert_says(explain, &["by at, greatest first; then id; merged from 3 streams"]);
}
