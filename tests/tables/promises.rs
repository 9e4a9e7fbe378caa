//! What `keyderive::guide::promises` says of each call that writes, tried with all of them: beside each other, after a lost
//! answer, dropped, killed, and by an older program.

mod beside;
mod dropped;
mod killed;
mod lost;
mod older;
mod page;

use std::error::Error as StdError;
use std::time::{SystemTime, UNIX_EPOCH};

use keyderive::client::{Family, RawTable};
use keyderive::embedded::Method;
use keyderive::row::{Condition, Mutation, ReadModifyWrite};
use keyderive::{Client, GcRule, RowKey, Table, put_both};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize as DeriveSerialize};

#[derive(RowKey, Clone, Debug, PartialEq)]
struct AccountKey {
    id: u64,
}

#[derive(DeriveSerialize, Deserialize, Clone, Debug, PartialEq)]
struct Account {
    id: i64,
    card: Option<i64>,
    cash: Option<i64>,
    visits: Option<i64>,
    log: Option<String>,
}

/// The row of a program that is older: it has fewer columns.
#[derive(DeriveSerialize, Deserialize, Clone, Debug, PartialEq)]
struct OlderAccount {
    id: i64,
    card: Option<i64>,
}

/// A program, by its row type.
trait Program: Serialize + DeserializeOwned + Clone + Send + Sync + 'static {
    /// What it writes.
    fn value() -> Self;
    /// The row in which it was put over another.
    fn put_over(row: Account) -> Account;
    /// The row in which it was merged into another.
    fn merged_into(row: Account) -> Account;
}

impl Program for Account {
    fn value() -> Self {
        Self { id: 2, card: None, cash: Some(2), visits: None, log: None }
    }

    fn put_over(_: Account) -> Account {
        Self::value()
    }

    fn merged_into(row: Account) -> Account {
        Account { id: 2, cash: Some(2), ..row }
    }
}

impl Program for OlderAccount {
    fn value() -> Self {
        Self { id: 2, card: None }
    }

    fn put_over(row: Account) -> Account {
        Account { id: 2, card: None, ..row }
    }

    fn merged_into(row: Account) -> Account {
        Account { id: 2, ..row }
    }
}

/// The row that a call changes, where it is for a row that is there.
fn before() -> Account {
    Account { id: 1, card: Some(1), cash: None, visits: None, log: Some("1".into()) }
}

/// The handles of a program.
#[derive(Clone, Debug)]
struct Tables<R> {
    accounts: Table<AccountKey, R>,
    /// The second one of [`put_both`].
    copies: Table<AccountKey, R>,
    raw: RawTable,
}

impl<R: Program> Tables<R> {
    fn of(client: &Client) -> Self {
        Self {
            accounts: client.table("accounts"),
            copies: client.table("copies"),
            raw: client.raw_table("accounts"),
        }
    }

    async fn created(client: &Client) -> Self {
        let tables = Self::of(client);
        tables.accounts.create_if_absent().await.unwrap();
        tables.copies.create_if_absent().await.unwrap();
        tables
    }
}

impl Tables<Account> {
    /// Puts what `call` is to find.
    async fn prepare(&self, call: Call, id: u64) {
        if call.is_for_a_row() {
            self.accounts.put(&AccountKey { id }, &before()).await.unwrap();
        }
    }

    async fn stored(&self, id: u64) -> Option<Account> {
        self.accounts.get(&AccountKey { id }).await.unwrap()
    }
}

/// The calls, each once.
macro_rules! calls {
    ($($call:ident)*) => {
        /// A call that changes a row.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        enum Call {
            $($call,)*
        }
        use Call::*;

        impl Call {
            const ALL: [Self; [$($call),*].len()] = [$($call),*];
        }
    };
}

calls! {
    Put
    Insert
    Merge
    Update
    PutIf
    PutIfAbsent
    DeleteIf
    UpdateOnlyIf
    Increment
    Append
    Modify
    Delete
    DeleteRows
    PutBoth
    PutAll
    MergeAll
    WriterPut
    WriterDelete
    Load
    LoadNewRows
    LoadIfAbsent
    RawMutateRow
    RawMutateRows
    RawCheckAndMutateRow
    RawReadModifyWriteRow
    RawWriterWrite
}

impl Call {
    /// Whether it finds a row; the others are for keys that no row has.
    fn is_for_a_row(self) -> bool {
        !matches!(self, Insert | PutIfAbsent | LoadNewRows | LoadIfAbsent)
    }

    /// The request that it is.
    fn method(self) -> Method {
        match self {
            Put | Insert | Merge | Update | Delete | PutBoth | RawMutateRow => Method::MutateRow,
            PutIf | PutIfAbsent | DeleteIf | UpdateOnlyIf | LoadIfAbsent | RawCheckAndMutateRow => {
                Method::CheckAndMutateRow
            }
            Increment | Append | Modify | RawReadModifyWriteRow => Method::ReadModifyWriteRow,
            DeleteRows | PutAll | MergeAll | WriterPut | WriterDelete | Load | LoadNewRows
            | RawMutateRows | RawWriterWrite => Method::MutateRows,
        }
    }

