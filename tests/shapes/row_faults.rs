//! Row types with one fault each. `«…»` is the token that the compiler's error must be on.

use fastrand::Rng;

use crate::program::{Program, Scene, marked, nth_of, separated};
use crate::rows::{Field, RowType};

/// Options of the struct.
const ON_STRUCT: &[&str] = &[
    "«frobnicate»",
    "«familly» = \"f\"",
    "«name» = \"x\"",
    "«counter»",
    "family = «\"\"»",
    "family = «\"a b\"»",
    "family = «\"keyderive.x\"»",
    "family = «7»",
    "family = \"a\", family = «\"b\"»",
    "ttl = «\"7 days\"»",
    "ttl = «\"7\"»",
    "ttl = «\"0d\"»",
    "ttl = «\"99999d\"»",
    "«gc»",
    "«gc»()",
    "gc(«max_versoins» = 1)",
    "gc(max_versions = «0»)",
    "gc(max_versions = «\"1\"»)",
    "gc(max_age = «7»)",
    "«gc»(never, max_versions = 1)",
    "gc(«all»(max_age = \"1d\"))",
    "gc(all(max_age = \"1d\", «max_version» = 1))",
    "gc(never), «gc»(never)",
    "ttl = «\"30d\"», gc(max_age = \"7d\")",
    "«exclusive = true»",
    "fingerprint = «\"xyz\"»",
    "fingerprint = «\"0123456789abcdef\"»",
    "crate = «\"1 2\"»",
    "crate = «\"nope\"»",
];

/// Options and the type of the last field. FIRST is the name of another one.
const ON_FIELD: &[(&str, &str)] = &[
    ("«frobnicate»", "u32"),
    ("«nmae» = \"n\"", "u32"),
    ("«sum»", "i64"),
    ("«code»", "u32"),
    ("«fingerprint» = \"x\"", "u32"),
    ("name = «\"\"»", "u32"),
    ("name = «7»", "u32"),
    ("name = \"a\", name = «\"b\"»", "u32"),
    ("alias = «\"\"»", "u32"),
    ("alias = «\"faulty\"»", "u32"),
    ("alias = \"former\", alias = «\"former\"»", "u32"),
    ("alias = «\"a b:c\"»", "u32"),
    ("family = «\"\"»", "u32"),
    ("family = «\"a:b\"»", "u32"),
    ("family = «\"keyderive\"»", "u32"),
    ("«default»", "Option<u32>"),
    ("«default»", "::keyderive::row::Versions<u32>"),
    ("default = «\"1 2\"»", "u32"),
    ("default = «\"crate::support::nope\"»", "u32"),
    ("counter", "«u32»"),
    ("counter", "«Option<i64>»"),
    ("«counter», default", "i64"),
    ("«counter», alias = \"other\"", "i64"),
    ("«counter = true»", "i64"),
    ("counter, «counter»", "i64"),
    ("«counter», json", "i64"),
    ("json, «proto»", "u32"),
    ("json, ts(unit = «\"secs\"»)", "::std::time::SystemTime"),
    ("json, with = «\"crate::support::hexadecimal\"»", "u32"),
    ("ts(unit = «\"minutes\"»)", "::std::time::SystemTime"),
    ("ts(«exact»)", "::std::time::SystemTime"),
    ("«ts»", "::std::time::SystemTime"),
    ("with = «\"1 2\"»", "u32"),
    ("with = «\"crate::support::nope\"»", "u32"),
    ("window = «1»", "u32"),
    ("«window»", "u32"),
    ("window = «\"1h\"»", "u32"),
    ("window = «\"1h\"»", "::keyderive::row::Versions<u32>"),
    ("constant = «\"not a name\"»", "u32"),
    ("ttl = «\"7d\"»", "u32"),
    ("«gc»(never)", "u32"),
    ("«exclusive»", "u32"),
    ("", "«usize»"),
    ("", "«isize»"),
    ("", "«u128»"),
    ("", "Option<«i128»>"),
    ("", "Option<«usize»>"),
    ("", "::keyderive::row::Versions<«u128»>"),
    ("", "&«'static» str"),
    ("", "Option<&«'static» str>"),
    ("", "«Option<Option<u8>>»"),
    ("", "«::keyderive::row::Sum»"),
    ("family = \"sums\"", "«::keyderive::row::Versions<::keyderive::row::Sum>»"),
    ("family = \"sums\", window = «\"7h\"»", "::keyderive::row::Versions<::keyderive::row::Sum>"),
    ("family = \"sums\", alias = «\"b\"»", "::keyderive::row::Sum"),
    ("family = \"sums\", gc(max_age = \"1d\")", "«::keyderive::row::Sum»"),
    ("family = \"counts\", ttl = \"1d\", «counter»", "i64"),
    ("family = \"h\", gc(max_versions = 1)", "«::keyderive::row::Versions<u32>»"),
    ("family, «default»", "::std::collections::BTreeMap<String, u32>"),
    ("family, «counter»", "::std::collections::BTreeMap<String, i64>"),
    ("family, alias = «\"b\"»", "::std::collections::BTreeMap<String, i64>"),
    ("family", "«::std::collections::BTreeMap<String, Option<u8>>»"),
    ("family, name = «\"a b\"»", "::std::collections::BTreeMap<String, u8>"),
    ("family, name = «\"cf\"»", "::std::collections::BTreeMap<String, u8>"),
    // Only the compiler knows these types.
    ("", "«crate::support::Id»"),
    ("", "Option<«crate::support::Id»>"),
    ("", "::keyderive::row::Versions<«crate::support::Id»>"),
    ("", "::keyderive::row::Timestamped<«crate::support::Id»>"),
    ("", "«(u8, u8)»"),
    ("", "«Vec<String>»"),
    ("", "«::std::time::SystemTime»"),
    ("", "«::std::collections::BTreeMap<String, u8>»"),
    ("«default»", "::std::net::Ipv4Addr"),
    ("json", "«crate::support::Id»"),
    ("json", "Option<«crate::support::Id»>"),
    ("ts(unit = \"secs\")", "«u64»"),
    ("family", "«String»"),
    ("family", "«crate::support::Id»"),
    ("family", "Option<«crate::support::Id»>"),
    ("family", "::std::collections::BTreeMap<«u32», u8>"),
    ("family", "::std::collections::BTreeMap<String, «crate::support::Id»>"),
    ("family", "::std::collections::HashMap<String, «(u8, u8)»>"),
];

