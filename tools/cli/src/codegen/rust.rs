//! The structs of a Rust program, annotated so that their schemas are those of the layouts.
//!
//! Each has its fingerprint as an attribute. So a struct that lacks a field which only the program knows does not compile until the field
//! is written.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use keyderive::dynamic::TableLayout;
use keyderive::key::{
    BoundValue, Epoch, Field, FieldOrder, FieldValues, Format, Layout, Salt, SaltHash, SaltPlace, Schema,
    TimeUnit, Width,
};

use super::row::{Absent, ColumnForm, FieldForm, GcForm, KindForm, RowForm, RuleForm, StoredForm};
use super::{Names, Output, Table, TimeCrate, custom, identifier, one_line, snake};

/// What identifiers of Rust cannot be; a raw identifier can be the first ones.
const KEYWORDS: &str = "abstract as async await become box break const continue do dyn else enum extern false final fn for gen if impl \
                        in let loop macro match mod move mut override priv pub ref return static struct trait true try type typeof \
                        unsafe unsized use virtual where while yield";
const NEVER_RAW: [&str; 5] = ["crate", "self", "super", "Self", "_"];
/// Names that generated code uses for something else.
const USED: &str = "Box Cell KeyField None Option Row RowKey Some String Vec bool char chrono f32 f64 i128 i16 i32 i64 i8 jiff keyderive \
                    layouts serde_json std str time u128 u16 u32 u64 u8 uuid";
/// The scan builder's own methods, and the last words of those of a field.
const BUILDER_METHODS: [&str; 2] = ["into_plan", "explain"];
const METHODS: [&str; 4] = ["", "_range", "_prefix", "_any_of"];
/// The greatest array that has a default.
const DEFAULT_ARRAY: usize = 32;

/// Generates the structs of these tables: in a module for each, if there are several.
pub(super) fn generate(tables: &[Table], times: TimeCrate) -> Output {
    let mut out = Output::default();
    let mut modules: Vec<Module> = Vec::new();
    let mut names = Names(USED.split(' ').map(str::to_owned).collect());
    let mut listed = String::new();
    let mut features = Vec::new();
    for table in tables {
        let first = modules.len();
        for layout in &table.layouts {
            let rows: Vec<_> = layout.row_types().iter().filter_map(|schema| RowForm::of(schema)).collect();
            let at = match (first..modules.len()).find(|at| modules[*at].has_room(layout, &rows)) {
                Some(at) => at,
                None => {
                    modules.push(Module::new(names.take(&module_name(&table.name)), times));
                    modules.len() - 1
                }
            };
            let module = &mut modules[at];
            module.reserve(layout, &rows);
            module.pending.push((layout.clone(), rows));
        }
    }
    let is_flat = modules.len() == 1;
    for module in &mut modules {
        for (layout, rows) in std::mem::take(&mut module.pending) {
            let path = if is_flat { String::new() } else { format!("{}::", module.name) };
            let key = module.key(&layout);
            let table = literal(layout.name());
            if rows.is_empty() {
                let _ = writeln!(listed, "        .table::<{path}{key}, ()>({table})");
            }
            for row in &rows {
                let family = row.family.as_deref().unwrap_or("cf");
                if row.is_map() {
                    let (map, family) = (module.map_row(&layout, row), literal(family));
                    let _ = writeln!(
                        listed,
                        "        .table_with_family::<{path}{key}, {path}{map}>({table}, {family})"
                    );
                } else {
                    let row = module.row(&layout, row);
                    let _ = writeln!(listed, "        .table::<{path}{key}, {path}{row}>({table})");
                }
            }
        }
        features.append(&mut module.features);
    }
    features.sort_unstable();
    features.dedup();
    out.line("// Made by `keyderive codegen --rust` from a layout file.");
    if !features.is_empty() {
        out.line(format!("// It needs {}.", features.join(", ")));
    }
    for module in modules {
        out.gaps.extend(module.gaps);
        out.line("");
        if is_flat {
            out.text.push_str(module.text.trim_start_matches('\n'));
        } else {
            out.line(format!("pub mod {} {{", module.name));
            for line in module.text.trim_start_matches('\n').lines() {
                out.line(if line.is_empty() { String::new() } else { format!("    {line}") });
            }
            out.line("}");
        }
    }
    out.line("\n/// The layouts of these types, for a test that compares them with the file: `layouts().check(\"layouts.json\")`.");
    out.line("#[must_use]\npub fn layouts() -> ::keyderive::layouts::Layouts {");
    out.line(format!("    ::keyderive::layouts::Layouts::new()\n{listed}}}"));
    out
}

/// A scope of Rust, in which each name is one type.
struct Module {
    name: String,
    times: TimeCrate,
    /// What has each name of a layout, to see whether another one is the same.
    types: BTreeMap<String, String>,
    names: Names,
    /// The names of enums by what they are.
    enums: BTreeMap<String, String>,
    /// The layouts whose types it will have.
    pending: Vec<(TableLayout, Vec<RowForm>)>,
    written: Names,
    text: String,
    gaps: Vec<String>,
    features: Vec<&'static str>,
}

/// How a value is declared: attributes, then the type.
struct Declared {
    attributes: Vec<String>,
    ty: String,
    has_default: bool,
}

impl Declared {
    fn plain(ty: impl Into<String>) -> Self {
        Self { attributes: Vec::new(), ty: ty.into(), has_default: true }
    }
}

