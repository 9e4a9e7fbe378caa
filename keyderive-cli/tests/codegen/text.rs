//! SQL, Terraform and Markdown, as text that is committed.

use keyderive::layouts::Layouts;

use super::types::{Event, EventKey};
use super::{codegen, is_as_committed, types, written};

#[test]
fn a_table_as_text() {
    let layouts = Layouts::new().table::<EventKey, Event>("events").to_json();
    for (option, file) in [("--sql", "events.sql"), ("--markdown", "events.md"), ("--python", "events.py")] {
        let (code, text, said) = written(&codegen("text.json", &layouts, &[option]));
        assert_eq!((code, said.as_str()), (0, ""), "{option}");
        is_as_committed(file, &text);
    }
    let (code, text, said) =
        written(&codegen("text.json", &layouts, &["--hcl", "--stamp-id", "00005eed", "events"]));
    assert_eq!((code, said.as_str()), (0, ""));
    is_as_committed("events.tf", &text);
}

/// Every layout has a text, and those that SQL cannot compute say why.
#[test]
fn every_layout_has_a_text() {
    let layouts = types::layouts().0;
    let json = layouts.to_json();
    let tables = layouts.table_names().count();
    let (_, text, _) = written(&codegen("every.json", &json, &["--sql"]));
    assert!(text.matches("\nSELECT\n").count() >= tables);
    let (code, text, said) = written(&codegen("every.json", &json, &["--markdown"]));
    assert_eq!((code, text.matches("# Table `").count(), said.as_str()), (0, tables, ""));
    let (_, text, _) = written(&codegen("every.json", &json, &["--hcl"]));
    assert_eq!(text.matches("resource \"google_bigtable_table\"").count(), tables);
    for id in ["0000000", "0000000G", "0000000A"] {
        let (code, _, said) = written(&codegen("every.json", &json, &["--hcl", "--stamp-id", id]));
        assert!(code == 2 && said.contains("an id has 8 hexadecimal digits"), "{said}");
    }
}
