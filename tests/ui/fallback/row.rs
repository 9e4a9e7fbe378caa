use keyderive::row::{Condition, OwnedRow};
use keyderive::{Cell, Row, RowKey, Table};

#[derive(RowKey)]
struct Key {
    id: u64,
}

#[derive(Cell, Clone, Copy)]
enum Kind {
    Login,
    Logout,
}

#[derive(Row)]
struct Event {
    #[row(nam = "k")]
    kind: Kind,
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

async fn use_each(events: Table<Key, Event>) -> Result<(), keyderive::Error> {
    let key = Key { id: 7 };
    let is_login: Condition<Event> = Event::KIND.equals(Kind::Login);
    events.update(&key).set(Event::KIND, Kind::Logout).clear(Event::NOTE).only_if(is_login).await?;
    events.update(&key).set(Event::TAGS, vec![Some(1)]).set(Event::PLACE.city, "Paris").set(Event::PLACE.floor, 1).await?;
    events.increment(&key, Event::VIEWS, 1).await?;
    let _ = events.select((Event::NOTE, Event::TAGS)).get(&key).await?;
    assert_eq!(Borrowed::NAME.name(), "name");
    Ok(())
}

fn is_a_row<R: OwnedRow>() {}

fn main() {
    is_a_row::<Event>();
    let _ = use_each;
}
