//! SQL, Terraform and Markdown, as text that is committed.

use keyderive::layouts::Layouts;
use keyderive::{Row, RowKey};

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

/// The embedded engine, for the service, reads times to the microsecond, and names of any characters.
#[tokio::test]
async fn queries_read_what_the_client_wrote() {
    #[derive(RowKey)]
    struct VisitKey {
        id: String,
    }

    #[derive(Row)]
    struct Visit {
        at: jiff::Timestamp,
        seen: chrono::DateTime<chrono::Utc>,
        day: jiff::civil::Date,
        #[row(name = "od`d'")]
        odd: String,
    }

    let engine = std::sync::Arc::new(keyderive_googlesql::Engine::default());
    let client = keyderive::embedded::Bigtable::in_memory().with_query_engine(engine).client();
    let visits = client.table::<VisitKey, Visit>("visits");
    visits.create_if_absent().await.unwrap();
    let at = "2024-01-02T03:04:05.123456789Z";
    let visit = Visit {
        at: at.parse().unwrap(),
        seen: at.parse().unwrap(),
        day: "2024-01-02".parse().unwrap(),
        odd: "odd".to_owned(),
    };
    visits.put(&VisitKey { id: "a".to_owned() }, &visit).await.unwrap();

    let layouts = Layouts::new().table::<VisitKey, Visit>("visits").to_json();
    let (code, text, said) = written(&codegen("visits.json", &layouts, &["--sql"]));
    assert_eq!((code, said.as_str()), (0, ""));
    let query = text.trim().trim_end_matches(';');
    let query = format!(
        "SELECT id, UNIX_MICROS(at), UNIX_MICROS(seen), FORMAT_DATE('%F', day), `od\\`d'` FROM ({query})"
    );
    let rows: Vec<(String, i64, i64, String, String)> = client.query(query.as_str()).fetch().await.unwrap();
    let micros = 1_704_164_645_123_456;
    let expected = ("a".to_owned(), micros, micros, "2024-01-02".to_owned(), "odd".to_owned());
    assert_eq!(rows, [expected]);
}

/// Every layout has a text, and those that SQL cannot compute say why.
#[test]
fn every_layout_has_a_text() {
    let layouts = types::layouts();
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

/// What Terraform creates by the resources is what `create` makes: the families with their rules, the splits and the stamp.
#[tokio::test]
async fn resources_are_what_create_makes() {
    for (info, layout) in types::created().await {
        let stamp = layout.stamp(0x5eed);
        let is_stamp = |name: &str| name.starts_with("keyderive.");
        let (stamps, mut families): (Vec<_>, Vec<_>) =
            info.families().iter().cloned().partition(|family| is_stamp(family.name()));
        let mut declared = layout.families().unwrap();
        for families in [&mut families, &mut declared] {
            families.sort_by(|one, other| one.name().cmp(other.name()));
        }
        assert_eq!(families, declared);
        let id = stamps[0].name().rsplit_once('.').unwrap().1;
        assert_eq!(stamps[0].name(), stamp.name().replace("00005eed", id));
        assert_eq!(stamps[0].gc_rule(), stamp.gc_rule());
    }
    // A table with them is that of the program.
    let client = keyderive::Client::embedded();
    let layout = Layouts::new().table::<EventKey, Event>("events").table_layout("events").unwrap();
    let families = layout.families().unwrap().into_iter().chain([layout.stamp(0x5eed)]);
    client.raw_table("events").create(families, layout.key().schema().bucket_splits()).await.unwrap();
    let events = client.table::<EventKey, Event>("events");
    assert!(events.verify().await.unwrap().stamp);
    assert!(!events.create_if_absent().await.unwrap());
    assert_eq!(events.partitions().await.unwrap().len(), 4);
}
