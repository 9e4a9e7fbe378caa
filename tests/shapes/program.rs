//! A program: the text of one module, and what must become of it.

use fastrand::Rng;

/// Before the token that the only error must be on.
pub(crate) const OPEN: &str = "/*<*/";
/// After it.
pub(crate) const CLOSE: &str = "/*>*/";

#[derive(Clone, Debug)]
pub(crate) struct Program {
    /// The file of its module, without the extension.
    pub(crate) name: String,
    pub(crate) text: String,
}

impl Program {
    /// The first and the last place of the token at fault, as lines and columns from 1; none for a program that compiles.
    pub(crate) fn fault(&self) -> Option<[(u64, u64); 2]> {
        let [open, close] = [self.text.find(OPEN)? + OPEN.len(), self.text.find(CLOSE)?];
        Some([open, close].map(|at| {
            let before = &self.text[..at];
            let line = before.rfind('\n').map_or(0, |end| end + 1);
            (before.matches('\n').count() as u64 + 1, before[line..].chars().count() as u64 + 1)
        }))
    }

    /// With the number of each line, as the compiler's messages count them.
    pub(crate) fn numbered(&self) -> String {
        self.text.lines().enumerate().map(|(at, line)| format!("{:4} {line}\n", at + 1)).collect()
    }
}

/// The text with the marks of a fault that is written as `«…»`.
pub(crate) fn marked(text: &str) -> String {
    text.replace('«', OPEN).replace('»', CLOSE)
}

/// The texts of a file, which a line separates, with documentation of the fields and variants, which some programs must have.
pub(crate) fn separated(file: &'static str) -> Vec<String> {
    let is_documented = |line: &str| {
        let item = line.strip_prefix("    ").map(|line| line.trim_start_matches('«'));
        item.is_some_and(|item| item.starts_with(|char: char| char.is_ascii_uppercase()))
    };
    let documented =
        |line| if is_documented(line) { format!("    /// One.\n{line}\n") } else { format!("{line}\n") };
    file.split("//---\n")
        .map(|text| text.lines().map(documented).collect::<String>().trim_end().to_owned())
        .collect()
}

/// An entry of several tables: the table, and the place in it. Consecutive numbers are far apart, and meet every entry in turn.
pub(crate) fn nth_of(nth: u64, tables: &[usize]) -> (usize, usize) {
    const STEP: u64 = 101;
    let count: usize = tables.iter().sum();
    assert!(!(count as u64).is_multiple_of(STEP), "some entries would never come; choose another step");
    let mut at = (nth.wrapping_mul(STEP) % count as u64) as usize;
    for (table, len) in tables.iter().enumerate() {
        if at < *len {
            return (table, at);
        }
        at -= len;
    }
    unreachable!("the place is below the sum of all tables")
}

/// What stands around a type: modules, visibility, and the names that its scope has.
pub(crate) struct Scene {
    /// The names of the modules around the type.
    modules: Vec<&'static str>,
    /// Whether the type is declared in the body of a function.
    pub(crate) in_function: bool,
    /// Whether names of the standard library mean types of the user's here.
    pub(crate) shadows: bool,
    /// Other items in the same scope.
    items: Vec<&'static str>,
    pub(crate) vis: &'static str,
}

/// Items in whose scope derived types must work.
const ITEMS: [&str; 6] = [
    include_str!("surroundings/crates.rs"),
    include_str!("surroundings/dependencies.rs"),
    include_str!("surroundings/macros.rs"),
    include_str!("surroundings/methods.rs"),
    include_str!("surroundings/constants.rs"),
    include_str!("surroundings/types.rs"),
];

/// Types and traits with the names of the standard library.
const SHADOWS: &str = include_str!("surroundings/std.rs");

impl Scene {
    /// A module without anything else.
    pub(crate) fn plain() -> Self {
        Self { modules: Vec::new(), in_function: false, shadows: false, items: Vec::new(), vis: "pub " }
    }

