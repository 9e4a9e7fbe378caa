//! Python encodes and decodes what the library does, and refuses what it refuses.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::process::Command;
use std::time::SystemTime;

use fastrand::Rng;
use keyderive::RowKey;
use keyderive::dynamic::{KeyLayout, TableLayout, Value};
use keyderive::key::{Field, FieldValues, Format, TimeUnit};
use keyderive::layouts::Layouts;
use keyderive_tests::hostile::mutated;
use serde_json::{Value as Json, json};

use super::types::{self, Event, EventKey};
use super::{codegen, file, written};

/// Keys of each key type.
const KEYS: usize = 200;

/// What it says is different, or nothing. Reads lines of JSON: a function's suffix, fields, a key, and whether it is decoded.
const RUN: &str = r#"
import datetime, json, sys, uuid
scope = {}
exec(compile(open(sys.argv[1]).read(), sys.argv[1], "exec"), scope)
EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)

def value(v, is_given):
    kind, v = v
    if kind == "int": return int(v)
    if kind == "hex": return bytes.fromhex(v)
    if kind == "uuid": return uuid.UUID(v)
    if kind == "date": return datetime.date.fromisoformat(v)
    # A time is given and read as a datetime, where one holds it.
    if kind == "time":
        micros, count = v[0 if is_given else 1], int(v[2])
        return count if micros is None else EPOCH + datetime.timedelta(microseconds=int(micros))
    return v

done = refused = 0
for line in open(sys.argv[2]):
    case = json.loads(line)
    encode, decode = scope["encode" + case["of"]], scope["decode" + case["of"]]
    fields = case["fields"]
    given, read = ({name: value(v, is_given) for name, v in (fields or {}).items()} for is_given in (True, False))
    key = bytes.fromhex(case["key"]) if case["key"] is not None else None
    if fields is not None and not case["is_changed"]:
        try:
            found = encode(**given)
        except ValueError as error:
            found = None
        assert found == key, (case, found)
    if key is not None and not case["is_hashed"]:
        try:
            found = decode(key)
        except ValueError:
            found = None
        assert found == (read if fields is not None else None), (case, found)
    done += 1
    refused += key is None or fields is None
print(done, refused)
"#;

fn python() -> Command {
    Command::new("python3")
}

/// A unit, in nanoseconds, of the count that Python has.
fn unit(field: &Field) -> i128 {
    match field.hash_of().unwrap_or(field).format() {
        Format::UnixTime(TimeUnit::Secs) => 1_000_000_000,
        Format::UnixTime(TimeUnit::Micros) => 1_000,
        Format::UnixTime(TimeUnit::Nanos) => 1,
        _ => 1_000_000,
    }
}

/// A value as the script reads it.
fn json_of(field: &Field, value: &Value) -> Json {
    match (value, field.values()) {
        (Value::Integer(code), FieldValues::Codes(codes)) => {
            let name = codes.iter().find(|(known, _)| i128::from(*known) == *code).unwrap().1;
            json!(["text", name])
        }
        (Value::Integer(value), _) => json!(["int", value.to_string()]),
        (Value::Unsigned(value), _) => json!(["int", value.to_string()]),
        (Value::Bool(value), _) => json!(["bool", value]),
        (Value::Text(value), _) => json!(["text", value]),
        (Value::Bytes(_), _) => json!(["hex", value.to_string()]),
        (Value::Date(_), _) => json!(["date", value.to_string()]),
        (Value::Uuid(_), _) => json!(["uuid", value.to_string()]),
        (Value::Time(nanos), _) => {
            let (unit, is_held) = (unit(field), |micros: &i128| {
                (-62_135_596_800_000_000..=253_402_300_799_999_999).contains(micros)
            });
            let count = nanos.div_euclid(unit);
            // Of what no datetime holds, only the count is given.
            let given = Some(nanos.div_euclid(1000)).filter(|micros| nanos % 1000 == 0 && is_held(micros));
            let read = Some(count * unit / 1000).filter(|micros| unit > 1 && is_held(micros));
            let text = |micros: Option<i128>| micros.map(|micros| micros.to_string());
            json!(["time", [text(given), text(read), count.to_string()]])
        }
        other => panic!("{other:?}"),
    }
}

fn word(random: &mut Rng) -> String {
    let of = |random: &mut Rng| match random.u8(..12) {
        0 => random.char(..),
        1 => random.char('\0'..'0'),
        _ => random.char('a'..='z'),
    };
    let length = if random.u8(..10) == 0 { random.usize(..200) } else { random.usize(..12) };
    (0..length).map(|_| of(random)).collect()
}

