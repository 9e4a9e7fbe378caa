//! User-defined types as fields: newtypes, and enums by their codes.

use keyderive::key::{FieldOrder, Format, Width};
use keyderive::plan::{KeyRange, Plan};
use keyderive::{KeyField, RowKey};

use crate::assert_says;
use crate::keys::Task;
use crate::keys::values::{Deadline, Kind, Millis, UserId};

#[derive(KeyField, Clone, Copy, Debug, PartialEq)]
#[repr(u64)]
enum Wide {
    Least = 0,
    Greatest = 18_446_744_073_709_551_615,
}

fn task((user_id, kind, at, place): (String, Kind, u64, String)) -> Task {
    Task { user_id: UserId(user_id), kind, at: Deadline(Millis(at)), place: UserId(place) }
}

#[test]
fn exact_bytes() {
    let key = task(("alice".into(), Kind::Changed, 1_426_535_612_156, "home".into()));
    let bytes = key.encode().unwrap();
    assert_eq!(&bytes[1..], b"#alice#09#9223370610319163651#home");
    assert_eq!(Task::decode(&bytes).unwrap(), key);

    let [user_id, kind, at, place] = Task::SCHEMA.fields() else { panic!() };
    assert_eq!((user_id.format(), user_id.width()), (Format::Utf8, Width::Delimited));
    assert_eq!((kind.format(), kind.width()), (Format::Decimal, Width::Fixed(2)));
    assert_eq!(at.order(), FieldOrder::ReversedFrom { max: i64::MAX.unsigned_abs().into() });
    assert_eq!((place.format(), place.width()), (Format::PaddedUtf8, Width::Fixed(4)));
}

#[test]
fn the_greatest_code_of_all() {
    #[derive(RowKey, Clone, Debug, PartialEq)]
    struct WideKey {
        wide: Wide,
    }
    let encoded = |wide| WideKey { wide }.encode().unwrap();
    assert_eq!(encoded(Wide::Greatest), b"18446744073709551615");
    assert_eq!(encoded(Wide::Least), b"00000000000000000000");
    assert_eq!(WideKey::decode(&encoded(Wide::Greatest)).unwrap().wide, Wide::Greatest);
    // It is the greatest code.
    let after = (std::ops::Bound::Excluded(Wide::Greatest), std::ops::Bound::Unbounded);
    assert!(WideKey::scan().wide_range(after).into_plan().unwrap().is_empty());
}

#[test]
fn codes_that_no_variant_has() {
    for (code, shown) in [("01", "`01`"), ("0x", "`0x`"), ("99", "`99`")] {
        let key = format!("0#a#{code}#9223372036854775807#home");
        let error = Task::decode(key.as_bytes()).unwrap_err();
        assert_eq!(error.field_name(), Some("kind"));
        let codes = "00 `Created`, 09 `Changed`, 10 `Moved`, 20 `Deleted`";
        assert_says(error, &[shown, "not the code of a `Kind`", codes]);
    }
}

#[test]
fn many_codes_are_counted() {
    #[derive(KeyField, Clone, Copy, Debug)]
    #[rustfmt::skip]
    enum Month { A = 1, B = 2, C = 3, D = 4, E = 5, F = 6, G = 7, H = 8, I = 9, J = 10 }
    #[derive(RowKey, Debug)]
    struct MonthKey {
        month: Month,
    }
    let months =
        [Month::A, Month::B, Month::C, Month::D, Month::E, Month::F, Month::G, Month::H, Month::I, Month::J];
    for month in months {
        let bytes = MonthKey { month }.encode().unwrap();
        assert_eq!(MonthKey::decode(&bytes).unwrap().encode().unwrap(), bytes);
    }
    let error = MonthKey::decode(b"11").unwrap_err();
    assert!(error.to_string().ends_with("it has 10 codes of 2 digits"), "{error}");
}

fn only_range<K>(plan: &Plan<K>) -> KeyRange {
    let [request] = &plan.requests()[..] else { panic!("{plan:?} is not one request") };
    let ([], [range]) = (request.keys(), request.ranges()) else { panic!("{request:?} is not one range") };
    range.clone()
}

