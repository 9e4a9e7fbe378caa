//! Key types that the documentation allows, and values for them.

use fastrand::Rng;

use crate::program::{Program, Scene, names, one, type_name};

/// How many keys of a type are written.
pub(crate) const VALUES: usize = 5;

/// A key type, before it is text.
pub(crate) struct KeyType {
    pub(crate) attrs: Vec<String>,
    pub(crate) name: String,
    pub(crate) fields: Vec<Field>,
    pub(crate) delimiter: char,
    pub(crate) is_ordered: bool,
    has_trait_methods: bool,
    has_display: bool,
    /// Whether keys of one bucket are in the order of their fields.
    sorts: bool,
    /// Whether a key has something beside its fields.
    has_head: bool,
    /// Whether a macro declares the type.
    in_macro: bool,
}

/// A field of a key type.
#[derive(Clone)]
pub(crate) struct Field {
    pub(crate) attrs: Vec<String>,
    pub(crate) name: String,
    pub(crate) ty: String,
    /// The types of the user's that it needs.
    helper: Option<String>,
    /// An expression for each key.
    values: Vec<String>,
    order: Order,
    /// Whether it has one width in the text layout.
    is_fixed: bool,
    /// Whether a key must not begin with it.
    pub(crate) drifts: bool,
    /// How many values its type has, where the derive knows.
    count: Option<u64>,
    /// What a scan takes, where `{}` is the field.
    arg: &'static str,
    has_ranges: bool,
    is_hashed: bool,
    pub(crate) is_borrowed: bool,
}

#[derive(Clone, Copy, PartialEq)]
enum Order {
    Ascending,
    Descending,
    Unknown,
}

/// A type of the standard library or of another crate.
#[derive(Clone, Copy)]
enum Base {
    Unsigned(u32),
    Signed(u32),
    Bool,
    Char,
    String,
    Str,
    Cow,
    Vec,
    CowBytes,
    Array(usize),
    Time(usize),
    Date(usize),
    Uuid,
}

/// The names of types of times, and what makes one of seconds.
const TIMES: [(&str, &str); 5] = [
    ("::std::time::SystemTime", "crate::support::system_time"),
    ("::chrono::DateTime<::chrono::Utc>", "crate::support::chrono_time"),
    ("::jiff::Timestamp", "crate::support::jiff_time"),
    ("::time::OffsetDateTime", "crate::support::offset_time"),
    ("::time::UtcDateTime", "crate::support::utc_time"),
];

const DATES: [(&str, &str); 3] = [
    ("::chrono::NaiveDate", "crate::support::chrono_date"),
    ("::jiff::civil::Date", "crate::support::jiff_date"),
    ("::time::Date", "crate::support::time_date"),
];

impl Base {
    fn random(rng: &mut Rng, is_owned: bool) -> Self {
        match rng.u8(..20) {
            0..4 => Self::Unsigned(one(rng, &[8, 16, 32, 64, 128])),
            4..7 => Self::Signed(one(rng, &[8, 16, 32, 64, 128])),
            7 => Self::Bool,
            8 => Self::Char,
            9..12 => Self::String,
            12 if !is_owned => Self::Str,
            13 if !is_owned => Self::Cow,
            14 if !is_owned => Self::CowBytes,
            12..15 => Self::Vec,
            15 => Self::Array(rng.usize(1..9)),
            16 | 17 => Self::Time(rng.usize(..TIMES.len())),
            18 => Self::Date(rng.usize(..DATES.len())),
            _ => Self::Uuid,
        }
    }

    fn ty(self, scene: &Scene) -> String {
        match self {
            Self::Unsigned(bits) => format!("u{bits}"),
            Self::Signed(bits) => format!("i{bits}"),
            Self::Bool => "bool".into(),
            Self::Char => "char".into(),
            Self::String => scene.std("String"),
            Self::Str => "&'a str".into(),
            Self::Cow => "::std::borrow::Cow<'a, str>".into(),
            Self::Vec => format!("{}<u8>", scene.std("Vec")),
            Self::CowBytes => "::std::borrow::Cow<'a, [u8]>".into(),
            Self::Array(len) => format!("[u8; {len}]"),
            Self::Time(of) => TIMES[of].0.into(),
            Self::Date(of) => DATES[of].0.into(),
            Self::Uuid => "::uuid::Uuid".into(),
        }
    }

