//! What the registry has, and row types that are compared by it.

use std::time::Duration;

use keyderive::client::{Family, FamilyChange, ReadRows, TableInfo};
use keyderive::embedded::{Bigtable, Fault, FaultRule, Faults, Method};
use keyderive::key::Fingerprint;
use keyderive::row::{RowFilter, Timestamped, Versions};
use keyderive::{Cell, Client, Error, ErrorKind, GcRule, Row, RowKey, Table};
use keyderive_tests::fixtures::{SaltedKey, UserKey, created, created_raw, fails};
use tokio::time::Instant;

use crate::servers::on_every_bigtable;

mod order;
mod releases;

#[derive(RowKey, Clone, Debug)]
struct EventKey {
    user: String,
}

#[derive(RowKey, Clone)]
#[row_key(tag = "c")]
struct CountKey {
    user: String,
}

#[derive(Row, Debug, PartialEq)]
struct Event {
    kind: String,
}

/// As the issue of every mapper: the other program cannot read the row.
#[derive(Row, Debug, PartialEq)]
struct Numbered {
    kind: u32,
}

/// The next release of [`Event`].
#[derive(Row, Debug, PartialEq)]
struct Noted {
    kind: String,
    note: Option<String>,
}

/// The one after it, which `Event` cannot read rows of.
#[derive(Row, Debug, PartialEq)]
struct Loose {
    kind: Option<String>,
    note: Option<String>,
}

/// A program that writes columns beside those of others.
#[derive(Row, Debug, PartialEq)]
struct Counted {
    #[row(counter)]
    views: i64,
}

/// A client whose requests are those of its calls alone.
pub(crate) fn without_registry(client: &Client) -> Client {
    client.with(|settings| settings.registry = false)
}

/// The family that stamps a table with the layout of this fingerprint.
pub(crate) fn stamp_of(info: &TableInfo, fingerprint: Fingerprint) -> Option<&Family> {
    let prefix = format!("keyderive.{fingerprint}.");
    info.families().iter().find(|family| family.name().starts_with(&prefix))
}

on_every_bigtable! {
    the_registry_has_what_programs_declare
    a_row_type_that_does_not_fit_is_refused_before_its_first_write
    values_that_others_store_otherwise_are_not_read
    another_table_than_was_meant_is_named_first
    a_part_is_compared_too
    columns_beside_those_of_others_are_written
    a_type_evolves_while_an_older_program_runs
    a_retired_row_type_is_compared_no_more
    a_table_without_a_record_gets_one_at_its_first_write
    a_table_that_was_made_again_has_no_row_types_of_before
    a_restored_table_has_the_row_types_of_its_name
    a_copied_table_has_the_row_types_of_its_copy
    tags_have_row_types_of_their_own
    nothing_is_created_where_the_registry_is_off
    of_two_new_programs_one_writes
}

fn table<R: Row>(client: &Client) -> Table<EventKey, R> {
    client.table("events")
}

/// The table with the row of `alice`.
async fn with_a_row(client: &Client) -> Table<EventKey, Event> {
    let events = created(client, "events").await;
    events.put(&key("alice"), &event()).await.unwrap();
    events
}

fn key(user: &str) -> EventKey {
    EventKey { user: user.into() }
}

fn event() -> Event {
    Event { kind: "login".into() }
}

/// The rows of the registry, with the names of their columns.
pub(crate) async fn registered(client: &Client) -> Vec<(String, Vec<String>)> {
    let newest = ReadRows::all().filter(RowFilter::latest(1));
    let mut rows = client.raw_table("keyderive").read_rows(newest);
    let mut found = Vec::new();
    while let Some(row) = rows.next().await {
        let row = row.unwrap();
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        found.push((text(row.key()), row.cells().map(|cell| text(cell.qualifier())).collect()));
    }
    found
}

fn refused<T: std::fmt::Debug>(outcome: Result<T, Error>) -> String {
    let error = outcome.unwrap_err();
    assert!(error.is_table_mismatch() && error.attempts() == 0, "{error}");
    error.to_string()
}