#[test]
fn ranges_are_by_code() {
    #[derive(RowKey)]
    struct KindKey {
        kind: Kind,
        user_id: UserId,
    }
    let plan = KindKey::scan().kind_range(Kind::Created..Kind::Deleted).into_plan().unwrap();
    assert_eq!(only_range(&plan), KeyRange::new("00", Some("20".into())));
    let plan = KindKey::scan().kind_range(Kind::Created..=Kind::Changed).into_plan().unwrap();
    assert_eq!(only_range(&plan), KeyRange::new("00", Some("10".into())));
    assert!(KindKey::scan().kind_range(Kind::Deleted..Kind::Created).into_plan().unwrap().is_empty());

    let explained = KindKey::scan().kind(Kind::Created).user_id_prefix("al").explain().unwrap().to_string();
    assert!(explained.contains("kind = Created, user_id begins with \"al\""), "{explained}");
}

/// A format for a foreign type, in our own module.
mod port {
    use std::net::SocketAddrV4;

    use keyderive::key::{FieldError, Width};

    pub(super) const WIDTH: Width = Width::Delimited;

    pub(super) fn write(value: &SocketAddrV4, out: &mut Vec<u8>) -> Result<(), FieldError> {
        if value.port() == 0 {
            return Err(FieldError::new("port 0 is no place to connect to"));
        }
        out.extend_from_slice(value.to_string().as_bytes());
        Ok(())
    }

    /// Accepts a second spelling of a value: with a plus sign.
    pub(super) fn read(bytes: &[u8]) -> Result<SocketAddrV4, FieldError> {
        let text = str::from_utf8(bytes).map_err(FieldError::new)?;
        text.replace('+', "").parse().map_err(FieldError::new)
    }
}

/// Writes three digits, if the value has no more.
mod thousandths {
    use keyderive::key::{FieldError, Width};

    pub(super) const WIDTH: Width = Width::Fixed(3);

    pub(super) fn write(value: &f64, out: &mut Vec<u8>) -> Result<(), FieldError> {
        out.extend_from_slice(format!("{:03}", value * 1000.0).as_bytes());
        Ok(())
    }

    pub(super) fn read(bytes: &[u8]) -> Result<f64, FieldError> {
        let text = str::from_utf8(bytes).map_err(FieldError::new)?;
        Ok(text.parse::<f64>().map_err(FieldError::new)? / 1000.0)
    }
}

/// Writes one digit or two, if the value has no more.
mod short {
    use keyderive::key::{FieldError, Width};

    pub(super) const WIDTH: Width = Width::Between(1, 2);

    pub(super) fn write(value: &u32, out: &mut Vec<u8>) -> Result<(), FieldError> {
        out.extend_from_slice(value.to_string().as_bytes());
        Ok(())
    }

    pub(super) fn read(bytes: &[u8]) -> Result<u32, FieldError> {
        str::from_utf8(bytes).map_err(FieldError::new)?.parse().map_err(FieldError::new)
    }
}

#[derive(RowKey, Clone, Debug, PartialEq)]
#[salt(range = 4, over = "peer")]
#[row_key(display)]
struct Probe {
    #[row_key(with = "port")]
    peer: std::net::SocketAddrV4,
    #[row_key(with = "self::thousandths", name = "loss")]
    lost: f64,
    #[row_key(name = "at", method = "from")]
    seconds: u32,
}

fn probe() -> Probe {
    Probe { peer: "10.0.0.1:443".parse().unwrap(), lost: 0.125, seconds: 7 }
}

#[test]
fn modules_write_foreign_types() {
    let bytes = probe().encode().unwrap();
    assert_eq!(&bytes[1..], b"#10.0.0.1:443#125#0000000007");
    assert_eq!(Probe::decode(&bytes).unwrap(), probe());

    let plan = Probe::scan().peer(&probe().peer).lost(&0.125).from(7).into_plan().unwrap();
    assert_eq!(plan.requests()[0].keys(), [bytes]);
    let explained = Probe::scan().peer(&probe().peer).explain().unwrap().to_string();
    assert!(explained.contains("peer = 10.0.0.1:443"), "{explained}");

    let [peer, lost, _] = Probe::SCHEMA.fields() else { panic!() };
    assert_eq!((peer.format(), peer.width()), (Format::Custom("port"), Width::Delimited));
    assert_eq!((lost.format(), lost.width()), (Format::Custom("self::thousandths"), Width::Fixed(3)));
}