    fn arg(self) -> &'static str {
        match self {
            Self::String => "{}.as_str()",
            Self::Cow | Self::CowBytes => "&*{}",
            Self::Vec => "{}.as_slice()",
            Self::Array(_) => "&{}",
            _ => "{}",
        }
    }

    /// The greatest number of the type.
    fn greatest(self) -> u128 {
        match self {
            Self::Unsigned(bits) => u128::MAX >> (128 - bits),
            Self::Signed(bits) => (u128::MAX >> (128 - bits)) >> 1,
            _ => 0,
        }
    }

    fn is_borrowed(self) -> bool {
        matches!(self, Self::Str | Self::Cow | Self::CowBytes)
    }
}

/// A number of at most `greatest`: often a small or an extreme one.
fn number(rng: &mut Rng, greatest: u128) -> u128 {
    match rng.u8(..6) {
        0 => greatest,
        1 => 0,
        2 | 3 => u128::from(rng.u8(..)).min(greatest),
        _ => rng.u128(..=greatest),
    }
}

/// Text of letters and digits, with other characters if `special`.
fn text(rng: &mut Rng, special: &str, most: usize) -> String {
    let chars: Vec<char> = "abAZ09é".chars().chain(special.chars()).collect();
    let count = rng.usize(..=most);
    let text: String = (0..count).map(|_| chars[rng.usize(..chars.len())]).collect();
    let end = (0..=most.min(text.len())).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    text[..end].to_owned()
}

/// An expression of text or bytes for a type.
fn written(base: Base, scene: &Scene, rng: &mut Rng, special: &str, most: usize) -> String {
    let text = text(rng, special, most);
    match base {
        Base::String => format!("{}::from({text:?})", scene.std("String")),
        Base::Str => format!("{text:?}"),
        Base::Cow if rng.bool() => format!("::std::borrow::Cow::Owned({text:?}.to_owned())"),
        _ => format!("::std::borrow::Cow::Borrowed({text:?})"),
    }
}

/// A value of a type, of which a number is at most `greatest`.
fn value(base: Base, scene: &Scene, rng: &mut Rng, greatest: u128) -> String {
    match base {
        Base::Unsigned(_) => number(rng, greatest.min(base.greatest())).to_string(),
        Base::Signed(_) => {
            let number = number(rng, greatest.min(base.greatest()));
            // Only a format without a greatest number holds a sign.
            if greatest == u128::MAX && rng.bool() { format!("-{number}") } else { number.to_string() }
        }
        Base::Bool => rng.bool().to_string(),
        Base::Char => format!("{:?}", one(rng, &['a', 'Z', '0', 'é', '\u{10ffff}'])),
        Base::String | Base::Str | Base::Cow => written(base, scene, rng, "", 6),
        Base::Vec => {
            let bytes: Vec<u8> = (0..rng.usize(..4)).map(|_| rng.u8(..)).collect();
            format!("{}::from({bytes:?})", scene.std("Vec")).replace("([])", "(*b\"\")")
        }
        Base::CowBytes => {
            let bytes: Vec<u8> = (0..rng.usize(1..4)).map(|_| rng.u8(..)).collect();
            format!("::std::borrow::Cow::Borrowed(&{bytes:?})")
        }
        Base::Array(len) => format!("{:?}", (0..len).map(|_| rng.u8(..)).collect::<Vec<_>>()),
        Base::Time(of) => format!("{}({})", TIMES[of].1, number(rng, greatest.min(4_000_000_000))),
        Base::Date(of) => format!("{}({})", DATES[of].1, rng.u32(..40_000)),
        Base::Uuid => format!("crate::support::uuid({})", rng.u64(..)),
    }
}

impl Field {
    /// A field of any kind that the layout has.
    pub(crate) fn random(rng: &mut Rng, scene: &Scene, delimiter: char, is_ordered: bool, at: usize) -> Self {
        match rng.u8(..16) {
            0 => return Self::of_codes(rng, at),
            1 if !is_ordered => return Self::with_module(rng),
            _ => {}
        }
        let is_newtype = rng.u8(..6) == 0;
        let base = loop {
            let base = Base::random(rng, is_newtype);
            if !(is_ordered && matches!(base, Base::Unsigned(128) | Base::Signed(128))) {
                break base;
            }
        };
        let mut field = Self::of(base, rng, scene, delimiter, is_ordered);
        if is_newtype {
            field.wrap(at);
        }
        if !field.is_borrowed && rng.u8(..12) == 0 {
            field.rename_type(at);
        }
        if rng.u8(..12) == 0 && field.order == Order::Ascending {
            field.attrs.push("#[row_key(hash(md5))]".into());
            (field.is_hashed, field.is_fixed, field.drifts, field.order) =
                (true, true, false, Order::Unknown);
        }
        if rng.u8(..12) == 0 {
            field.attrs.push(format!("#[row_key(name = \"name of {at}\")]"));
        }
        // Options may stand in any number of attributes.
        if rng.u8(..3) == 0 {
            for attr in &mut field.attrs {
                if attr.starts_with("#[pad") || attr.starts_with("#[reverse_ts") {
                    *attr = format!("#[row_key({})]", &attr[2..attr.len() - 1]);
                }
            }
        }
        field
    }

