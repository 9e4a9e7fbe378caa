//! Key types with one fault each. `«…»` is the token that the compiler's error must be on.

use fastrand::Rng;

use crate::keys::{Field, KeyType};
use crate::program::{Program, Scene, marked, nth_of, one, separated};

/// Attributes of the struct. FIRST and LAST are names of fields.
const ON_STRUCT: &[&str] = &[
    "#[row_key(«frobnicate»)]",
    "#[row_key(«delimter» = '-')]",
    "#[row_key(«tga» = \"T\", display)]",
    "«#[row_key]»",
    "#[row_key(«desc»)]",
    "#[row_key(«pad»(4))]",
    "#[row_key(«name» = \"x\")]",
    "«#[pad(4)]»",
    "«#[reverse_ts]»",
    "«#[reverse_ts(max = 7)]»",
    "#[row_key(tag = «\"\"»)]",
    "#[row_key(tag = «\"A#B\"»)]",
    "#[row_key(tag = «7»)]",
    "#[row_key(«tag»)]",
    "#[row_key(tag = \"A\", tag = «\"B\"»)]",
    "#[row_key(delimiter = «'é'»)]",
    "#[row_key(delimiter = «\"-\"»)]",
    "#[row_key(delimiter = «'|'»)]",
    "#[row_key(delimiter = «'a'»)]",
    "#[row_key(layout = «\"order\"»)]",
    "#[row_key(layout = «7»)]",
    "#[row_key(fingerprint = «\"xyz\"»)]",
    "#[row_key(fingerprint = «\"0123456789abcdef\"»)]",
    "#[row_key(allow(«hotspt»))]",
    "#[row_key(«allow»)]",
    "#[row_key(allow(«hotspot»))]",
    "#[row_key(allow(«point_reads»))]",
    "#[row_key(allow(«few_buckets»))]",
    "#[row_key(foreign(«padd»))]",
    "#[row_key(«foreign»)]",
    "#[row_key(crate = «\"1 2\"»)]",
    "#[row_key(crate = «\"nope\"»)]",
    "#[row_key(«display = false»)]",
    "#[row_key(display, «display»)]",
    "#[salt(range = 4, «seps» = \"-\")]",
    "#[salt(«rnage» = 4)]",
    "#[salt(range = «0»)]",
    "#[salt(range = «1»)]",
    "#[salt(range = «4097»)]",
    "#[salt(range = «99999999999»)]",
    "#[salt(range = «\"4\"»)]",
    "#[salt(«range»)]",
    "#[salt(range = 4, range = «8»)]",
    "«#[salt]»",
    "«#[salt()]»",
    "«#[salt(sep = \"-\")]»",
    "#[row_key(«salt»)]",
    "#[salt(range = 4, over = «\"nope\"»)]",
    "#[salt(range = 4, over(«nope»))]",
    "#[salt(range = 4, over(FIRST, «FIRST»))]",
    "#[salt(range = 4, over = «\"\"»)]",
    "#[salt(range = 4, «over»())]",
    "#[salt(range = 4, over(FIRST), «over»(LAST))]",
    "#[salt(range = 4, after = «\"nope\"»)]",
    "#[salt(range = 4, after = «\"LAST\"»)]",
    "#[salt(range = 4, after = «FIRST»)]",
    "#[salt(range = 4, after = \"FIRST\", position = «\"front\"»)]",
    "#[salt(range = 4, position = «\"back\"»)]",
    "#[salt(range = 4, hash = «\"md5\"»)]",
    "#[salt(range = 4, hash = \"java\", over = «\"FIRST\"»)]",
    "#[salt(range = 4, hash = \"java\", «over»(FIRST))]",
    "#[salt(range = 4, hash = \"java\", after = «\"FIRST\"»)]",
    "#[salt(range = 4, sep = «\"\"»)]",
    "#[salt(range = 4, sep = «\"é\"»)]",
    "#[salt(range = 4, sep = «\"a1\"»)]",
    "#[salt(range = 4)]\n«#[salt(range = 8)]»",
    "#[salt(range = 4, «since»)]",
    "#[salt(range = 4, sep = \"!\", since(«nope» = 5))]",
    "#[salt(range = 4, sep = \"!\", since(FIRST = «\"tomorrow\"»))]",
    "#[salt(range = 4, sep = \"!\", since(FIRST = «\"2026-02-30\"»))]",
    "#[salt(range = 4, sep = \"!\", since(«FIRST»))]",
];

