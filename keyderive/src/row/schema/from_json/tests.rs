//! Schemas from data: what is accepted, what is refused and in which words, and that nothing panics.

use serde_json::{Value as Json, json};

use super::*;
use crate::dynamic::DynRow;
use crate::dynamic::tests::schemas;
use crate::row::RowBuilder;

#[test]
fn every_schema_comes_back_as_it_was() {
    for schema in schemas() {
        let read = RowSchema::from_json(&schema.to_json()).unwrap();
        assert_eq!(read, schema);
        assert!(std::ptr::eq(read, RowSchema::from_json(&schema.to_json()).unwrap()), "it is kept once");
        assert_eq!((read.to_json(), read.fingerprint()), (schema.to_json(), schema.fingerprint()));
        let layout = schema.layout_json("m");
        let read = RowSchema::from_json(&layout).unwrap();
        if schema.name() != "()" {
            assert_eq!((read.layout_json("other"), read.fingerprint()), (layout, schema.fingerprint()));
        }
    }
}

fn faults(json: &Json) -> Vec<String> {
    serde_json::from_value::<RowLayout>(json.clone()).unwrap().faults()
}

fn column(name: &str) -> Json {
    json!({ "name": name, "aliases": [], "stored": "text", "kind": "value", "absent": "none" })
}

/// A row with the columns of a struct, and some that are a family each.
fn row(columns: &[Json], others: &[Json], rules: &[Json]) -> Json {
    let mut fields: Vec<_> =
        columns.iter().map(|column| json!({ "column": { "family": "cf", "column": column } })).collect();
    fields.extend_from_slice(others);
    json!({ "version": 1, "row": "R", "fingerprint": "", "family": "cf", "fields": fields, "rules": rules })
}

fn with(mut json: Json, changes: &[(&str, Json)]) -> Json {
    for (name, value) in changes {
        json[name] = value.clone();
    }
    json
}