    /// A field of which only the declaration matters.
    pub(crate) fn bare(name: &str, ty: &str, attrs: &str) -> Self {
        let attrs = Vec::from_iter(Some(attrs.to_owned()).filter(|attrs| !attrs.is_empty()));
        let plain = Self::plain(Base::Bool, &mut Rng::with_seed(0), &Scene::plain());
        Self { attrs, name: name.to_owned(), ty: ty.to_owned(), is_borrowed: ty.contains("'a "), ..plain }
    }

    /// A field of text, with which every key may begin.
    pub(crate) fn text(rng: &mut Rng, scene: &Scene) -> Self {
        let mut field = Self::plain(Base::String, rng, scene);
        field.is_fixed = false;
        field
    }

    fn plain(base: Base, rng: &mut Rng, scene: &Scene) -> Self {
        let values = (0..VALUES).map(|_| value(base, scene, rng, u128::MAX)).collect();
        Self {
            attrs: Vec::new(),
            name: String::new(),
            ty: base.ty(scene),
            helper: None,
            values,
            order: Order::Ascending,
            is_fixed: !matches!(
                base,
                Base::Char | Base::String | Base::Str | Base::Cow | Base::Vec | Base::CowBytes
            ),
            drifts: matches!(base, Base::Time(_) | Base::Date(_) | Base::Uuid),
            count: match base {
                Base::Bool => Some(2),
                Base::Unsigned(8) | Base::Signed(8) => Some(256),
                _ => None,
            },
            arg: base.arg(),
            has_ranges: true,
            is_hashed: false,
            is_borrowed: base.is_borrowed(),
        }
    }

    fn of(base: Base, rng: &mut Rng, scene: &Scene, delimiter: char, is_ordered: bool) -> Self {
        let mut field = Self::plain(base, rng, scene);
        let revalue = |field: &mut Self, rng: &mut Rng, greatest: u128| {
            field.values = (0..VALUES).map(|_| value(base, scene, rng, greatest)).collect();
        };
        // The ordered layout has the integers of SQL.
        let most =
            if is_ordered && matches!(base, Base::Unsigned(64)) { i64::MAX as u128 } else { u128::MAX };
        match base {
            Base::Unsigned(bits) | Base::Signed(bits) => match rng.u8(..9) {
                0 | 1 if !is_ordered => {
                    let width = rng.u32(1..=38);
                    field.attrs.push(format!("#[pad({width})]"));
                    if rng.bool() {
                        field.attrs.push("#[row_key(desc)]".into());
                        field.order = Order::Descending;
                    }
                    revalue(&mut field, rng, 10_u128.pow(width) - 1);
                }
                2 => {
                    field.attrs.push("#[reverse_ts]".into());
                    (field.order, field.drifts) = (Order::Descending, true);
                    revalue(&mut field, rng, i64::MAX as u128);
                }
                3 => {
                    let max = number(rng, u128::from(u64::MAX)).max(1);
                    let max = if is_ordered { max.min(i64::MAX as u128) } else { max };
                    field.attrs.push(format!("#[reverse_ts(max = {max})]"));
                    (field.order, field.drifts) = (Order::Descending, true);
                    revalue(&mut field, rng, max);
                }
                4 => {
                    field.attrs.push("#[row_key(desc)]".into());
                    field.order = Order::Descending;
                    revalue(&mut field, rng, most);
                }
                5 | 6 if matches!(base, Base::Unsigned(32 | 64)) && !is_ordered => {
                    field.attrs.push(
                        ["#[row_key(bit_reverse)]", "#[row_key(sequential, bit_reverse)]"]
                            [usize::from(bits == 32)]
                        .into(),
                    );
                    (field.order, field.has_ranges) = (Order::Unknown, false);
                }
                kind => {
                    if kind == 7 {
                        field.attrs.push("#[row_key(sequential)]".into());
                        field.drifts = true;
                    }
                    revalue(&mut field, rng, most);
                }
            },
            Base::Bool | Base::Date(_) if rng.u8(..3) == 0 => {
                field.attrs.push("#[row_key(desc)]".into());
                field.order = Order::Descending;
            }
            Base::Char | Base::String | Base::Cow if !is_ordered && delimiter < '%' && rng.u8(..4) == 0 => {
                field.attrs.push("#[row_key(escape)]".into());
                if !matches!(base, Base::Char) {
                    field.values =
                        (0..VALUES).map(|_| written(base, scene, rng, "\0 #%!\u{7f}", 6)).collect();
                }
            }
            Base::String | Base::Str | Base::Cow if !is_ordered && rng.u8(..3) == 0 => {
                let width = rng.usize(1..20);
                field.attrs.push(format!("#[pad({width})]"));
                field.is_fixed = true;
                field.values = (0..VALUES).map(|_| written(base, scene, rng, "#-!", width)).collect();
            }
            Base::Time(_) => field.of_time(rng, is_ordered),
            Base::Uuid => match rng.u8(..4) {
                0 | 1 => {
                    field.attrs.push("#[row_key(uuid(v4))]".into());
                    field.drifts = false;
                }
                2 if !is_ordered => {
                    field.attrs.push("#[row_key(uuid(simple, v4))]".into());
                    field.drifts = false;
                }
                3 if !is_ordered => field.attrs.push("#[row_key(uuid(simple))]".into()),
                _ => {}
            },
            _ => {}
        }
        field
    }