/// Attributes and the type of the last field.
const ON_FIELD: &[(&str, &str)] = &[
    ("#[row_key(«descc»)]", "u32"),
    ("#[row_key(«frobnicate» = 7)]", "u32"),
    ("#[row_key(«frobnicate»(a, b))]", "u32"),
    ("«#[row_key]»", "u32"),
    ("#[row_key(«tag» = \"x\")]", "u32"),
    ("#[row_key(«display»)]", "u32"),
    ("«#[salt(range = 4)]»", "u32"),
    ("#[pad(«0»)]", "u32"),
    ("#[pad(«5000»)]", "u32"),
    ("#[pad(«\"6\"»)]", "u32"),
    ("#[pad(«6, 7»)]", "u32"),
    ("«#[pad]»", "u32"),
    ("«#[pad()]»", "u32"),
    ("#[reverse_ts(«7»)]", "u32"),
    ("#[reverse_ts(max = «0»)]", "u32"),
    ("#[reverse_ts(max = «99999999999999999999»)]", "u32"),
    ("#[reverse_ts(«min» = 7)]", "u32"),
    ("#[reverse_ts(max = 7, max = «8»)]", "u32"),
    ("«#[reverse_ts()]»", "u32"),
    ("#[pad(4)]", "«bool»"),
    ("#[pad(4)]", "«Vec<u8>»"),
    ("#[pad(4)]", "«char»"),
    ("#[pad(4)]", "«[u8; 4]»"),
    ("#[reverse_ts]", "«String»"),
    ("#[reverse_ts]", "«bool»"),
    ("#[row_key(desc)]", "«String»"),
    ("#[row_key(desc)]", "«char»"),
    ("#[row_key(desc)]", "«Vec<u8>»"),
    ("#[row_key(bit_reverse)]", "«String»"),
    ("#[row_key(escape)]", "«u32»"),
    ("#[row_key(escape)]", "«Vec<u8>»"),
    ("#[row_key(escape)]", "«bool»"),
    ("#[row_key(ts(unit = \"secs\"))]", "«u64»"),
    ("#[row_key(ts(unit = \"secs\"))]", "«String»"),
    ("#[row_key(uuid(v4))]", "«String»"),
    ("#[row_key(uuid(v4))]", "«[u8; 16]»"),
    // Only the compiler knows these types.
    ("#[row_key(bit_reverse)]", "«u16»"),
    ("#[row_key(bit_reverse)]", "«i64»"),
    ("#[row_key(escape)]", "«&'a str»"),
    ("#[reverse_ts]", "«::uuid::Uuid»"),
    ("#[row_key(desc)]", "«::uuid::Uuid»"),
    ("#[pad(4)]", "«::std::time::SystemTime»"),
    ("#[pad(4)]", "«::chrono::NaiveDate»"),
    ("#[row_key(ts(unit = \"secs\"))]", "«::jiff::civil::Date»"),
    ("#[row_key(uuid(v4))]", "«::jiff::Timestamp»"),
    ("", "«(u8, u8)»"),
    ("", "«Vec<String>»"),
    ("", "«::std::net::Ipv4Addr»"),
    ("", "«&'a [u8]»"),
    ("", "«&'a u32»"),
    ("", "«Box<u8>»"),
    ("", "«[u16; 4]»"),
    ("#[row_key(hash(md5))]", "«::std::net::Ipv4Addr»"),
    ("", "«usize»"),
    ("", "«isize»"),
    ("", "«f32»"),
    ("", "«f64»"),
    ("", "«Option<u32>»"),
    ("#[row_key(hash(md5))]", "«usize»"),
    ("", "&«'static» str"),
    ("", "::std::borrow::Cow<«'static», str>"),
    ("#[reverse_ts]\n    #[row_key(«desc»)]", "u32"),
    ("#[row_key(desc, «bit_reverse»)]", "u32"),
    ("#[row_key(desc, «desc»)]", "u32"),
    ("#[pad(3)]\n    «#[pad(4)]»", "u32"),
    ("#[pad(3)]\n    #[row_key(«pad»(4))]", "u32"),
    ("#[reverse_ts]\n    «#[reverse_ts]»", "u32"),
    ("#[pad(4)]\n    «#[reverse_ts]»", "u32"),
    ("#[pad(4)]\n    #[row_key(«ts»(unit = \"secs\"))]", "u64"),
    ("#[pad(4)]\n    #[row_key(«uuid»(v4))]", "::uuid::Uuid"),
    ("#[pad(4)]\n    #[row_key(«escape»)]", "String"),
    ("#[row_key(escape, «desc»)]", "String"),
    ("#[pad(4)]\n    #[row_key(«bit_reverse»)]", "u32"),
    ("#[row_key(desc, «hash»(md5))]", "u32"),
    ("#[row_key(«hash»)]", "u32"),
    ("#[row_key(hash(«sha1»))]", "u32"),
    ("#[row_key(name = «\"\"»)]", "u32"),
    ("#[row_key(name = «\"FIRST\"»)]", "u32"),
    ("#[row_key(name = «7»)]", "u32"),
    ("#[row_key(method = «\"not a name\"»)]", "u32"),
    ("#[row_key(method = «\"into_plan\"»)]", "u32"),
    ("#[row_key(method = «\"FIRST_range\"»)]", "u32"),
    ("#[row_key(with = «\"1 2\"»)]", "u32"),
    ("#[row_key(with = «\"crate::support::nope\"»)]", "u32"),
    ("#[row_key(with = \"crate::support::hexadecimal\")]\n    «#[pad(4)]»", "u32"),
    ("#[row_key(with = \"crate::support::hexadecimal\", «desc»)]", "u32"),
    ("#[row_key(ts(unit = «\"minutes\"»))]", "::std::time::SystemTime"),
    ("#[row_key(ts(unit = «7»))]", "::std::time::SystemTime"),
    ("#[row_key(«ts»())]", "::std::time::SystemTime"),
    ("#[row_key(«ts»)]", "::std::time::SystemTime"),
    ("#[row_key(ts(«zone» = \"UTC\"))]", "::std::time::SystemTime"),
    ("#[row_key(ts(format = «\"iso\"»))]", "::std::time::SystemTime"),
    ("#[row_key(ts(unit = «\"secs\"», format = \"datetime17\"))]", "::std::time::SystemTime"),
    ("#[reverse_ts]\n    #[row_key(ts(format = «\"datetime17\"»))]", "::std::time::SystemTime"),
    ("#[row_key(uuid(«v5»))]", "::uuid::Uuid"),
    ("#[row_key(«uuid»)]", "::uuid::Uuid"),
    ("#[row_key(uuid(v4, «v4»))]", "::uuid::Uuid"),
    ("#[row_key(«desc = false»)]", "u32"),
    ("#[row_key(«desc sequential»)]", "u32"),
];