/// Of a length that both read, so that no value shows it.
async fn values_that_others_store_otherwise_are_not_read(client: Client) {
    let events = table::<Event>(&client);
    events.create_if_absent().await.unwrap();
    events.put(&key("alice"), &Event { kind: "Margaret".into() }).await.unwrap();

    #[derive(Row, Debug, PartialEq)]
    struct Wide {
        kind: i64,
    }
    let wide = || table::<Wide>(&client);
    let scan = || wide().scan(EventKey::scan());
    for refusal in [
        refused(wide().get(&key("alice")).await),
        refused(wide().get_many([key("alice")]).await),
        refused(scan().collect().await),
        refused(scan().matching(Wide::KIND.at_least(5)).count().await),
        refused(wide().select(Wide::KIND).get(&key("alice")).await),
        refused(wide().export(EventKey::scan()).stream().next().await.unwrap()),
        refused(wide().delete_if(&key("alice"), Wide::KIND.at_least(5)).await),
        refused(wide().verify_rows().await),
    ] {
        assert!(refusal.contains("`cf:kind` was text and is an integer"), "{refusal}");
    }
    // Cells are copied as they are.
    let copied = created::<EventKey, Wide>(&client, "copied").await;
    let full = created::<EventKey, ()>(&client, "full").await;
    full.put(&key("bob"), &()).await.unwrap();
    let before = registered(&client).await;
    fails(events.copy_to(&copied, |key, _| key).await, "`cf:kind` was text and is an integer");
    fails(events.copy_to(&copied, |key, _| key).check().await, "`cf:kind` was text and is an integer");
    fails(events.copy_to(&full, |key, _| key).await, "it has rows");
    assert_eq!(registered(&client).await, before);
    // What another program wrote, too: a copy's own row type may name no column.
    fails(
        client.table::<EventKey, ()>("events").copy_to(&copied, |key, _| key).await,
        "`cf:kind` was text and is an integer",
    );
    assert_eq!(copied.scan(EventKey::scan()).count().await.unwrap(), 0);
    // The record of a copy names what was copied, whatever the copy's own row type is.
    let whole = created::<EventKey, ()>(&client, "whole").await;
    client.table::<EventKey, ()>("events").copy_to(&whole, |key, _| key).await.unwrap();
    let refusal = refused(client.table::<EventKey, Wide>("whole").get(&key("alice")).await);
    assert!(refusal.contains("`cf:kind` was text and is an integer"), "{refusal}");
    // None of these depends on a value.
    assert!(wide().exists(&key("alice")).await.unwrap());
    assert_eq!(scan().count().await.unwrap(), 1);
    assert!(wide().get_raw(&key("alice")).await.unwrap().is_some());
    assert_eq!(scan().raw().collect().await.unwrap().len(), 1);
    assert!(wide().unchecked().get(&key("alice")).await.unwrap().is_some());
    assert_eq!(events.row_types().await.unwrap().len(), 1, "whoever reads declares nothing");
    wide().delete(&key("alice")).await.unwrap();
}

async fn another_table_than_was_meant_is_named_first(client: Client) {
    table::<Event>(&client).create_if_absent().await.unwrap();

    #[derive(RowKey, Clone)]
    struct DayKey {
        #[pad(8)]
        day: u32,
    }
    #[derive(Row)]
    #[row(family = "other", ttl = "1h")]
    struct Day {
        note: String,
    }
    let days = client.table::<DayKey, Day>("events");
    let add = FamilyChange::add(Family::new("other", GcRule::never()));
    for refusal in [
        refused(days.create_if_absent().await),
        refused(days.verify().await),
        refused(days.modify_families([add]).await),
        refused(days.remove_row_key_schema().await),
        refused(days.delete_table().await),
    ] {
        assert!(refusal.starts_with("table `events`: it is stamped with another layout"), "{refusal}");
    }
    days.unchecked().delete_table().await.unwrap();

    // Any handle, also one that compares nothing.
    let registry = client.table::<EventKey, Event>("keyderive");
    for refusal in [
        registry.delete_table().await,
        registry.unchecked().delete_table().await,
        registry.remove_row_key_schema().await,
        registry.modify_families([FamilyChange::drop("cf")]).await.map(drop),
    ] {
        assert!(refusal.unwrap_err().to_string().contains("it is keyderive's own"));
    }
    assert!(client.list_tables().await.unwrap().contains(&"keyderive".to_owned()));
}