impl Module {
    fn new(name: String, times: TimeCrate) -> Self {
        Self {
            name,
            times,
            types: BTreeMap::new(),
            names: Names(USED.split(' ').map(str::to_owned).collect()),
            enums: BTreeMap::new(),
            pending: Vec::new(),
            written: Names::default(),
            text: String::new(),
            gaps: Vec::new(),
            features: Vec::new(),
        }
    }

    /// Whether the names of these types are free, or those of the same types.
    fn has_room(&self, layout: &TableLayout, rows: &[RowForm]) -> bool {
        types_of(layout, rows).all(|(name, what)| self.types.get(&name).is_none_or(|known| *known == what))
    }

    fn reserve(&mut self, layout: &TableLayout, rows: &[RowForm]) {
        for (name, what) in types_of(layout, rows) {
            self.names.0.insert(name.clone());
            self.types.insert(name, what);
        }
    }

    fn line(&mut self, line: impl AsRef<str>) {
        self.text.push_str(line.as_ref());
        self.text.push('\n');
    }

    /// Says what a struct lacks, in the struct.
    fn gap(&mut self, table: &str, gap: &str) {
        self.line(format!("    // {}", one_line(gap)));
        self.gaps.push(format!("table `{table}`: {gap}"));
    }

    fn name_gap(&mut self, table: &str, name: &str, ident: &str) {
        if name != ident {
            self.gaps.push(format!(
                "table `{table}`: `{name}` is no name of a type in Rust; it is called `{ident}`"
            ));
        }
    }

    /// The struct of a key type; returns its name.
    fn key(&mut self, layout: &TableLayout) -> String {
        let schema = layout.key().schema();
        let ident = type_name(schema.key_type());
        if self.written.0.contains(&ident) {
            return ident;
        }
        self.written.take(&ident);
        self.name_gap(layout.name(), schema.key_type(), &ident);
        let idents = field_idents(schema);
        let declared: Vec<_> = schema.fields().iter().map(|field| self.key_field(schema, field)).collect();
        let template = one_line(&schema.template().to_string());
        self.line(format!("\n/// A row key of the table `{}`: `{template}`.", one_line(layout.name())));
        self.line("#[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]");
        let of_epochs = schema.epochs().iter().map(|epoch| {
            let since = match epoch.since() {
                BoundValue::Number(number) => number.to_string(),
                bound => literal(&bound.to_string()),
            };
            let since = format!("since({} = {since})", idents[epoch_field(schema)]);
            salt_option(schema, epoch.salt(), Some(&since), &idents)
        });
        let of_first = schema.salt().map(|salt| salt_option(schema, salt, None, &idents));
        match &of_first.into_iter().chain(of_epochs).collect::<Vec<_>>()[..] {
            [] => {}
            [salt] => self.line(format!("#[{salt}]")),
            // Lints take options of several attributes for repetitions.
            salts => self.line(format!("#[row_key(\n    {},\n)]", salts.join(",\n    "))),
        }
        for option in self.key_options(schema, &declared) {
            self.line(format!("#[row_key({option})]"));
        }
        self.line(format!("pub struct {ident} {{"));
        for ((field, name), declared) in schema.fields().iter().zip(&idents).zip(declared) {
            let Some(declared) = declared else {
                let of = match custom(field) {
                    Some(of) => format!("is written by `{of}`, a module or a type of the program"),
                    None => format!("is stored as {}, which no type of Rust has", field.written()),
                };
                let gap =
                    format!("the field `{}` of `{}` {of}: write it here", field.name(), schema.key_type());
                self.gap(layout.name(), &gap);
                continue;
            };
            for attribute in declared.attributes {
                self.line(format!("    {attribute}"));
            }
            if field.name() != name.trim_start_matches("r#") {
                self.line(format!("    #[row_key(name = {})]", literal(field.name())));
            }
            self.line(format!("    pub {name}: {},", declared.ty));
        }
        self.line("}");
        ident
    }

    /// The options of the struct, beside its salts.
    fn key_options(&self, schema: &Schema, declared: &[Option<Declared>]) -> Vec<String> {
        let mut options = Vec::new();
        match schema.layout() {
            Layout::OrderedCode => options.push("layout = \"ordered\"".to_owned()),
            _ if schema.delimiter() != b'#' => {
                options.push(format!("delimiter = {:?}", char::from(schema.delimiter())));
            }
            _ => {}
        }
        if let Some(tag) = schema.tag() {
            options.push(format!("tag = {}", literal(tag)));
        }
        let fields = schema.fields();
        let last_salt = schema.epochs().last().map(Epoch::salt).or(schema.salt());
        let begins_with_salt = last_salt.is_some_and(|salt| !matches!(salt.place(), SaltPlace::After { .. }));
        if !begins_with_salt && fields.first().is_some_and(only_grows) {
            options.push("allow(hotspot)".to_owned());
        }
        let hashed = fields.iter().position(|field| field.hash_of().is_some());
        if hashed.is_some_and(|at| at + 1 < fields.len()) {
            options.push("allow(point_reads)".to_owned());
        }
        let values = |at: &usize| match declared[*at].as_ref()?.ty.as_str() {
            "bool" => Some(2),
            "u8" | "i8" => Some(256),
            _ => None,
        };
        let salts = schema.salt().into_iter().chain(schema.epochs().iter().map(Epoch::salt));
        let is_few = |salt: &Salt| {
            let all = salt.over().iter().try_fold(1_u64, |all, at| Some(all.saturating_mul(values(at)?)));
            all.is_some_and(|all| all < salt.range().into())
        };
        if salts.into_iter().any(is_few) {
            options.push("allow(few_buckets)".to_owned());
        }
        options.push(format!("fingerprint = \"{}\"", schema.fingerprint()));
        options
    }

