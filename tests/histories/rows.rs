//! The rows of the histories, and the write of earlier releases.

use std::collections::BTreeMap;
use std::time::{SystemTime, UNIX_EPOCH};

use keyderive::row::Mutation;
use keyderive::{Row, RowKey};
use keyderive_tests::linearizable::Row as RowState;

use crate::calls::Numbered;

#[derive(RowKey, Clone, Debug, PartialEq)]
#[salt(range = 3, over = "id")]
pub(crate) struct EventKey {
    pub(crate) id: u64,
}

impl Numbered for EventKey {
    fn of(at: u64) -> Self {
        Self { id: at }
    }
}

/// A row whose every column identifies its write, so that a mix of two writes shows.
#[derive(Row, Clone, Debug, PartialEq)]
pub(crate) struct Event {
    /// The unique number of the write.
    pub(crate) val: Option<u64>,
    total: String,
    card: Option<String>,
    cash: Option<String>,
    pub(crate) note: Option<u64>,
    #[row(counter, family = "v")]
    pub(crate) views: i64,
    /// A family.
    #[row(family)]
    address: Option<Address>,
    /// A family too.
    #[row(family)]
    tags: BTreeMap<String, String>,
}

#[derive(Row, Clone, Debug, PartialEq)]
struct Address {
    city: String,
    street: Option<String>,
}

impl Event {
    /// The one value of this write. Its columns differ from write to write.
    pub(crate) fn of(id: u32) -> Self {
        let id = u64::from(id);
        let text = |column: &str| format!("{column} {id}");
        let some = |column: &str, is_there: bool| is_there.then(|| text(column));
        Self {
            val: Some(id),
            total: text("total"),
            card: some("card", id.is_multiple_of(2)),
            cash: some("cash", !id.is_multiple_of(2)),
            note: id.is_multiple_of(3).then_some(id),
            views: 0,
            address: (id % 5 < 3)
                .then(|| Address { city: text("city"), street: some("street", id.is_multiple_of(5)) }),
            tags: (0..id % 4).map(|tag| (format!("tag-{}", (id + tag) % 6), text("tag"))).collect(),
        }
    }

    /// What the row is; an error for a mix of several writes.
    pub(crate) fn state(&self, at: u64) -> Result<RowState, String> {
        let id = self.val.and_then(|id| u32::try_from(id).ok()).filter(|id| *self == Self::of(*id));
        id.map(RowState::of)
            .ok_or_else(|| format!("row {at}: whole rows: nobody wrote what was read: {self:?}"))
    }

    /// What `put` sent in earlier releases: it deleted absent columns at all times, and set present ones at the
    /// client's time.
    pub(crate) fn old_put(&self) -> Vec<Mutation> {
        let millis = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis();
        let at = i64::try_from(millis).unwrap() * 1000;
        let column = |family: &'static str, name: &'static str, value: Option<&String>| match value {
            Some(value) => Mutation::set(family, name, at, value.clone()),
            None => Mutation::delete_column(family, name),
        };
        let number = |value: u64| value.to_be_bytes().to_vec();
        let address = self.address.as_ref();
        let mut mutations = vec![
            Mutation::set("cf", "val", at, number(self.val.unwrap())),
            column("cf", "total", Some(&self.total)),
            column("cf", "card", self.card.as_ref()),
            column("cf", "cash", self.cash.as_ref()),
            match self.note {
                Some(note) => Mutation::set("cf", "note", at, number(note)),
                None => Mutation::delete_column("cf", "note"),
            },
            Mutation::set("v", "views", at, number(0)),
            column("address", "city", address.map(|address| &address.city)),
            column("address", "street", address.and_then(|address| address.street.as_ref())),
            Mutation::delete_family("tags"),
        ];
        let tags = self.tags.iter().map(|(tag, value)| Mutation::set("tags", tag.clone(), at, value.clone()));
        mutations.extend(tags);
        mutations
    }
}