/// The rules of the derive, each with a layout that breaks it alone, and what is said.
fn broken() -> Vec<(Json, &'static str, &'static str)> {
    let a = |changes: &[(&str, Json)]| row(&[with(column("a"), changes)], &[], &[]);
    let int = json!({ "integer": { "min": i64::MIN.to_string(), "max": i64::MAX.to_string() } });
    let alias = |family: &str, name: &str| json!([{ "family": family, "name": name }]);
    let of =
        |family: &str| json!({ "struct": { "family": family, "optional": true, "columns": [column("a")] } });
    let empty = json!({ "struct": { "family": "p", "optional": true, "columns": [] } });
    let map = |changes: &[(&str, Json)]| {
        let map = json!({ "family": "m", "optional": false, "key": "text", "stored": int, "kind": "value" });
        row(&[column("a")], &[json!({ "map": with(map, changes) })], &[])
    };
    let sum =
        with(column("s"), &[("stored", int.clone()), ("kind", json!("sum")), ("absent", json!("default"))]);
    let windows = |micros: i64| {
        a(&[("stored", int.clone()), ("kind", json!({ "sum_versions": { "window_micros": micros } }))])
    };
    let rule = |gc: Json, ttl: Json| json!({ "family": "cf", "gc": gc, "ttl_secs": ttl, "exclusive": false });
    let any = |age: Json, versions: Json| json!({ "any": { "max_age_secs": age, "max_versions": versions } });
    let ruled = |column: Json, gc: Json, ttl: Json| row(&[column], &[], &[rule(gc, ttl)]);
    let counter = with(
        column("a"),
        &[("stored", int.clone()), ("kind", json!("counter")), ("absent", json!("default"))],
    );
    let null = Json::Null;
    let path = "fields[0].column.column";
    let at = |end: &str| &*format!("{path}{end}").leak();
    // What is wrong with one part of a column.
    let own =
        |part, value: Json, end, text| (a(&[(part, value)]), &*format!("{path}.{part}{end}").leak(), text);
    let stored = |of: Json, end, text| own("stored", of, end, text);
    // What is wrong with the rule of the family `cf`.
    let gc = |age: Json, versions: Json, text| {
        (ruled(column("a"), any(age, versions), Json::Null), "rules[0].gc", text)
    };
    vec![
        (with(a(&[]), &[("family", json!("c f"))]), "family", "cannot name a family, which has 1 to 64"),
        (row(&[], &[of("")], &[]), "fields[0].struct.family", "`` cannot name a family, which has 1 to 64"),
        (
            row(&[], &[of("keyderive.x")], &[]),
            "fields[0].struct.family",
            "the families `keyderive`, `keyderive.…` and `keyderive-origin` are the library's; choose another name",
        ),
        (with(a(&[]), &[("family", null.clone())]), "family", "name the family of the row's own columns"),
        (
            row(&[column("a")], &[of("cf")], &[]),
            "fields[1].struct.family",
            "is that of the row's own columns; give the field another name",
        ),
        (
            row(&[column("a")], &[empty], &[]),
            "fields[1].struct.columns",
            "a struct without columns is no family; add one",
        ),
        (
            row(&[column("a")], &[of("p"), of("p")], &[]),
            "fields[2].struct.family",
            "are both the family `p`, which holds one value; give one another name",
        ),
        own(
            "name",
            json!(""),
            "",
            "the empty name is that of the marker of an empty row; give the column a name",
        ),
        own("name", json!("n".repeat(16_385)), "", "a column's name has at most 16384 bytes; shorten it"),
        own(
            "aliases",
            alias("cf", ""),
            "[0]",
            "the empty name is that of the marker of an empty row; give the column a name",
        ),
        own("aliases", alias("c f", "b"), "[0]", "cannot name a family"),
        (
            row(&[column("a"), column("a")], &[], &[]),
            "fields[1].column.column",
            "are both the column `cf:a`, which holds one value; give one another name",
        ),
        (
            row(&[column("a"), with(column("b"), &[("aliases", alias("cf", "a"))])], &[], &[]),
            "fields[1].column.column.aliases[0]",
            "`a` is a column and an alias of `b`; remove the alias",
        ),
        (
            row(
                &[column("a")],
                &[of("p"), json!({ "column": { "family": "p", "column": column("x") } })],
                &[],
            ),
            "fields[2].column.column",
            "all of whose columns are its own; give one another family",
        ),
        (
            row(&[with(column("a"), &[("aliases", alias("p", "x"))])], &[of("p")], &[]),
            "fields[0].column.column.aliases[0]",
            "all of whose columns are its own; remove the alias",
        ),
        (
            map(&[("kind", json!("counter"))]),
            "fields[1].map.kind",
            "`counter` is for a column, and `fields[1].map` is a family; put it on a field of the family's struct",
        ),
        (
            map(&[("kind", json!({ "sum_versions": { "window_micros": 1 } }))]),
            "fields[1].map.kind",
            "`window` is for a column, and `fields[1].map` is a family",
        ),
        (
            map(&[("key", int.clone())]),
            "fields[1].map.key",
            "cannot name a column, so it cannot be the key of a family",
        ),
        (
            map(&[("family", null.clone())]),
            "fields[1].map.family",
            "it is `null` for a map that is the whole row",
        ),
        (
            map(&[("kind", json!("sum")), ("stored", json!("text"))]),
            "fields[1].map.stored",
            "an aggregate is an `i64`",
        ),
        (
            a(&[("kind", json!("counter")), ("absent", json!("default"))]),
            at(".stored"),
            "a counter is an `i64`, in which the server counts; change the type",
        ),
        (
            a(&[("kind", json!("counter")), ("stored", int.clone())]),
            at(".absent"),
            "a counter that is absent counts from 0",
        ),
        (
            row(&[with(counter.clone(), &[("aliases", alias("cf", "b"))])], &[], &[]),
            at(".kind"),
            "the server would count from 0 beside a value under the alias; keep the stored name",
        ),
        (
            row(&[with(sum.clone(), &[("aliases", alias("cf", "b"))])], &[], &[]),
            at(".aliases[0]"),
            "the server would count from 0 beside an aggregate under the alias; keep the stored name",
        ),
        (
            row(&[with(sum.clone(), &[("absent", json!("none"))])], &[], &[]),
            at(".absent"),
            "is 0; write `\"default\"`",
        ),
        (
            row(&[with(sum.clone(), &[("kind", json!("min"))])], &[], &[]),
            at(".absent"),
            "is none; write `\"none\"`",
        ),
        (
            a(&[("kind", json!("versions")), ("absent", json!("default"))]),
            at(".absent"),
            "`Versions` are empty where the column is absent",
        ),
        (windows(0), at(".kind"), "each aggregate in a column counts for a window of time; write its width"),
        (windows(7_000_000), at(".kind"), "does not divide a day; write a window such as"),
        (windows(500_000), at(".kind"), "does not divide a day; write a window such as"),
        (windows(-3_600_000_000), at(".kind"), "does not divide a day; write a window such as"),
        (
            row(&[sum.clone(), column("a")], &[], &[]),
            "fields[1].column.column",
            "the family `cf` holds `Sum`s, and `a` is not one; give it another family",
        ),
        stored(json!({ "integer": { "min": "1", "max": "0" } }), "", "no integer is 1 to 0"),
        stored(json!({ "nonzero": { "min": "0", "max": "0" } }), "", "no integer is 0 to 0 without 0"),
        stored(json!({ "enum": [] }), "", "an enum without variants has no value to store"),
        stored(json!({ "enum": ["A", "A"] }), ".enum[1]", "are both stored as `A`; give one another name"),
        stored(json!({ "code": [] }), "", "an enum without variants has no value to store"),
        stored(
            json!({ "code": [{ "code": "1", "name": "A" }, { "code": "1", "name": "B" }] }),
            ".code[1]",
            "`B` has the code 1, as `A` has; give each its own",
        ),
        stored(
            json!({ "code": [{ "code": "1", "name": "A" }, { "code": "2", "name": "A" }] }),
            ".code[1]",
            "two variants are named `A`",
        ),
        (
            row(
                &[column("a")],
                &[],
                &[rule(json!("never"), null.clone()), rule(json!("never"), null.clone())],
            ),
            "rules[1]",
            "the family `cf` has two rules; keep one",
        ),
        (
            ruled(column("a"), any(json!(60), null.clone()), json!(61)),
            "rules[0].ttl_secs",
            "`ttl` is longer than `max_age`, which deletes cells before; raise `max_age`",
        ),
        gc(null.clone(), null.clone(), "`gc` has no limit"),
        gc(json!(0), null.clone(), "this is no time at all; write a number above 0"),
        (
            ruled(column("a"), null.clone(), json!(u64::MAX)),
            "rules[0].ttl_secs",
            "is more than a century; write a shorter time",
        ),
        gc(null.clone(), json!(0), "`max_versions` is 1 to 2147483647, not 0; write 1 to keep the newest"),
        gc(
            null.clone(),
            json!(u32::MAX),
            "`max_versions` is 1 to 2147483647, not 4294967295; write 1 to keep the newest",
        ),
        (
            ruled(with(column("a"), &[("aliases", alias("h", "b"))]), null.clone(), json!(9)),
            at(".aliases[0]"),
            "hides cells of the family `cf` alone, and this alias is in another; copy its values, or remove",
        ),
        (
            ruled(
                with(column("a"), &[("kind", json!("versions"))]),
                any(null.clone(), json!(1)),
                null.clone(),
            ),
            at(".kind"),
            "reads every version, and the family `cf` keeps one; write",
        ),
        (
            ruled(counter, null.clone(), json!(9)),
            at(".kind"),
            "an increment adds to an expired value too; use `Versions<Sum>` with `window`",
        ),
        (
            ruled(sum, any(json!(9), null.clone()), null.clone()),
            at(".kind"),
            "an aggregate is at time 0, and expires at once; use `Versions<…>` with `window`, or remove `max_age` and `ttl`",
        ),
        (
            with(windows(3_600_000_000), &[("rules", json!([rule(null.clone(), json!(3599))]))]),
            at(".kind"),
            "the window is longer than the `ttl` of its family, which hides it from its start on",
        ),
        (
            with(windows(3_600_000_000), &[("rules", json!([rule(any(json!(3599), null), Json::Null)]))]),
            at(".kind"),
            "the window is longer than the `max_age` of its family, which is counted from its start",
        ),
    ]
}