    /// How a field of a key is declared; none for one that only the program knows.
    fn key_field(&mut self, schema: &Schema, field: &Field) -> Option<Declared> {
        let stored = field.hash_of().unwrap_or(field);
        let mut attributes = Vec::new();
        let ty = match stored.values() {
            FieldValues::Integer { min, max } => {
                let ty = integer_name(min, max)?;
                attributes.extend(integer_attributes(schema.layout(), stored, ty)?);
                ty.to_owned()
            }
            FieldValues::Bool => {
                attributes.extend(desc(stored));
                "bool".to_owned()
            }
            FieldValues::Text | FieldValues::Char => {
                match (stored.format(), stored.width()) {
                    (Format::PaddedUtf8, Width::Fixed(width)) => attributes.push(format!("#[pad({width})]")),
                    (Format::EscapedUtf8, _) => attributes.push("#[row_key(escape)]".to_owned()),
                    _ => {}
                }
                if stored.values() == FieldValues::Char { "char" } else { "String" }.to_owned()
            }
            FieldValues::Bytes => match (stored.format(), stored.width()) {
                (Format::Hex, Width::Fixed(width)) => format!("[u8; {}]", width / 2),
                (_, Width::Fixed(width)) => format!("[u8; {width}]"),
                _ => "Vec<u8>".to_owned(),
            },
            FieldValues::Codes(codes) => {
                let codes: Vec<_> = codes.iter().map(|(code, name)| (u128::from(*code), *name)).collect();
                self.code_enum("::keyderive::KeyField", None, schema.key_type(), field.name(), &codes)?
            }
            FieldValues::Time { exact } => {
                attributes.extend(time_attributes(stored, exact));
                self.time().to_owned()
            }
            FieldValues::Date => {
                attributes.extend(desc(stored));
                self.date().to_owned()
            }
            FieldValues::Uuid { version } => {
                let is_simple = (stored.format() == Format::UuidSimple).then_some("simple");
                let is_v4 = version.map(|_| "v4");
                let options: Vec<_> = is_simple.into_iter().chain(is_v4).collect();
                if !options.is_empty() {
                    attributes.push(format!("#[row_key(uuid({}))]", options.join(", ")));
                }
                self.uuid().to_owned()
            }
            _ => return None,
        };
        if field.hash_of().is_some() {
            attributes.push("#[row_key(hash(md5))]".to_owned());
        }
        Some(Declared { attributes, ty, has_default: false })
    }

    fn needs(&mut self, feature: &'static str) {
        self.features.push(feature);
    }

    fn time(&mut self) -> &'static str {
        match self.times {
            TimeCrate::Chrono => {
                self.needs("`chrono`, and the feature `chrono` of keyderive");
                "chrono::DateTime<chrono::Utc>"
            }
            TimeCrate::Jiff => {
                self.needs("`jiff`, and the feature `jiff` of keyderive");
                "jiff::Timestamp"
            }
            TimeCrate::Time => {
                self.needs("`time`, and the feature `time` of keyderive");
                "time::OffsetDateTime"
            }
        }
    }

    fn date(&mut self) -> &'static str {
        self.time();
        match self.times {
            TimeCrate::Chrono => "chrono::NaiveDate",
            TimeCrate::Jiff => "jiff::civil::Date",
            TimeCrate::Time => "time::Date",
        }
    }

    fn uuid(&mut self) -> &'static str {
        self.needs("`uuid`, and the feature `uuid` of keyderive");
        "uuid::Uuid"
    }

    /// The name of an enum with these variants, which is declared once; `None` if a variant cannot have its name.
    fn code_enum(
        &mut self,
        derive: &str,
        option: Option<&str>,
        owner: &str,
        name: &str,
        codes: &[(u128, &str)],
    ) -> Option<String> {
        let mut variants = Vec::new();
        for (code, variant) in codes {
            variants.push(format!("{} = {code}", exact_identifier(variant)?));
        }
        Some(self.declared_enum(derive, option, owner, name, &variants))
    }

    fn declared_enum(
        &mut self,
        derive: &str,
        option: Option<&str>,
        owner: &str,
        name: &str,
        variants: &[String],
    ) -> String {
        let what = format!("{derive} {option:?} {variants:?}");
        if let Some(known) = self.enums.get(&what) {
            return known.clone();
        }
        let ident = self.new_type(owner, name);
        let is_cell = derive == "::keyderive::Cell";
        let default = if is_cell { ", Default" } else { "" };
        let mut text = format!(
            "\n#[derive({derive}, Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash{default})]\n"
        );
        if let Some(option) = option {
            let _ = writeln!(text, "{option}");
        }
        let _ = writeln!(text, "pub enum {ident} {{");
        for (at, variant) in variants.iter().enumerate() {
            if at == 0 && is_cell {
                text.push_str("    #[default]\n");
            }
            for line in variant.lines() {
                let _ = writeln!(text, "    {line}");
            }
            text.truncate(text.trim_end().len());
            text.push_str(",\n");
        }
        text.push_str("}\n");
        self.text.push_str(&text);
        self.enums.insert(what, ident.clone());
        ident
    }

    /// A name for a type that the layouts do not name.
    fn new_type(&mut self, owner: &str, name: &str) -> String {
        let (short, owner) = (camel(name), identifier(owner));
        match self.names.0.contains(&short) || is_keyword(&short) {
            false => self.names.take(&short),
            true => self.names.take(&format!("{owner}{short}")),
        }
    }
}