    /// Whether it is sent again after an attempt of unknown outcome.
    fn is_repeated(self) -> bool {
        let once = [Method::CheckAndMutateRow, Method::ReadModifyWriteRow];
        self == LoadIfAbsent || !once.contains(&self.method())
    }

    /// The row when `R` has made it.
    fn after<R: Program>(self) -> Option<Account> {
        let row = before();
        Some(match self {
            Put | PutIf | PutBoth | PutAll | WriterPut | Load => R::put_over(row),
            Merge | MergeAll => R::merged_into(row),
            Update | UpdateOnlyIf | RawMutateRow | RawMutateRows | RawCheckAndMutateRow | RawWriterWrite => {
                Account { id: 2, card: None, ..row }
            }
            Increment | RawReadModifyWriteRow => Account { visits: Some(2), ..row },
            Append => Account { log: Some("12".into()), ..row },
            Modify => Account { visits: Some(2), log: Some("12".into()), ..row },
            Insert | PutIfAbsent | LoadNewRows | LoadIfAbsent => {
                R::put_over(Account { id: 0, card: None, cash: None, visits: None, log: None })
            }
            Delete | DeleteIf | DeleteRows | WriterDelete => return None,
        })
    }

    /// Makes it; whether it says that it has changed the row.
    async fn make<R: Program>(
        self,
        tables: &Tables<R>,
        id: u64,
    ) -> Result<bool, Box<dyn StdError + Send + Sync>> {
        let Tables { accounts, copies, raw } = tables;
        let (key, row) = (AccountKey { id }, R::value());
        let bytes = key.encode()?;
        let unchanged = || Condition::column_equals("id", &1_i64);
        let update = || accounts.update(&key).set("id", &2_i64).delete("card");
        let rows = [(key.clone(), row.clone())];
        match self {
            Put => accounts.put(&key, &row).await?,
            Insert => accounts.insert(&key, &row).await?,
            Merge => accounts.merge(&key, &row).await?,
            Update => update().await?,
            PutIf => return Ok(accounts.put_if(&key, &row, unchanged()).await?),
            PutIfAbsent => return Ok(accounts.put_if_absent(&key, &row).await?),
            DeleteIf => return Ok(accounts.delete_if(&key, unchanged()).await?),
            UpdateOnlyIf => return Ok(update().only_if(unchanged()).await?),
            Increment => drop(accounts.increment(&key, "visits", 2).await?),
            Append => drop(accounts.append(&key, "log", "2").await?),
            Modify => drop(accounts.modify(&key).increment("visits", 2).append("log", "2").await?),
            Delete => accounts.delete(&key).await?,
            DeleteRows => drop(accounts.delete_rows(AccountKey::scan().id(id)).await?),
            PutBoth => put_both((accounts, &key, &row), (copies, &key, &row)).await?,
            PutAll => accounts.put_all(&rows).await?,
            MergeAll => accounts.merge_all(&rows).await?,
            WriterPut | WriterDelete => {
                let writer = accounts.writer();
                match self {
                    WriterPut => writer.put(&key, &row).await?,
                    _ => writer.delete(&key).await?,
                }
                writer.close().await?;
            }
            Load => drop(accounts.load_iter(&rows).await?.all_written()?),
            LoadNewRows => drop(accounts.load_iter(&rows).new_rows().await?.all_written()?),
            LoadIfAbsent => {
                return Ok(accounts.load_iter(&rows).if_absent().await?.all_written()?.written == 1);
            }
            RawMutateRow => raw.mutate_row(bytes, by_hand()).await?,
            RawMutateRows => raw.mutate_rows(vec![(bytes.into(), by_hand())]).await.remove(0)?,
            RawCheckAndMutateRow => {
                return Ok(raw.check_and_mutate_row(bytes, None, by_hand(), Vec::new()).await?);
            }
            RawReadModifyWriteRow => {
                let visit = ReadModifyWrite::increment("cf", "visits", 2);
                drop(raw.read_modify_write_row(bytes, vec![visit]).await?);
            }
            RawWriterWrite => {
                let writer = raw.writer();
                writer.write(bytes, by_hand()).await?;
                writer.close().await?;
            }
        }
        Ok(true)
    }
}

/// A key type whose rows are dropped by a prefix of each bucket.
#[derive(RowKey, Clone, Debug, PartialEq)]
#[salt(range = 4, over = "id")]
struct SaltedKey {
    id: u64,
}

/// A table that another program has made, so that it vouches for nothing.
async fn unvouched(client: &Client) -> Table<AccountKey, Account> {
    let families = [Family::new("cf", GcRule::max_versions(1))];
    client.raw_table("accounts").create(families, [""; 0]).await.unwrap();
    client.table("accounts")
}

/// What [`Call::Update`] changes, with a time of this machine.
fn by_hand() -> Vec<Mutation> {
    let millis = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis();
    let at = i64::try_from(millis).unwrap() * 1000;
    vec![Mutation::delete_column("cf", "card"), Mutation::set("cf", "id", at, 2_i64.to_be_bytes().to_vec())]
}
