//! Tables that are stamped with the layout of their keys.

use std::time::Duration;

use keyderive::client::{Aggregate, Family, FamilyChange};
use keyderive::dynamic::TableLayout;
use keyderive::embedded::{Bigtable, Fault, Faults, Method};
use keyderive::key::TableKey;
use keyderive::plan::IntoPlan;
use keyderive::row::{Condition, Mutation};
use keyderive::table::{WriteOutcome, put_both};
use keyderive::{Client, Error, ErrorKind, GcRule, Row, RowKey, Table};
use keyderive_tests::fixtures::{fails, mismatches};
use tokio::time::Instant;

use crate::registry::{stamp_of, without_registry};
use crate::servers::on_every_bigtable;

type Columns = std::collections::BTreeMap<String, String>;

/// Groups of key types that are layouts of one key; the first of each group creates the table.
macro_rules! layouts {
    ($($name:ident, #[$($key:meta),*] { $(#[$field:meta])* $part:ident: $type:ty };)*) => {
        $(
            #[derive(RowKey, Clone, Debug, PartialEq)]
            $(#[$key])*
            struct $name {
                user: String,
                $(#[$field])*
                $part: $type,
            }
        )*
    };
}

layouts! {
    Salt8, #[salt(range = 8, over = "user")] { at: u64 };
    Salt9, #[salt(range = 9, over = "user")] { at: u64 };
    Salt32, #[salt(range = 32, over = "user")] { at: u64 };
    Pad6, #[] { #[pad(6)] at: u64 };
    Pad8, #[] { #[pad(8)] at: u64 };
    Micros, #[] { #[row_key(ts(unit = "micros"))] at: std::time::SystemTime };
    Millis, #[] { #[row_key(ts(unit = "millis"))] at: std::time::SystemTime };
}

on_every_bigtable! {
    a_changed_layout_is_found_by_the_first_call
    key_types_without_tags_do_not_share_a_table
    key_types_with_tags_have_a_stamp_each
    a_table_of_another_program_is_stamped_after_a_look_at_its_keys
    a_stamp_looks_at_the_keys_of_its_tag
    the_keys_of_a_table_without_a_stamp_are_held_against_a_layout
    of_several_programs_one_creates_and_the_others_compare
    a_table_that_is_stamped_with_two_layouts_is_used_by_none
    families_and_their_kinds_are_checked_too
    reserved_families_are_refused_before_anything_is_sent
    a_table_that_is_made_anew_is_checked_anew
}

fn table<K: RowKey + TableKey>(client: &Client) -> Table<K, Columns> {
    client.table("events")
}

fn row(value: &str) -> Columns {
    [("kind".to_owned(), value.to_owned())].into()
}

/// The result of each kind of first call, on a handle of its own.
async fn first_calls<K>(client: &Client, key: K) -> Vec<(&'static str, Result<String, Error>)>
where
    K: RowKey<Scan: IntoPlan<K>> + TableKey<Stored: std::fmt::Debug> + Clone,
{
    let new = || table::<K>(client);
    let mut outcomes = Vec::new();
    let mut told = |call, outcome| outcomes.push((call, outcome));
    told("create_if_absent", new().create_if_absent().await.map(|made| format!("Ok({made})")));
    told("verify", new().verify().await.map(|found| format!("{found:?}")));
    told("scan", new().scan(K::scan()).collect().await.map(|rows| format!("{} rows", rows.len())));
    told("delete_rows", new().delete_rows(K::scan()).await.map(|rows| format!("Ok({rows})")));
    told("get", new().get(&key).await.map(|row| format!("{row:?}")));
    told("put", new().put(&key, &row("new")).await.map(|()| "Ok".to_owned()));
    outcomes
}

async fn assert_refused<K>(client: &Client, key: K)
where
    K: RowKey<Scan: IntoPlan<K>> + TableKey<Stored: std::fmt::Debug> + Clone,
{
    for (call, outcome) in first_calls(client, key).await {
        let name = K::SCHEMA.key_type();
        let error = outcome.map_err(|error| (error.is_table_mismatch(), error.to_string()));
        println!("{name}: {call}: {error:?}");
        assert!(matches!(error, Err((true, _))), "{name}: {call} gave {error:?}");
    }
}

async fn a_changed_layout_is_found_by_the_first_call(client: Client) {
    let user = || "alice".to_owned();
    let salted = table::<Salt8>(&client);
    salted.create_if_absent().await.unwrap();
    let key = Salt8 { user: user(), at: 5 };
    salted.put(&key, &row("old")).await.unwrap();
    assert_refused(&client, Salt9 { user: user(), at: 5 }).await;
    assert_refused(&client, Salt32 { user: user(), at: 5 }).await;
    assert_eq!(table::<Salt8>(&client).get(&key).await.unwrap(), Some(row("old")));
    salted.delete_table().await.unwrap();

    let padded = table::<Pad6>(&client);
    padded.create_if_absent().await.unwrap();
    padded.put(&Pad6 { user: user(), at: 5 }, &row("old")).await.unwrap();
    assert_refused(&client, Pad8 { user: user(), at: 5 }).await;
    padded.delete_table().await.unwrap();

    let at = std::time::UNIX_EPOCH + Duration::from_secs(1);
    let timed = table::<Micros>(&client);
    timed.create_if_absent().await.unwrap();
    timed.put(&Micros { user: user(), at }, &row("old")).await.unwrap();
    assert_refused(&client, Millis { user: user(), at }).await;
}

/// Key types that share a table.
#[derive(RowKey, Clone, Debug, PartialEq)]
#[row_key(tag = "A")]
struct TagA {
    user: String,
}

#[derive(RowKey, Clone, Debug, PartialEq)]
#[row_key(tag = "A")]
struct TagAChanged {
    user: String,
    site: String,
}

#[derive(RowKey, Clone, Debug, PartialEq)]
#[row_key(tag = "B")]
struct TagB {
    user: String,
}

async fn key_types_without_tags_do_not_share_a_table(client: Client) {
    table::<Pad6>(&client).create_if_absent().await.unwrap();
    let error = table::<Micros>(&client).scan(Micros::scan()).collect().await.unwrap_err();
    assert!(error.is_table_mismatch() && error.attempts() == 0, "{error}");
    let text = error.to_string();
    let (expected, found) = (Micros::fingerprint().to_string(), Pad6::fingerprint().to_string());
    for part in ["table `events`", "`Micros`", "<user>#<at>", &expected, &found, "need a tag each"] {
        assert!(text.contains(part), "{part} is not in: {text}");
    }
}

async fn key_types_with_tags_have_a_stamp_each(client: Client) {
    let (a, b) = (table::<TagA>(&client), table::<TagB>(&client));
    assert!(a.create().without_row_key_schema().if_absent().await.unwrap());
    let key = TagB { user: "alice".into() };
    // The table has no stamp for this tag yet.
    for error in [b.put(&key, &row("1")).await.unwrap_err(), b.verify().await.unwrap_err()] {
        assert!(error.is_table_mismatch() && error.to_string().contains("`create_if_absent`"), "{error}");
    }
    assert!(!b.create_if_absent().await.unwrap());
    b.put(&key, &row("1")).await.unwrap();
    a.put(&TagA { user: "alice".into() }, &row("2")).await.unwrap();
    assert_eq!((a.count(TagA::scan()).await.unwrap(), b.count(TagB::scan()).await.unwrap()), (1, 1));
    assert!(a.verify().await.unwrap().stamp && b.verify().await.unwrap().stamp);

    let changed = TagAChanged { user: "alice".into(), site: "home".into() };
    assert_refused(&client, changed).await;
    let untagged = table::<Pad6>(&client);
    for error in [untagged.create_if_absent().await.unwrap_err(), untagged.verify().await.unwrap_err()] {
        assert!(error.is_table_mismatch() && error.to_string().contains("need a tag each"), "{error}");
    }

    client.table::<Pad6, Columns>("untagged").create().without_row_key_schema().await.unwrap();
    mismatches(client.table::<TagA, Columns>("untagged").create_if_absent().await, "need a tag each");
}

async fn a_table_of_another_program_is_stamped_after_a_look_at_its_keys(client: Client) {
    let raw = client.raw_table("events");
    raw.create([Family::new("cf", GcRule::max_versions(1))], [""; 0]).await.unwrap();
    let (salted, other) = (table::<Salt8>(&client), table::<Salt32>(&client));
    for id in 0..40 {
        salted.put(&Salt8 { user: format!("user-{id}"), at: 5 }, &row("old")).await.unwrap();
    }
    assert_eq!(other.count(Salt32::scan().user("user-1")).await.unwrap(), 0); // a first use needs no stamp

    for error in [salted.verify().await.unwrap_err(), salted.create_if_absent().await.unwrap_err()] {
        assert!(error.is_table_mismatch() && error.to_string().contains("`stamp()`"), "{error}");
    }
    assert!(!salted.verify().allow_unstamped().await.unwrap().stamp);
    mismatches(other.stamp().await, "user-");

    salted.stamp().await.unwrap();
    salted.stamp().await.unwrap();
    assert!(salted.verify().await.unwrap().stamp);
    assert!(!salted.create_if_absent().await.unwrap());
    assert_refused(&client, Salt32 { user: "user-1".into(), at: 5 }).await;
    assert!(stamp_of(&salted.info().await.unwrap(), Salt8::fingerprint()).is_some());
}

/// In a shared table, only the keys with this tag are checked.
async fn a_stamp_looks_at_the_keys_of_its_tag(client: Client) {
    let raw = client.raw_table("events");
    raw.create([Family::new("cf", GcRule::max_versions(1))], [""; 0]).await.unwrap();
    let (a, changed, b) = (table::<TagA>(&client), table::<TagAChanged>(&client), table::<TagB>(&client));
    changed.put(&TagAChanged { user: "u".into(), site: "s".into() }, &row("1")).await.unwrap();
    b.put(&TagB { user: "u".into() }, &row("1")).await.unwrap();
    assert!(a.stamp().await.unwrap_err().is_table_mismatch());
    b.stamp().await.unwrap();
    changed.stamp().await.unwrap();
    assert!(b.verify().await.unwrap().stamp && changed.verify().await.unwrap().stamp);
}

async fn the_keys_of_a_table_without_a_stamp_are_held_against_a_layout(client: Client) {
    let raw = client.raw_table("events");
    raw.create([Family::new("cf", GcRule::max_versions(1))], [""; 0]).await.unwrap();
    let salted = table::<Salt8>(&client);
    for id in 0..40 {
        salted.put(&Salt8 { user: format!("user-{id}"), at: 5 }, &row("old")).await.unwrap();
    }
    let own = client.dynamic_table(&TableLayout::of::<Salt8, Columns>("events"));
    own.verify_keys().await.unwrap();
    let other = client.dynamic_table(&TableLayout::of::<Salt32, Columns>("events"));
    mismatches(other.verify_keys().await, "it has no stamp, and a row");

    // A stamp counts more than keys: none of these decodes.
    salted.delete_all((0..40).map(|id| Salt8 { user: format!("user-{id}"), at: 5 })).await.unwrap();
    table::<Salt32>(&client).stamp().await.unwrap();
    raw.mutate_row("no key", vec![Mutation::set("cf", "value", 0, "x")]).await.unwrap();
    other.verify_keys().await.unwrap();
}

async fn of_several_programs_one_creates_and_the_others_compare(client: Client) {
    let create = |_| {
        let events = client.table::<Salt8, Columns>("events");
        tokio::spawn(async move { events.create_if_absent().await.unwrap() })
    };
    let created = futures_util::future::join_all((0..8).map(create)).await;
    assert_eq!(created.into_iter().filter(|created| *created.as_ref().unwrap()).count(), 1);
}

async fn a_table_that_is_stamped_with_two_layouts_is_used_by_none(client: Client) {
    let (events, other) = (table::<Pad6>(&client), table::<Pad8>(&client));
    let key = Pad6 { user: "alice".into(), at: 5 };
    events.create_if_absent().await.unwrap();
    events.put(&key, &row("1")).await.unwrap();
    let second = format!("keyderive.{}.00c0ffee", Pad8::fingerprint());
    let rule = GcRule::max_versions(1);
    events.modify_families([FamilyChange::add(Family::new(&second, rule))]).await.unwrap();
    for error in [
        events.get(&key).await.unwrap_err(),
        events.verify().await.unwrap_err(),
        other.create_if_absent().await.unwrap_err(),
        other.scan(Pad8::scan()).collect().await.unwrap_err(),
    ] {
        assert!(error.is_table_mismatch() && error.to_string().contains("several layouts"), "{error}");
    }
    events.modify_families([FamilyChange::drop(&second)]).await.unwrap();
    assert_eq!(events.get(&key).await.unwrap(), Some(row("1")));

    // A family that a later release may create.
    let unknown = Family::new("keyderive.pair.1", GcRule::max_versions(1));
    events.modify_families([FamilyChange::add(unknown)]).await.unwrap();
    mismatches(events.get(&key).await, "`keyderive.pair.1`");
}

async fn families_and_their_kinds_are_checked_too(client: Client) {
    #[derive(Row, Debug)]
    struct Page {
        #[row(family)]
        sums: std::collections::BTreeMap<String, i64>,
    }
    #[derive(Row, Debug)]
    struct History {
        state: keyderive::row::Versions<String>,
    }
    let (events, key) = (table::<Pad6>(&client), Pad6 { user: "alice".into(), at: 5 });
    events.create().aggregate_family("sums", Aggregate::Sum, GcRule::never()).await.unwrap();
    let pages = client.table::<Pad6, Page>("events");
    let errors = [
        (pages.get(&key).await.unwrap_err(), "expected `bytes`, found `sums`"),
        (pages.verify().await.unwrap_err(), "expected `bytes`, found `sums`"),
        (pages.create_if_absent().await.unwrap_err(), "expected `bytes`, found `sums`"),
        (events.rows_as::<Page>().get(&key).await.unwrap_err(), "expected `bytes`, found `sums`"),
        (events.clone().family("x").delete_rows(Pad6::scan()).await.unwrap_err(), "the column family `x`"),
        (events.rows_as::<History>().get(&key).await.unwrap_err(), "keeps one"),
    ];
    for (error, part) in errors {
        assert!(error.is_table_mismatch() && error.to_string().contains(part), "{part} is not in: {error}");
    }
    assert_eq!(events.get(&key).await.unwrap(), None);

    // Declared GC rules are compared, although others may have changed them by hand.
    events.modify_families([FamilyChange::gc_rule("cf", GcRule::max_versions(2))]).await.unwrap();
    assert!(!events.create_if_absent().await.unwrap());
    mismatches(
        events.create().family("cf", GcRule::max_versions(3)).if_absent().await,
        "all but the newest 3 versions",
    );
}

async fn reserved_families_are_refused_before_anything_is_sent(client: Client) {
    for name in ["keyderive", "keyderive-origin", "keyderive.stats"] {
        let events = table::<Pad6>(&client).family(name);
        let declared = table::<Pad6>(&client).create().family(name, GcRule::never());
        for error in [
            events.create_if_absent().await.unwrap_err(),
            events.get(&Pad6 { user: "alice".into(), at: 5 }).await.unwrap_err(),
            declared.clone().await.unwrap_err(),
            declared.verify().await.unwrap_err(),
        ] {
            assert!(error.kind() == ErrorKind::InvalidArgument && error.attempts() == 0, "{error}");
            assert!(error.to_string().contains(&format!("`{name}`")), "{error}");
        }
    }
    assert_eq!(client.list_tables().await.unwrap(), [""; 0]);
}

/// The client drops its cached layout when it changes the table itself.
async fn a_table_that_is_made_anew_is_checked_anew(client: Client) {
    let (old, new) = (table::<Pad6>(&client), table::<Pad8>(&client));
    let key = Pad6 { user: "alice".into(), at: 5 };
    assert!(old.get(&key).await.unwrap_err().is_not_found());
    old.create_if_absent().await.unwrap();
    assert_eq!(old.get(&key).await.unwrap(), None);
    old.delete_table().await.unwrap();
    assert!(old.get(&key).await.unwrap_err().is_not_found());
    new.create_if_absent().await.unwrap();
    assert!(old.get(&key).await.unwrap_err().is_table_mismatch());
    assert_eq!(new.get(&Pad8 { user: "alice".into(), at: 5 }).await.unwrap(), None);
}

/// A Bigtable with a table of `Pad6`, and with faults.
async fn with_faults(faults: Faults) -> Bigtable {
    let bigtable = Bigtable::in_memory();
    table::<Pad6>(&bigtable.client()).create_if_absent().await.unwrap();
    bigtable.with_faults(faults)
}

fn key() -> Pad6 {
    Pad6 { user: "alice".into(), at: 5 }
}

fn other_key() -> Pad8 {
    Pad8 { user: "alice".into(), at: 5 }
}

#[tokio::test]
async fn no_typed_call_sends_anything_to_a_table_of_another_layout() {
    let bigtable = with_faults(Faults::seeded(0)).await;
    let client = without_registry(&bigtable.client());
    let new = || table::<Pad8>(&client);
    let (key, row) = (&other_key(), &row("new"));
    let counts = || client.table::<Pad8, std::collections::BTreeMap<String, i64>>(new().name());
    let exists = || Condition::row_exists();
    let errors = [
        ("get", new().get(key).await.map(drop)),
        ("get_many", new().get_many([key]).await.map(drop)),
        ("get_raw", new().get_raw(key).await.map(drop)),
        ("exists", new().exists(key).await.map(drop)),
        ("scan", new().scan(Pad8::scan()).collect().await.map(drop)),
        ("keys_only", new().scan(Pad8::scan()).keys_only().collect().await.map(drop)),
        ("raw", new().scan(Pad8::scan()).raw().collect().await.map(drop)),
        ("page", new().scan(Pad8::scan()).page(5).await.map(drop)),
        ("visit", new().scan(Pad8::scan()).visit::<Pad8, Error>(|_, _| Ok(())).await.map(drop)),
        ("count", new().count(Pad8::scan()).await.map(drop)),
        ("partitions", new().partitions().await.map(drop)),
        ("export", new().export(Pad8::scan()).stream().next().await.unwrap().map(drop)),
        (
            "export_parts",
            new().export_parts([Pad8::scan().into_plan().unwrap()]).stream().next().await.unwrap().map(drop),
        ),
        ("put", new().put(key, row).await),
        ("merge", new().merge(key, row).await),
        ("put_all", new().put_all([(key.clone(), row.clone())]).await),
        ("merge_all", new().merge_all([(key.clone(), row.clone())]).await),
        ("put_if", new().put_if(key, row, exists()).await.map(drop)),
        ("put_if_absent", new().put_if_absent(key, row).await.map(drop)),
        ("delete_if", new().delete_if(key, exists()).await.map(drop)),
        ("update", new().update(key).set(new().column("kind"), "new").await),
        ("only_if", new().update(key).set(new().column("kind"), "new").only_if(exists()).await.map(drop)),
        ("increment", counts().increment(key, counts().column("n"), 1).await.map(drop)),
        ("append", new().append(key, new().column("n"), "x").await.map(drop)),
        ("modify", counts().modify(key).increment(counts().column("n"), 1).await.map(drop)),
        ("delete", new().delete(key).await),
        ("delete_rows", new().delete_rows(Pad8::scan()).await.map(drop)),
        ("drop_rows", new().drop_rows(Pad8::scan().user("alice")).await),
        ("writer", new().writer().put(key, row).await),
        ("writer, delete", new().writer().delete(key).await),
    ];
    fails(new().load_iter([(key.clone(), row.clone())]).await, "another layout of its keys");
    let (own, own_key) = (table::<Pad6>(&client), self::key());
    for error in [
        put_both((&own, &own_key, row), (&new(), key, row)).await.unwrap_err(),
        put_both((&new(), key, row), (&own, &own_key, row)).await.unwrap_err(),
    ] {
        assert!(
            error.first().outcome() == WriteOutcome::NotWritten
                && error.second().outcome() == WriteOutcome::NotWritten,
            "{error}"
        );
        assert!(error.to_string().contains("another layout of its keys"), "{error}");
    }
    for (call, outcome) in errors {
        assert!(outcome.as_ref().is_err_and(Error::is_table_mismatch), "{call} gave {outcome:?}");
    }
    for method in [Method::ReadRows, Method::SampleRowKeys, Method::MutateRow, Method::MutateRows] {
        assert_eq!(bigtable.calls(method), 0, "{method:?}");
    }
    for method in [Method::CheckAndMutateRow, Method::ReadModifyWriteRow, Method::DropRowRange] {
        assert_eq!(bigtable.calls(method), 0, "{method:?}");
    }
    // One check was enough for all of them.
    assert_eq!(bigtable.calls(Method::GetTable), 1);
    assert_eq!(new().unchecked().get(key).await.unwrap(), None);
}

#[tokio::test(start_paused = true)]
async fn concurrent_first_uses_share_one_read_of_the_table() {
    let second = Duration::from_secs(1);
    let bigtable = with_faults(Faults::seeded(0).delay(Method::GetTable, 1.0, second)).await;
    let client = bigtable.client();
    let hasty = table::<Pad6>(&client);
    // The call that started the check is cancelled.
    tokio::time::timeout(second / 2, hasty.get(&key())).await.unwrap_err();
    let begun = Instant::now();
    let uses = (0..20).map(|_| {
        let events = table::<Pad6>(&client);
        async move { events.get(&key()).await.unwrap() }
    });
    futures_util::future::join_all(uses).await;
    assert_eq!((bigtable.calls(Method::GetTable), begun.elapsed()), (1, second / 2));
    // Handles that are made for each request, and of other row types.
    for _ in 0..20 {
        table::<Pad6>(&client).get(&key()).await.unwrap();
        client.table::<Pad6, ()>("events").scan(Pad6::scan()).collect().await.unwrap();
    }
    assert_eq!((bigtable.calls(Method::GetTable), begun.elapsed()), (1, second / 2));
}

/// So a service that verifies its tables as it starts checks nothing again at its first request.
#[tokio::test]
async fn a_verified_table_needs_no_layout_check() {
    let bigtable = with_faults(Faults::seeded(0)).await;
    let client = bigtable.client();
    table::<Pad6>(&client).verify().await.unwrap();
    table::<Pad6>(&client).get(&key()).await.unwrap();
    assert_eq!(bigtable.calls(Method::GetTable), 1);
    // Another program changes the table, and this one verifies it again: every handle is checked again.
    bigtable.client().delete_table("events").await.unwrap();
    table::<Micros>(&bigtable.client()).create().await.unwrap();
    assert!(table::<Pad6>(&client).verify().await.unwrap_err().is_table_mismatch());
    assert!(table::<Pad6>(&client).get(&key()).await.unwrap_err().is_table_mismatch());
    assert_eq!(bigtable.calls(Method::GetTable), 2);
}

#[tokio::test(start_paused = true)]
async fn a_service_goes_on_while_the_admin_service_refuses() {
    let denied = Fault::permission_denied;
    let faults =
        Faults::seeded(0).fail_nth(Method::GetTable, 1, denied()).fail_nth(Method::GetTable, 2, denied());
    let bigtable = with_faults(faults).await;
    let client = without_registry(&bigtable.client());
    let (events, other) = (table::<Pad6>(&client), table::<Pad8>(&client));
    let begun = Instant::now();
    for _ in 0..10 {
        events.put(&key(), &row("1")).await.unwrap();
        other.put(&other_key(), &row("1")).await.unwrap();
    }
    assert_eq!(bigtable.calls(Method::GetTable), 1);
    for calls in [2, 3] {
        tokio::time::sleep(Duration::from_secs(60)).await;
        for _ in 0..3 {
            other.put(&other_key(), &row("2")).await.unwrap();
        }
        // The check runs in the background.
        tokio::time::sleep(Duration::from_millis(1)).await;
        assert_eq!(bigtable.calls(Method::GetTable), calls);
    }
    assert_eq!(begun.elapsed(), Duration::from_millis(120_002));
    assert!(other.put(&other_key(), &row("3")).await.unwrap_err().is_table_mismatch());
    assert!(other.scan(Pad8::scan()).collect().await.unwrap_err().is_table_mismatch());
    events.put(&key(), &row("3")).await.unwrap();
    assert_eq!(bigtable.calls(Method::GetTable), 3);
}

#[tokio::test(start_paused = true)]
async fn a_service_goes_on_while_the_admin_service_is_down_or_silent() {
    let minute = Duration::from_secs(60);
    for faults in [
        Faults::seeded(0).fail(Method::GetTable, 1.0, Fault::unavailable()),
        Faults::seeded(0).delay(Method::GetTable, 1.0, minute),
    ] {
        let bigtable = with_faults(faults).await;
        let client = bigtable.client();
        let (begun, within) = (Instant::now(), Duration::from_secs(3));
        // Calls that start together share a check; later calls do not wait.
        let events = table::<Pad6>(&client);
        let both = futures_util::future::join(events.put(&key(), &row("1")), events.get(&key())).await;
        assert!(both.0.is_ok() && both.1.is_ok(), "{both:?}");
        assert!(begun.elapsed() <= within, "{:?}", begun.elapsed());
        let (waited, calls) = (begun.elapsed(), bigtable.calls(Method::GetTable));
        let writer = events.writer();
        for _ in 0..100 {
            table::<Pad6>(&client).get(&key()).await.unwrap();
            writer.put(&key(), &row("2")).await.unwrap();
        }
        assert_eq!((begun.elapsed(), bigtable.calls(Method::GetTable)), (waited, calls));
        tokio::time::sleep(minute).await;
        table::<Pad6>(&client).get(&key()).await.unwrap();
        assert_eq!(begun.elapsed(), waited + minute);
        tokio::time::sleep(Duration::from_millis(1)).await;
        assert!(bigtable.calls(Method::GetTable) > calls);
        writer.close().await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn a_check_that_is_required_fails_the_call() {
    let faults = Faults::seeded(0).fail_nth(Method::GetTable, 1, Fault::permission_denied());
    let bigtable = with_faults(faults.fail_nth(Method::GetTable, 2, Fault::permission_denied())).await;
    let client = bigtable.client();
    let strict = client.with(|settings| {
        settings.require_layout_check = true;
        settings.registry = false;
    });
    for _ in 0..2 {
        let error = table::<Pad6>(&strict).get(&key()).await.unwrap_err();
        assert!(error.is_permission_denied() && error.to_string().starts_with("GetTable"), "{error}");
    }
    assert_eq!(bigtable.calls(Method::ReadRows), 0);
    table::<Pad6>(&strict).get(&key()).await.unwrap();
    assert!(table::<Pad8>(&strict).get(&other_key()).await.unwrap_err().is_table_mismatch());
    assert_eq!(bigtable.calls(Method::GetTable), 3);
}

/// A stream that was made before the client closed still runs, and is checked.
#[tokio::test]
async fn a_stream_is_checked_when_it_is_first_polled() {
    let bigtable = with_faults(Faults::seeded(0)).await;
    let client = bigtable.client();
    let mut rows = table::<Pad8>(&client).scan(Pad8::scan()).stream();
    let none = table::<Pad8>(&client).scan(Pad8::scan()).limit(0).collect().await.unwrap();
    assert_eq!((none.len(), bigtable.calls(Method::GetTable)), (0, 0));
    let closed = client.close();
    assert!(rows.next().await.unwrap().unwrap_err().is_table_mismatch());
    assert!(rows.next().await.is_none());
    drop(rows);
    closed.await;
}

/// Once this client has seen another layout, a handle that was checked before stops writing.
#[tokio::test]
async fn what_verify_finds_stops_the_handles_of_the_client() {
    let bigtable = Bigtable::in_memory();
    let before = table::<Salt8>(&bigtable.client());
    before.create_if_absent().await.unwrap();
    let key = Salt8 { user: "alice".into(), at: 7 };
    before.put(&key, &row("old")).await.unwrap();
    let after = table::<Salt9>(&bigtable.client());
    assert!(after.delete_table().await.unwrap_err().is_table_mismatch());
    after.unchecked().delete_table().await.unwrap();
    after.create().await.unwrap();
    assert!(before.verify().await.unwrap_err().is_table_mismatch());
    assert!(before.put(&key, &row("stray")).await.unwrap_err().is_table_mismatch());
    assert_eq!(after.count(Salt9::scan()).await.unwrap(), 0);
}