/// Rows.
impl Module {
    /// The struct of a row type; returns its name.
    fn row(&mut self, layout: &TableLayout, row: &RowForm) -> String {
        let ident = type_name(&row.row);
        if self.written.0.contains(&ident) {
            return ident;
        }
        self.written.take(&ident);
        self.name_gap(layout.name(), &row.row, &ident);
        let own = row.family.as_deref().unwrap_or("cf");
        let mut options = Vec::new();
        if own != "cf" {
            options.push(format!("family = {}", literal(own)));
        }
        let mut rules: BTreeMap<&str, Vec<String>> =
            row.rules.iter().map(|rule| (rule.family.as_str(), rule_options(rule))).collect();
        options.extend(rules.remove(own).unwrap_or_default());
        options.push(format!("fingerprint = \"{}\"", row.fingerprint));
        // The enums and structs of its fields stand before it.
        let mut names = Names::default();
        let mut fields = Vec::new();
        for field in &row.fields {
            match field {
                FieldForm::Struct { family, columns, .. } if family == own => {
                    fields.extend(self.columns(
                        layout,
                        row,
                        &mut names,
                        own,
                        own,
                        columns,
                        &mut BTreeMap::new(),
                    ));
                }
                FieldForm::Column { family, column } => {
                    let column = std::slice::from_ref(column);
                    fields.extend(self.columns(layout, row, &mut names, own, family, column, &mut rules));
                }
                FieldForm::Struct { family, optional, columns } => {
                    let of_struct = self.family_struct(layout, row, family, columns);
                    fields.push(family_field(&mut names, family, &of_struct, *optional, &[], &mut rules));
                }
                FieldForm::Map { family, optional, key, stored, kind } => {
                    let family = family.as_deref().unwrap_or(own);
                    fields.push(match self.map(row, family, key, stored, *kind) {
                        Ok(map) => {
                            family_field(&mut names, family, &map.ty, *optional, &map.attributes, &mut rules)
                        }
                        Err(gap) => {
                            Err(format!("the family `{family}` of `{}` {gap}: write it here", row.row))
                        }
                    });
                }
            }
        }
        for family in rules.keys() {
            fields.push(Err(format!(
                "the family `{family}` of `{}` has a rule and no field: write it here",
                row.row
            )));
        }
        self.line(format!("\n/// A row of the table `{}`.", one_line(layout.name())));
        self.struct_of(layout, &ident, &options, fields);
        ident
    }

    /// The struct of a family; returns its name.
    fn family_struct(
        &mut self,
        layout: &TableLayout,
        row: &RowForm,
        family: &str,
        columns: &[ColumnForm],
    ) -> String {
        let mut names = Names::default();
        let fields = self.columns(layout, row, &mut names, family, family, columns, &mut BTreeMap::new());
        let ident = self.new_type(&row.row, family);
        self.line(format!("\n/// The family `{}` of `{}`.", one_line(family), one_line(&row.row)));
        self.struct_of(layout, &ident, &[], fields);
        ident
    }

    fn struct_of(
        &mut self,
        layout: &TableLayout,
        ident: &str,
        options: &[String],
        fields: Vec<Result<String, String>>,
    ) {
        self.line("#[derive(::keyderive::Row, Clone, Debug, PartialEq)]");
        for option in options {
            self.line(format!("#[row({option})]"));
        }
        self.line(format!("pub struct {ident} {{"));
        for field in fields {
            match field {
                Ok(text) => self.text.push_str(&text),
                Err(gap) => self.gap(layout.name(), &gap),
            }
        }
        self.line("}");
    }

    /// The fields of columns of one family, in a struct whose own family is `own`.
    #[expect(clippy::too_many_arguments, reason = "each is one part of a field")]
    fn columns(
        &mut self,
        layout: &TableLayout,
        row: &RowForm,
        names: &mut Names,
        own: &str,
        family: &str,
        columns: &[ColumnForm],
        rules: &mut BTreeMap<&str, Vec<String>>,
    ) -> Vec<Result<String, String>> {
        // The struct of a family names no family for itself.
        let alone = if row.family.as_deref() == Some(own) { own } else { "cf" };
        let mut fields = Vec::new();
        for column in columns {
            let declared = match self.column(row, column) {
                Ok(declared) => declared,
                Err(gap) => {
                    let name = &column.name;
                    fields.push(Err(format!(
                        "the column `{family}:{name}` of `{}` {gap}: write it here",
                        row.row
                    )));
                    continue;
                }
            };
            let has_default = declared.attributes.iter().any(|option| option == "default");
            if has_default {
                self.gaps.push(format!(
                    "table `{}`: the column `{family}:{}` of `{}` has a default, which layouts do not say: its struct has that of the \
                     type; write the program's own",
                    layout.name(),
                    column.name,
                    row.row
                ));
            }
            let ident = row_ident(names, &column.name);
            let mut options = Vec::new();
            if family != own {
                options.push(format!("family = {}", literal(family)));
                options.extend(rules.remove(family).unwrap_or_default());
            }
            if ident != column.name {
                options.push(format!("name = {}", literal(&column.name)));
            }
            for alias in &column.aliases {
                let text = match alias.family == family {
                    true if !alias.name.contains(':') => alias.name.clone(),
                    true if family == own => format!("{alone}:{}", alias.name),
                    _ => format!("{}:{}", alias.family, alias.name),
                };
                options.push(format!("alias = {}", literal(&text)));
            }
            options.extend(declared.attributes);
            let comment = if has_default {
                "    // The type's default: layouts do not say the program's.\n"
            } else {
                ""
            };
            fields.push(Ok(comment.to_owned() + &field_text(&options, &ident, &declared.ty)));
        }
        fields
    }

