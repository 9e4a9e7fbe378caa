use keyderive::{Error, Table};

struct Repository<K, R> {
    table: Table<K, R>,
}

impl<K, R> Repository<K, R> {
    async fn load(&self, key: &K) -> Result<Option<R>, Error> {
        self.table.get(key).await
    }

    async fn store(&self, key: &K, row: &R) -> Result<(), Error> {
        self.table.put(key, row).await
    }
}

fn main() {}