/// The options, the name and the type of the last field.
const NAMED: &[(&str, &str, &str)] = &[
    ("name = \"STORED\"", "«faulty»", "u32"),
    ("constant = \"CONSTANT\"", "«faulty»", "u32"),
    ("", "«schema»", "u32"),
    ("family", "«cf»", "::std::collections::BTreeMap<String, u8>"),
    ("family", "«keyderive»", "::std::collections::BTreeMap<String, u8>"),
];

/// Declarations of rows. `ROW` is the name, and `VIS` the visibility.
const WHOLE: &str = include_str!("faults/rows.rs");

/// Declarations of types that are columns. `OWN` is the name.
const CELLS: &str = include_str!("faults/cells.rs");

/// A program with a row type of one fault: consecutive numbers have every fault in turn.
pub(crate) fn program(rng: &mut Rng, nth: u64, name: String, scene: &Scene) -> Program {
    let mut row = RowType::simple(rng, scene);
    let (wholes, cells) = (separated(WHOLE), separated(CELLS));
    let tables = [ON_STRUCT.len(), ON_FIELD.len(), NAMED.len(), wholes.len(), cells.len()];
    let (table, chosen) = nth_of(nth, &tables);
    let ty = |text: &str| marked(&scene.written(text));
    let push = |row: &mut RowType, options: &str, name: &str, of: &str| {
        let mut field = Field::column(of, "");
        field.name = marked(name);
        if !options.is_empty() {
            field.options.push(marked(options));
        }
        row.fields.push(field);
    };
    let mut helper = String::new();
    match table {
        0 => row.attrs.push(format!("#[row({})]", marked(ON_STRUCT[chosen]))),
        1 => {
            let (options, of) = ON_FIELD[chosen];
            push(&mut row, options, "faulty", &ty(of));
        }
        2 => {
            let (options, field, of) = NAMED[chosen];
            let [stored, constant] = row.names_of_first();
            let options = options.replace("STORED", &stored).replace("CONSTANT", &constant);
            push(&mut row, &options, field, &ty(of));
        }
        3 => {
            let text = scene.written(&wholes[chosen]).replace("ROW", &row.name).replace("VIS ", scene.vis);
            let items = format!("/// A row.\n#[derive(::keyderive::Row, Debug)]\n{}\n", marked(&text));
            // No stub stands in for a type with parameters.
            let body = if wholes[chosen].contains("ROW<") { String::new() } else { uses(&row.name) };
            return Program { name, text: scene.program(&items, &body) };
        }
        _ => {
            helper = format!(
                "/// Mine.\n{}\n",
                marked(&cells[chosen].replace("OWN", "Own").replace("VIS ", scene.vis))
            );
            helper = helper.replace("::Cell)]", "::Cell, Clone, Debug, PartialEq)]");
            push(&mut row, "", "faulty", "Own");
        }
    }
    let items = format!("{helper}{}", row.items(scene.vis));
    Program { name, text: scene.program(&items, &uses(&row.name)) }
}

/// Uses of a row type, which the compiler must not report too.
fn uses(row: &str) -> String {
    format!(
        "    async fn uses(it: &{row}) {{\n        drop(crate::support::uses(it).await);\n        \
         let _ = <{row} as ::keyderive::Row>::SCHEMA;\n    }}\n    let _ = uses;\n"
    )
}