    fn of_time(&mut self, rng: &mut Rng, is_ordered: bool) {
        let unit = one(rng, &["secs", "millis", "micros", "nanos"]);
        let exact = if rng.bool() { ", exact" } else { "" };
        let mut is_count = true;
        match rng.u8(..4) {
            0 if !is_ordered => {
                self.attrs.push(format!("#[row_key(ts(format = \"datetime17\"{exact}))]"));
                is_count = false;
            }
            1 | 2 => self.attrs.push(format!("#[row_key(ts(unit = \"{unit}\"{exact}))]")),
            _ => {}
        }
        match rng.u8(..4) {
            0 if is_count => {
                self.attrs.push("#[reverse_ts]".into());
                self.order = Order::Descending;
            }
            1 => {
                self.attrs.push("#[row_key(desc)]".into());
                self.order = Order::Descending;
            }
            _ => {}
        }
    }

    /// A field of an enum.
    fn of_codes(rng: &mut Rng, at: usize) -> Self {
        let codes: Vec<u64> = (1..=rng.u64(1..6)).map(|nth| nth * rng.u64(1..400) + nth * 400).collect();
        let names = ["Ok", "None", "Some", "r#Type", "Err", "Vec"];
        let variants: String = codes
            .iter()
            .zip(names)
            .enumerate()
            .filter(|(nth, (code, _))| !codes[..*nth].contains(code))
            .map(|(_, (code, name))| format!("    /// One.\n    {name} = {code},\n"))
            .collect();
        let declared: Vec<&str> =
            names.into_iter().filter(|name| variants.contains(&format!(" {name} = "))).collect();
        let ty = format!("Codes{at}");
        let helper = format!(
            "/// Codes.\n#[derive(::keyderive::KeyField, Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]\nVIS enum {ty} {{\n{variants}}}\n"
        );
        let values = (0..VALUES).map(|_| format!("{ty}::{}", one(rng, &declared))).collect();
        let mut field = Self::plain(Base::Bool, rng, &Scene::plain());
        (field.ty, field.helper, field.values, field.count) = (ty, Some(helper), values, None);
        field
    }

    /// A field that a module encodes.
    fn with_module(rng: &mut Rng) -> Self {
        let mut field = Self::plain(Base::Unsigned(32), rng, &Scene::plain());
        field.attrs.push("#[row_key(with = \"crate::support::hexadecimal\")]".into());
        (field.arg, field.order, field.has_ranges) = ("&{}", Order::Unknown, false);
        field
    }

    /// Puts the type into a newtype.
    fn wrap(&mut self, at: usize) {
        let (ty, inner) = (format!("New{at}"), &self.ty);
        self.helper = Some(format!(
            "/// New.\n#[derive(::keyderive::KeyField, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]\nVIS struct {ty}(VIS {inner});\n"
        ));
        for value in &mut self.values {
            *value = format!("{ty}({value})");
        }
        self.arg = match self.arg {
            "{}.as_str()" => "{}.0.as_str()",
            "{}.as_slice()" => "{}.0.as_slice()",
            "&{}" => "&{}.0",
            _ => "{}.0",
        };
        self.hide(ty);
    }