/// The name, the attributes and the type of the last field.
const NAMED: &[(&str, &str, &str)] = &[
    ("«into_plan»", "", "u32"),
    ("«explain»", "", "u32"),
    ("«FIRST_range»", "", "u32"),
    ("«FIRST_prefix»", "", "String"),
    ("«FIRST_any_of»", "", "u32"),
];

/// The attributes and the type of a first field, of which the name is at fault.
const FIRST: &[(&str, &str)] = &[
    ("#[row_key(sequential)]", "u64"),
    ("#[reverse_ts]", "i64"),
    ("", "::std::time::SystemTime"),
    ("", "::chrono::DateTime<::chrono::Utc>"),
    ("#[row_key(desc)]", "::jiff::Timestamp"),
    ("", "::time::Date"),
    ("#[row_key(desc)]", "::chrono::NaiveDate"),
    ("", "::uuid::Uuid"),
    ("#[row_key(uuid(simple))]", "::uuid::Uuid"),
];

/// Declarations of keys. `KEY` is the name, `VIS` the visibility, and `EPOCHS` what a key begins with that has a text and a time.
const WHOLE: &str = include_str!("faults/keys.rs");

/// Declarations of types that are fields. `OWN` is the name.
const FIELD_TYPES: &str = include_str!("faults/field_types.rs");

