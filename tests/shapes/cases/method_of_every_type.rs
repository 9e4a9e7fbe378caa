//! A trait in scope that gives methods to every type does not take the place of the methods that generated code calls.
#![allow(missing_docs)]

/// The receivers are values, which come before references.
pub trait Of: Sized {
    fn take(self) {}
    fn cells(self) {}
    fn of(self) {}
    fn or(self) {}
    fn qualifiers(self) {}
    fn runs(self) {}
    fn slot(self) {}
    fn all(self) {}
    fn family(self) {}
    fn write(self) {}
    fn write_value(self) {}
    fn end_row(self) {}
    fn arg(self) {}
}

impl<T> Of for T {}

#[derive(::keyderive::Cell, Clone, Debug, PartialEq)]
pub enum Kind {
    Login,
}

#[derive(::keyderive::RowKey, Clone, Debug, PartialEq)]
pub struct Event {
    pub user: String,
    pub number: u32,
}

#[derive(::keyderive::Row, Clone, Debug, PartialEq)]
#[row(exclusive)]
pub struct Row {
    #[row(alias = "former", alias = "h:former")]
    pub kind: Kind,
    pub level: Option<::keyderive::row::Timestamped<u8>>,
    #[row(family)]
    pub place: Option<Place>,
    #[row(family)]
    pub daily: ::std::collections::BTreeMap<String, u8>,
    #[row(family = "sums")]
    pub sum: ::keyderive::row::Sum,
}

#[derive(::keyderive::Row, Clone, Debug, PartialEq)]
pub struct Place {
    #[row(alias = "town")]
    pub city: String,
}

pub fn run() {
    let event = Event { user: "alice".into(), number: 7 };
    assert_eq!(Event::decode(&event.encode().unwrap()).unwrap(), event);
    let place = Some(Place { city: "Delft".into() });
    let row = Row { kind: Kind::Login, level: None, place, daily: [("a".to_owned(), 1)].into(), sum: Default::default() };
    crate::support::rows(&[row], <Row as ::keyderive::Row>::SCHEMA);
}