    /// Gives the type another name.
    fn rename_type(&mut self, at: usize) {
        let (ty, of) = (format!("Alias{at}"), &self.ty);
        let alias = format!("/// An alias.\nVIS type {ty} = {of};\n");
        self.helper = Some(self.helper.take().unwrap_or_default() + &alias);
        self.hide(ty);
    }

    /// Sets a type of which the derive does not see what it is.
    fn hide(&mut self, ty: String) {
        let attrs = self.attrs.concat();
        let says_so = attrs.contains("ts(") || attrs.contains("reverse_ts") || attrs.contains("sequential");
        (self.drifts, self.count) = (self.drifts && says_so, None);
        self.ty = ty;
    }

    fn arg_of(&self, key: &str) -> String {
        self.arg.replace("{}", &format!("{key}.{}", self.name))
    }

    /// The methods of a scan that fix the field and range over it.
    fn methods(&self) -> (String, String) {
        let attrs = self.attrs.concat();
        let method = attrs.split("method = \"").nth(1).and_then(|rest| rest.split('"').next());
        let fix = method.unwrap_or(&self.name);
        (fix.to_owned(), format!("{}_range", fix.trim_start_matches("r#")))
    }

    /// The field's name as attributes may write it.
    pub(crate) fn plain_name(&self) -> &str {
        self.name.trim_start_matches("r#")
    }
}

impl KeyType {
    /// A key type of any kind that the documentation allows.
    pub(crate) fn random(rng: &mut Rng, scene: &Scene) -> Self {
        if rng.u8(..6) == 0 {
            return Self::of_epochs(rng, scene);
        }
        let is_ordered = rng.u8(..4) == 0;
        let delimiter = one(rng, &['#', '#', '#', '-', '!', '$', ' ', '\t', '|']);
        let count = match rng.u8(..20) {
            0..13 => rng.usize(1..6),
            13..18 => rng.usize(6..16),
            _ => rng.usize(16..61),
        };
        let mut fields: Vec<Field> =
            (0..count).map(|at| Field::random(rng, scene, delimiter, is_ordered, at)).collect();
        let needs_low = |field: &Field| !field.is_fixed;
        // A delimiter above the digits takes fields of fixed width alone.
        let delimiter = if delimiter == '|' && fields.iter().any(needs_low) { '#' } else { delimiter };
        for (field, name) in fields.iter_mut().zip(names(rng, count)) {
            field.name = name;
        }
        let mut key = Self { delimiter, is_ordered, ..Self::of(rng, fields) };
        key.add_options(rng);
        key.add_salt(rng);
        key.allow();
        key.not_empty();
        key.add_lifetimes(rng);
        key.in_macro = rng.u8(..8) == 0 && key.generics().is_empty();
        key
    }

    /// A key type of a few fields of the text layout, in which any fault can be put.
    pub(crate) fn simple(rng: &mut Rng, scene: &Scene) -> Self {
        let count = rng.usize(2..6);
        let mut fields = vec![Field::text(rng, scene)];
        while fields.len() < count {
            let field = Field::random(rng, scene, '#', false, fields.len());
            if !field.is_hashed {
                fields.push(field);
            }
        }
        for (field, name) in fields.iter_mut().zip(names(rng, count)) {
            field.name = name;
        }
        Self::of(rng, fields)
    }

    /// A key type of these fields alone.
    fn of(rng: &mut Rng, fields: Vec<Field>) -> Self {
        Self {
            attrs: Vec::new(),
            name: type_name(rng),
            fields,
            delimiter: '#',
            is_ordered: false,
            has_trait_methods: false,
            has_display: false,
            sorts: true,
            has_head: false,
            in_macro: false,
        }
    }

    fn add_options(&mut self, rng: &mut Rng) {
        let mut options = Vec::new();
        if self.is_ordered {
            options.push("layout = \"ordered\"".to_owned());
        } else if self.delimiter != '#' {
            options.push(format!("delimiter = {:?}", self.delimiter));
        }
        if rng.u8(..4) == 0 && (self.is_ordered || self.delimiter < '0') {
            options.push(format!("tag = {:?}", one(rng, &["T", "EVENT", "Tag9", "été"])));
            self.has_head = true;
        }
        self.has_display =
            rng.u8(..4) == 0 && !self.is_ordered && !self.fields.iter().any(|field| field.is_hashed);
        if self.has_display {
            options.push("display".to_owned());
        }
        self.has_trait_methods = rng.u8(..8) == 0;
        if self.has_trait_methods {
            options.push("trait_methods".to_owned());
        }
        if rng.u8(..8) == 0 {
            options.push("crate = \"crate::support::reexported::keyderive\"".to_owned());
        }
        rng.shuffle(&mut options);
        match options.is_empty() {
            true => {}
            _ if rng.bool() => self.attrs.push(format!("#[row_key({})]", options.join(", "))),
            false => self.attrs.extend(options.iter().map(|option| format!("#[row_key({option})]"))),
        }
    }