/// A value that the field may refuse.
fn value(field: &Field, random: &mut Rng) -> Value {
    match field.values() {
        FieldValues::Integer { min, max } => {
            let narrow = random.u8(..127);
            let value = random.i128(..) >> narrow;
            let value = if min == 0 { value.saturating_abs() } else { value };
            match random.u8(..10) {
                0 => Value::Integer(min),
                1 => i128::try_from(max).map_or(Value::Unsigned(max), Value::Integer),
                _ => Value::Integer(value.clamp(min, i128::try_from(max).unwrap_or(i128::MAX))),
            }
        }
        FieldValues::Bool => Value::Bool(random.bool()),
        FieldValues::Text => Value::Text(word(random)),
        FieldValues::Char => Value::Text(word(random).chars().take(1).collect()),
        FieldValues::Bytes => {
            let is_fixed = random.u8(..10) > 0 && !matches!(field.width(), keyderive::key::Width::Delimited);
            let length = if is_fixed { 4 } else { random.usize(..20) };
            Value::Bytes((0..length).map(|_| if random.bool() { 0 } else { random.u8(..) }).collect())
        }
        FieldValues::Codes(codes) => Value::Text(codes[random.usize(..codes.len())].1.to_owned()),
        FieldValues::Time { .. } => {
            let nanos = match random.u8(..8) {
                0 => random.i128(-62_135_596_800_000_000_000..253_402_300_800_000_000_000),
                1 => random.i128(0..10_000),
                _ => random.i128(0..4_000_000_000_000_000_000),
            };
            let unit = [1, 1_000, 1_000_000, 1_000_000_000][random.usize(..4)].max(unit(field));
            // A datetime has no more than microseconds.
            let unit = if random.bool() { unit } else { 1_000.max(unit) };
            Value::Time(nanos.div_euclid(unit) * unit)
        }
        FieldValues::Date => Value::Date(random.i64(-719_162..2_932_897)),
        FieldValues::Uuid { .. } => {
            let id = uuid::Builder::from_random_bytes(random.u128(..).to_be_bytes()).into_uuid();
            Value::Uuid(if random.u8(..10) == 0 { random.u128(..) } else { id.as_u128() })
        }
        other => panic!("{other:?}"),
    }
}

/// Lines for the script about one key type: keys, values that it refuses, and changed keys.
fn cases(of: &str, layout: &KeyLayout, lines: &mut String, refused: &mut u64) {
    let mut random = Rng::with_seed(7);
    let fields = layout.schema().fields();
    let is_hashed = fields.iter().any(|field| field.hash_of().is_some());
    for _ in 0..KEYS {
        let values: Vec<_> = fields.iter().map(|field| value(field, &mut random)).collect();
        let key = layout.encode(fields.iter().map(Field::name).zip(values.iter().cloned())).ok();
        let given: BTreeMap<_, _> =
            fields.iter().zip(&values).map(|(field, value)| (field.name(), json_of(field, value))).collect();
        *refused += u64::from(key.is_none());
        let hex = |key: &[u8]| Value::Bytes(key.to_vec()).to_string();
        let text = key.as_deref().map(hex);
        let line =
            json!({ "of": of, "fields": given, "key": text, "is_hashed": is_hashed, "is_changed": false });
        writeln!(lines, "{line}").unwrap();
        let Some(key) = key.filter(|_| !is_hashed) else { continue };
        let other = mutated(&mut random, &key);
        let read = layout.decode(&other).ok().map(|key| {
            let read = key.iter().zip(fields).map(|((name, value), field)| (name, json_of(field, value)));
            read.collect::<BTreeMap<_, _>>()
        });
        let line =
            json!({ "of": of, "fields": read, "key": hex(&other), "is_hashed": false, "is_changed": true });
        writeln!(lines, "{line}").unwrap();
    }
}

/// Each function's suffix, with the name of its table and the fingerprint of its keys.
fn functions(text: &str) -> Vec<(String, String, String)> {
    let lines: Vec<_> = text.lines().collect();
    let pairs = lines.windows(2).filter_map(|pair| {
        let of = pair[0].strip_prefix("# Table `")?;
        let (table, rest) = of.split_once("`, `")?;
        let (_, fingerprint) = rest.rsplit_once("; fingerprint ")?;
        let (suffix, _) = pair[1].strip_prefix("def encode")?.split_once('(')?;
        Some((suffix.to_owned(), table.to_owned(), fingerprint.to_owned()))
    });
    pairs.collect()
}