#[test]
fn modules_are_held_to_their_word() {
    let refused = |probe: &Probe| {
        let error = probe.encode().unwrap_err();
        (error.field_name(), error.to_string())
    };
    let (field, text) = refused(&Probe { peer: "10.0.0.1:0".parse().unwrap(), ..probe() });
    assert_eq!(field, Some("peer"));
    assert!(text.ends_with("port 0 is no place to connect to"), "{text}");
    let (field, text) = refused(&Probe { lost: 1.5, ..probe() });
    assert_eq!(field, Some("loss"));
    assert!(text.contains("the module writes 1.5 as 4 bytes, but its `WIDTH` is 3"), "{text}");

    #[derive(RowKey)]
    struct Level {
        #[row_key(with = "short")]
        level: u32,
        at: u8,
    }
    assert_eq!(Level { level: 99, at: 1 }.encode().unwrap(), b"99#001");
    let text = Level { level: 100, at: 1 }.encode().unwrap_err().to_string();
    assert!(text.contains("the module writes 100 as 3 bytes, but its `WIDTH` is 1 to 2"), "{text}");

    // A second spelling of a value is not a key.
    let bytes = probe().encode().unwrap();
    let key = String::from_utf8(bytes).unwrap().replace("443", "+443");
    let parts = ["field `peer`: `10.0.0.1:+443` is read as 10.0.0.1:443", "written as `10.0.0.1:443`"];
    assert_says(Probe::from_text(&key).unwrap_err(), &parts);
}

/// The schema, errors and explain use `name`, scans call `method`.
#[test]
fn names_and_methods() {
    assert_eq!(Probe::SCHEMA.template().to_string(), "<salt 0 to 3>#<peer>#<loss>#<at>");
    let scan = Probe::scan().peer(&probe().peer).lost(&0.125);
    assert!(scan.clone().explain().unwrap().to_string().contains("loss = 0.125"));
    let plan = scan.clone().from_range(5..=9).into_plan().unwrap();
    assert!(plan.explain().to_string().contains("at in 5..=9"), "{}", plan.explain());

    // The salt refers to fields by their names in the struct.
    #[derive(RowKey)]
    #[salt(range = 4, over(user, item))]
    #[allow(dead_code)]
    struct Swapped {
        #[row_key(name = "item")]
        user: String,
        #[row_key(name = "user")]
        item: String,
        at: u64,
    }
    assert_eq!(Swapped::SCHEMA.salt().unwrap().over(), [0, 1]);
    assert_eq!(Swapped::SCHEMA.template().to_string(), "<salt 0 to 3>#<item>#<user>#<at>");
}

#[test]
fn keys_as_text() {
    let text = probe().to_text().unwrap();
    assert_eq!(text.as_bytes(), probe().encode().unwrap());
    assert_eq!(probe().to_string(), text);
    assert_eq!(format!("{:>40}", probe()), format!("{text:>40}"));
    assert_eq!(text.parse::<Probe>().unwrap(), probe());
    assert_eq!("nonsense".parse::<Probe>().unwrap_err(), Probe::decode(b"nonsense").unwrap_err());

    let unwritable = Probe { lost: 1.5, ..probe() }.to_string();
    assert!(
        unwritable.starts_with("<Probe cannot be written: field `loss` of `Probe`: the module writes 1.5 as"),
        "{unwritable}"
    );
}

/// Borrowed fields point into the bytes that were decoded.
#[test]
fn borrowed_keys_borrow() {
    #[derive(RowKey, Debug, PartialEq)]
    struct Borrowed<'a, 'b> {
        user: &'a str,
        site: std::borrow::Cow<'b, str>,
        at: u32,
    }

    let key = Borrowed { user: "alice", site: "home".into(), at: 7 };
    let bytes = key.encode().unwrap();
    assert_eq!(bytes, b"alice#home#0000000007");
    let read = Borrowed::decode(&bytes).unwrap();
    assert_eq!(read, key);
    assert_eq!(read.user.as_ptr(), bytes.as_ptr());
    assert!(matches!(read.site, std::borrow::Cow::Borrowed(_)));
}

