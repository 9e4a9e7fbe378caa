//! Row types with one fault each. `«…»` is the token that the compiler's error must be on.

use fastrand::Rng;

use crate::program::{Program, Scene, marked};
use crate::rows::{Field, RowType};

/// Options of the struct.
const ON_STRUCT: &[&str] = &[
    "«frobnicate»",
    "«familly» = \"f\"",
    "«name» = \"x\"",
    "«counter»",
    "family = «\"\"»",
    "family = «\"a b\"»",
    "family = «\"keyderive-x\"»",
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

/// A row of its own. `ROW` is its name.
const WHOLE: &[&str] = &[
    "VIS struct ROW«(VIS u8)»;",
    "VIS «enum» ROW {\n    /// One.\n    A,\n}",
    "#[row(fingerprint = «\"0123456789abcdef\"»)]\nVIS struct ROW<V> {\n    /// A field.\n    VIS value: V,\n}",
    "VIS struct ROW<V> {\n    /// A field.\n    #[row(family)]\n    VIS value: «V»,\n}",
    "VIS struct ROW {\n    /// A field.\n    #[row(family = \"sums\")]\n    VIS sum: ::keyderive::row::Sum,\n    /// A field.\n    #[row(family = \"sums\")]\n    VIS «other»: u32,\n}",
    "VIS struct ROW {\n    /// A field.\n    #[row(family = \"h\", gc(never))]\n    VIS one: u32,\n    /// A field.\n    #[row(family = \"h\", «gc»(never))]\n    VIS other: u32,\n}",
    "VIS struct ROW {\n    /// A field.\n    #[row(family)]\n    VIS h: ::std::collections::BTreeMap<String, u8>,\n    /// A field.\n    #[row(family = \"h\")]\n    VIS «other»: u32,\n}",
    "VIS struct ROW {\n    /// A field.\n    VIS one: u32,\n    /// A field.\n    #[row(alias = «\"one\"»)]\n    VIS other: u32,\n}",
    "#[row(ttl = \"1d\")]\nVIS struct ROW {\n    /// A field.\n    VIS one: u32,\n    /// A field.\n    #[row(alias = «\"h:one\"»)]\n    VIS other: u32,\n}",
    "#[row(gc(max_versions = 1))]\nVIS struct ROW {\n    /// A field.\n    VIS one: «::keyderive::row::Versions<u8>»,\n}",
    "#[row(ttl = \"1d\")]\nVIS struct ROW {\n    /// A field.\n    #[row(«counter»)]\n    VIS one: i64,\n}",
];

/// Types for a column, whose derive refuses them. `OWN` is the name.
const CELLS: &[&str] = &[
    "#[derive(::keyderive::Cell)]\nVIS enum «OWN» {}",
    "#[derive(::keyderive::Cell)]\nVIS enum OWN {\n    /// One.\n    A«(u8)»,\n    /// One.\n    B,\n}",
    "#[derive(::keyderive::Cell)]\nVIS enum OWN {\n    /// One.\n    A,\n    /// One.\n    #[row(name = «\"A\"»)]\n    B,\n}",
    "#[derive(::keyderive::Cell)]\nVIS enum OWN {\n    /// One.\n    #[row(name = \"B\")]\n    A,\n    /// One.\n    «B»,\n}",
    "#[derive(::keyderive::Cell)]\n#[row(code)]\n«VIS enum OWN» {\n    /// One.\n    A = 1,\n    /// One.\n    B = 1,\n}",
    "#[derive(::keyderive::Cell)]\nVIS enum OWN {\n    /// One.\n    #[row(«nmae» = \"A\")]\n    A,\n}",
    "#[derive(::keyderive::Cell)]\n#[row(code)]\nVIS enum OWN {\n    /// One.\n    «A»,\n    /// One.\n    B = 2,\n}",
    "#[derive(::keyderive::Cell)]\n#[row(code)]\nVIS enum OWN {\n    /// One.\n    «#[row(name = \"a\")]»\n    A = 1,\n}",
    "#[derive(::keyderive::Cell)]\n#[row(code)]\n#[repr(u64)]\nVIS enum OWN {\n    /// One.\n    «A» = 9223372036854775808,\n}",
    "#[derive(::keyderive::Cell)]\n#[row(«code»)]\nVIS struct OWN(VIS u32);",
    "#[derive(::keyderive::Cell)]\n#[row(«family» = \"f\")]\nVIS struct OWN(VIS u32);",
    "#[derive(::keyderive::Cell)]\nVIS struct «OWN»(VIS u32, VIS u32);",
    "#[derive(::keyderive::Cell)]\nVIS struct «OWN» {\n    /// A field.\n    VIS a: u32,\n}",
    "#[derive(::keyderive::Cell)]\nVIS struct OWN(VIS &«'static» str);",
    "#[derive(::keyderive::Cell)]\nVIS struct OWN(«#[row(json)]» VIS u32);",
    "#[derive(::keyderive::Cell)]\nVIS struct OWN(VIS «crate::support::Id»);",
];

/// A program with a row type of one fault.
pub(crate) fn program(rng: &mut Rng, name: String, scene: &Scene) -> Program {
    let mut row = RowType::simple(rng, scene);
    let tables = [ON_STRUCT.len(), ON_FIELD.len(), NAMED.len(), WHOLE.len(), CELLS.len()];
    let mut chosen = rng.usize(..tables.iter().sum::<usize>());
    let mut table = 0;
    while chosen >= tables[table] {
        chosen -= tables[table];
        table += 1;
    }
    let ty = |text: &str| marked(&crate::rows::in_scene(scene, text));
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
            let text = crate::rows::in_scene(scene, WHOLE[chosen])
                .replace("ROW", &row.name)
                .replace("VIS ", scene.vis);
            let items = format!("/// A row.\n#[derive(::keyderive::Row)]\n{}\n", marked(&text));
            // No stub stands in for a type with parameters.
            let body = if WHOLE[chosen].contains("ROW<") { String::new() } else { uses(&row.name) };
            return Program { name, text: scene.program(&items, &body) };
        }
        _ => {
            helper = format!(
                "/// Mine.\n{}\n",
                marked(&CELLS[chosen].replace("OWN", "Own").replace("VIS ", scene.vis))
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
        "    async fn uses(it: &{row}) {{\n        let _ = crate::support::uses(it).await;\n        \
         let _ = <{row} as ::keyderive::Row>::SCHEMA;\n    }}\n    let _ = uses;\n"
    )
}