/// What fits its whole fits the registry's record of it, and a column that only the part has is compared with what others write there.
async fn a_part_is_compared_too(client: Client) {
    #[derive(Cell, Debug, PartialEq)]
    enum Kind {
        Login,
    }
    #[derive(Row)]
    struct Typed {
        kind: Kind,
        size: u8,
        #[row(family = "h")]
        notes: Versions<String>,
    }
    #[derive(Row, Debug, PartialEq)]
    struct Loose {
        kind: String,
        size: i64,
        #[row(family = "h")]
        notes: Option<String>,
    }
    let typed = table::<Typed>(&client);
    typed.create_if_absent().await.unwrap();
    let notes = Versions::from_iter([Timestamped::new(1_000, "a".to_owned())]);
    typed.put(&key("a"), &Typed { kind: Kind::Login, size: 7, notes }).await.unwrap();
    let expected = Loose { kind: "Login".into(), size: 7, notes: Some("a".into()) };
    let part = typed.rows_as::<Loose>();
    assert_eq!(part.get(&key("a")).await.unwrap(), Some(expected));
    assert_eq!(part.scan(EventKey::scan()).matching(Loose::SIZE.at_least(7)).count().await.unwrap(), 1);

    #[derive(Row)]
    struct Views {
        views: Option<String>,
    }
    table::<Counted>(&client).increment(&key("a"), Counted::VIEWS, 1).await.unwrap();
    let refusal = refused(typed.rows_as::<Views>().get(&key("a")).await.map(|_| ()));
    assert!(refusal.contains("`cf:views` was"), "{refusal}");
}

async fn the_registry_has_what_programs_declare(client: Client) {
    let events = table::<Event>(&client);
    events.create_if_absent().await.unwrap();
    let layout = format!("layout/{}", EventKey::fingerprint());
    let key_column = format!("key::{}", EventKey::fingerprint());
    let declared = [(layout.clone(), vec!["json".to_owned()])];
    let table_row = ("table/events".to_owned(), vec!["id".to_owned(), key_column.clone()]);
    assert_eq!(registered(&client).await, [&declared[..], &[table_row]].concat());

    events.put(&key("alice"), &event()).await.unwrap();
    let found = registered(&client).await;
    let [(of_layout, _), (of_row, json), (of_table, columns)] = &found[..] else { panic!("{found:?}") };
    assert_eq!((of_layout, &json[..], &**of_table), (&layout, &["json".to_owned()][..], "table/events"));
    let fingerprint = of_row.strip_prefix("row/").unwrap();
    assert_eq!(columns[..], ["id".to_owned(), key_column, format!("row::{fingerprint}")]);

    // Nothing is written again.
    let steady = registered(&client).await;
    events.create_if_absent().await.unwrap();
    table::<Event>(&client.clone()).put(&key("bob"), &event()).await.unwrap();
    assert_eq!(registered(&client).await, steady);
    client.delete_table("events").await.unwrap();
    assert!(registered(&client).await.iter().all(|(row, _)| row != "table/events"));
}

async fn a_row_type_that_does_not_fit_is_refused_before_its_first_write(client: Client) {
    let events = with_a_row(&client).await;
    let other = || table::<Numbered>(&client);
    let (at, row) = (&key("alice"), &Numbered { kind: 7 });
    for text in [
        refused(other().put(at, row).await),
        refused(other().put_if_absent(at, row).await),
        refused(other().put_all([(at.clone(), Numbered { kind: 7 })]).await),
        refused(other().merge(at, row).await),
        refused(other().update(at).set(Numbered::KIND, 7).await),
        refused(other().writer().put(at, row).await),
    ] {
        for part in ["table `events`", "`Numbered`", "`Event`", "`cf:kind` was text", "retire_row_type(\""] {
            assert!(text.contains(part), "{text}");
        }
    }
    fails(other().load_iter([(at.clone(), Numbered { kind: 7 })]).await, "retire_row_type(\"");
    assert_eq!(events.get(at).await.unwrap(), Some(event()));
    assert!(refused(other().get(at).await).contains("nothing was read"));
    other().delete(at).await.unwrap();
}

async fn columns_beside_those_of_others_are_written(client: Client) {
    let events = with_a_row(&client).await;
    // A whole row of it would have no kind.
    let counted = table::<Counted>(&client);
    assert!(refused(counted.put(&key("alice"), &Counted { views: 1 }).await).contains("`cf:kind`"));
    assert_eq!(counted.increment(&key("alice"), Counted::VIEWS, 1).await.unwrap(), 1);
    assert_eq!(events.get(&key("alice")).await.unwrap(), Some(event()));

    // Its column is known, too.
    #[derive(Row)]
    struct Texts {
        kind: String,
        views: Option<String>,
    }
    let texts = client.clone().table::<EventKey, Texts>("events");
    let row = Texts { kind: "a".into(), views: Some("x".into()) };
    assert!(refused(texts.put(&key("bob"), &row).await).contains("`cf:views`"));
}