#[test]
fn borrowed_keys_are_displayed_too() {
    #[derive(RowKey)]
    #[row_key(display)]
    struct Borrowed<'a> {
        user_id: &'a str,
    }
    assert_eq!(Borrowed { user_id: "alice" }.to_string(), "alice");
    assert_eq!(Borrowed::from_text("alice").unwrap().user_id, "alice");
}

/// One byte, unchanged, which need not be text.
mod raw {
    use keyderive::key::{FieldError, Width};

    pub(super) const WIDTH: Width = Width::Fixed(1);

    pub(super) fn write(value: &u8, out: &mut Vec<u8>) -> Result<(), FieldError> {
        out.push(*value);
        Ok(())
    }

    pub(super) fn read(bytes: &[u8]) -> Result<u8, FieldError> {
        bytes.first().copied().ok_or_else(|| FieldError::new("there is no byte"))
    }
}

#[test]
fn bytes_that_are_no_text() {
    #[derive(RowKey)]
    struct Raw {
        #[row_key(with = "raw")]
        byte: u8,
    }
    assert_eq!(Raw { byte: 0xff }.encode().unwrap(), [0xff]);
    let error = Raw { byte: 0xff }.to_text().unwrap_err();
    assert!(error.to_string().contains("bytes that are not UTF-8"), "{error}");
}

/// Two descending orders: by difference from the greatest number of the type, and of the digits.
#[test]
fn descending_numbers_of_one_width_differ() {
    #[derive(RowKey)]
    struct OfType {
        #[row_key(desc)]
        n: u128,
    }

    #[derive(RowKey)]
    struct OfDigits {
        #[pad(39)]
        #[row_key(desc)]
        n: u128,
    }

    assert_ne!(OfType { n: 5 }.encode().unwrap(), OfDigits { n: 5 }.encode().unwrap());
    assert_ne!(OfType::fingerprint(), OfDigits::fingerprint());
}

/// Strings beside bytes that are not text, so a check of the whole key as text cannot work.
#[test]
fn text_beside_bytes_that_are_no_text() {
    #[derive(RowKey, Debug, PartialEq)]
    struct Beside<'a> {
        #[row_key(with = "raw")]
        left: u8,
        user_id: &'a str,
        #[row_key(with = "raw")]
        between: u8,
        site: &'a str,
        #[row_key(with = "raw")]
        right: u8,
    }
    for (left, between, right) in [(0xff, b'a', b'a'), (b'a', 0xc3, b'a'), (b'a', b'a', 0xa9)] {
        for user_id in ["", "é", "alice of a long name, of more than thirty bytes"] {
            let user_id = &*user_id.replace(' ', "-");
            let key = Beside { left, user_id, between, site: "語", right };
            assert_eq!(Beside::decode(&key.encode().unwrap()).unwrap(), key);
        }
    }
}

/// Text of one to nine bytes, which may hold a delimiter.
mod up_to_nine {
    use keyderive::key::{FieldError, Width};

    pub(super) const WIDTH: Width = Width::Between(1, 9);

    pub(super) fn write(value: &String, out: &mut Vec<u8>) -> Result<(), FieldError> {
        out.extend_from_slice(value.as_bytes());
        Ok(())
    }

    pub(super) fn read(bytes: &[u8]) -> Result<String, FieldError> {
        Ok(str::from_utf8(bytes).map_err(FieldError::new)?.to_owned())
    }
}

#[test]
fn what_a_module_writes_is_delimited_in_text() {
    #[derive(RowKey, Debug)]
    struct Named {
        #[row_key(with = "up_to_nine")]
        name: String,
        seq: u8,
    }

    let error = Named { name: "x#y".to_owned(), seq: 1 }.encode().unwrap_err().to_string();
    assert!(error.contains("`name`") && error.contains("delimiter"), "{error}");
    assert_eq!(Named::decode(b"x.y#001").unwrap().name, "x.y");
}