#[test]
fn each_rule_is_said_at_its_place() {
    for (json, path, text) in broken() {
        let found = faults(&json);
        let [fault] = &found[..] else { panic!("{text}: {found:#?}") };
        assert!(fault.starts_with(&format!("`{path}`: ")) && fault.contains(text), "{path} {text}: {fault}");
    }
}

#[test]
fn every_fault_is_said_in_one_run() {
    let json = row(
        &[column(""), with(column("b"), &[("kind", json!("counter"))])],
        &[],
        &[json!({ "family": "", "gc": null, "ttl_secs": 0, "exclusive": false })],
    );
    let error = RowSchema::from_json(&json.to_string()).unwrap_err().to_string();
    let lines: Vec<_> = error.lines().collect();
    assert_eq!(lines[0], "this is not the schema of a row type: ");
    let starts = [
        "- `fields[1].column.column.stored`: a counter is an `i64`",
        "- `fields[1].column.column.absent`: a counter that is absent counts from 0",
        "- `fields[0].column.column.name`: the empty name",
        "- `rules[0].family`: `` cannot name a family",
        "- `rules[0].ttl_secs`: this is no time at all",
    ];
    assert_eq!(lines.len() - 1, starts.len(), "{error}");
    for (line, start) in lines[1..].iter().zip(starts) {
        assert!(line.starts_with(start), "{line}");
    }
}