async fn a_type_evolves_while_an_older_program_runs(client: Client) {
    let a = with_a_row(&client).await;
    let b = table::<Noted>(&client);
    b.put(&key("bob"), &Noted { kind: "b".into(), note: Some("n".into()) }).await.unwrap();
    // The first program still runs, and starts again.
    a.put(&key("alice"), &event()).await.unwrap();
    table::<Event>(&client).put(&key("carol"), &event()).await.unwrap();
    // The third release fits the second, and not the first.
    let c = table::<Loose>(&client);
    let row = Loose { kind: None, note: None };
    let text = refused(c.put(&key("dave"), &row).await);
    assert!(text.contains("`Event`") || text.contains("`Noted`"), "{text}");
}

async fn a_retired_row_type_is_compared_no_more(client: Client) {
    with_a_row(&client).await;
    let numbered = table::<Numbered>(&client);
    let text = refused(numbered.put(&key("alice"), &Numbered { kind: 7 }).await);
    let fingerprint = text.split("retire_row_type(\"").nth(1).unwrap().split('"').next().unwrap();
    assert!(numbered.retire_row_type(fingerprint).await.unwrap());
    assert!(!numbered.retire_row_type(fingerprint).await.unwrap());
    numbered.put(&key("alice"), &Numbered { kind: 7 }).await.unwrap();
    // The other way round, once the older program starts again.
    assert!(refused(table::<Event>(&client).put(&key("alice"), &event()).await).contains("`Numbered`"));
}

/// As Terraform creates it, once there is a registry.
async fn a_table_without_a_record_gets_one_at_its_first_write(client: Client) {
    client.table::<CountKey, Counted>("counts").create_if_absent().await.unwrap();
    created_raw(&client, "events").await;
    table::<Event>(&client).put(&key("alice"), &event()).await.unwrap();
    let found = registered(&client).await;
    assert!(found.iter().any(|(row, columns)| row == "table/events" && columns.len() == 1), "{found:?}");
    // It stays once the table is stamped.
    table::<Event>(&client).stamp().await.unwrap();
    let found = registered(&client).await;
    assert!(found.iter().any(|(row, columns)| row == "table/events" && columns.len() == 3), "{found:?}");
    refused(table::<Numbered>(&client).put(&key("alice"), &Numbered { kind: 7 }).await);
}

async fn a_table_that_was_made_again_has_no_row_types_of_before(client: Client) {
    let events = with_a_row(&client).await;
    let before = stamp_of(&events.info().await.unwrap(), EventKey::fingerprint()).unwrap().clone();
    // By a program that knows nothing of the registry.
    let other = without_registry(&client);
    other.delete_table("events").await.unwrap();
    table::<Numbered>(&other).create_if_absent().await.unwrap();
    let after = stamp_of(&events.info().await.unwrap(), EventKey::fingerprint()).unwrap().clone();
    assert_ne!(before, after);
    let numbered = table::<Numbered>(&client);
    numbered.put(&key("alice"), &Numbered { kind: 7 }).await.unwrap();
    assert!(refused(table::<Event>(&client).put(&key("alice"), &event()).await).contains("`Numbered`"));
}

/// A backup has the families of its table, the stamp with its id too, and goes to any name.
async fn a_restored_table_has_the_row_types_of_its_name(client: Client) {
    let events = with_a_row(&client).await;
    let families: Vec<_> = events.info().await.unwrap().families().to_vec();
    without_registry(&client).delete_table("events").await.unwrap();
    for name in ["events", "events-restored"] {
        client.raw_table(name).create(families.clone(), [""; 0]).await.unwrap();
    }
    // It is the table that the record is about.
    assert!(
        refused(table::<Numbered>(&client).put(&key("a"), &Numbered { kind: 7 }).await).contains("`Event`")
    );
    table::<Event>(&client).put(&key("alice"), &event()).await.unwrap();
    // That name has no record, until the first write.
    let restored = client.table::<EventKey, Event>("events-restored");
    restored.put(&key("alice"), &event()).await.unwrap();
    let numbered = client.table::<EventKey, Numbered>("events-restored");
    assert!(refused(numbered.put(&key("a"), &Numbered { kind: 7 }).await).contains("`Event`"));
}