    /// How a column is declared.
    fn column(&mut self, row: &RowForm, column: &ColumnForm) -> Result<Declared, String> {
        let aggregate = |ty: &str| Declared::plain(format!("keyderive::row::{ty}"));
        let windows = |ty: &str, micros: u64| Declared {
            attributes: vec![format!("window = \"{}\"", duration(micros / 1_000_000))],
            ty: format!("keyderive::row::Versions<keyderive::row::{ty}>"),
            has_default: false,
        };
        let mut declared = match column.kind {
            KindForm::Counter => {
                return Ok(Declared {
                    attributes: vec!["counter".to_owned()],
                    ty: "i64".to_owned(),
                    has_default: true,
                });
            }
            KindForm::Sum => return Ok(aggregate("Sum")),
            KindForm::Min => return Ok(aggregate("Min")),
            KindForm::Max => return Ok(aggregate("Max")),
            KindForm::SumVersions { window_micros } => return Ok(windows("Sum", window_micros)),
            KindForm::MinVersions { window_micros } => return Ok(windows("Min", window_micros)),
            KindForm::MaxVersions { window_micros } => return Ok(windows("Max", window_micros)),
            KindForm::Value | KindForm::Timestamped | KindForm::Versions => {
                self.value(&row.row, &column.name, &column.stored)?
            }
        };
        match column.kind {
            KindForm::Timestamped => declared.ty = format!("keyderive::row::Timestamped<{}>", declared.ty),
            KindForm::Versions => declared.ty = format!("keyderive::row::Versions<{}>", declared.ty),
            _ => {}
        }
        match column.absent {
            Absent::None if column.kind != KindForm::Versions => {
                declared.ty = format!("Option<{}>", declared.ty);
            }
            Absent::Default if !declared.has_default => {
                return Err("has a default, which layouts do not say, and its type has none".to_owned());
            }
            Absent::Default => declared.attributes.push("default".to_owned()),
            _ => {}
        }
        Ok(declared)
    }

    /// The name of a row that is a map.
    fn map_row(&mut self, layout: &TableLayout, row: &RowForm) -> String {
        let maps = row.maps().next();
        let map = maps.map(|(family, key, stored, kind)| self.map(row, family, key, stored, kind));
        let ty = match map {
            Some(Ok(Declared { ty, .. })) if row.row == "HashMap" => ty.replacen("BTreeMap", "HashMap", 1),
            Some(Ok(Declared { ty, .. })) => ty,
            Some(Err(gap)) => {
                let gap = format!("the row `{}` {gap}: write it in place of `()`", row.row);
                self.line(format!("\n// {}", one_line(&gap)));
                self.gaps.push(format!("table `{}`: {gap}", layout.name()));
                "()".to_owned()
            }
            None => "()".to_owned(),
        };
        let ident = self.new_type(layout.key().schema().key_type(), "row");
        self.line(format!("\n/// A row of the table `{}`.", one_line(layout.name())));
        self.line(format!("pub type {ident} = {ty};"));
        ident
    }

    fn map(
        &mut self,
        row: &RowForm,
        family: &str,
        key: &StoredForm,
        stored: &StoredForm,
        kind: KindForm,
    ) -> Result<Declared, String> {
        let key = self.value(&row.row, &format!("{family}_key"), key)?;
        let values = match kind {
            KindForm::Sum | KindForm::SumVersions { .. } => Declared::plain("keyderive::row::Sum"),
            KindForm::Min | KindForm::MinVersions { .. } => Declared::plain("keyderive::row::Min"),
            KindForm::Max | KindForm::MaxVersions { .. } => Declared::plain("keyderive::row::Max"),
            _ => self.value(&row.row, family, stored)?,
        };
        let ty = match kind {
            KindForm::Timestamped => format!("keyderive::row::Timestamped<{}>", values.ty),
            KindForm::Versions
            | KindForm::SumVersions { .. }
            | KindForm::MinVersions { .. }
            | KindForm::MaxVersions { .. } => format!("keyderive::row::Versions<{}>", values.ty),
            _ => values.ty,
        };
        let ty = format!("std::collections::BTreeMap<{}, {ty}>", key.ty);
        Ok(Declared { attributes: values.attributes, ty, has_default: true })
    }

