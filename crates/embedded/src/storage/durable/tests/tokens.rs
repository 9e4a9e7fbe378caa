//! Idempotency tokens are kept with the rows that they came with.

use keyderive_proto::data::Idempotency;

use super::*;
use crate::store::{ApplyChange, Clock, Context, RowChange, Store};

const MINUTE: i64 = 60_000_000;
const START: i64 = 1_700_000_000_000_000;

struct At(i64);

impl Clock for At {
    fn now_micros(&self) -> i64 {
        self.0
    }
}

/// Appends a letter to the value of the row `counted`, once for each token.
fn change(name: &'static str) -> RowChange<impl ApplyChange<()>> {
    let idempotency = Idempotency { token: name.into(), start_time: None };
    let apply = move |context: &mut Context<'_>, cells: &mut Cells| {
        let token = context.token(&"counted".into(), &idempotency)?;
        if !context.is_applied(&token)? {
            let before = cells.pop().map_or_else(Bytes::new, |cell| cell.value);
            let (_, row) = row("counted", &format!("{}x", before.escape_ascii()));
            cells.extend(row.iter().cloned());
            context.note(token)?;
        }
        Ok(())
    };
    RowChange { table: TABLE.to_owned(), key: "counted".into(), inline_bytes: Some(1 << 20), apply }
}

fn store(file: &TestFile, now: i64) -> Store {
    Store::new(file.open().unwrap(), At(now))
}

fn counted(store: &Store) -> usize {
    let page = store.page(TABLE, &Interval::all(), true, 1).unwrap();
    let (_, cells) = page.rows.into_iter().find(|(key, _)| key == "counted").unwrap();
    cells[0].value.len()
}

fn changed(store: &Store, names: &[&'static str]) {
    for name in names {
        store.change(&change(name)).unwrap().unwrap();
    }
    store.commit().unwrap();
}

fn token_tables(file: &TestFile) -> Vec<String> {
    let (database, _) = format::open(SharedFile::new(Arc::new(file.clone()))).unwrap();
    let transaction = database.begin_read().unwrap();
    let names = transaction.list_tables().unwrap().map(|table| redb::TableHandle::name(&table).to_owned());
    names.filter(|name| name.starts_with("tokens/")).collect()
}

#[test]
fn tokens_outlive_the_process_until_they_expire() {
    let file = filled();
    changed(&store(&file, START), &["token one", "token two", "token one"]);
    let later = store(&file, START + 14 * MINUTE);
    changed(&later, &["token two", "token three"]);
    assert_eq!(counted(&later), 3);
    drop(later);
    let minutes = [START, START + 14 * MINUTE].map(|at| format!("tokens/{}", at / MINUTE));
    assert_eq!(token_tables(&file), minutes);

    let late = store(&file, START + 17 * MINUTE);
    changed(&late, &["token three", "token one"]);
    assert_eq!(counted(&late), 4);
    drop(late);
    let minutes = [START + 14 * MINUTE, START + 17 * MINUTE].map(|at| format!("tokens/{}", at / MINUTE));
    assert_eq!(token_tables(&file), minutes);
}

#[test]
fn a_token_is_lost_with_its_change() {
    let file = filled();
    let store = store(&file, START);
    changed(&store, &["token one"]);
    store.change(&change("token two")).unwrap();
    file.set_fault(ERROR);
    store.commit().unwrap_err();
    file.set_fault(NONE);
    // The change was not applied, so its repetition is.
    changed(&store, &["token two", "token one", "token two"]);
    assert_eq!(counted(&store), 2);
}

#[test]
fn a_damaged_token_is_found() {
    let file = filled();
    changed(&store(&file, START), &["token one"]);
    let (database, _) = format::open(SharedFile::new(Arc::new(file.clone()))).unwrap();
    let transaction = format::begin(&database).unwrap();
    let name = format::tokens_name(START / MINUTE);
    transaction.open_table(format::rows(&name)).unwrap().insert(&[7; 16][..], &[0; 8][..]).unwrap();
    transaction.commit().unwrap();
    drop(database);
    assert!(matches!(file.open().map(drop), Err(OpenError::Damaged(_))));
}