async fn a_copied_table_has_the_row_types_of_its_copy(client: Client) {
    let (events, copy) = (table::<Event>(&client), client.table::<EventKey, Event>("copy"));
    for table in [&events, &copy] {
        table.create_if_absent().await.unwrap();
    }
    events.put(&key("alice"), &event()).await.unwrap();
    events.copy_to(&copy, |key, _| key).await.unwrap();
    let numbered = client.table::<EventKey, Numbered>("copy");
    assert!(refused(numbered.put(&key("a"), &Numbered { kind: 7 }).await).contains("`Event`"));
}

async fn tags_have_row_types_of_their_own(client: Client) {
    #[derive(RowKey)]
    #[row_key(tag = "e")]
    struct TaggedKey {
        user: String,
    }
    let events = client.table::<TaggedKey, Event>("shared");
    let counts = client.table::<CountKey, Numbered>("shared");
    events.create().without_row_key_schema().await.unwrap();
    counts.create().without_row_key_schema().if_absent().await.unwrap();
    events.put(&TaggedKey { user: "a".into() }, &event()).await.unwrap();
    counts.put(&CountKey { user: "a".into() }, &Numbered { kind: 7 }).await.unwrap();
}

async fn nothing_is_created_where_the_registry_is_off(client: Client) {
    let client = without_registry(&client);
    with_a_row(&client).await;
    table::<Numbered>(&client).put(&key("alice"), &Numbered { kind: 7 }).await.unwrap();
    assert_eq!(client.list_tables().await.unwrap(), ["events"]);
}

/// Whoever declares its type has compared it with all others.
async fn of_two_new_programs_one_writes(client: Client) {
    table::<Event>(&client).create_if_absent().await.unwrap();
    let (a, b) = (table::<Event>(&client), table::<Numbered>(&client));
    let (at, row, other) = (key("alice"), event(), Numbered { kind: 7 });
    let (one, two) = tokio::join!(a.put(&at, &row), b.put(&at, &other));
    assert!(one.is_ok() != two.is_ok(), "{one:?} {two:?}");
    refused(one.and(two));
}

#[tokio::test(start_paused = true)]
async fn a_registry_that_cannot_be_read_stops_nothing() {
    let bigtable = Bigtable::in_memory();
    with_a_row(&bigtable.client()).await;
    for fault in [Fault::permission_denied(), Fault::unavailable()] {
        let client = bigtable.with_faults(Faults::seeded(0).fail(Method::ReadRows, 1.0, fault)).client();
        let begun = Instant::now();
        table::<Numbered>(&client).put(&key("bob"), &Numbered { kind: 7 }).await.unwrap();
        assert!(begun.elapsed() <= Duration::from_secs(4), "{:?}", begun.elapsed());
        // It is not asked for at each write.
        let begun = Instant::now();
        table::<Numbered>(&client).put(&key("bob"), &Numbered { kind: 8 }).await.unwrap();
        assert!(begun.elapsed() <= Duration::from_millis(100), "{:?}", begun.elapsed());
        let required = client.with(|settings| settings.require_layout_check = true);
        table::<Numbered>(&required).put(&key("bob"), &Numbered { kind: 9 }).await.unwrap_err();
    }
}

/// Faults by which no read is answered.
fn silent() -> Faults {
    let hour = Duration::from_secs(3600);
    (1..50).fold(Faults::seeded(0), |faults, number| faults.delay_nth(Method::ReadRows, number, hour))
}

/// A server that does not answer costs the first write 3 s, and no other.
#[tokio::test(start_paused = true)]
async fn a_registry_that_hangs_is_waited_for_once() {
    let bigtable = Bigtable::in_memory();
    table::<Event>(&bigtable.client()).create_if_absent().await.unwrap();
    let client = bigtable.with_faults(silent()).client();
    let begun = Instant::now();
    table::<Event>(&client).put(&key("bob"), &event()).await.unwrap();
    assert!(begun.elapsed() <= Duration::from_secs(4), "{:?}", begun.elapsed());
    let begun = Instant::now();
    table::<Event>(&client).put(&key("bob"), &event()).await.unwrap();
    assert!(begun.elapsed() <= Duration::from_millis(100), "{:?}", begun.elapsed());
}