    /// Adds a salt to some keys.
    fn add_salt(&mut self, rng: &mut Rng) {
        if rng.bool() {
            return;
        }
        let range = one(rng, &[2, 3, 4, 10, 11, 100, 101, 4096]);
        let mut options = vec![format!("range = {range}")];
        let is_java = !self.is_ordered && rng.u8(..8) == 0;
        if is_java {
            options.push("hash = \"java\"".into());
        } else if rng.bool() {
            let mut over: Vec<&str> =
                self.fields.iter().map(Field::plain_name).filter(|_| rng.bool()).collect();
            rng.shuffle(&mut over);
            if !over.is_empty() {
                options.push(match rng.bool() {
                    true => format!("over = \"{}\"", over.join(", ")),
                    false => format!("over({})", over.join(", ")),
                });
            }
        }
        if !self.is_ordered && rng.u8(..3) == 0 {
            options.push(format!("sep = {:?}", one(rng, &["-", "::", "/", "!", "#", " "])));
        }
        if !self.is_ordered && !is_java {
            match rng.u8(..4) {
                0 => options.push("position = \"front\"".into()),
                1 if self.fields.len() > 1 => {
                    let after = rng.usize(..self.fields.len() - 1);
                    options.push(format!("after = \"{}\"", self.fields[after].plain_name()));
                }
                _ => {}
            }
        }
        rng.shuffle(&mut options);
        let salt = format!("salt({})", options.join(", "));
        self.has_head = true;
        self.attrs.insert(
            rng.usize(..=self.attrs.len()),
            if rng.u8(..3) == 0 { format!("#[row_key({salt})]") } else { format!("#[{salt}]") },
        );
    }

    /// Allows what this key does and most should not.
    fn allow(&mut self) {
        let attrs = self.attrs.concat();
        let salt = attrs.split("salt(").nth(1).map(|rest| &rest[..rest.find(']').unwrap_or(rest.len())]);
        let begins_with_salt = salt.is_some_and(|salt| !salt.contains("after ="));
        let mut allowed = Vec::new();
        if self.fields[0].drifts && !begins_with_salt {
            allowed.push("hotspot");
        }
        let hashed = self.fields.iter().position(|field| field.is_hashed);
        if hashed.is_some_and(|at| at + 1 < self.fields.len()) {
            allowed.push("point_reads");
        }
        if let Some(salt) = salt {
            let range: u64 =
                salt.split("range = ").nth(1).unwrap().split([',', ')']).next().unwrap().parse().unwrap();
            let over = salt.split("over").nth(1).map(|rest| rest.split(['(', ')', '"']).nth(1).unwrap());
            let over: Option<Vec<&str>> = over.map(|names| names.split(", ").collect());
            let salted = self
                .fields
                .iter()
                .filter(|field| over.as_ref().is_none_or(|over| over.contains(&field.plain_name())));
            let values = salted
                .map(|field| field.count)
                .try_fold(1_u64, |all, count| Some(all.saturating_mul(count?)));
            if values.is_some_and(|values| values < range) {
                allowed.push("few_buckets");
            }
        }
        if !allowed.is_empty() {
            self.attrs.push(format!("#[row_key(allow({}))]", allowed.join(", ")));
        }
    }

    /// Gives the borrowed fields other lifetimes.
    fn add_lifetimes(&mut self, rng: &mut Rng) {
        let of_fields = [["'a", "'a"], ["'a", "'b"], ["'key", "'__key"]][rng.usize(..3)];
        let borrowed = self.fields.iter_mut().filter(|field| field.is_borrowed);
        for (at, field) in borrowed.enumerate() {
            field.ty = field.ty.replace("'a", of_fields[at % 2]);
        }
    }

    /// A key has at least one byte.
    fn not_empty(&mut self) {
        let is_empty_at = |at: usize| {
            let is_empty = |field: &Field| {
                field.values[at].contains("\"\"") && !field.is_hashed && !field.attrs.concat().contains("pad")
            };
            self.fields.len() == 1 && !self.has_head && is_empty(&self.fields[0])
        };
        let empty: Vec<usize> = (0..VALUES).filter(|at| is_empty_at(*at)).collect();
        for at in empty {
            let value = &mut self.fields[0].values[at];
            *value = value.replace("(*b\"\")", "([7])").replace("\"\"", "\"a\"");
        }
    }