    /// How one value is declared; on failure why it is not.
    fn value(&mut self, owner: &str, name: &str, stored: &StoredForm) -> Result<Declared, String> {
        let without_default = |ty: String| Declared { attributes: Vec::new(), ty, has_default: false };
        let by_time = self.times != TimeCrate::Time;
        Ok(match stored {
            StoredForm::Integer { min, max } => Declared::plain(
                cell_integer(*min, *max)
                    .ok_or_else(|| format!("is an integer of {min} to {max}, which no type of Rust is"))?,
            ),
            StoredForm::NonZero { min, max } => {
                let ty = cell_integer(*min, *max)
                    .ok_or_else(|| format!("is an integer of {min} to {max}, which no type of Rust is"))?;
                let (sign, bits) = ty.split_at(1);
                without_default(format!("std::num::NonZero{}{bits}", sign.to_uppercase()))
            }
            StoredForm::Bool => Declared::plain("bool"),
            StoredForm::F32 => Declared::plain("f32"),
            StoredForm::F64 => Declared::plain("f64"),
            StoredForm::Text => Declared::plain("String"),
            StoredForm::Char => Declared::plain("char"),
            StoredForm::Bytes => Declared::plain("Vec<u8>"),
            StoredForm::Array(length) => Declared {
                attributes: Vec::new(),
                ty: format!("[u8; {length}]"),
                has_default: *length <= DEFAULT_ARRAY,
            },
            StoredForm::Unit => Declared::plain("()"),
            StoredForm::Uuid => Declared::plain(self.uuid()),
            StoredForm::IpAddress => without_default("std::net::IpAddr".to_owned()),
            StoredForm::Ipv4Address => without_default("std::net::Ipv4Addr".to_owned()),
            StoredForm::Ipv6Address => without_default("std::net::Ipv6Addr".to_owned()),
            StoredForm::Time => Declared { has_default: by_time, ..Declared::plain(self.time()) },
            StoredForm::Date => Declared { has_default: by_time, ..Declared::plain(self.date()) },
            StoredForm::UnixTime(unit) => Declared {
                attributes: vec![format!("ts(unit = {})", literal(unit))],
                ..Declared { has_default: by_time, ..Declared::plain(self.time()) }
            },
            StoredForm::Json => {
                self.needs("`serde_json`");
                Declared { attributes: vec!["json".to_owned()], ..Declared::plain("serde_json::Value") }
            }
            StoredForm::Enum(variants) => {
                let mut taken = Names::default();
                let variants: Vec<_> = variants
                    .iter()
                    .map(|stored| {
                        let ident = taken.take(&camel(stored));
                        let ident =
                            if NEVER_RAW.contains(&ident.as_str()) { format!("{ident}_") } else { ident };
                        if ident == *stored {
                            ident
                        } else {
                            format!("#[row(name = {})]\n{ident}", literal(stored))
                        }
                    })
                    .collect();
                Declared::plain(self.declared_enum("::keyderive::Cell", None, owner, name, &variants))
            }
            StoredForm::Code(variants) => {
                let fault = || "is an enum with a variant that no Rust can name".to_owned();
                let codes =
                    variants.iter().map(|one| Some((u128::try_from(one.code).ok()?, one.name.as_str())));
                let codes = codes.collect::<Option<Vec<_>>>().ok_or_else(fault)?;
                let of_code = self.code_enum("::keyderive::Cell", Some("#[row(code)]"), owner, name, &codes);
                Declared::plain(of_code.ok_or_else(fault)?)
            }
            StoredForm::Proto => {
                return Err("is a message of `prost`, whose type layouts do not say".to_owned());
            }
            StoredForm::Custom(of) => {
                return Err(format!("is written by `{of}`, a module or a type of the program"));
            }
        })
    }
}

/// The types that a layout names, with what they are.
fn types_of<'l>(layout: &'l TableLayout, rows: &'l [RowForm]) -> impl Iterator<Item = (String, String)> + 'l {
    let schema = layout.key().schema();
    let key = (type_name(schema.key_type()), format!("{schema:?}"));
    let rows = rows.iter().filter(|row| !row.is_map());
    std::iter::once(key).chain(rows.map(|row| (type_name(&row.row), format!("{row:?}"))))
}

/// A field that is a family.
fn family_field(
    names: &mut Names,
    family: &str,
    ty: &str,
    is_optional: bool,
    attributes: &[String],
    rules: &mut BTreeMap<&str, Vec<String>>,
) -> Result<String, String> {
    let ident = row_ident(names, family);
    let mut options = vec!["family".to_owned()];
    if ident != family {
        options.push(format!("name = {}", literal(family)));
    }
    options.extend(rules.remove(family).unwrap_or_default());
    options.extend_from_slice(attributes);
    let ty = if is_optional { format!("Option<{ty}>") } else { ty.to_owned() };
    Ok(field_text(&options, &ident, &ty))
}

fn field_text(options: &[String], ident: &str, ty: &str) -> String {
    let mut text = String::new();
    for option in options {
        let _ = writeln!(text, "    #[row({option})]");
    }
    let ident = if is_keyword(ident) { format!("r#{ident}") } else { ident.to_owned() };
    let _ = writeln!(text, "    pub {ident}: {ty},");
    text
}