/// Where the settings require it, a write that cannot be compared says why, and whether it may be repeated.
#[tokio::test(start_paused = true)]
async fn a_registry_that_is_required_and_cannot_be_read_fails_as_its_read_does() {
    let bigtable = Bigtable::in_memory();
    with_a_row(&bigtable.client()).await;
    let failing = |fault| Faults::seeded(0).fail(Method::ReadRows, 1.0, fault);
    for (faults, asked, is_retryable) in [
        (silent(), Error::is_deadline_exceeded as fn(&Error) -> bool, true),
        (failing(Fault::unavailable()), Error::is_unavailable, true),
        (failing(Fault::permission_denied()), Error::is_permission_denied, false),
    ] {
        let client = bigtable.with_faults(faults).client();
        let required = client.with(|settings| settings.require_layout_check = true);
        let error = table::<Event>(&required).put(&key("bob"), &event()).await.unwrap_err();
        assert!(
            asked(&error) && error.kind() != ErrorKind::Misconfiguration && !error.is_outcome_unknown(),
            "{error}"
        );
        assert_eq!(error.is_retryable(), is_retryable, "{error}");
        for part in ["`keyderive`", "`events`", "nothing was done", "`require_layout_check`", "call again"] {
            assert!(error.to_string().contains(part), "{error}");
        }
    }
    // The deadline of the call is its own limit.
    let client = bigtable.with_faults(silent()).client();
    let hasty = client.with_deadline((Instant::now() + Duration::from_secs(1)).into_std());
    let error = table::<Event>(&hasty).put(&key("bob"), &event()).await.unwrap_err();
    assert!(error.is_deadline_exceeded(), "{error}");
    assert!(error.to_string().contains("row types of the table `events`"), "{error}");
}

/// Terraform made it, and two key types stamp it at the same time, each with an id: the lower one counts from then on.
#[tokio::test]
async fn a_second_stamp_leaves_the_row_types_of_the_first() {
    let client = Client::embedded();
    client.table::<CountKey, Counted>("other").create_if_absent().await.unwrap();
    created_raw(&client, "shared").await;
    let counts = client.table::<CountKey, Event>("shared");
    counts.stamp().await.unwrap();
    counts.put(&CountKey { user: "a".into() }, &event()).await.unwrap();
    // As the other program's request, which had not seen the first stamp.
    let late = Family::new("keyderive.af63dc4c8601ec8c.0123456789abcdef.00000000", GcRule::max_versions(1));
    let add = keyderive::client::FamilyChange::add(late);
    client.raw_table("shared").modify_families(vec![add]).await.unwrap();
    let next = client.clone().with(|_| ()).table::<CountKey, Numbered>("shared");
    refused(next.put(&CountKey { user: "b".into() }, &Numbered { kind: 7 }).await);
}

/// A program that runs for long opens another handle: what others have declared meanwhile counts.
#[tokio::test(start_paused = true)]
async fn a_later_handle_of_a_program_is_compared_with_what_others_declared_since() {
    let bigtable = Bigtable::in_memory();
    let (long, other) = (bigtable.client(), bigtable.client());
    table::<Counted>(&long).create_if_absent().await.unwrap();
    table::<Counted>(&long).increment(&key("a"), Counted::VIEWS, 1).await.unwrap();
    table::<Counted>(&long).increment(&key("a"), Counted::VIEWS, 1).await.unwrap();
    table::<Event>(&other).put(&key("a"), &event()).await.unwrap();
    tokio::time::sleep(Duration::from_secs(3600)).await;
    refused(table::<Numbered>(&long).put(&key("b"), &Numbered { kind: 7 }).await);
}

/// Its record has no id, since it had no stamp; whoever creates the next one knows that it is another.
#[tokio::test]
async fn a_table_that_was_made_again_has_no_row_types_of_one_without_a_stamp() {
    let client = Client::embedded();
    client.table::<CountKey, Counted>("counts").create_if_absent().await.unwrap();
    created_raw(&client, "events").await;
    table::<Event>(&client).put(&key("alice"), &event()).await.unwrap();
    without_registry(&client).delete_table("events").await.unwrap();
    table::<Numbered>(&client).create().without_row_key_schema().await.unwrap();
    table::<Numbered>(&client).put(&key("alice"), &Numbered { kind: 7 }).await.unwrap();
}

