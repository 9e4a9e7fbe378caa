//! Selections beside filters: of what the filters leave of a row, the selected columns.

use keyderive::row::{Mutation, RowFilter, Timestamped, Versions};
use keyderive::{Client, Error, ErrorKind, Row, Table};
use keyderive_tests::fixtures::{created, fails};

use super::{PageKey, key};
use crate::servers::on_every_bigtable;

on_every_bigtable! {
    a_selection_has_as_many_versions_as_asked_for
    a_selection_picks_of_what_filters_leave
    a_sample_is_drawn_once
    labels_and_sinks_are_refused_with_a_selection
    a_column_by_two_names_has_each_version_once
    a_selection_of_a_part_has_the_rows_of_the_part
    keys_alone_are_read_as_no_row
}

/// Its first cell is one of `steps`, in the order of the families and of the columns.
#[derive(Row, Clone, Debug, PartialEq)]
#[row(family = "a", gc(never))]
struct Walk {
    #[row(name = "0")]
    steps: Versions<i64>,
    name: Option<String>,
    needed: Option<String>,
}

/// The same columns, of which one is required.
#[derive(Row)]
#[row(family = "a", gc(never))]
struct Needed {
    #[row(name = "0")]
    steps: Versions<i64>,
    needed: String,
}

/// Some of the columns.
#[derive(Row)]
#[row(family = "a", gc(never))]
struct Names {
    name: Option<String>,
    needed: Option<String>,
}

fn versions(steps: impl IntoIterator<Item = i64>) -> Versions<i64> {
    steps.into_iter().map(|step| Timestamped::new(step * 1000, step)).collect()
}

/// A row with three steps and three versions of a name, one with a name, and one with a step.
async fn walks(client: &Client) -> Table<PageKey, Walk> {
    let walks = created::<PageKey, Walk>(client, "walks").await;
    let raw = client.raw_table("walks");
    let set = |name: &'static str, at: i64| {
        let value = if name == "0" { at.to_be_bytes().to_vec() } else { at.to_string().into_bytes() };
        Mutation::set("a", name, at * 1000, value)
    };
    let both = (1..=3).flat_map(|at| [set("0", at), set("name", at)]).chain([set("needed", 1)]);
    raw.mutate_row("both", both).await.unwrap();
    raw.mutate_row("name", [set("name", 1)]).await.unwrap();
    raw.mutate_row("step", [set("0", 1)]).await.unwrap();
    walks
}

async fn a_selection_has_as_many_versions_as_asked_for(client: Client) {
    let walks = walks(&client).await;
    let needed = crate::registry::without_registry(&client).table::<PageKey, Needed>("walks");
    for latest in 0..=4_i64 {
        let scan = || walks.scan(PageKey::scan()).latest(u32::try_from(latest).unwrap());
        let steps = |of: &str| match of {
            "both" => versions((1..=3).rev().take(usize::try_from(latest).unwrap())),
            "step" => versions([1]),
            _ => Versions::new(),
        };
        let name = |of: &str| match of {
            "both" => Some("3".to_owned()),
            "name" => Some("1".to_owned()),
            _ => None,
        };
        let rows = if latest == 0 { &[][..] } else { &["both", "name", "step"] };
        let expected: Vec<_> = rows.iter().map(|of| (key(of), steps(of))).collect();
        assert_eq!(scan().select(Walk::STEPS).collect().await.unwrap(), expected, "{latest}");
        let expected: Vec<_> = rows.iter().map(|of| (key(of), (name(of), steps(of)))).collect();
        let selected = scan().select((Walk::NAME, Walk::STEPS)).collect().await.unwrap();
        assert_eq!(selected, expected, "{latest}");
        let expected: Vec<_> = rows.iter().map(|of| (key(of), name(of))).collect();
        assert_eq!(scan().select(Walk::NAME).collect().await.unwrap(), expected, "{latest}");
        assert_eq!(scan().select(Walk::STEPS).count().await.unwrap(), rows.len() as u64, "{latest}");
        let scan = needed.scan(PageKey::scan()).latest(u32::try_from(latest).unwrap());
        let selected = scan.select((Needed::NEEDED, Needed::STEPS));
        // A row with a selected column and without the required one is one that cannot be read.
        let selected = selected.on_unreadable(keyderive::OnUnreadable::Skip).collect().await.unwrap();
        let expected = rows.iter().take(1).map(|of| (key(of), ("1".to_owned(), steps(of))));
        assert_eq!(selected, expected.collect::<Vec<_>>(), "{latest}");
    }
}