/// What an attribute says of how long a family is kept.
fn rule_options(rule: &RuleForm) -> Vec<String> {
    let limits = |age: Option<u64>, versions: Option<u32>| {
        let age = age.map(|secs| format!("max_age = \"{}\"", duration(secs)));
        let versions = versions.map(|versions| format!("max_versions = {versions}"));
        age.into_iter().chain(versions).collect::<Vec<_>>().join(", ")
    };
    let gc = rule.gc.as_ref().map(|gc| match gc {
        GcForm::Never => "gc(never)".to_owned(),
        GcForm::Any { max_age_secs, max_versions } => format!("gc({})", limits(*max_age_secs, *max_versions)),
        GcForm::All { max_age_secs, max_versions } => {
            format!("gc(all({}))", limits(Some(*max_age_secs), Some(*max_versions)))
        }
    });
    let ttl = rule.ttl_secs.map(|secs| format!("ttl = \"{}\"", duration(secs)));
    gc.into_iter().chain(ttl).chain(rule.exclusive.then(|| "exclusive".to_owned())).collect()
}

/// A duration in the greatest unit that has it.
fn duration(secs: u64) -> String {
    let units = [("d", 86_400), ("h", 3_600), ("m", 60), ("s", 1)];
    // Every number of seconds is whole in seconds.
    let (unit, each) = units.into_iter().find(|(_, each)| secs.is_multiple_of(*each)).unwrap_or(("s", 1));
    format!("{}{unit}", secs / each)
}

/// A salt, as an option of `row_key` or an attribute of its own.
fn salt_option(schema: &Schema, salt: &Salt, since: Option<&str>, idents: &[String]) -> String {
    let mut options = vec![format!("range = {}", salt.range())];
    let is_java = salt.hash() == SaltHash::Java;
    if is_java {
        options.push("hash = \"java\"".to_owned());
    } else if salt.over().len() != schema.fields().len() {
        let over: Vec<_> = salt.over().iter().map(|at| idents[*at].as_str()).collect();
        options.push(format!("over({})", over.join(", ")));
    }
    match salt.place() {
        SaltPlace::Front if !is_java => options.push("position = \"front\"".to_owned()),
        SaltPlace::After { field } => {
            options.push(format!("after = \"{}\"", idents[field].trim_start_matches("r#")));
        }
        _ => {}
    }
    if let Some(sep) = salt.sep() {
        options.push(format!("sep = {}", literal(sep)));
    }
    options.extend(since.map(str::to_owned));
    format!("salt({})", options.join(", "))
}

/// The index of the field that has the bounds of the salts.
fn epoch_field(schema: &Schema) -> usize {
    let json = serde_json::to_value(schema).unwrap_or_default();
    let name = json["epochs"][0]["field"].as_str();
    schema.fields().iter().position(|field| Some(field.name()) == name).unwrap_or_default()
}

/// Whether values of a field only grow or only shrink, so that a key that begins with it is a hotspot.
fn only_grows(field: &Field) -> bool {
    if field.hash_of().is_some() {
        return false;
    }
    match field.values() {
        FieldValues::Time { .. } | FieldValues::Date => true,
        FieldValues::Uuid { version } => version.is_none(),
        FieldValues::Integer { .. } => is_reversed_time(field),
        _ => false,
    }
}

/// Whether the field is declared by `reverse_ts`.
fn is_reversed_time(field: &Field) -> bool {
    let FieldValues::Integer { min, max } = field.values() else { return false };
    let attributes = integer_name(min, max)
        .and_then(|ty| integer_attributes(layout_of(field), field, ty))
        .unwrap_or_default();
    attributes.iter().any(|attribute| attribute.starts_with("#[reverse_ts"))
}

fn layout_of(field: &Field) -> Layout {
    if field.format() == Format::Int64 { Layout::OrderedCode } else { Layout::Delimited }
}

fn desc(field: &Field) -> Option<String> {
    field.order().is_reversed().then(|| "#[row_key(desc)]".to_owned())
}

fn reverse_ts(max: u128) -> String {
    const BARE: u128 = i64::MAX as u128;
    if max == BARE { "#[reverse_ts]".to_owned() } else { format!("#[reverse_ts(max = {max})]") }
}

/// The attributes of an integer; `None` if no attribute stores it so.
fn integer_attributes(layout: Layout, field: &Field, ty: &str) -> Option<Vec<String>> {
    let (width, order) = (field.width(), field.order());
    if layout == Layout::OrderedCode {
        return Some(match order {
            FieldOrder::Ascending => Vec::new(),
            FieldOrder::ReversedFrom { max } => vec![reverse_ts(max)],
            FieldOrder::Descending => vec!["#[row_key(desc)]".to_owned()],
            _ => return None,
        });
    }
    let Width::Fixed(width) = width else { return None };
    let (default, greatest) = default_width(ty)?;
    let is_default = width == default;
    let pad = || (!is_default || ty.starts_with('i')).then(|| format!("#[pad({width})]"));
    Some(match (field.format(), order) {
        (Format::SignedDecimal, FieldOrder::Ascending) => Vec::new(),
        (Format::SignedDecimal, FieldOrder::Descending) => vec!["#[row_key(desc)]".to_owned()],
        (_, FieldOrder::BitReversed) => vec!["#[row_key(bit_reverse)]".to_owned()],
        (_, FieldOrder::Ascending) => pad().into_iter().collect(),
        (_, FieldOrder::ReversedFrom { max }) => {
            let digits = max.to_string();
            let is_nines = digits.len() == width && digits.bytes().all(|digit| digit == b'9');
            if Some(max) == greatest && is_default {
                vec!["#[row_key(desc)]".to_owned()]
            } else if is_nines {
                std::iter::once("#[row_key(desc)]".to_owned()).chain(pad()).collect()
            } else if digits.len() == width && u64::try_from(max).is_ok() {
                vec![reverse_ts(max)]
            } else {
                return None;
            }
        }
        (_, FieldOrder::Descending) => std::iter::once("#[row_key(desc)]".to_owned()).chain(pad()).collect(),
        _ => return None,
    })
}