/// A program with a key type of one fault: consecutive numbers have every fault in turn.
pub(crate) fn program(rng: &mut Rng, nth: u64, name: String, scene: &Scene) -> Program {
    let mut key = KeyType::simple(rng, scene);
    let (wholes, field_types) = (separated(WHOLE), separated(FIELD_TYPES));
    let tables = [ON_STRUCT.len(), ON_FIELD.len(), NAMED.len(), FIRST.len(), wholes.len(), field_types.len()];
    let (table, chosen) = nth_of(nth, &tables);
    let (first, last) =
        (key.fields[0].plain_name().to_owned(), key.fields.last().unwrap().plain_name().to_owned());
    let named = |text: &str| marked(&text.replace("FIRST", &first).replace("LAST", &last));
    let ty = |text: &str| marked(&scene.written(text));
    let mut helper = String::new();
    match table {
        0 => {
            let place = rng.usize(..=key.attrs.len());
            key.attrs.insert(place, named(ON_STRUCT[chosen]));
        }
        1 => {
            let (attrs, of) = ON_FIELD[chosen];
            key.fields.push(Field::bare("faulty", &ty(of), &named(attrs)));
        }
        2 => {
            let (field, attrs, of) = NAMED[chosen];
            key.fields.push(Field::bare(&named(field), &ty(of), attrs));
        }
        3 => {
            let (attrs, of) = FIRST[chosen];
            key.fields.insert(0, Field::bare(&marked("«grows»"), of, attrs));
        }
        4 => return whole(&wholes[chosen], name, scene, &key.name),
        _ => {
            helper =
                marked(&scene.written(&field_types[chosen]).replace("OWN", "Own").replace("VIS ", scene.vis));
            let of = if helper.contains("KeyField") { "Own".to_owned() } else { marked("«Own»") };
            let attrs = if of == "Own" && helper.contains("u32") { one(rng, &["", "#[pad(4)]"]) } else { "" };
            key.fields.push(Field::bare("faulty", &of, attrs));
        }
    }
    let helper = if helper.is_empty() { helper } else { format!("/// Mine.\n{helper}\n") };
    let items = format!("{helper}{}", key.items(scene.vis));
    let text = scene.program(&items, &uses(&key.name, &key.type_in_expression()));
    Program { name, text }
}

fn whole(text: &str, name: String, scene: &Scene, key: &str) -> Program {
    let has_parameters = text.contains("KEY<");
    let epochs = "VIS struct KEY {\n    /// A field.\n    VIS id: String,\n    /// A field.\n    VIS at:";
    let text = text.replace("EPOCHS", epochs).replace("KEY", key).replace("VIS ", scene.vis);
    let text = marked(&scene.written(&text));
    let items = format!("/// A key.\n#[derive(::keyderive::RowKey, Debug)]\n{text}\n");
    // No stub stands in for a type with parameters.
    let body = if has_parameters { String::new() } else { uses(key, key) };
    Program { name, text: scene.program(&items, &body) }
}

/// Uses of a key type, which the compiler must not report too.
fn uses(key: &str, ty: &str) -> String {
    let calls =
        ["encode", "to_text", "salt_bucket"].map(|call| format!("        drop(it.{call}());\n")).concat();
    let plans =
        ["into_plan", "explain"].map(|call| format!("        drop({key}::scan().{call}());\n")).concat();
    format!(
        "    fn uses(it: &{ty}) {{\n{calls}{plans}        drop({key}::decode(b\"1\"));\n        let _ = {key}::SCHEMA;\n    }}\n    let _ = uses;\n"
    )
}