    /// A key type whose salt changes at values of a field.
    fn of_epochs(rng: &mut Rng, scene: &Scene) -> Self {
        let is_ordered = rng.u8(..4) == 0;
        let mut fields = vec![Field::text(rng, scene)];
        for _ in 0..rng.usize(..3) {
            fields.push(Field::text(rng, scene));
        }
        let time = fields.len();
        let is_number = rng.bool();
        let base = if is_number {
            Base::Unsigned(64)
        } else {
            one(rng, &[Base::Time(0), Base::Time(2), Base::Date(0), Base::Date(1)])
        };
        let mut field = Field::plain(base, rng, scene);
        if is_number {
            field.values = (0..VALUES).map(|_| rng.u64(..400).to_string()).collect();
        }
        let is_date = matches!(base, Base::Date(_));
        if !is_date && rng.u8(..3) == 0 {
            field.attrs.push("#[reverse_ts]".into());
            field.order = Order::Descending;
        } else if is_number && !is_ordered && rng.bool() {
            field.attrs.push("#[pad(9)]".into());
        }
        fields.push(field);
        for _ in 0..rng.usize(..3) {
            let base = one(rng, &[Base::Unsigned(16), Base::Signed(32), Base::Bool, Base::Array(4)]);
            fields.push(Field::plain(base, rng, scene));
        }
        for (field, name) in fields.iter_mut().zip(names(rng, 9)) {
            field.name = name;
        }
        let at = fields[time].plain_name().to_owned();
        let bounds: [&str; 3] = match is_number {
            true => ["3", "100", "300"],
            false if is_date => ["\"1999-01-01\"", "\"2024-02-29\"", "\"2050-12-31\""],
            false => {
                ["\"1999-01-01T00:00:00Z\"", "\"2024-02-29T12:00:00+01:00\"", "\"2050-12-31T23:59:59Z\""]
            }
        };
        let ranges = if is_ordered { [2, 40, 64] } else { [4, 16, 300] };
        let over = match rng.bool() {
            true => format!(", over({})", fields[0].plain_name()),
            false => String::new(),
        };
        let sep = if is_ordered { "" } else { ", sep = \"!\"" };
        let mut attrs = Vec::new();
        if is_ordered {
            attrs.push("#[row_key(layout = \"ordered\")]".into());
        }
        if rng.bool() {
            attrs.push(format!("#[salt(range = 7{over}{sep})]"));
        }
        for epoch in 0..rng.usize(1..=3) {
            attrs.push(format!(
                "#[salt(range = {}{over}{sep}, since({at} = {}))]",
                ranges[epoch], bounds[epoch]
            ));
        }
        let key = Self::of(rng, fields);
        let has_display = !is_ordered && rng.bool();
        let mut key = Self { attrs, is_ordered, has_display, sorts: false, has_head: true, ..key };
        if has_display {
            key.attrs.push("#[row_key(display)]".into());
        }
        key
    }