/// How many bytes a type has without attributes, and its greatest value if that is what `desc` counts down from.
fn default_width(ty: &str) -> Option<(usize, Option<u128>)> {
    Some(match ty {
        "u8" => (3, Some(u8::MAX.into())),
        "u16" => (5, Some(u16::MAX.into())),
        "u32" => (10, Some(u32::MAX.into())),
        "u64" => (20, Some(u64::MAX.into())),
        "u128" => (39, Some(u128::MAX)),
        "i8" => (4, None),
        "i16" => (6, None),
        "i32" => (11, None),
        "i64" => (20, None),
        "i128" => (40, None),
        _ => return None,
    })
}

fn integer_name(min: i128, max: u128) -> Option<&'static str> {
    macro_rules! named {
        ($($type:ident)*) => {
            $(if min == $type::MIN as i128 && max == $type::MAX as u128 {
                return Some(stringify!($type));
            })*
        };
    }
    named! { u8 u16 u32 u64 u128 i8 i16 i32 i64 i128 }
    None
}

/// The type of integers of a cell, of which a `u64` ends where an `i64` does.
fn cell_integer(min: i64, max: i64) -> Option<&'static str> {
    match (min, max) {
        (0, i64::MAX) => Some("u64"),
        (min, max) => integer_name(min.into(), u128::try_from(max).ok()?),
    }
}

fn time_attributes(field: &Field, exact: bool) -> Vec<String> {
    let mut options = Vec::new();
    match field.format() {
        Format::UnixTime(TimeUnit::Secs) => options.push("unit = \"secs\""),
        Format::UnixTime(TimeUnit::Millis) => options.push("unit = \"millis\""),
        Format::UnixTime(TimeUnit::Nanos) => options.push("unit = \"nanos\""),
        Format::DateTime17 => options.push("format = \"datetime17\""),
        _ => {}
    }
    if exact {
        options.push("exact");
    }
    let mut attributes = Vec::new();
    match field.order() {
        FieldOrder::ReversedFrom { max } => attributes.push(reverse_ts(max)),
        FieldOrder::Descending => attributes.push("#[row_key(desc)]".to_owned()),
        _ => {}
    }
    if !options.is_empty() {
        attributes.push(format!("#[row_key(ts({}))]", options.join(", ")));
    }
    attributes
}

/// An identifier for each field, whose scan methods do not collide.
fn field_idents(schema: &Schema) -> Vec<String> {
    let mut taken = Names(BUILDER_METHODS.map(str::to_owned).into());
    let idents = schema.fields().iter().map(|field| {
        let mut ident = value_name(field.name());
        let methods = |ident: &str| METHODS.map(|end| format!("{ident}{end}"));
        while methods(&ident).iter().any(|method| taken.0.contains(method)) {
            ident.push('_');
        }
        taken.0.extend(methods(&ident));
        if is_keyword(&ident) { format!("r#{ident}") } else { ident }
    });
    idents.collect()
}

/// An identifier for a field of a row, whose constant is new; without `r#`.
fn row_ident(names: &mut Names, name: &str) -> String {
    let mut ident = value_name(name);
    while ident.eq_ignore_ascii_case("schema") || names.0.contains(&ident.to_uppercase()) {
        ident.push('_');
    }
    names.0.insert(ident.to_uppercase());
    ident
}

/// A name as that of a module.
fn module_name(name: &str) -> String {
    let ident = value_name(name);
    if is_keyword(&ident) { format!("{ident}_") } else { ident }
}

/// A name as an identifier for a field, which may need `r#`.
fn value_name(name: &str) -> String {
    let ident = snake(name);
    let is_raw = !NEVER_RAW.contains(&ident.as_str());
    if is_raw { ident } else { format!("{ident}_") }
}

/// A name as that of a type: the name itself, if it can be.
fn type_name(name: &str) -> String {
    let ident = identifier(name);
    let is_taken = is_keyword(&ident)
        || NEVER_RAW.contains(&ident.as_str())
        || USED.split(' ').any(|used| used == ident);
    if is_taken { format!("{ident}_") } else { ident }
}

/// The name, if it is an identifier as it is.
fn exact_identifier(name: &str) -> Option<String> {
    let mut chars = name.chars();
    let is_first = |c: char| c.is_alphabetic() || c == '_';
    let is_ident = chars.next().is_some_and(is_first) && chars.all(|c| c.is_alphanumeric() || c == '_');
    if !is_ident || NEVER_RAW.contains(&name) {
        return None;
    }
    Some(if is_keyword(name) { format!("r#{name}") } else { name.to_owned() })
}

fn is_keyword(name: &str) -> bool {
    KEYWORDS.split_whitespace().any(|keyword| keyword == name)
}

/// `by_user` as `ByUser`.
fn camel(name: &str) -> String {
    let words = identifier(name);
    let words = words.split('_').filter(|word| !word.is_empty());
    let camel: String = words.map(|word| word[..1].to_uppercase() + &word[1..]).collect();
    if camel.starts_with(|c: char| c.is_ascii_alphabetic()) { camel } else { format!("N{camel}") }
}

/// A literal of a string.
fn literal(text: &str) -> String {
    format!("{text:?}")
}