async fn a_selection_picks_of_what_filters_leave(client: Client) {
    let walks = walks(&client).await;
    let left = async |filter: RowFilter| {
        let scan = || walks.scan(PageKey::scan()).filter(filter.clone());
        let whole: Vec<_> = scan().collect().await.unwrap();
        let picked: Vec<_> = whole.into_iter().map(|(key, row)| (key, (row.steps, row.name))).collect();
        assert_eq!(scan().select((Walk::STEPS, Walk::NAME)).collect().await.unwrap(), picked, "{filter}");
        let both = picked.into_iter().find(|(of, _)| *of == key("both"));
        both.map(|(_, (steps, name))| (steps.iter().map(|step| step.value).collect::<Vec<_>>(), name))
    };
    let name = |name: &str| Some(name.to_owned());
    assert_eq!(left(RowFilter::latest(2)).await, Some((vec![3, 2], name("3"))));
    assert_eq!(left(RowFilter::cells_per_row(1)).await, Some((vec![3], None)));
    assert_eq!(left(RowFilter::cells_per_row(4)).await, Some((vec![3, 2, 1], name("3"))));
    assert_eq!(left(RowFilter::skip_cells(2)).await, Some((vec![1], name("3"))));
    assert_eq!(left(RowFilter::skip_cells(6)).await, Some((vec![], None)));
    assert_eq!(left(RowFilter::skip_cells(7)).await, None);
    assert_eq!(left(RowFilter::timestamps(..2500)).await, Some((vec![2, 1], name("2"))));
    assert_eq!(left(RowFilter::exact_column("a", "needed")).await, Some((vec![], None)));
    assert_eq!(left(RowFilter::block_all()).await, None);
    let needed = walks.scan(PageKey::scan()).matching(Walk::NEEDED.exists()).select(Walk::NAME);
    assert_eq!(needed.collect().await.unwrap(), [(key("both"), name("3"))]);
}

async fn a_sample_is_drawn_once(client: Client) {
    let walks = walks(&client).await;
    let rows = 0..200;
    let mutations = rows.map(|at| (format!("{at:03}"), [Mutation::set("a", "name", 1000, "x")]));
    let raw = client.raw_table("walks");
    for (key, mutation) in mutations {
        raw.mutate_row(key, mutation).await.unwrap();
    }
    let sample = walks.scan(PageKey::scan()).filter(RowFilter::sample(0.5)).filter_key(|key| &*key.url < "a");
    let names = sample.select(Walk::NAME).collect().await.unwrap();
    assert!((50..150).contains(&names.len()), "{}", names.len());
    assert!(names.iter().all(|(_, name)| name.as_deref() == Some("x")), "{names:?}");
}

async fn labels_and_sinks_are_refused_with_a_selection(client: Client) {
    let walks = walks(&client).await;
    let needed = crate::registry::without_registry(&client).table::<PageKey, Needed>("walks");
    let sink = || RowFilter::interleave([RowFilter::sink(), RowFilter::latest(1)]);
    let label = || RowFilter::interleave([RowFilter::label("mine"), RowFilter::latest(1)]);
    for filter in [sink(), label()] {
        let whole = walks.scan(PageKey::scan()).filter(filter.clone());
        assert_eq!(whole.keys_only().collect().await.unwrap().len(), 3, "{filter}");
        let optional = walks.scan(PageKey::scan()).filter(filter.clone()).select(Walk::STEPS).collect().await;
        let required = needed.scan(PageKey::scan()).filter(filter).select(Needed::NEEDED).collect().await;
        for error in [optional.unwrap_err(), required.unwrap_err()] {
            assert_eq!(error.kind(), ErrorKind::InvalidArgument);
            assert!(
                error.to_string().contains("read whole rows with this filter, or select columns without it"),
                "{error}"
            );
        }
    }
}

async fn a_column_by_two_names_has_each_version_once(client: Client) {
    let walks = walks(&client).await;
    let by_text = Walk::column("a:0").unwrap();
    let selected = walks.select((Walk::STEPS, by_text)).get(&key("both")).await.unwrap().unwrap();
    assert_eq!(selected.0, versions([3, 2, 1]));
    assert_eq!(selected.1.as_deref(), Some(&3_i64.to_be_bytes()[..]));
}

async fn a_selection_of_a_part_has_the_rows_of_the_part(client: Client) {
    let names = walks(&client).await.rows_as::<Names>();
    let rows: Vec<_> = names.scan(PageKey::scan()).keys_only().collect().await.unwrap();
    assert_eq!(rows, [key("both"), key("name")]);
    let selected = names.scan(PageKey::scan()).select(Names::NEEDED).collect().await.unwrap();
    assert_eq!(selected, [(key("both"), Some("1".to_owned())), (key("name"), None)]);
    assert_eq!(names.select(Names::NEEDED).get(&key("step")).await.unwrap(), None);
    // A filter, too, sees the columns of the part alone.
    let scan = names.scan(PageKey::scan()).filter(RowFilter::cells_per_row(1));
    let selected = scan.select((Names::NAME, Names::NEEDED)).collect().await.unwrap();
    let name = |name: &str| (Some(name.to_owned()), None);
    assert_eq!(selected, [(key("both"), name("3")), (key("name"), name("1"))]);
}

/// The server sends a cell without its value, and no other: columns are not absent for that.
async fn keys_alone_are_read_as_no_row(client: Client) {
    let walks = walks(&client).await;
    for scan in [walks.scan(PageKey::scan()).keys_only(), walks.scan(PageKey::scan()).distinct(1)] {
        let mut names = Vec::new();
        let visit = scan.visit::<PageKey, Error>(|_, row| {
            names.push(row.read::<Names>()?.name);
            Ok(())
        });
        fails(visit.await.map(|_| names), "`Names` has the column `a:name`, which this scan does not read");
    }
}
