//! The keys that Google's guides print, byte for byte.

use keyderive::RowKey;

use crate::assert_stored;
use crate::keys::Event;

#[test]
fn the_example_of_the_manual() {
    let key = Event { user_id: "alice".into(), site: "home".into(), at: 1_426_535_612_156, seq: 42 };
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

/// The example of the format's definition: a negative number is `-` and the digits of `10^w + v`.
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

/// Randomization: the time is hashed, so decoding does not give it back.
#[test]
fn battery_levels_by_hashed_time() {
    #[derive(RowKey)]
    #[row_key(tag = "BATTERY")]
    struct BatteryKey {
        #[pad(17)]
        #[row_key(sequential, hash(md5))]
        at: u64,
    }

    let key = BatteryKey { at: 20_150_301_124_501_003 };
    let stored = b"BATTERY#5cbed828691915bd3ab68145f00b489d";
    assert_eq!(key.encode().unwrap(), stored);
    assert_eq!(BatteryKey::decode(stored).unwrap().as_bytes(), stored);
    assert!(BatteryKey::decode(b"BATTERY#5CBED828691915BD3AB68145F00B489D").is_err());
    assert!(BatteryKey::decode(b"BATTERY#20150301124501003").is_err());
    assert!(BatteryKey::scan().at(20_150_301_124_501_003).into_plan().unwrap().is_point_read());
    assert!(!BatteryKey::scan().into_plan().unwrap().is_point_read());
}

/// The newest access of a user first.
#[test]
fn accesses_by_user_and_descending_time() {
    #[derive(RowKey, Debug, PartialEq)]
    struct AccessKey {
        user_id: u64,
        #[row_key(desc)]
        last_access: u64,
    }

    let key = AccessKey { user_id: 7, last_access: 1_426_535_612_156 };
    assert_stored(&key, "00000000000000000007#18446742647173939459");
}

/// A sequence whose bits are reversed is spread over the key space.
#[test]
fn bit_reversed_sequence() {
    #[derive(RowKey, Debug, PartialEq)]
    struct OrderKey {
        #[row_key(sequential, bit_reverse)]
        id: u32,
    }

    assert_stored(&OrderKey { id: 1 }, "2147483648");
    assert_stored(&OrderKey { id: 2 }, "1073741824");
}

/// The shard of a key that starts with a time is its salt.
#[test]
fn users_by_shard_and_access() {
    #[derive(RowKey, Debug, PartialEq)]
    #[salt(range = 10, over = "last_access,user_id")]
    struct AccessKey {
        #[row_key(sequential)]
        last_access: u64,
        user_id: u64,
    }

    let key = AccessKey { last_access: 1_426_535_612_156, user_id: 7 };
    assert_stored(&key, "3#00000001426535612156#00000000000000000007");
    // The fingerprint of the two fields, by its definition.
    let hash = keyderive::key::fingerprint64(b"00000001426535612156#00000000000000000007");
    assert_eq!(hash.cast_signed().rem_euclid(10), 3);
}

/// A random UUID needs no salt.
#[test]
fn orders_by_random_uuid() {
    #[derive(RowKey, Debug, PartialEq)]
    struct OrderKey {
        #[row_key(uuid(v4))]
        id: uuid::Uuid,
    }

    let id = uuid::uuid!("67e55044-10b1-426f-9247-bb680e5fe0c8");
    assert_stored(&OrderKey { id }, "67e55044-10b1-426f-9247-bb680e5fe0c8");
    let of_time = uuid::uuid!("01905c2e-8d7a-7b3c-9247-bb680e5fe0c8");
    let error = OrderKey { id: of_time }.encode().unwrap_err().to_string();
    assert!(error.contains("`id`") && error.contains("version 7"), "{error}");
}
