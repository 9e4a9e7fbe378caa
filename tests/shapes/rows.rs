//! Row types that the documentation allows, and values for them.

use fastrand::Rng;

use crate::program::{Program, Scene, names, one, type_name};

/// How many rows of a type are written.
pub(crate) const VALUES: usize = 3;

/// A row type, before it is text.
pub(crate) struct RowType {
    pub(crate) attrs: Vec<String>,
    pub(crate) name: String,
    /// The parameters as declared, and as a value has them.
    generics: [&'static str; 2],
    pub(crate) fields: Vec<Field>,
    helpers: Vec<String>,
}

/// A field of a row type.
#[derive(Clone)]
pub(crate) struct Field {
    /// The options of `#[row(…)]`.
    pub(crate) options: Vec<String>,
    pub(crate) name: String,
    pub(crate) ty: String,
    /// An expression for each row.
    values: Vec<String>,
}

/// What a cell holds: the type, and a value of it for a number.
type CellType = (&'static str, fn(&mut Rng) -> String);

const CELLS: [CellType; 26] = [
    ("i8", |rng| rng.i8(..).to_string()),
    ("i16", |rng| rng.i16(..).to_string()),
    ("i32", |rng| rng.i32(..).to_string()),
    ("i64", |rng| rng.i64(i64::MIN + 1..).to_string()),
    ("u8", |rng| rng.u8(..).to_string()),
    ("u16", |rng| rng.u16(..).to_string()),
    ("u32", |rng| rng.u32(..).to_string()),
    ("u64", |rng| (rng.u64(..) >> 1).to_string()),
    ("bool", |rng| rng.bool().to_string()),
    ("f64", |rng| format!("{:?}", rng.f64())),
    ("f32", |rng| format!("{:?}", rng.f32())),
    ("char", |rng| format!("{:?}", rng.alphabetic())),
    ("String", text),
    ("String", text),
    ("Vec<u8>", |rng| format!("Vec::from([{}, {}])", rng.u8(..), rng.u8(..))),
    ("[u8; 3]", |rng| format!("[1, {}, 3]", rng.u8(..))),
    ("()", |_| "()".into()),
    ("Box<str>", |_| "Box::from(\"boxed\")".into()),
    ("::std::sync::Arc<str>", |_| "::std::sync::Arc::from(\"shared\")".into()),
    ("::std::net::Ipv4Addr", |rng| format!("::std::net::Ipv4Addr::new(10, 0, 0, {})", rng.u8(..))),
    ("::std::num::NonZeroU32", |_| "::std::num::NonZeroU32::MIN".into()),
    ("::uuid::Uuid", |rng| format!("crate::support::uuid({})", rng.u64(..))),
    ("::chrono::DateTime<::chrono::Utc>", |rng| format!("crate::support::chrono_time({})", rng.u32(..))),
    ("::jiff::Timestamp", |rng| format!("crate::support::jiff_time({})", rng.u32(..))),
    ("::jiff::civil::Date", |rng| format!("crate::support::jiff_date({})", rng.u16(..))),
    ("::time::Date", |rng| format!("crate::support::time_date({})", rng.u16(..))),
];

fn text(rng: &mut Rng) -> String {
    format!("String::from({:?})", one(rng, &["", "a", "alice", "été", "a#b \0"]))
}

impl Field {
    fn new(ty: &str, values: Vec<String>) -> Self {
        Self { options: Vec::new(), name: String::new(), ty: ty.to_owned(), values }
    }

    /// A column of a type.
    pub(crate) fn column(ty: &str, value: &str) -> Self {
        Self::new(ty, vec![value.to_owned(); VALUES])
    }

    fn values(rng: &mut Rng, mut value: impl FnMut(&mut Rng) -> String) -> Vec<String> {
        (0..VALUES).map(|_| value(rng)).collect()
    }

    /// A column with one value or none.
    fn random_column(rng: &mut Rng, has_times: bool) -> Self {
        let (ty, value) = one(rng, &CELLS);
        let mut field = match rng.u8(..18) {
            0..8 => Self::new(ty, Self::values(rng, value)),
            8..11 => {
                let values = Self::values(rng, |rng| {
                    if rng.bool() { format!("Some({})", value(rng)) } else { "None".into() }
                });
                Self::new(&format!("Option<{ty}>"), values)
            }
            11 if !ty.starts_with("::") && !ty.starts_with('[') => {
                let mut field = Self::new(ty, Self::values(rng, value));
                if ty != "Box<str>" {
                    field.options.push("default".into());
                }
                field
            }
            12 => {
                let mut field = Self::new("u32", Self::values(rng, |rng| rng.u32(..).to_string()));
                field.options.push("default = \"crate::support::seven\"".into());
                field
            }
            13 => {
                let is_optional = rng.bool();
                let value = |rng: &mut Rng| format!("Vec::from([{}, {}])", text(rng), text(rng));
                let mut field = match is_optional {
                    true => Self::new(
                        "Option<Vec<String>>",
                        Self::values(rng, |rng| format!("Some({})", value(rng))),
                    ),
                    false => Self::new("Vec<String>", Self::values(rng, value)),
                };
                field.options.push("json".into());
                field
            }
            14 => {
                let mut field = Self::new(
                    "::std::time::SystemTime",
                    Self::values(rng, |rng| format!("crate::support::system_time({})", rng.u32(..))),
                );
                field
                    .options
                    .push(format!("ts(unit = \"{}\")", one(rng, &["secs", "millis", "micros", "nanos"])));
                field
            }
            15 => {
                let mut field = Self::new("u32", Self::values(rng, |rng| rng.u32(..).to_string()));
                field.options.push("with = \"crate::support::hexadecimal\"".into());
                field
            }
            16 if has_times => {
                let time = "::keyderive::row::Timestamped";
                let value = |rng: &mut Rng| format!("{time}::new({}000, {})", rng.u32(..), value(rng));
                match rng.bool() {
                    true => Self::new(&format!("{time}<{ty}>"), Self::values(rng, value)),
                    false => Self::new(
                        &format!("Option<{time}<{ty}>>"),
                        Self::values(rng, |rng| format!("Some({})", value(rng))),
                    ),
                }
            }
            _ => Self::new(ty, Self::values(rng, value)),
        };
        if rng.u8(..10) == 0 {
            field.options.push(format!("alias = \"former {}\"", rng.u32(..)));
        }
        if rng.u8(..10) == 0 {
            field.options.push(format!("name = \"n{}\"", rng.u32(..)));
        }
        field
    }
}

impl RowType {
    /// A row type of any kind that the documentation allows.
    pub(crate) fn random(rng: &mut Rng, scene: &Scene) -> Self {
        let count = match rng.u8(..20) {
            0 => 0,
            1..14 => rng.usize(1..9),
            14..19 => rng.usize(9..70),
            _ => rng.usize(70..301),
        };
        let mut row = Self::empty(rng);
        let expires = rng.u8(..4) == 0;
        // A rule by age would hide values of the time that they are written with.
        let mut has_versions = false;
        for at in 0..count {
            let field = match rng.u8(..20) {
                0 if count < 20 => row.family(rng, at),
                1 => row.own_cell(rng, at),
                5 => {
                    let (ty, value) = one(rng, &CELLS);
                    row.helpers.push(format!("/// An alias.\nVIS type Alias{at} = {ty};\n"));
                    Field::new(&format!("Alias{at}"), Field::values(rng, value))
                }
                2 if !expires => {
                    has_versions = true;
                    let (ty, value) = one(rng, &CELLS);
                    let one = |rng: &mut Rng, at: u64| {
                        format!("::keyderive::row::Timestamped::new({at}000000, {})", value(rng))
                    };
                    let values = Field::values(rng, |rng| {
                        format!("::keyderive::row::Versions::from([{}, {}])", one(rng, 7), one(rng, 3))
                    });
                    Field::new(&format!("::keyderive::row::Versions<{ty}>"), values)
                }
                3 if !expires => {
                    let mut field = Field::new("i64", Field::values(rng, |rng| rng.i32(..).to_string()));
                    field.options.push("counter".into());
                    field
                }
                4 => {
                    let mut field = Field::random_column(rng, false);
                    field.options.push("family = \"other\"".into());
                    field
                }
                _ => Field::random_column(rng, !expires),
            };
            row.fields.push(field);
        }
        row.aggregates(rng);
        let mut options = row.rules(rng, expires, has_versions);
        if rng.u8(..8) == 0 {
            options.push("crate = \"crate::support::reexported::keyderive\"".to_owned());
        }
        if rng.u8(..4) == 0 {
            options.push(format!("family = \"{}\"", one(rng, &["f", "columns", "a.b-c_1"])));
        }
        rng.shuffle(&mut options);
        if !options.is_empty() {
            row.attrs.push(format!("#[row({})]", options.join(", ")));
        }
        row.name_fields(rng);
        match rng.u8(..8) {
            0 => row.generic(),
            1 => row.borrow(),
            _ => {}
        }
        row.in_scene(scene);
        row
    }

    fn empty(rng: &mut Rng) -> Self {
        let name = type_name(rng);
        Self { attrs: Vec::new(), name, generics: ["", ""], fields: Vec::new(), helpers: Vec::new() }
    }

    /// Gives the fields names.
    fn name_fields(&mut self, rng: &mut Rng) {
        let names = names(rng, self.fields.len());
        for (field, name) in self.fields.iter_mut().zip(names) {
            field.name = name;
        }
    }

    /// A row type of a few columns, in which any fault can be put.
    pub(crate) fn simple(rng: &mut Rng, scene: &Scene) -> Self {
        let mut row = Self::empty(rng);
        let count = rng.usize(1..6);
        while row.fields.len() < count {
            let mut field = Field::random_column(rng, false);
            field.options.retain(|option| !option.starts_with("alias"));
            row.fields.push(field);
        }
        row.name_fields(rng);
        row.in_scene(scene);
        row
    }

    /// The stored name of the first column, and the name of its constant.
    pub(crate) fn names_of_first(&self) -> [String; 2] {
        let first = &self.fields[0];
        let plain = first.name.trim_start_matches("r#");
        let named =
            first.options.iter().find_map(|option| option.strip_prefix("name = \"")?.strip_suffix('"'));
        [named.unwrap_or(plain).to_owned(), plain.to_uppercase()]
    }

    /// A field that is a family.
    fn family(&mut self, rng: &mut Rng, at: usize) -> Field {
        let (ty, value) = one(rng, &CELLS);
        let mut field = match rng.u8(..4) {
            0 | 1 => {
                let place = format!("Place{at}");
                self.helpers.push(format!(
                    "/// A place.\n#[derive(::keyderive::Row, Clone, Debug, PartialEq)]\nVIS struct {place} {{\n    /// One.\n    VIS city: {ty},\n    \
                     /// Another.\n    VIS floor: Option<i32>,\n}}\n"
                ));
                let value = |rng: &mut Rng| format!("{place} {{ city: {}, floor: None }}", value(rng));
                match rng.bool() {
                    true => Field::new(&place, Field::values(rng, value)),
                    false => Field::new(
                        &format!("Option<{place}>"),
                        Field::values(rng, |rng| {
                            if rng.bool() { format!("Some({})", value(rng)) } else { "None".into() }
                        }),
                    ),
                }
            }
            kind => {
                let map =
                    if kind == 2 { "::std::collections::BTreeMap" } else { "::std::collections::HashMap" };
                let value = |rng: &mut Rng| {
                    format!(
                        "{map}::from([(String::from(\"a\"), {}), (String::from(\"é\"), {})])",
                        value(rng),
                        value(rng)
                    )
                };
                match rng.bool() {
                    true => Field::new(&format!("{map}<String, {ty}>"), Field::values(rng, value)),
                    false => Field::new(
                        &format!("Option<{map}<String, {ty}>>"),
                        Field::values(rng, |rng| format!("Some({})", value(rng))),
                    ),
                }
            }
        };
        let mut options = vec!["family".to_owned(), format!("name = \"family{at}\"")];
        match rng.u8(..4) {
            0 => options.push("gc(never)".into()),
            1 => options.push("gc(max_versions = 3)".into()),
            2 => options.push("exclusive".into()),
            _ => {}
        }
        field.options = options;
        field
    }

    /// A column of an enum or a newtype of the user's.
    fn own_cell(&mut self, rng: &mut Rng, at: usize) -> Field {
        let ty = format!("Own{at}");
        let head = "/// A value.\n#[derive(::keyderive::Cell, Clone, Debug, PartialEq)]";
        let (helper, value) = match rng.u8(..4) {
            0 => {
                let (inner, value) = one(rng, &CELLS);
                (format!("{head}\nVIS struct {ty}(VIS {inner});\n"), format!("{ty}({})", value(rng)))
            }
            1 => (format!("{head}\nVIS struct {ty};\n"), ty.clone()),
            2 => (
                format!(
                    "{head}\nVIS enum {ty} {{\n    /// One.\n    Ok,\n    /// One.\n    #[row(name = \"lo\")]\n    Err,\n    /// One.\n    r#Type,\n}}\n"
                ),
                format!("{ty}::{}", one(rng, &["Ok", "Err", "r#Type"])),
            ),
            _ => (
                format!(
                    "{head}\n#[row(code)]\nVIS enum {ty} {{\n    /// One.\n    Low = 1,\n    /// One.\n    High = 20,\n}}\n"
                ),
                format!("{ty}::{}", one(rng, &["Low", "High"])),
            ),
        };
        // All variants are used, or the compiler says so.
        let helper = helper.replace("VIS enum", "#[allow(dead_code)]\nVIS enum");
        self.helpers.push(helper);
        match rng.bool() {
            true => Field::column(&ty, &value),
            false => Field::column(&format!("Option<{ty}>"), &format!("Some({value})")),
        }
    }

    /// Adds aggregates, which lie in families of their own.
    fn aggregates(&mut self, rng: &mut Rng) {
        for aggregate in ["Sum", "Min", "Max"] {
            if self.fields.is_empty() || rng.u8(..8) != 0 {
                continue;
            }
            let ty = format!("::keyderive::row::{aggregate}");
            let mut field = match rng.bool() {
                true => Field::column(&ty, &format!("{ty}::default()")),
                false => {
                    let versions = "::keyderive::row::Versions";
                    let mut field =
                        Field::column(&format!("{versions}<{ty}>"), &format!("{versions}::new()"));
                    field.options.push(format!("window = \"{}\"", one(rng, &["1h", "15m", "1d"])));
                    field
                }
            };
            field.options.push(format!("family = \"{aggregate}\""));
            self.fields.push(field);
        }
    }

    /// How long the cells of the default family are kept.
    fn rules(&self, rng: &mut Rng, expires: bool, has_versions: bool) -> Vec<String> {
        let mut options = Vec::new();
        if expires {
            match rng.u8(..3) {
                0 => options.push("ttl = \"7d\"".to_owned()),
                1 => options.push("gc(max_age = \"30d\")".into()),
                _ => options.push("ttl = \"7d\", gc(max_age = \"30d\", max_versions = 3)".into()),
            }
        } else if rng.u8(..4) == 0 {
            options.push(match has_versions {
                true => "gc(never)".into(),
                false => format!("gc(max_versions = {})", rng.u8(1..4)),
            });
        }
        if rng.u8(..8) == 0 {
            options.push("exclusive".into());
        }
        options
    }

    /// Gives a row a field that borrows.
    fn borrow(&mut self) {
        for (name, ty) in [
            ("of_text", "&'a str"),
            ("of_bytes", "Option<&'b [u8]>"),
            ("of_cow", "::std::borrow::Cow<'a, str>"),
        ] {
            let mut field = Field::column(ty, "");
            field.name = name.into();
            self.fields.push(field);
        }
        self.generics = ["<'a, 'b>", "<'_, '_>"];
    }

    /// Gives a row parameters.
    fn generic(&mut self) {
        let mut value = Field::column("V", "String::from(\"of a parameter\")");
        let mut array = Field::column("[u8; LEN]", "[1, 2, 3, 4]");
        (value.name, array.name) = ("of_type".into(), "of_len".into());
        self.fields.push(value);
        self.fields.push(array);
        self.generics = ["<V, const LEN: usize>", "<String, 4>"];
    }

    fn in_scene(&mut self, scene: &Scene) {
        for field in &mut self.fields {
            field.ty = scene.written(&field.ty);
            for value in &mut field.values {
                *value = scene.written(value);
            }
        }
        for helper in &mut self.helpers {
            *helper = scene.written(helper);
        }
    }

    /// The declarations of the type and of those of its fields.
    pub(crate) fn items(&self, vis: &str) -> String {
        let mut text = self.helpers.concat().replace("VIS ", vis);
        let (name, generics) = (&self.name, self.generics[0]);
        text.push_str("/// A row.\n#[derive(::keyderive::Row, Clone, Debug, PartialEq)]\n");
        for attr in &self.attrs {
            text.push_str(&format!("{attr}\n"));
        }
        text.push_str(&format!("{vis}struct {name}{generics} {{\n"));
        for field in &self.fields {
            text.push_str("    /// A field.\n");
            if !field.options.is_empty() {
                text.push_str(&format!("    #[row({})]\n", field.options.join(", ")));
            }
            text.push_str(&format!("    {vis}{}: {},\n", field.name, field.ty));
        }
        text.push_str("    #[cfg(any())]\n    left_out: Missing,\n}\n");
        text
    }

    /// The program that puts rows and gets them.
    pub(crate) fn program(&self, name: String, scene: &Scene) -> Program {
        let text = scene.program(&self.items(scene.vis), &self.body(scene));
        Program { name, text }
    }

    fn body(&self, scene: &Scene) -> String {
        let name = &self.name;
        if self.generics[1].starts_with("<'") {
            // A table has no rows that borrow.
            return format!(
                "    crate::support::row_schema(<{name}{} as ::keyderive::Row>::SCHEMA);\n",
                self.generics[1]
            );
        }
        let ty = match self.generics[1] {
            "" => name.clone(),
            generics => format!("{name}::{}", scene.written(generics)),
        };
        let rows: String = (0..VALUES)
            .map(|at| {
                let fields: String = self
                    .fields
                    .iter()
                    .map(|field| format!("{}: {}, ", field.name, field.values[at]))
                    .collect();
                format!("        {ty} {{ {fields}}},\n")
            })
            .collect();
        format!(
            "    let rows = [\n{rows}    ];\n    crate::support::rows(&rows, <{ty} as ::keyderive::Row>::SCHEMA);\n"
        )
    }
}
