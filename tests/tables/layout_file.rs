//! The file of layouts: what each change of a type does to stored rows, in words, and what a hostile file does.

use std::fs;
use std::panic::catch_unwind;

use fastrand::Rng;
use keyderive::layouts::{LayoutChange, LayoutChanges, Layouts};
use keyderive::{KeyField, Row, RowKey};
use keyderive_tests::fixtures::{Event, fails};
use keyderive_tests::{Folder, amount};

/// Key types by the change that each has beside `Base`.
macro_rules! keys {
    ($($name:ident $(#[$key:meta])* { $($(#[$field:meta])* $part:ident: $type:ty,)* })*) => {
        $(
            #[derive(RowKey)]
            $(#[$key])*
            #[allow(dead_code)]
            struct $name { $($(#[$field])* $part: $type,)* }
        )*
    };
}

#[derive(KeyField, Clone, Copy, Debug)]
#[allow(dead_code)]
enum Kind {
    Created = 1,
    Deleted = 2,
}

/// The same with another one.
#[derive(KeyField, Clone, Copy, Debug)]
#[allow(dead_code)]
enum MoreKinds {
    Created = 1,
    Deleted = 2,
    Moved = 3,
}

/// The same with the codes of each other.
#[derive(KeyField, Clone, Copy, Debug)]
#[allow(dead_code)]
enum OtherKinds {
    Created = 2,
    Deleted = 1,
}

keys! {
    Base #[salt(range = 4, over = "user")] { user: String, #[pad(6)] number: u32, }
    Added #[salt(range = 4, over = "user")] { user: String, #[pad(6)] number: u32, last: u8, }
    Removed #[salt(range = 4, over = "user")] { user: String, }
    Moved #[salt(range = 4, over = "user")] { #[pad(6)] number: u32, user: String, }
    Wider #[salt(range = 4, over = "user")] { user: String, #[pad(7)] number: u32, }
    Ordered #[salt(range = 4, over = "user")] { user: String, #[pad(6)] #[row_key(desc)] number: u32, }
    Bytes #[salt(range = 4, over = "user")] { user: Vec<u8>, #[pad(6)] number: u32, }
    Hashed #[salt(range = 4, over = "user")] #[row_key(allow(point_reads))] { #[row_key(hash(md5))] user: String, #[pad(6)] number: u32, }
    Dash #[row_key(delimiter = '-')] { #[pad(10)] at: u64, }
    Tagged #[salt(range = 4, over = "user")] #[row_key(tag = "e")] { user: String, #[pad(6)] number: u32, }
    OrderedCode #[salt(range = 4, over = "user")] #[row_key(layout = "ordered")] { user: String, number: u32, }
    Unsalted { user: String, #[pad(6)] number: u32, }
    Over #[salt(range = 4, over = "user,number")] { user: String, #[pad(6)] number: u32, }
    Java #[salt(range = 4, hash = "java")] { user: String, #[pad(6)] number: u32, }
    Range8 #[salt(range = 8, over = "user")] { user: String, #[pad(6)] number: u32, }
    Range6 #[salt(range = 6, over = "user")] { user: String, #[pad(6)] number: u32, }
    Range16 #[salt(range = 16, over = "user")] { user: String, #[pad(6)] number: u32, }
    Named #[salt(range = 4, over = "account")] { account: String, #[pad(6)] number: u32, }
    Kept #[salt(range = 4, over = "account")] { #[row_key(name = "user")] account: String, #[pad(6)] number: u32, }
    Longer #[salt(range = 4, over = "user")] { user: String, #[pad(6)] number: u64, }
    Plain { #[pad(10)] at: u64, }
    Later #[salt(range = 4, over = "at", sep = "!", since(at = 1796083200))] { #[pad(10)] at: u64, }
    Kinds { kind: Kind, }
    KindsAndMore { kind: MoreKinds, }
    SwappedKinds { kind: OtherKinds, }
    Time #[row_key(allow(hotspot))] { #[row_key(ts(unit = "millis"))] at: std::time::SystemTime, }
    ExactTime #[row_key(allow(hotspot))] { #[row_key(ts(unit = "millis", exact))] at: std::time::SystemTime, }
}

fn layouts<K: RowKey>() -> Layouts {
    Layouts::new().table::<K, Event>("events")
}

fn changes<Old: RowKey, New: RowKey>() -> LayoutChanges {
    layouts::<New>().changes_from(&layouts::<Old>())
}

/// The change of the key, without that of the struct's name, which all of these types have.
fn change<Old: RowKey, New: RowKey>() -> LayoutChange {
    let changes = changes::<Old, New>();
    let mut of_key = changes.iter().filter(|change| !change.to_string().contains("is now"));
    let change = of_key.next().cloned().unwrap();
    assert!(of_key.next().is_none(), "{changes}");
    change
}

/// Each line of the guide's table is what the text says, and means what the predicates say.
#[test]
fn each_change_of_a_key_says_what_it_does() {
    /// What is said; whether older rows are read, and whether older programs break.
    type Effect = (&'static str, bool, bool);
    const EVERY: Effect = ("every row has another key, and no stored row is found", false, true);
    const HALF: Effect = ("1 of 2 rows have another key, and are not found", false, true);
    const BOUND: Effect = (
        "keys before the bound stay; rows from it on that are stored already have another key, and are not found",
        true,
        true,
    );
    const NAME: Effect = ("the keys are the same, but a stamped table refuses the program", false, true);
    const MORE: Effect =
        ("stored rows are read; older programs cannot read keys with values that they lack", true, true);
    const FEWER: Effect =
        ("stored keys with values that it lacks cannot be read, and are foreign rows", false, false);
    const SWAPPED: Effect = (
        "stored keys are read as other variants than they were written of, and so are new keys by older programs",
        false,
        true,
    );
    const SAME: Effect = ("the keys are the same", true, false);
    let page = fs::read_to_string(
        std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../keyderive/src/guide/layouts.md"),
    )
    .unwrap();
    for (change, part, (effect, reads, breaks)) in [
        (
            change::<Base, Added>(),
            "the list of the fields was `user`, `number` and is `user`, `number`, `last`",
            EVERY,
        ),
        (change::<Base, Removed>(), "the list of the fields was `user`, `number` and is `user`", EVERY),
        (
            change::<Base, Moved>(),
            "the list of the fields was `user`, `number` and is `number`, `user`",
            EVERY,
        ),
        (change::<Base, Wider>(), "the width of the field `number` was 6 bytes and is 7 bytes", EVERY),
        (
            change::<Base, Ordered>(),
            "the order of the field `number` was `ascending` and is reversed from `999999`",
            EVERY,
        ),
        (change::<Plain, Dash>(), "the delimiter was `#` and is `-`", EVERY),
        (change::<Base, Tagged>(), "the tag was none and is `e`", EVERY),
        (change::<Base, Unsalted>(), "the salt was one of range 4 over `user` and is none", EVERY),
        (change::<Base, Over>(), "the list of the salt's fields was `user` and is `user`, `number`", EVERY),
        (change::<Base, Range8>(), "the range of the salt was 4 and is 8", HALF),
        (change::<Base, Range16>(), "the range of the salt was 4 and is 16", EVERY),
        (change::<Plain, Later>(), "the number of `since` bounds was 0 and is 1", BOUND),
        (change::<Base, Named>(), "the name of field 1 was `user` and is `account`", NAME),
        (
            change::<Base, Longer>(),
            "the values of the field `number` was integers from 0 to 4294967295 and is integers from 0 to \
             18446744073709551615",
            MORE,
        ),
        (
            change::<Kinds, KindsAndMore>(),
            "the values of the field `kind` was the codes Created = 1, Deleted = 2 and is the codes Created = 1, Deleted = 2, Moved = 3",
            MORE,
        ),
        (
            change::<KindsAndMore, Kinds>(),
            "the values of the field `kind` was the codes Created = 1, Deleted = 2, Moved = 3 and is the codes Created = 1, Deleted = 2",
            FEWER,
        ),
        (
            change::<Kinds, SwappedKinds>(),
            "the values of the field `kind` was the codes Created = 1, Deleted = 2 and is the codes Deleted = 1, Created = 2",
            SWAPPED,
        ),
        (
            change::<Time, ExactTime>(),
            "the values of the field `at` was times, rounded down and is times that the unit can hold",
            SAME,
        ),
    ] {
        let text = change.to_string();
        assert!(text.starts_with(&format!("key of `events`: {part}: {effect}")), "{text}");
        assert_eq!((change.reads_older_rows(), change.breaks_older_programs()), (reads, breaks), "{text}");
        assert!(page.contains(&format!("| {effect} |")), "{effect}");
    }
    // A name that is kept changes nothing but the struct's.
    let changes = changes::<Base, Kept>();
    assert_eq!(changes.to_string(), "key of `events`: `Base` is now `Kept`: stored rows stay as they are\n");
    assert!(changes.are_compatible());
}

/// Changes of several parts are said, each.
#[test]
fn every_part_that_differs_is_said() {
    for (changes, parts) in
        [(changes::<Base, Bytes>(), 2), (changes::<Base, Hashed>(), 4), (changes::<Base, OrderedCode>(), 5)]
    {
        let of_key = changes.iter().filter(|change| !change.to_string().contains("is now")).count();
        assert!(of_key >= parts && !changes.are_compatible(), "{changes}");
    }
}

/// How many keys get another bucket, counted.
#[test]
fn the_share_of_keys_with_another_bucket_is_right() {
    let text = change::<Base, Range6>().to_string();
    let share = text.split(" rows have another key").next().unwrap().rsplit(": ").next().unwrap();
    let (rows, of) = share.split_once(" of ").unwrap();
    let (rows, of): (u64, u64) = (rows.parse().unwrap(), of.parse().unwrap());
    let key = |user: u32| {
        (
            Base { user: user.to_string(), number: 7 }.encode().unwrap(),
            Range6 { user: user.to_string(), number: 7 }.encode().unwrap(),
        )
    };
    let all: u64 = 100_000;
    let differ = (0..100_000).map(key).filter(|(old, new)| old != new).count() as u64;
    assert!((differ * of).abs_diff(all * rows) < all * of / 100, "{differ} of {all}, and {rows} of {of}");
}

/// Rows say what `RowSchema::changes_from` says.
#[test]
fn each_change_of_a_row_is_that_of_its_schema() {
    #[derive(Row)]
    #[allow(dead_code)]
    struct Next {
        kind: u32,
        note: Option<String>,
        user: String,
    }
    let older = Layouts::new().table::<Base, Event>("events");
    let changes = Layouts::new().table::<Base, Next>("events").changes_from(&older);
    let expected = Next::SCHEMA.changes_from(&Event::SCHEMA.to_json()).unwrap();
    let texts: Vec<_> = changes.iter().map(ToString::to_string).collect();
    assert_eq!(texts[0], "row of `events`: `Event` is now `Next`: stored rows stay as they are");
    let of_schema: Vec<_> = expected.iter().map(|change| format!("row of `events`: {change}")).collect();
    assert_eq!(texts[1..], of_schema[..]);
    assert!(!changes.are_compatible());
}

#[test]
fn the_file_is_written_compared_and_refused() {
    let folder = Folder::new("layouts");
    let path = folder.join("layouts.json");
    let absent = layouts::<Base>().check(&path).unwrap_err().to_string();
    assert!(absent.contains("does not exist") && absent.contains("KEYDERIVE_BLESS=1"), "{absent}");

    fs::write(&path, layouts::<Base>().to_json()).unwrap();
    layouts::<Base>().check(&path).unwrap();
    // As git may check it out.
    fs::write(&path, layouts::<Base>().to_json().replace('\n', "\r\n")).unwrap();
    layouts::<Base>().check(&path).unwrap();

    let error = layouts::<Range8>().check(&path).unwrap_err();
    let text = format!("{error:?}");
    assert_eq!(error.changes().unwrap().iter().count(), 2, "{text}");
    for part in
        ["layouts.json", "\n- key of `events`: the range of the salt was 4 and is 8", "KEYDERIVE_BLESS=1"]
    {
        assert!(text.contains(part), "{text}");
    }

    // Tables, key types and row types that come and go.
    let more = layouts::<Base>().table::<Tagged, ()>("events").table::<Plain, Event>("others");
    let changes = more.changes_from(&layouts::<Base>());
    assert_eq!(changes.to_string(), "key of `events`: `Tagged` is new\ntable `others` is new\n");
    assert!(changes.are_compatible());
    let changes = layouts::<Base>().changes_from(&more);
    assert!(!changes.are_compatible() && changes.to_string().contains("`Tagged` is gone"), "{changes}");

    let two = layouts::<Base>().table::<Range8, Event>("events").check(&path).unwrap_err().to_string();
    assert!(two.contains("`Base` and `Range8` are two key types with the same tag"), "{two}");

    fs::write(&path, layouts::<Base>().to_json().replace("\"format\": 1", "\"format\": 2")).unwrap();
    fails(layouts::<Base>().check(&path), "the format 2");
    let json = layouts::<Base>().to_json().replace("\"format_version\": 1", "\"format_version\": 7");
    fails(Layouts::from_json(&json), "`format_version`: it is 7");
    fs::write(&path, "{}").unwrap();
    fails(layouts::<Base>().check(&path), "layouts.json`: it is not read");
}

/// Whatever bytes a file has, it is read or refused, and compared; `KEYDERIVE_LAYOUT_FILES` says how many are tried.
#[test]
fn hostile_files_are_read_or_refused() {
    let files = amount("KEYDERIVE_LAYOUT_FILES", "changed files of layouts", 4_000, 20_000);
    let own = layouts::<Later>().table::<Kinds, Event>("kinds");
    let seeds = [own.to_json(), layouts::<Base>().to_json(), layouts::<OrderedCode>().to_json()];
    let mut rng = Rng::with_seed(7);
    let mut accepted = 0;
    for number in 0..files {
        let mut bytes = rng.choice(&seeds).unwrap().clone().into_bytes();
        for _ in 0..rng.usize(1..4) {
            mutate(&mut rng, &mut bytes);
        }
        let Ok(text) = String::from_utf8(bytes) else { continue };
        let read = catch_unwind(|| {
            let found = Layouts::from_json(&text).ok()?;
            // One that is read is compared in both directions, and stays as it is.
            drop((own.changes_from(&found).to_string(), found.changes_from(&own).to_string()));
            let again = Layouts::from_json(&found.to_json()).unwrap();
            assert_eq!(again.changes_from(&found).to_string(), "");
            Some(())
        });
        match read {
            Ok(found) => accepted += u64::from(found.is_some()),
            Err(_) => panic!("file {number}: {text}"),
        }
    }
    println!("{accepted} of {files} mutated files were read and compared");
    assert!(accepted > files / 20, "{accepted} of {files}");
}

fn mutate(rng: &mut Rng, bytes: &mut Vec<u8>) {
    const TOKENS: [&str; 14] = [
        "null",
        "-1",
        "18446744073709551615",
        "1e999",
        "\"\"",
        "[]",
        "{}",
        "0",
        "4",
        "true",
        "\"java\"",
        "\"delimited\"",
        "{\"after\":\"x\"}",
        "{\"between\":[9,1]}",
    ];
    let at = rng.usize(..bytes.len());
    match rng.u8(..5) {
        0 => bytes[at] = rng.u8(b' '..=b'~'),
        1 => drop(bytes.remove(at)),
        2 => bytes.insert(at, rng.u8(b' '..=b'~')),
        // Another value after some colon.
        3 => {
            let colons: Vec<_> = (0..bytes.len()).filter(|at| bytes[*at] == b':').collect();
            let Some(colon) = rng.choice(&colons) else { return };
            let start = colon + 1;
            let end = bytes[start..]
                .iter()
                .position(|byte| b",\n}]".contains(byte))
                .map_or(bytes.len(), |len| start + len);
            bytes.splice(start..end, rng.choice(TOKENS).unwrap_or("0").bytes());
        }
        // A name or a text that occurs elsewhere.
        _ => {
            let digits: Vec<_> = (0..bytes.len()).filter(|at| bytes[*at].is_ascii_digit()).collect();
            if let Some(at) = rng.choice(&digits) {
                bytes[*at] = rng.u8(b'0'..=b'9');
            }
        }
    }
}