    /// The lifetimes of the fields.
    fn generics(&self) -> Vec<&'static str> {
        let known = ["'a", "'b", "'key", "'__key"];
        let is_used = |lifetime: &&str| {
            let is_in = |field: &Field| {
                field.ty.contains(&format!("{lifetime} ")) || field.ty.contains(&format!("{lifetime},"))
            };
            self.fields.iter().any(is_in)
        };
        known.into_iter().filter(is_used).collect()
    }

    /// The declarations of the type and of those of its fields.
    pub(crate) fn items(&self, vis: &str) -> String {
        let mut text = String::new();
        for field in &self.fields {
            text.push_str(&field.helper.as_deref().unwrap_or_default().replace("VIS ", vis));
        }
        let (name, lifetimes) = (&self.name, self.generics().join(", "));
        let generics = if lifetimes.is_empty() { lifetimes } else { format!("<{lifetimes}>") };
        let mut declared =
            String::from("/// A key.\n#[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]\n");
        for attr in &self.attrs {
            declared.push_str(&format!("{attr}\n"));
        }
        declared.push_str(&format!("{vis}struct {name}{generics} {{\n"));
        let is_given = |at: usize| self.in_macro && at.is_multiple_of(2);
        for (at, field) in self.fields.iter().enumerate() {
            declared.push_str("    /// A field.\n");
            for attr in &field.attrs {
                declared.push_str(&format!("    {attr}\n"));
            }
            let ty = if is_given(at) { format!("$type{at}") } else { field.ty.clone() };
            declared.push_str(&format!("    {vis}{}: {ty},\n", field.name));
        }
        declared.push_str("    #[cfg(any())]\n    left_out: Missing,\n}\n");
        if self.in_macro {
            let given = || self.fields.iter().enumerate().filter(|(at, _)| is_given(*at));
            let parameters: String = given().map(|(at, _)| format!("$type{at}:ty,")).collect();
            let types: String = given().map(|(_, field)| format!("{},", field.ty)).collect();
            declared = format!(
                "macro_rules! declare {{ ({parameters}) => {{\n{declared}}} }}\ndeclare! {{ {types} }}\n"
            );
        }
        text + &declared
    }

    /// The type, with its lifetimes.
    pub(crate) fn type_in_expression(&self) -> String {
        let generics = match self.generics().len() {
            0 => "",
            1 => "<'_>",
            _ => "<'_, '_>",
        };
        format!("{}{generics}", self.name)
    }

    /// The program that writes keys and reads them.
    pub(crate) fn program(&self, name: String, scene: &Scene) -> Program {
        let text = scene.program(&self.items(scene.vis), &self.body(scene));
        Program { name, text }
    }

    fn body(&self, scene: &Scene) -> String {
        let (key, ty) = (&self.name, self.type_in_expression());
        let this = format!("<{ty} as ::keyderive::RowKey>");
        let some = scene.std("Some");
        let none = scene.std("None");
        let keys: String = (0..VALUES)
            .map(|at| {
                let fields: String = self
                    .fields
                    .iter()
                    .map(|field| format!("{}: {}, ", field.name, field.values[at]))
                    .collect();
                format!("        {key} {{ {fields}}},\n")
            })
            .collect();
        let hashed = self.fields.iter().position(|field| field.is_hashed);
        let decodes = match hashed {
            Some(_) => format!(
                "{this}::decode(raw).map(|found| found.as_bytes() == {this}::encode(it).unwrap_or_default())"
            ),
            None => format!("{this}::decode(raw).map(|found| found == *it)"),
        };
        let again = match hashed {
            Some(_) => format!("{this}::decode(raw).ok().map(|_| raw.to_vec())"),
            None => format!(
                "{this}::decode(raw).ok().map(|found| ::keyderive::RowKey::encode(&found).unwrap_or_default())"
            ),
        };
        let sorts = self.sorts && self.fields.iter().all(|field| field.order != Order::Unknown);
        let order = match sorts {
            true => {
                let by: String = self
                    .fields
                    .iter()
                    .map(|field| {
                        let [one, other] =
                            if field.order == Order::Ascending { ["one", "other"] } else { ["other", "one"] };
                        format!(".then_with(|| {one}.{0}.cmp(&{other}.{0}))", field.name)
                    })
                    .collect();
                format!("{some}(&|one, other| ::std::cmp::Ordering::Equal{by})")
            }
            false => none.clone(),
        };
        let mut plans = String::new();
        let mut scan = format!("{this}::scan()");
        for (at, field) in self.fields.iter().enumerate() {
            let (fix, range) = field.methods();
            // A few plans of a long key are enough.
            if at < 8 && hashed.is_none_or(|hashed| at <= hashed) {
                plans.push_str(&format!("            crate::support::requests({scan}.into_plan()),\n"));
                if field.has_ranges && hashed.is_none_or(|hashed| at < hashed) {
                    let arg = field.arg_of("it");
                    plans.push_str(&format!(
                        "            crate::support::requests({scan}.{range}({arg}..={arg}).into_plan()),\n"
                    ));
                }
            }
            scan = format!("{scan}.{fix}({})", field.arg_of("it"));
        }
        plans.push_str(&format!("            crate::support::requests({scan}.into_plan()),\n"));
        let display = match self.has_display {
            true => format!("{some}(&|it| ::std::string::ToString::to_string(it))"),
            false => none.clone(),
        };
        let is_fixed = self.fields.last().is_some_and(|field| field.is_fixed) && !self.is_ordered;
        format!(
            "    let keys = [\n{keys}    ];\n    crate::support::keys(&crate::support::Laws {{\n        keys: &keys,\n        \
             schema: {this}::SCHEMA,\n        encode: &|it| {this}::encode(it),\n        decodes: &|raw, it| {decodes},\n        \
             again: &|raw| {again},\n        order: {order},\n        bucket: &|it| {this}::salt_bucket(it),\n        \
             plans: &|it| ::std::vec![\n{plans}        ],\n        display: {display},\n        is_fixed: {is_fixed},\n    }});\n"
        )
    }
}