#[test]
fn later_versions_and_changed_texts_are_refused() {
    let json = schemas()[0].to_json();
    let error = |json: &str| RowSchema::from_json(json).unwrap_err().to_string();
    let later = error(&json.replace("\"version\": 1", "\"version\": 2"));
    assert!(
        later.contains("is of version 2, and this release of keyderive reads version 1; update keyderive"),
        "{later}"
    );
    let changed = error(&json.replace("\"note\"", "\"nota\""));
    assert!(changed.contains("`fingerprint`: it is `"), "{changed}");
    assert!(error("[1").contains("this is not the JSON of a row's schema"));
}

/// A place in the JSON, and what it becomes.
fn change(json: &mut Json, random: &mut fastrand::Rng) {
    let words =
        ["text", "value", "sum", "counter", "cf", "", "none", "default", "error", "versions", "a:b", "ü"];
    let mut here = json;
    loop {
        let size = match here {
            Json::Array(items) => items.len(),
            Json::Object(entries) => entries.len(),
            _ => 0,
        };
        if size == 0 || random.u8(..8) == 0 {
            break;
        }
        let at = random.usize(..size);
        here = match here {
            Json::Array(items) => {
                if random.u8(..16) == 0 {
                    let copy = items[at].clone();
                    items.insert(at, copy);
                }
                &mut items[at]
            }
            Json::Object(entries) => entries.values_mut().nth(at).unwrap(),
            _ => return,
        };
    }
    *here = match random.u8(..9) {
        0 => Json::Null,
        1 => json!(random.bool()),
        2 => json!(random.i64(..) >> random.u8(..64)),
        3 => json!((random.i64(..) >> random.u8(..64)).to_string()),
        4 => json!([]),
        5 => json!({}),
        6 if here.is_object() => json!([here.clone()]),
        7 if here.is_string() => json!(format!("{}x", here.as_str().unwrap())),
        _ => json!(random.choice(words).unwrap()),
    };
}

#[test]
fn hostile_layouts_and_cells_panic_nowhere() {
    let kept = Interner::new("row types of this test");
    let mut random = fastrand::Rng::with_seed(5);
    let rounds =
        keyderive_tests::amount("KEYDERIVE_HOSTILE_LAYOUTS", "changed layouts of rows", 4_000, 300_000);
    let (mut accepted, mut unread, mut refused, mut read, mut unreadable) = (0, 0, 0, 0, 0);
    let seeds: Vec<Json> =
        schemas().iter().map(|schema| serde_json::from_str(&schema.to_json()).unwrap()).collect();
    for _ in 0..rounds {
        let mut json = random.choice(&seeds).unwrap().clone();
        for _ in 0..random.usize(1..4) {
            change(&mut json, &mut random);
        }
        let Ok(mut layout) = RowLayout::from_json(&json.to_string()) else {
            unread += 1;
            continue;
        };
        if !layout.faults().is_empty() {
            refused += 1;
            assert!(layout.intern(&kept).is_err());
            continue;
        }
        if let Ok(schema) = layout.intern(&kept) {
            layout.fingerprint = schema.fingerprint().to_string();
        } else if let Some((_, right)) =
            layout.intern(&kept).unwrap_err().to_string().split_once("of the fields is `")
        {
            layout.fingerprint = right[..16].to_owned();
        }
        let Ok(schema) = layout.intern(&kept) else { continue };
        accepted += 1;
        // What it says is what was read.
        assert_eq!(RowLayout::of(schema), layout);
        let mut cells: Vec<(Vec<u8>, Vec<u8>)> = schema
            .columns()
            .filter(|_| random.u8(..3) > 0)
            .map(|(family, column)| (family.into(), column.name().into()))
            .collect();
        cells.extend(schema.families().map(|family| (family.into(), vec![random.u8(b'a'..b'c')])));
        cells.sort();
        let mut row = RowBuilder::new(b"k").unwrap();
        for (family, name) in cells {
            row.cell(Some(&family), Some(&name), random.i64(0..3) * 3_600_000_000).unwrap();
            let length = if random.bool() { 8 } else { random.usize(..40) };
            let value: Vec<u8> =
                (0..length).map(|_| if random.bool() { random.u8(..) } else { b'0' }).collect();
            row.value(&value).unwrap();
        }
        match DynRow::read(schema, "m", &row.build()) {
            Ok(row) => {
                read += 1;
                let text = format!("{row}{row:?}{}", serde_json::to_string(&row).unwrap());
                assert!(!text.is_empty());
                _ = row.mutations();
            }
            Err(error) => {
                unreadable += 1;
                assert!(!error.to_string().is_empty());
            }
        }
    }
    println!(
        "{rounds} layouts: {unread} of another shape, {refused} refused by a rule, {accepted} accepted; of their rows {read} read, \
         {unreadable} refused"
    );
    assert!(accepted > rounds / 50 && refused > rounds / 50 && read > 0 && unreadable > 0);
}