/// A map owns its family: another type of its values, or a struct in it, does not fit.
#[tokio::test]
async fn maps_are_compared() {
    use std::collections::BTreeMap;
    let client = Client::embedded();
    let families = [Family::new("cf", GcRule::max_versions(1)), Family::new("m", GcRule::max_versions(1))];
    client.table::<CountKey, Counted>("counts").create_if_absent().await.unwrap();
    client.raw_table("events").create(families, [""; 0]).await.unwrap();
    let numbers = table::<BTreeMap<String, i64>>(&client).family("m");
    numbers.put(&key("a"), &BTreeMap::from([("x".to_owned(), 1)])).await.unwrap();
    let texts = || table::<BTreeMap<String, String>>(&client).family("m");
    let row = BTreeMap::from([("x".to_owned(), "1".to_owned())]);
    refused(texts().put(&key("a"), &row).await);
    refused(texts().merge(&key("a"), &row).await);
    // In the family of a struct.
    let families = [Family::new("cf", GcRule::max_versions(1))];
    client.raw_table("structs").create(families, [""; 0]).await.unwrap();
    client.table::<EventKey, Event>("structs").put(&key("a"), &event()).await.unwrap();
    let texts = client.table::<EventKey, BTreeMap<String, u32>>("structs");
    let outcome = texts.put(&key("a"), &BTreeMap::from([("x".to_owned(), 1)])).await;
    refused(outcome);
}

/// Conditions, copies, and parts of a row type.
#[tokio::test]
async fn every_write_is_compared() {
    #[derive(Row)]
    struct NumberedNote {
        note: Option<u32>,
    }
    let client = Client::embedded();
    with_a_row(&client).await;
    table::<Noted>(&client).put(&key("b"), &Noted { kind: "b".into(), note: None }).await.unwrap();
    let (at, row, other) = (key("alice"), Numbered { kind: 7 }, || table::<Numbered>(&client));
    let if_there = keyderive::row::Condition::row_exists;
    refused(other().update(&at).set(Numbered::KIND, 7).only_if(if_there()).await);
    refused(other().put_if(&at, &row, if_there()).await);
    refused(other().merge_all([(at.clone(), Numbered { kind: 7 })]).await);
    refused(other().writer().update(other().update(&at).set(Numbered::KIND, 7)).await);
    let source = created::<EventKey, Numbered>(&client, "source").await;
    source.put(&at, &row).await.unwrap();
    source.copy_to(&other(), |key, _| key).await.unwrap_err();
    let part = || table::<NumberedNote>(&client);
    refused(part().put(&at, &NumberedNote { note: Some(7) }).await);
    refused(part().update(&at).set(NumberedNote::NOTE, 7).await);
}

/// The types of other programs are compared with one that writes, whatever the table of a part declares.
#[tokio::test]
async fn a_part_of_a_table_without_columns_reads_as_a_table_of_its_type() {
    let client = Client::embedded();
    with_a_row(&client).await;
    let before = registered(&client).await;
    let part = table::<()>(&client).rows_as::<Event>();
    assert_eq!(part.get(&key("alice")).await.unwrap(), Some(event()));
    let other = table::<()>(&client).rows_as::<Numbered>();
    let found = [other.get(&key("alice")).await, table::<Numbered>(&client).get(&key("alice")).await];
    for error in found.map(|row| row.map(|row| row.map(|row| row.kind)).unwrap_err()) {
        assert!(error.is_table_mismatch(), "{error}");
    }
    refused(table::<Numbered>(&client).put(&key("alice"), &Numbered { kind: 7 }).await);
    assert_eq!(registered(&client).await, before);
}