#[test]
fn python_encodes_and_decodes_the_same_keys() {
    let layouts = types::layouts();
    let (code, text, said) = written(&codegen("python.json", &layouts.to_json(), &["--python"]));
    // Keys with several salts are refused.
    let epochs = said.matches("have another salt from").count();
    assert_eq!((code, epochs, said.lines().count()), (1, 2, 2), "{said}");
    let script = file("keys.py", &text);
    let (mut lines, mut refused) = (String::new(), 0);
    let found = functions(&text);
    assert!(found.len() > 100, "{}", found.len());
    for (suffix, table, fingerprint) in found {
        let all = layouts.table_layouts(&table).unwrap();
        let is_it = |layout: &&TableLayout| layout.key().schema().fingerprint().to_string() == fingerprint;
        let layout = all.iter().find(is_it).unwrap();
        cases(&suffix, layout.key(), &mut lines, &mut refused);
    }
    let cases = file("keys.jsonl", &lines);
    let output = python().arg("-c").arg(RUN).arg(script).arg(cases).output().unwrap();
    let (code, said, fault) = written(&output);
    assert_eq!(code, 0, "{fault}");
    println!("{said}");
    assert!(refused > 1000 && said.starts_with(&format!("{} ", lines.lines().count())), "{refused} {said}");
}

/// The figures of `FORMAT.md`.
#[test]
fn python_has_the_figures_of_the_format() {
    let layouts = Layouts::new().table::<EventKey, Event>("events").to_json();
    let (_, text, _) = written(&codegen("figures.json", &layouts, &["--python"]));
    let script = text
        + r#"
assert [farm(s) for s in (b"alice#home", b"alice#search", b"bob#home")] == [
    -8284150647100081899, -738322642323405613, 9203610121334638032]
# Hashes of the C++ original.
assert [farm(s) for s in (b"", b"alphabet", b"1footrue", b"3true")] == [
    -7286425919675154353, -2427165924636348523, -1541654101129638711, -4880158226897771312]
fields = {"user_id": "alice", "site": "home", "at": 1426535612156, "seq": 42}
encode, decode = encode_event_key, decode_event_key
assert encode(**fields) == b"1#alice#home#9223370610319163651#000042"
assert decode(b"1#alice#home#9223370610319163651#000042") == fields
for wrong in (b"0#alice#home#9223370610319163651#000042", b"1#alice#home#9223370610319163651#42", b""):
    try:
        decode(wrong)
    except ValueError:
        continue
    raise AssertionError(wrong)
for name in ("user", "seq"):
    try:
        encode(**{**fields, name: 10**6})
    except ValueError:
        continue
    raise AssertionError(name)
"#;
    let (code, _, fault) = written(&python().arg("-c").arg(script).output().unwrap());
    assert_eq!((code, fault.as_str()), (0, ""));
}

/// What is encoded as a time is decoded as that time, with its microseconds.
#[test]
fn python_has_times_as_datetimes() {
    #[derive(RowKey)]
    #[row_key(allow(hotspot))]
    struct Moment {
        #[row_key(ts(unit = "micros"))]
        fine: SystemTime,
        #[row_key(ts(unit = "millis"))]
        at: SystemTime,
    }

    let layouts = Layouts::new().table::<Moment, Event>("moments").to_json();
    let (code, text, said) = written(&codegen("moments.json", &layouts, &["--python"]));
    assert_eq!(code, 0, "{said}");
    let script = text
        + r#"
at = datetime.datetime(2026, 11, 24, 8, 0, 0, 123000, tzinfo=datetime.timezone.utc)
fine = at.replace(microsecond=123456)
fields = {"fine": fine, "at": at}
assert decode_moment(encode_moment(**fields)) == fields
cet = datetime.timezone(datetime.timedelta(hours=1))
assert encode_moment(fine=fine.astimezone(cet), at=1795507200123) == encode_moment(**fields)
# What is finer than the field is the time before it, as in the key of a program.
assert decode_moment(encode_moment(fine=fine, at=fine)) == fields
for name in fields:
    for wrong, kind, part in ((at.replace(tzinfo=None), ValueError, "has no time zone"), (str(at), TypeError, "aware datetime or a count")):
        try:
            encode_moment(**{**fields, name: wrong})
        except kind as error:
            assert f"the field '{name}'" in str(error) and part in str(error), error
            continue
        raise AssertionError(wrong)
"#;
    let (code, _, fault) = written(&python().arg("-c").arg(script).output().unwrap());
    assert_eq!((code, fault.as_str()), (0, ""));
}
