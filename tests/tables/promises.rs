//! Tests of `keyderive::guide::promises`, for each call that writes: concurrent calls, lost answers, dropped futures,
//! killed processes, and older programs.

mod beside;
mod dropped;
mod killed;
mod lost;
mod older;
mod page;
mod proofs;
mod sums;

use std::error::Error as StdError;
use std::time::{SystemTime, UNIX_EPOCH};

use keyderive::client::{Family, RawTable};
use keyderive::embedded::Method;
use keyderive::row::{Column, Condition, Mutation, OwnedRow, ReadModifyWrite};
use keyderive::table::put_both;
use keyderive::{Client, GcRule, Row, RowKey, Table};
use keyderive_tests::fixtures::{SaltedKey, UserKey};

#[derive(Row, Clone, Debug, PartialEq)]
struct Account {
    id: i64,
    card: Option<i64>,
    cash: Option<i64>,
    visits: Option<i64>,
    log: Option<String>,
}

/// The row type of an older program: it has fewer columns.
#[derive(Row, Clone, Debug, PartialEq)]
struct OlderAccount {
    id: i64,
    card: Option<i64>,
}

/// What the server changes of a row.
#[derive(Row)]
struct Counts {
    visits: Option<i64>,
    log: Option<String>,
}

/// A program, identified by its row type.
trait Program: OwnedRow + Clone + Send + Sync + 'static {
    const ID: Column<Self, i64>;
    const CARD: Column<Self, Option<i64>>;

    /// The row that the program writes.
    fn value() -> Self;
    /// The row after a put over `row`.
    fn put_over(row: Account) -> Account;
    /// The row after a merge into `row`.
    fn merged_into(row: Account) -> Account;
}

