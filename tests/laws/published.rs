//! The keys that Google's guides print, byte for byte.

use keyderive::RowKey;
use keyderive::key::OwnedRowKey;

#[track_caller]
fn assert_stored<K: OwnedRowKey + PartialEq + std::fmt::Debug>(key: &K, text: &str) {
    let bytes = key.encode().unwrap();
    assert_eq!(String::from_utf8_lossy(&bytes), text);
    assert_eq!(&K::decode(&bytes).unwrap(), key);
}

#[test]
fn the_example_of_the_manual() {
    #[derive(RowKey, Debug, PartialEq)]
    #[salt(range = 4, over = "user_id,site")]
    struct EventKey {
        user_id: String,
        site: String,
        #[reverse_ts]
        at: u64,
        #[pad(6)]
        seq: u32,
    }

    let key = EventKey { user_id: "alice".into(), site: "home".into(), at: 1_426_535_612_156, seq: 42 };
    assert_stored(&key, "1#alice#home#9223370610319163651#000042");
}

#[test]
fn quotes_by_exchange_symbol_and_time() {
    #[derive(RowKey, Debug, PartialEq)]
    struct QuoteKey {
        #[pad(6)]
        exchange: String,
        #[pad(5)]
        symbol: String,
        #[pad(13)]
        at: u64,
    }

    let key = QuoteKey { exchange: "NASDAQ".into(), symbol: "ZXZZT".into(), at: 1_426_535_612_156 };
    assert_stored(&key, "NASDAQ#ZXZZT#1426535612156");
    let key = QuoteKey { exchange: "NYSE".into(), symbol: "IBM".into(), at: 1_426_535_612_156 };
    assert_stored(&key, "NYSE  #IBM  #1426535612156");
}

#[test]
fn meters_by_id_and_date() {
    #[derive(RowKey, Debug, PartialEq)]
    struct MeterKey {
        #[pad(10)]
        meter: u64,
        #[pad(8)]
        date: u32,
    }

    assert_stored(&MeterKey { meter: 987_654, date: 14_264_892 }, "0000987654#14264892");
}

#[test]
fn server_metrics_by_host_and_time() {
    #[derive(RowKey, Debug, PartialEq)]
    struct MetricKey {
        host: String,
        #[pad(13)]
        at: u64,
    }

    let key = MetricKey { host: "server1.aaa.bbb.com".into(), at: 1_426_535_612_045 };
    assert_stored(&key, "server1.aaa.bbb.com#1426535612045");
}

#[test]
fn battery_levels_by_promoted_user() {
    #[derive(RowKey, Debug, PartialEq)]
    #[row_key(tag = "BATTERY")]
    struct BatteryKey {
        user: String,
        #[pad(17)]
        at: u64,
    }

    let key = BatteryKey { user: "Corrie".into(), at: 20_150_301_124_501_001 };
    assert_stored(&key, "BATTERY#Corrie#20150301124501001");
}

#[test]
fn game_scores_by_game_player_and_date() {
    #[derive(RowKey, Debug, PartialEq)]
    struct ScoreKey {
        game: String,
        player: String,
        #[pad(8)]
        date: u32,
    }

    let key = ScoreKey { game: "LoL".into(), player: "Corrie".into(), date: 20_150_301 };
    assert_stored(&key, "LoL#Corrie#20150301");
}

/// The figure of the format's definition: a negative number is `-` and the digits of `10^w + v`.
#[test]
fn signed_numbers() {
    #[derive(RowKey, Debug, PartialEq)]
    struct SignedKey {
        value: i32,
    }

    assert_stored(&SignedKey { value: -42 }, "-9999999958");
    assert_stored(&SignedKey { value: 42 }, "00000000042");
    assert_stored(&SignedKey { value: i32::MIN }, "-7852516352");
    assert_stored(&SignedKey { value: i32::MAX }, "02147483647");
}