    pub(crate) fn random(rng: &mut Rng) -> Self {
        let modules = ["inner", "option", "std", "r#type", "key"];
        let depth = [0, 0, 1, 1, 2, 3][rng.usize(..6)];
        let modules = (0..depth).map(|_| modules[rng.usize(..modules.len())]).collect();
        let in_function = rng.u8(..5) == 0;
        let shadows = rng.u8(..5) == 0;
        let items = match in_function {
            true => Vec::new(),
            false => ITEMS.iter().copied().filter(|_| rng.u8(..6) == 0).collect(),
        };
        let vis = if in_function { "" } else { ["pub ", "pub ", "pub(crate) "][rng.usize(..3)] };
        Self { modules, in_function, shadows: shadows && !in_function, items, vis }
    }

    /// A name of the standard library that a type of the user's may hide.
    pub(crate) fn std(&self, name: &str) -> String {
        let path = match name {
            _ if !self.shadows => return name.to_owned(),
            "String" => "::std::string::String",
            "Vec" => "::std::vec::Vec",
            "Box" => "::std::boxed::Box",
            "Some" => "::std::option::Option::Some",
            "None" => "::std::option::Option::None",
            "Option" => "::std::option::Option",
            other => other,
        };
        path.to_owned()
    }

    /// A text with the names of the standard library as this scope needs them.
    pub(crate) fn written(&self, text: &str) -> String {
        let is_in_name = |char: char| char.is_alphanumeric() || char == '_' || char == ':';
        let mut written = String::new();
        for part in text.split_inclusive(|char| !is_in_name(char)) {
            let name = part.trim_end_matches(|char| !is_in_name(char));
            let (head, tail) =
                name.split_once("::").map_or((name, ""), |(head, _)| (head, &name[head.len()..]));
            written.push_str(&self.std(head));
            written.push_str(tail);
            written.push_str(&part[name.len()..]);
        }
        written
    }

    /// The module: `items`, and the function `run` with `body`.
    pub(crate) fn program(&self, items: &str, body: &str) -> String {
        let mut text = String::new();
        let run = match self.in_function {
            true => format!("/// Runs.\npub fn run() {{\n{items}\n{body}}}\n"),
            false => format!("{items}\n/// Runs.\npub fn run() {{\n{body}}}\n"),
        };
        if self.shadows {
            text.push_str(SHADOWS);
            text.push('\n');
        }
        for item in &self.items {
            text.push_str(item);
            text.push('\n');
        }
        text.push_str(&run);
        let mut path = String::new();
        for module in self.modules.iter().rev() {
            text = format!("/// A module.\npub mod {module} {{\n{text}}}\n");
        }
        for module in &self.modules {
            path.push_str(module);
            path.push_str("::");
        }
        if !path.is_empty() {
            text.push_str(&format!("/// Runs.\npub fn run() {{\n    {path}run();\n}}\n"));
        }
        format!("//! A program.\n\n{text}")
    }
}

/// Names of fields that generated code, the standard library or the language uses too.
const NAMES: &str = "id user at self_ r#type r#match r#fn scan encode decode key out bytes draft stage range value values \
    fields text f x fingerprint sql name method tag salt core std keyderive str u64 bool option result \
    ok some __out __key __bytes __cells _hidden größe t r c to_text clone into default new len count \
    order r#struct r#async plan keys cells this private chrono arg a b d e n s row family column read \
    write next then r#use r#ref r#loop none string vec";

/// Names of types.
const TYPES: &str = "Key Schema K C T R Plan Scan Field Event Ended Pad Desc Salt Layout Error Codec S A EncodeError \
    RowKey KeyField Row Cell Width Format Column Family M N";

/// So many different names of fields.
pub(crate) fn names(rng: &mut Rng, count: usize) -> Vec<String> {
    let mut shuffled: Vec<_> = NAMES.split(' ').collect();
    rng.shuffle(&mut shuffled);
    let more = (0..).map(|at| format!("field{at}"));
    shuffled.into_iter().map(str::to_owned).chain(more).take(count).collect()
}

/// The name of a type.
pub(crate) fn type_name(rng: &mut Rng) -> String {
    one(rng, &TYPES.split(' ').collect::<Vec<_>>()).to_owned()
}

pub(crate) fn one<T: Copy>(rng: &mut Rng, of: &[T]) -> T {
    of[rng.usize(..of.len())]
}