impl Program for Account {
    const ID: Column<Self, i64> = Self::ID;
    const CARD: Column<Self, Option<i64>> = Self::CARD;

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
    const ID: Column<Self, i64> = Self::ID;
    const CARD: Column<Self, Option<i64>> = Self::CARD;

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

/// The row before a call that needs one.
fn before() -> Account {
    Account { id: 1, card: Some(1), cash: None, visits: None, log: Some("1".into()) }
}

/// The tables of a program.
#[derive(Clone, Debug)]
struct Tables<R> {
    accounts: Table<UserKey, R>,
    /// The second table of [`put_both`].
    copies: Table<UserKey, R>,
    counts: Table<UserKey, Counts>,
    raw: RawTable,
}

impl<R: Program> Tables<R> {
    fn of(client: &Client) -> Self {
        Self {
            accounts: client.table("accounts"),
            copies: client.table("copies"),
            counts: client.table("accounts"),
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
    /// Puts the row that `call` needs.
    async fn prepare(&self, call: Call, id: u64) {
        if call.is_for_a_row() {
            self.accounts.put(&UserKey { id }, &before()).await.unwrap();
        }
    }

    async fn stored(&self, id: u64) -> Option<Account> {
        self.accounts.get(&UserKey { id }).await.unwrap()
    }
}

/// Lists the calls once.
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
    DeleteAll
    PutBoth
    PutAll
    MergeAll
    UpdateAll
    WriterPut
    WriterUpdate
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
    /// Whether the call needs a row; the other calls write new keys.
    fn is_for_a_row(self) -> bool {
        !matches!(self, PutIfAbsent | LoadNewRows | LoadIfAbsent)
    }

    /// The RPC of the call.
    fn method(self) -> Method {
        match self {
            Put | Merge | Update | Delete | PutBoth | RawMutateRow => Method::MutateRow,
            PutIf | PutIfAbsent | DeleteIf | UpdateOnlyIf | LoadIfAbsent | RawCheckAndMutateRow => {
                Method::CheckAndMutateRow
            }
            Increment | Append | Modify | RawReadModifyWriteRow => Method::ReadModifyWriteRow,
            DeleteRows | DeleteAll | PutAll | MergeAll | UpdateAll | WriterPut | WriterUpdate
            | WriterDelete | Load | LoadNewRows | RawMutateRows | RawWriterWrite => Method::MutateRows,
        }
    }

    /// Whether the call retries after an attempt of unknown outcome.
    fn is_repeated(self) -> bool {
        let once = [Method::CheckAndMutateRow, Method::ReadModifyWriteRow];
        self == LoadIfAbsent || !once.contains(&self.method())
    }

    /// The row after `R` has made the call.
    fn after<R: Program>(self) -> Option<Account> {
        let row = before();
        Some(match self {
            Put | PutIf | PutBoth | PutAll | WriterPut | Load => R::put_over(row),
            Merge | MergeAll => R::merged_into(row),
            Update | UpdateOnlyIf | UpdateAll | WriterUpdate | RawMutateRow | RawMutateRows
            | RawCheckAndMutateRow | RawWriterWrite => Account { id: 2, card: None, ..row },
            Increment | RawReadModifyWriteRow => Account { visits: Some(2), ..row },
            Append => Account { log: Some("12".into()), ..row },
            Modify => Account { visits: Some(2), log: Some("12".into()), ..row },
            PutIfAbsent | LoadNewRows | LoadIfAbsent => {
                R::put_over(Account { id: 0, card: None, cash: None, visits: None, log: None })
            }
            Delete | DeleteIf | DeleteRows | DeleteAll | WriterDelete => return None,
        })
    }

    /// Makes the call; whether it reports that it changed the row.
    async fn make<R: Program>(
        self,
        tables: &Tables<R>,
        id: u64,
    ) -> Result<bool, Box<dyn StdError + Send + Sync>> {
        let Tables { accounts, copies, counts, raw } = tables;
        let (key, row) = (UserKey { id }, R::value());
        let bytes = key.encode()?;
        let unchanged = || R::ID.equals(1);
        let update = || accounts.update(&key).set(R::ID, 2).clear(R::CARD);
        let rows = [(key.clone(), row.clone())];
        match self {
            Put => accounts.put(&key, &row).await?,
            Merge => accounts.merge(&key, &row).await?,
            Update => update().await?,
            PutIf => return Ok(accounts.put_if(&key, &row, unchanged()).await?),
            PutIfAbsent => return Ok(accounts.put_if_absent(&key, &row).await?),
            DeleteIf => return Ok(accounts.delete_if(&key, unchanged()).await?),
            UpdateOnlyIf => return Ok(update().only_if(unchanged()).await?),
            Increment => drop(counts.increment(&key, Counts::VISITS, 2).await?),
            Append => drop(counts.append(&key, Counts::LOG, "2").await?),
            Modify => drop(counts.modify(&key).increment(Counts::VISITS, 2).append(Counts::LOG, "2").await?),
            Delete => accounts.delete(&key).await?,
            DeleteRows => drop(accounts.delete_rows(UserKey::scan().id(id)).await?),
            DeleteAll => accounts.delete_all([&key]).await?,
            PutBoth => put_both((accounts, &key, &row), (copies, &key, &row)).await?,
            PutAll => accounts.put_all(&rows).await?,
            MergeAll => accounts.merge_all(&rows).await?,
            UpdateAll => accounts.update_all([update()]).await?,
            WriterPut | WriterUpdate | WriterDelete => {
                let writer = accounts.writer();
                match self {
                    WriterPut => writer.put(&key, &row).await?,
                    WriterUpdate => writer.update(update()).await?,
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
            RawMutateRows => {
                raw.mutate_rows(vec![(bytes.into(), by_hand())]).await.all_written()?;
            }
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

/// A table that another program created, so that it has no stamp.
async fn unstamped(client: &Client) -> Table<UserKey, Account> {
    let families = [Family::new("cf", GcRule::max_versions(1))];
    client.raw_table("accounts").create(families, [""; 0]).await.unwrap();
    client.table("accounts")
}

/// The mutations of [`Call::Update`], at this machine's time.
fn by_hand() -> Vec<Mutation> {
    let millis = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis();
    let at = i64::try_from(millis).unwrap() * 1000;
    vec![Mutation::delete_column("cf", "card"), Mutation::set("cf", "id", at, 2_i64.to_be_bytes().to_vec())]
}
