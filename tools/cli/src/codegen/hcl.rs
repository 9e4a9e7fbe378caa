//! Resources of Terraform's provider `google`: the table, its families with their rules, its row key schema, its splits, and its stamps.
//!
//! Terraform removes a family that it does not know, and the stamp is one. So the stamps are declared.

use std::collections::BTreeMap;
use std::time::Duration;

use keyderive::GcRule;
use keyderive::client::{Aggregate, Family};

use super::{Names, Output, Table, identifier, one_line};

pub(super) fn generate(tables: &[Table], stamp_id: Option<u32>) -> Output {
    let mut out = Output::default();
    out.line("# Made by `keyderive codegen --hcl` from a layout file.");
    out.line("variable \"bigtable_instance\" {");
    out.line("  type = string");
    out.line("}");
    let mut names = Names::default();
    for table in tables {
        // Two tables of one id would be one to the registry, after one of them takes the name of the other.
        let id = stamp_id.unwrap_or_else(|| fastrand::u32(..));
        of_table(&mut out, table, id, &names.take(&identifier(&table.name)));
    }
    out
}

fn of_table(out: &mut Output, table: &Table, id: u32, resource: &str) {
    let families = families(out, table);
    let mut splits: Vec<_> =
        table.layouts.iter().flat_map(|layout| layout.key().schema().bucket_splits()).collect();
    splits.sort_unstable();
    splits.dedup();
    out.line(format!("\nresource \"google_bigtable_table\" \"{resource}\" {{"));
    out.line(format!("  name          = {}", string(&table.name)));
    out.line("  instance_name = var.bigtable_instance");
    let texts: Option<Vec<_>> = splits.iter().map(|split| str::from_utf8(split).ok().map(string)).collect();
    match texts {
        Some(texts) if !texts.is_empty() => {
            out.line("\n  # A tablet for each bucket of the salt, so that the first writes are spread.");
            out.line(format!("  split_keys = [{}]", texts.join(", ")));
        }
        Some(_) => {}
        None => {
            let gap = format!(
                "table `{}`: the keys to split at are no text, and Terraform's are: split it by `keyderive create` or `cbt`",
                table.name
            );
            out.gap("  #", gap);
        }
    }
    let stamps: Vec<_> = table.layouts.iter().map(|layout| layout.stamp(id)).collect();
    for family in families.values() {
        out.line("\n  column_family {");
        out.line(format!("    family = {}", string(family.name())));
        let aggregate = match family.aggregates() {
            Some(Aggregate::Sum) => Some("intsum"),
            Some(Aggregate::Min) => Some("intmin"),
            Some(Aggregate::Max) => Some("intmax"),
            _ => None,
        };
        if let Some(aggregate) = aggregate {
            out.line(format!("    type   = \"{aggregate}\""));
        }
        out.line("  }");
    }
    for stamp in &stamps {
        out.line("\n  # The stamp: the fingerprint of the keys' layout and the table's id. For a table that has one, make this file again with its");
        out.line(format!("  # id, `--stamp-id`; this one is {id:08x}. A re-keying changes it."));
        out.line("  column_family {");
        out.line(format!("    family = {}", string(stamp.name())));
        out.line("  }");
    }
    match &table.layouts[..] {
        [layout] => match layout.key().schema().row_key_schema() {
            // Its names are letters, digits and `_`.
            Ok(schema) => {
                out.line("\n  row_key_schema = <<-EOT");
                out.line(format!("    {{\"structType\": {}}}", schema.to_json()));
                out.line("  EOT");
            }
            Err(error) => {
                out.line(format!("\n  # Without a row key schema: {}", one_line(&error.to_string())));
            }
        },
        _ => out.line("\n  # Without a row key schema: several key types share the table."),
    }
    out.line("\n  lifecycle {");
    out.line("    prevent_destroy = true");
    out.line("    # Other splits would make Terraform delete the table and create it again.");
    out.line("    ignore_changes = [split_keys]");
    out.line("  }");
    out.line("}");
    for (at, family) in families.values().chain(&stamps).enumerate() {
        let name = if at < families.len() { identifier(family.name()) } else { format!("stamp_{at}") };
        let Some(rules) = rules(family.gc_rule()) else { continue };
        out.line(format!("\nresource \"google_bigtable_gc_policy\" \"{resource}_{at}_{name}\" {{"));
        out.line("  instance_name   = var.bigtable_instance");
        out.line(format!("  table           = google_bigtable_table.{resource}.name"));
        out.line(format!("  column_family   = {}", string(family.name())));
        out.line("  deletion_policy = \"ABANDON\"");
        out.line(format!("  gc_rules        = jsonencode({rules})"));
        out.line("}");
    }
}

/// The families of all row types, by their names.
fn families(out: &mut Output, table: &Table) -> BTreeMap<String, Family> {
    let mut families: BTreeMap<String, Family> = BTreeMap::new();
    for layout in &table.layouts {
        let of_layout = match layout.families() {
            Ok(of_layout) => of_layout,
            Err(error) => {
                out.gap("#", format!("table `{}`: {error}", table.name));
                continue;
            }
        };
        for family in of_layout {
            let known = families.entry(family.name().to_owned()).or_insert_with(|| family.clone());
            if *known != family {
                let gap = format!(
                    "table `{}`: its key types disagree about a family: {known} and {family}",
                    table.name
                );
                out.gap("#", gap);
            }
        }
    }
    if families.is_empty() {
        out.gap("#", format!("table `{}`: the layouts say no family: write those of its rows", table.name));
    }
    families
}

/// A rule as an object; none for a family that keeps everything, which has no policy.
fn rules(rule: &GcRule) -> Option<String> {
    fn limit(rule: &GcRule) -> Option<String> {
        Some(match rule {
            GcRule::MaxAge(age) => format!("{{ max_age = \"{}\" }}", duration(*age)),
            GcRule::MaxVersions(versions) => format!("{{ max_version = {versions} }}"),
            GcRule::Union(rules) => joined("union", rules)?,
            GcRule::Intersection(rules) => joined("intersection", rules)?,
            _ => return None,
        })
    }
    fn joined(mode: &str, rules: &[GcRule]) -> Option<String> {
        let rules: Option<Vec<_>> = rules.iter().map(limit).collect();
        Some(format!("{{ mode = \"{mode}\", rules = [{}] }}", rules?.join(", ")))
    }
    match rule {
        GcRule::MaxAge(_) | GcRule::MaxVersions(_) => Some(format!("{{ rules = [{}] }}", limit(rule)?)),
        _ => limit(rule),
    }
}

/// A duration of Go.
fn duration(age: Duration) -> String {
    match age.as_secs() {
        secs if secs.is_multiple_of(3600) => format!("{}h", secs / 3600),
        secs => format!("{secs}s"),
    }
}

/// A literal of a string, without templates in it.
fn string(text: &str) -> String {
    let mut literal = String::from("\"");
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '"' | '\\' => literal.extend(['\\', c]),
            '$' | '%' if chars.peek() == Some(&'{') => literal.extend([c, c]),
            c if c.is_ascii_graphic() || c == ' ' || c.is_alphanumeric() => literal.push(c),
            c => literal.push_str(&format!("\\U{:08X}", u32::from(c))),
        }
    }
    literal.push('"');
    literal
}
