//! Names of a hostile layout file stay names: in no language is one of their words code.

use std::process::Command;

use keyderive::layouts::Layouts;
use keyderive::{Cell, KeyField, Row, RowKey};

use super::{codegen, file, written};

#[derive(KeyField, Clone, Copy, Debug, PartialEq)]
enum Code {
    Good = 1,
}

#[derive(Cell, Clone, Copy, Debug, PartialEq)]
enum Kind {
    #[row(name = "\"); evil(); //")]
    One,
    #[row(name = "\n evil()")]
    Two,
    #[row(name = "evil")]
    Three,
    #[row(name = "")]
    Four,
}

#[derive(RowKey)]
#[salt(range = 4, sep = "\"; evil(); \"", over = "one")]
#[row_key(tag = "t\"\n evil(); '''\\ {v} ${evil()} */ evil /*", delimiter = '\x01')]
struct Key {
    #[row_key(name = "\"); evil(); //")]
    one: String,
    #[row_key(name = "x\n evil()\n\"\"\"")]
    two: u8,
    #[row_key(name = "*/ evil() /* ` evil -- ' evil")]
    three: bool,
    #[row_key(name = "${evil()} {v} {p} {x} evil")]
    four: Code,
    #[row_key(name = "</code> | <script>evil</script> [evil](evil) \u{2028} evil \u{202e}")]
    five: u16,
    #[row_key(name = "self")]
    six: u16,
    #[row_key(name = "evil")]
    seven: u16,
    #[row_key(name = "\\")]
    eight: u16,
}

#[derive(Row)]
struct Wide {
    #[row(name = "\"); evil(); //", alias = "cf:\")] evil", alias = "\n evil")]
    one: String,
    #[row(name = "x\n evil()\n\"\"\"")]
    two: Option<u8>,
    #[row(name = "'] evil ` */ evil /* -- evil", default)]
    three: bool,
    #[row(name = "${evil()} {v} %{evil}")]
    four: Kind,
    #[row(name = "</code> | <script>evil</script> \u{2028} evil \u{202e}")]
    five: Kind,
    #[row(name = "evil")]
    six: u16,
    #[row(family, name = "-.evil")]
    place: Place,
}

#[derive(Row)]
struct Place {
    #[row(name = "evil\r\nevil")]
    city: String,
}

const TABLE: &str = "t`\n\"); evil(); // */ evil /* ${evil()} | <script>evil</script> ''' evil";

/// A file of which every text that can be is hostile.
fn hostile() -> String {
    let json = Layouts::new().table::<Key, Wide>(TABLE).to_json();
    let name = |name: &str| serde_json::to_string(name).unwrap();
    let json = json.replace("\"Key\"", &name("Key { }\n evil(); */ evil /* ` evil \"\"\" evil"));
    let json = json.replace("\"Wide\"", &name("Wide\n evil() */ evil ${evil()} <b>evil"));
    json.replace("\"Good\"", &name("Good = 1 } evil(); // \n evil \" evil {v} {p}"))
}

/// The text without literals and comments. A literal begins and ends with one of these, and `\` escapes.
fn code_of(text: &str, comment: &str, quotes: &str) -> String {
    let mut code = String::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        if rest.starts_with(comment) {
            rest = rest.find('\n').map_or("", |at| &rest[at..]);
        } else if quotes.contains(c) {
            let mut end = c.len_utf8();
            while !rest[end..].starts_with(c) {
                end += if rest[end..].starts_with('\\') { 1 } else { 0 };
                end += rest[end..].chars().next().unwrap().len_utf8();
            }
            let literal = &rest[..end];
            assert!(!literal.contains('\n'), "{literal}");
            code.push_str("literal");
            rest = &rest[end + c.len_utf8()..];
        } else {
            code.push(c);
            rest = &rest[c.len_utf8()..];
        }
    }
    code
}

/// No word of the code is one of a hostile name.
fn has_no_evil(code: &str) {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    assert!(!code.split(|c| !is_word(c)).any(|word| word == "evil"), "{code}");
}

fn generate(option: &str) -> (i32, String, String) {
    let (code, text, said) = written(&codegen(&format!("hostile{option}.json"), &hostile(), &[option]));
    assert!(text.contains("evil"), "{text}");
    for text in [&text, &said] {
        let is_obeyed = |c: char| c.is_control() && c != '\n' || ('\u{2028}'..='\u{202e}').contains(&c);
        assert!(!text.contains(is_obeyed), "{text:?}");
    }
    (code, text, said)
}

#[test]
fn names_stay_names_in_python() {
    let text = generate("--python").1;
    has_no_evil(&code_of(&text.replace("\"\"\"", "\""), "#", "\""));
    // It is read by Python, too, and has no other names.
    let check = r#"
import ast, sys
tree = ast.parse(open(sys.argv[1]).read())
names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
# The name of a function has that of its key type, as one word.
assert not any("evil" in name and not name.startswith("encode_") for name in names), names
scope = {}
exec(compile(tree, "hostile", "exec"), scope)
names = "\"); evil(); //", "x\n evil()\n\"\"\"", "*/ evil() /* ` evil -- ' evil", "${evil()} {v} {p} {x} evil"
names += "</code> | <script>evil</script> [evil](evil) \u2028 evil \u202e", "self", "evil", "\\"
values = "a", 1, True, "Good = 1 } evil(); // \n evil \" evil {v} {p}", 2, 3, 4, 5
fields = dict(zip(names, values))
of = lambda start: next(function for name, function in scope.items() if name.startswith(start))
assert of("decode_")(of("encode_")(**fields)) == fields
"#;
    let script = file("hostile.py", &text);
    let (code, _, fault) =
        written(&Command::new("python3").arg("-c").arg(check).arg(script).output().unwrap());
    assert_eq!((code, fault.as_str()), (0, ""));
}

#[test]
fn names_stay_names_in_sql_and_terraform() {
    let (code, text, said) = generate("--sql");
    assert_eq!(code, 1, "{said}");
    has_no_evil(&code_of(&text, "--", "`'"));
    let (_, text, _) = generate("--hcl");
    has_no_evil(&code_of(&text, "#", "\"").replace("-.evil", ""));
    for template in ["${", "%{"] {
        assert_eq!(
            text.matches(template).count(),
            text.matches(&format!("{}{template}", &template[..1])).count()
        );
    }
}

#[test]
fn names_stay_names_in_markdown() {
    let text = generate("--markdown").1;
    for markup in ["<script", "</script", "](", "evil |"] {
        assert!(!text.contains(markup), "{text}");
    }
    for line in text.lines().filter(|line| line.starts_with('|')) {
        assert!([3, 5, 6].contains(&line.matches('|').count()), "{line}");
    }
    assert!(text.lines().all(|line| !line.trim_start().starts_with("evil")), "{text}");
}