/// A program that opened a pair before the new table was there is known there too.
#[tokio::test(start_paused = true)]
async fn row_types_of_a_re_keyed_table_are_those_of_its_new_one() {
    let bigtable = Bigtable::in_memory();
    let client = bigtable.client();
    client.table::<UserKey, Event>("old").create().without_row_key_schema().await.unwrap();
    let running = client.rekeyed::<UserKey, SaltedKey, Event>("old", "new").await.unwrap();
    let a = SaltedKey { id: 1 };
    running.put(&a, &event()).await.unwrap();
    let other = bigtable.client().rekeyed::<UserKey, SaltedKey, Numbered>("old", "new").await.unwrap();
    assert!(refused(other.get(&a).await).contains("nothing was read"));
    let unread = other.scan_both(SaltedKey::scan(), UserKey::scan()).collect().await;
    assert!(refused(unread).contains("nothing was read"));
    let driver = bigtable.client().rekeyed::<UserKey, SaltedKey, Event>("old", "new").await.unwrap();
    driver.migration().run().await.unwrap();
    running.put(&SaltedKey { id: 2 }, &event()).await.unwrap();
    driver.migration().finish().await.unwrap();
    let plain = bigtable.client().table::<SaltedKey, Numbered>("new");
    refused(plain.put(&SaltedKey { id: 1 }, &Numbered { kind: 7 }).await);

    // Also of a program that has not written since.
    let client = bigtable.client();
    client.table::<UserKey, Event>("quiet").create().await.unwrap();
    client.table::<UserKey, Event>("quiet").put(&UserKey { id: 1 }, &event()).await.unwrap();
    let driver = bigtable.client().rekeyed::<UserKey, SaltedKey, ()>("quiet", "quiet-4").await.unwrap();
    driver.migration().run().await.unwrap();
    driver.migration().finish().await.unwrap();
    let plain = bigtable.client().table::<SaltedKey, Numbered>("quiet-4");
    refused(plain.put(&SaltedKey { id: 1 }, &Numbered { kind: 7 }).await);
}

/// A write of a column under a new name deletes the former one, which another program needs.
#[tokio::test]
async fn a_renamed_column_is_compared_whatever_writes_it() {
    #[derive(Row)]
    struct Renamed {
        #[row(alias = "kind")]
        sort: String,
    }
    let client = Client::embedded();
    let events = with_a_row(&client).await;
    let renamed = || table::<Renamed>(&client);
    let (at, row) = (key("alice"), Renamed { sort: "b".into() });
    refused(renamed().put(&at, &row).await);
    refused(renamed().merge(&at, &row).await);
    refused(renamed().update(&at).set(Renamed::SORT, "b").await);
    assert_eq!(events.get(&at).await.unwrap(), Some(event()));
    let types = renamed().row_types().await.unwrap();
    assert_eq!(types.len(), 1, "{types:?}");
    assert!(types[0].name == "Event" && types[0].is_of_rows && !types[0].is_own, "{types:?}");
    assert!(renamed().retire_row_type(&types[0].fingerprint).await.unwrap());
    renamed().update(&at).set(Renamed::SORT, "b").await.unwrap();
    let types = renamed().row_types().await.unwrap();
    assert!(types.len() == 1 && types[0].is_own && !types[0].is_of_rows, "{types:?}");
}

/// A process that knows the schema of an earlier table of the name does not take the record of the later one off.
#[tokio::test]
async fn a_process_with_the_schema_of_an_earlier_table_keeps_the_record() {
    let bigtable = Bigtable::in_memory();
    let (earlier, later) = (bigtable.client(), bigtable.client());
    with_a_row(&earlier).await;
    table::<Event>(&later).delete_table().await.unwrap();
    let events = with_a_row(&later).await;

    let other = Noted { kind: "c".into(), note: None };
    table::<Noted>(&earlier).put(&key("bob"), &other).await.unwrap();
    assert_eq!(bigtable.client().registered_layouts("events").await.unwrap()[0].row_types().len(), 2);
    refused(table::<Numbered>(&bigtable.client()).put(&key("alice"), &Numbered { kind: 1 }).await);
    assert_eq!(events.get(&key("alice")).await.unwrap(), Some(event()));
}

/// A program deletes a table, and what it does to the record arrives when another program has created the table again.
#[tokio::test(start_paused = true)]
async fn the_record_of_a_table_that_was_created_again_stays() {
    let bigtable = Bigtable::in_memory();
    with_a_row(&bigtable.client()).await;
    let late = FaultRule::delay(Duration::from_secs(2)).tables(["keyderive"]);
    let late = late.methods([Method::MutateRow, Method::CheckAndMutateRow]);
    let late = bigtable.with_faults(Faults::seeded(0).rule(late)).client();
    let again = async {
        while !bigtable.client().list_tables().await.unwrap().iter().all(|name| name != "events") {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        with_a_row(&bigtable.client()).await;
    };
    let (deleted, ()) = futures_util::future::join(late.delete_table("events"), again).await;
    deleted.unwrap();
    let numbers = table::<Numbered>(&bigtable.client());
    refused(numbers.put(&key("bob"), &Numbered { kind: 7 }).await);
    bigtable.client().delete_table("events").await.unwrap();
    numbers.create().await.unwrap();
    numbers.put(&key("bob"), &Numbered { kind: 7 }).await.unwrap();
}
