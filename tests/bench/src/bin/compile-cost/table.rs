//! A table of the service of `compile-cost`, with a handler for each kind of call.

use keyderive::{Client, Error, Row, RowKey, Table};
#[derive(RowKey, Clone, Debug, PartialEq)]
#[salt(range = 4, over = "user")]
pub struct Key {
    pub user: String,
    #[pad(6)]
    pub site: u32,
    #[reverse_ts]
    pub at: u64,
}
#[derive(Row, Clone, Debug, PartialEq)]
pub struct Entry {
    pub name: String,
    pub kind: Option<String>,
    pub size: i64,
    pub note: Option<String>,
    pub done: bool,
    pub ratio: f64,
}
pub struct Entries {
    table: Table<Key, Entry>,
}
impl Entries {
    pub async fn open(client: &Client) -> Result<Self, Error> {
        let table = client.table::<Key, Entry>("entries");
        table.create_if_absent().await?;
        Ok(Self { table })
    }
    pub async fn add(&self, key: &Key, entry: &Entry) -> Result<(), Error> {
        self.table.put(key, entry).await
    }
    pub async fn add_all(&self, rows: Vec<(Key, Entry)>) -> Result<(), Error> {
        self.table.put_all(rows).await
    }
    pub async fn new(&self, key: &Key, entry: &Entry) -> Result<bool, Error> {
        self.table.put_if_absent(key, entry).await
    }
    pub async fn get(&self, key: &Key) -> Result<Option<Entry>, Error> {
        self.table.get(key).await
    }
    pub async fn some(&self, keys: &[Key]) -> Result<Vec<Option<Entry>>, Error> {
        self.table.get_many(keys).await
    }
    pub async fn finish(&self, key: &Key) -> Result<bool, Error> {
        self.table.update(key).set(Entry::DONE, true).only_if(Entry::DONE.equals(false)).await
    }
    pub async fn rename(&self, key: &Key, name: &str) -> Result<(), Error> {
        self.table.update(key).set(Entry::NAME, name).await
    }
    pub async fn remove(&self, key: &Key) -> Result<(), Error> {
        self.table.delete(key).await
    }
    pub async fn of_user(&self, user: &str) -> Result<Vec<(Key, Entry)>, Error> {
        self.table.scan(Key::scan().user(user)).limit(100).collect().await
    }
    pub async fn page(
        &self,
        user: &str,
        after: Option<&str>,
    ) -> Result<(Vec<(Key, Entry)>, Option<String>), Error> {
        let scan = self.table.scan(Key::scan().user(user));
        let scan = match after {
            Some(token) => scan.after(token),
            None => scan,
        };
        let page = scan.page(20).await?;
        Ok((page.rows, page.next))
    }
    pub async fn sizes(&self, site: u32) -> Result<i64, Error> {
        let mut rows =
            self.table.scan(Key::scan().user_prefix("a")).filter_key(move |key| key.site == site).stream();
        let mut sum = 0;
        while let Some(row) = rows.next().await {
            sum += row?.1.size;
        }
        Ok(sum)
    }
    pub async fn count(&self) -> Result<u64, Error> {
        self.table.count(Key::scan()).await
    }
}
pub async fn run(client: &Client) -> Result<(), Error> {
    let entries = Entries::open(client).await?;
    let key = Key { user: "ada".into(), site: 7, at: 1000 };
    let entry = Entry { name: "a".into(), kind: None, size: 7, note: None, done: false, ratio: 1.0 };
    entries.add(&key, &entry).await?;
    entries.add_all(vec![(key.clone(), entry.clone())]).await?;
    entries.new(&key, &entry).await?;
    entries.finish(&key).await?;
    entries.rename(&key, "b").await?;
    println!(
        "{:?} {:?} {:?} {:?} {} {}",
        entries.get(&key).await?,
        entries.some(&[key.clone()]).await?,
        entries.of_user("ada").await?,
        entries.page("ada", None).await?,
        entries.sizes(7).await?,
        entries.count().await?
    );
    entries.remove(&key).await
}
