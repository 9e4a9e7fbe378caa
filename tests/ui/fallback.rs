//! A type with a fault: its uses say nothing more.

use keyderive::plan::Plan;
use keyderive::row::{Condition, OwnedRow};
use keyderive::{Cell, KeyField, Row, RowKey, Table};

#[derive(RowKey)]
struct PaddedKey {
    user_id: String,
    #[pad(0)]
    at: u64,
}

fn padded() {
    let key = PaddedKey { user_id: "alice".into(), at: 1 };
    let bytes = key.encode().unwrap();
    let decoded: PaddedKey = PaddedKey::decode(&bytes).unwrap();
    let plan: Plan<PaddedKey> = PaddedKey::scan().user_id("alice").at_range(1..2).into_plan().unwrap();
    println!("{} {}", PaddedKey::scan().explain().unwrap(), PaddedKey::SCHEMA);
    drop((decoded, plan));
}

#[derive(RowKey)]
#[salt(rnage = 4)]
struct LentKey<'a> {
    user_id: &'a str,
    at: u64,
}

fn lent() {
    let bytes = LentKey { user_id: "alice", at: 1 }.encode().unwrap();
    let LentKey { user_id, at } = LentKey::decode(&bytes).unwrap();
    println!("{user_id} {at} {}", LentKey::scan().user_id(user_id).at(at).explain().unwrap());
}

#[derive(RowKey)]
enum NoStruct {
    User { user_id: String },
}

fn no_struct() {
    let key = NoStruct::User { user_id: "alice".into() };
    println!("{:?} {:?}", key.encode(), NoStruct::scan().explain());
}

#[derive(KeyField, Clone, Copy, Debug)]
enum Kind {
    Created,
}

#[derive(KeyField)]
#[row_key(crat = "keyderive")]
struct UserId(String);

#[derive(KeyField, Clone, Debug)]
struct Count(usize);

#[derive(KeyField, Clone, Debug)]
struct Ratio(f64);

#[derive(RowKey)]
struct FieldsKey {
    user_id: UserId,
    kind: Kind,
    #[pad(6)]
    count: Count,
    ratio: Ratio,
}

fn fields() {
    let key = FieldsKey { user_id: UserId("alice".into()), kind: Kind::Created, count: Count(7), ratio: Ratio(0.5) };
    let _ = (key.encode(), FieldsKey::decode(b"alice#1#000007#0.5").map(|key| key.ratio));
    let scan = FieldsKey::scan().user_id("alice").kind(Kind::Created);
    let _ = scan.clone().count_range(7..9);
    let _ = scan.clone().count(7).ratio_range(0.5..);
    let _ = scan.count(7).ratio(0.5).into_plan();
}

#[derive(RowKey)]
struct Key {
    id: u64,
}

#[derive(Cell, Clone, Copy)]
enum Action {
    Login,
    Logout,
}

#[derive(Row)]
struct Event {
    #[row(nam = "k")]
    kind: Action,
    note: Option<String>,
    #[row(jsn)]
    tags: Vec<Option<u8>>,
    #[row(counter)]
    views: i64,
    #[row(family)]
    place: Option<Place>,
}

#[derive(Row)]
struct Place {
    city: String,
    #[row(defalt)]
    floor: i32,
}

#[derive(Row)]
struct Borrowed<'a> {
    #[row(nam = "n")]
    name: &'a str,
}

async fn row(events: Table<Key, Event>) -> Result<(), keyderive::Error> {
    let key = Key { id: 7 };
    let is_login: Condition<Event> = Event::KIND.equals(Action::Login);
    events.update(&key).set(Event::KIND, Action::Logout).clear(Event::NOTE).only_if(is_login).await?;
    events.update(&key).set(Event::TAGS, vec![Some(1)]).set(Event::PLACE.city, "Paris").set(Event::PLACE.floor, 1).await?;
    events.increment(&key, Event::VIEWS, 1).await?;
    let _ = events.select((Event::NOTE, Event::TAGS)).get(&key).await?;
    assert_eq!(Borrowed::NAME.name(), "name");
    Ok(())
}

fn is_a_row<R: OwnedRow>() {}

#[derive(Cell)]
struct NamedFields {
    city: String,
}

#[derive(Cell)]
struct Pair(String, String);

#[derive(Cell)]
union Bits {
    bits: u64,
}

#[derive(Cell)]
enum Never {}

#[derive(Cell)]
enum Move {
    Stayed,
    Moved(String),
    Left { to: String },
}

fn main() {
    is_a_row::<Event>();
    let _ = NamedFields { city: String::new() }.to_stored();
    let _ = Move::Stayed.to_stored();
}
