//! All tables of a program in one call: created or verified as its [`Layouts`] list them.

use std::error::Error as StdError;
use std::fmt;

use futures_util::StreamExt as _;
use futures_util::stream::iter;

use super::UntypedTable;
use super::create::TableDeclaration;
use super::layout_check::Faults;
use crate::client::{Client, Error};
use crate::layouts::{Declared, Layouts};
use crate::row::{DEFAULT_FAMILY, Row, VisibleCells};

/// How many tables are created or compared at a time.
pub(super) const AT_A_TIME: usize = 8;

impl Layouts {
    /// Creates each table that does not exist, and compares each that does, as
    /// [`Table::create_if_absent`](crate::Table::create_if_absent) does. Layouts [from a file](Self::from_json) do so too.
    ///
    /// ```
    /// use keyderive::layouts::Layouts;
    /// # use keyderive::{Client, Row, RowKey};
    /// # #[derive(RowKey)] struct UserKey { id: u64 }
    /// # #[derive(Row)] struct User { name: String }
    /// # #[derive(RowKey)] #[salt(range = 4, over = "user")] struct EventKey { user: String, at: u64 }
    /// # #[derive(Row)] struct Event { kind: String }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let client = Client::embedded();
    /// let layouts = Layouts::new().table::<UserKey, User>("users").table::<EventKey, Event>("events");
    /// let tables = layouts.create_if_absent(&client).await?;
    /// assert_eq!(tables.to_string(), "`events`: created\n`users`: created");
    /// layouts.verify(&client).await?; // for example at the start of each program
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// Each table gets the families of all its row types with their rules, and the stamps of all its key types. A table that is listed
    /// with several key types, each with its tag, is created without a row key schema. What [`Table::create`](crate::Table::create)
    /// declares beyond its types, such as splits, needs a call of its own, before this one.
    ///
    /// A table with a fault holds up no other. Several programs may call it at the same time. It is not retried after a lost response:
    /// call it again, which finds what there is.
    ///
    /// # Errors
    /// [`DeclaredTablesError`], which names every table and every fault: the differences of a table from its types, a failed request,
    /// row types that disagree about a family, two key types with one tag.
    ///
    /// # Cancel safety
    /// If the future is dropped, some tables are created, each whole, perhaps later. Call it again.
    pub async fn create_if_absent(&self, client: &Client) -> Result<DeclaredTables, DeclaredTablesError> {
        self.for_each_table(client, "created or read", async |table| table.create_or_compare().await).await
    }

    /// Compares each table with its key types and row types, as [`Table::verify`](crate::Table::verify) does, and changes nothing. Layouts
    /// [from a file](Self::from_json) are compared too.
    ///
    /// ```
    /// use keyderive::layouts::Layouts;
    /// # use keyderive::{Client, Row, RowKey};
    /// # #[derive(RowKey)] struct UserKey { id: u64 }
    /// # #[derive(Row)] struct User { name: String }
    /// # #[derive(RowKey)] struct EventKey { user: String, at: u64 }
    /// # #[derive(Row)] struct Event { kind: String }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), keyderive::Error> {
    /// # let client = Client::embedded();
    /// # client.table::<UserKey, User>("users").create().await?;
    /// let layouts = Layouts::new().table::<UserKey, User>("users").table::<EventKey, Event>("events");
    /// let error = layouts.verify(&client).await.unwrap_err(); // nobody has created `events`
    /// assert!(error.tables()[0].faults[0].is_not_found());
    /// assert_eq!(error.tables()[1].to_string(), "`users`: as declared");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`DeclaredTablesError`], which names every table and every fault.
    ///
    /// # Cancel safety
    /// A dropped future cancels the reads.
    pub async fn verify(&self, client: &Client) -> Result<DeclaredTables, DeclaredTablesError> {
        self.for_each_table(client, "read", async |table| table.verify_types().run().await.map(|_| false))
            .await
    }

    /// Runs a call for every table, and reports its result: whether the table was created.
    async fn for_each_table(
        &self,
        client: &Client,
        done: &'static str,
        call: impl AsyncFn(&TableDeclaration) -> Result<bool, Faults>,
    ) -> Result<DeclaredTables, DeclaredTablesError> {
        let call = &call;
        // In a list: as a stream that calls the closure, the future would not be `Send`.
        let calls: Vec<_> = self
            .table_names()
            .map(|name| async move {
                let result = match self.declared_table(client, name) {
                    Ok(table) => call(&table).await.map_err(Faults::into_vec),
                    Err(faults) => Err(faults.into_vec()),
                };
                let (is_created, faults) = match result {
                    Ok(is_created) => (is_created, Vec::new()),
                    Err(faults) => (false, faults),
                };
                DeclaredTable { name: name.to_owned(), is_created, faults }
            })
            .collect();
        let tables: Vec<_> = iter(calls).buffered(AT_A_TIME).collect().await;
        match tables.iter().all(|table| table.faults.is_empty()) {
            true => Ok(DeclaredTables { tables }),
            false => Err(DeclaredTablesError { tables, done }),
        }
    }

    /// The declaration of a table by all of its types.
    pub(super) fn declared_table(&self, client: &Client, name: &str) -> Result<TableDeclaration, Faults> {
        let mut types: Vec<_> = self.declared(name).cloned().collect();
        if types.is_empty() {
            types = self.types_of_file(name)?;
        }
        let mut faults: Vec<_> =
            self.conflicts(name).map(|conflict| Error::definition(name, conflict)).collect();
        let mut of_types = types.iter().map(|Declared { table, key, row, family }| {
            TableDeclaration::of(&UntypedTable::new(
                client,
                table,
                *key,
                VisibleCells::everything(row, family),
            ))
        });
        let Some(mut table) = of_types.next() else {
            return Err(Error::definition(name, "it is listed without a key type").into());
        };
        of_types.for_each(|other| faults.extend(table.share(other)));
        // A file may have been edited. A table with such stamps is refused by every program.
        let mut tags: Vec<_> = table.keys().iter().map(|key| key.schema().tag()).collect();
        tags.sort_unstable();
        if faults.is_empty()
            && tags.len() > 1
            && (tags[0].is_none() || tags.windows(2).any(|two| two[0] == two[1]))
        {
            let names: Vec<_> =
                table.keys().iter().map(|key| format!("`{}`", key.schema().key_type())).collect();
            let names = names.join(", ");
            faults.push(Error::definition(
                name,
                format!("its key types are {names}, and not each has a tag of its own: give each one, or a table of its own"),
            ));
        }
        Faults::of(faults).map(|()| table)
    }

    /// The types of a table as a file has them.
    fn types_of_file(&self, name: &str) -> Result<Vec<Declared>, Error> {
        let layouts = self.table_layouts(name).map_err(|error| Error::definition(name, error.to_string()))?;
        let types = layouts.iter().flat_map(|layout| {
            let rows = match layout.row_types() {
                [] => vec![<() as Row>::SCHEMA],
                rows => rows.to_vec(),
            };
            rows.into_iter().map(|row| Declared {
                table: name.to_owned(),
                key: layout.key().key_type(),
                row,
                family: row.own_family().unwrap_or(DEFAULT_FAMILY).to_owned(),
            })
        });
        Ok(types.collect())
    }
}

/// What became of the tables of [`Layouts`], if none has a fault. Printed with `{}`, a line for each table.
#[derive(Clone, Debug)]
pub struct DeclaredTables {
    tables: Vec<DeclaredTable>,
}

impl DeclaredTables {
    /// The tables, by name.
    #[must_use]
    pub fn tables(&self) -> &[DeclaredTable] {
        &self.tables
    }
}

/// What became of a table of [`Layouts`]. Printed with `{}`: the table, and what was done or what is wrong.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct DeclaredTable {
    /// The table's name.
    pub name: String,
    /// Whether this call has created it.
    pub is_created: bool,
    /// All that is wrong: differences from its types, or the request that failed. Empty if the table is as declared.
    pub faults: Vec<Error>,
}

impl DeclaredTable {
    /// Whether it is known to differ from its types, is missing, or cannot be declared so.
    #[must_use]
    pub fn is_different(&self) -> bool {
        self.faults
            .iter()
            .any(|fault| fault.is_table_mismatch() || fault.is_not_found() || fault.is_definition())
    }

    /// Whether a request failed, such as one without a permission, so that it is not known whether the table is as declared: call again.
    #[must_use]
    pub fn is_unread(&self) -> bool {
        !self.faults.is_empty() && !self.is_different()
    }
}

/// Tables of [`Layouts`] that are not as declared, or that could not be read or created. Printed with `{}`: how many of each, and a line
/// for each fault; the other tables come with it.
#[derive(Clone, Debug)]
pub struct DeclaredTablesError {
    tables: Vec<DeclaredTable>,
    /// What could not be done with a table whose request failed.
    done: &'static str,
}

impl DeclaredTablesError {
    /// All tables, by name, also those without faults: some of these may have been created.
    #[must_use]
    pub fn tables(&self) -> &[DeclaredTable] {
        &self.tables
    }

    /// All faults, table by table.
    pub fn faults(&self) -> impl Iterator<Item = &Error> {
        self.tables.iter().flat_map(|table| &table.faults)
    }
}

fn write_tables(f: &mut fmt::Formatter<'_>, tables: &[DeclaredTable]) -> fmt::Result {
    for (at, table) in tables.iter().enumerate() {
        let between = if at == 0 { "" } else { "\n" };
        write!(f, "{between}{table}")?;
    }
    Ok(())
}

impl fmt::Display for DeclaredTables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_tables(f, &self.tables)
    }
}

impl fmt::Display for DeclaredTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`: ", self.name)?;
        match (&*self.faults, self.is_created) {
            ([], true) => f.write_str("created"),
            ([], false) => f.write_str("as declared"),
            ([first, others @ ..], _) => {
                write!(f, "{first}")?;
                others.iter().try_for_each(|fault| write!(f, "\n`{}`: {fault}", self.name))
            }
        }
    }
}

impl fmt::Display for DeclaredTablesError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = |is: fn(&DeclaredTable) -> bool| self.tables.iter().filter(|table| is(table)).count();
        let (different, unread) = (count(DeclaredTable::is_different), count(DeclaredTable::is_unread));
        let (all, done) = (self.tables.len(), self.done);
        match (different, unread) {
            (0, _) if all == 1 => writeln!(f, "the table could not be {done}:")?,
            _ if all == 1 => writeln!(f, "the table is not as declared:")?,
            (0, unread) => writeln!(f, "{unread} of {all} tables could not be {done}:")?,
            (different, 0) => writeln!(f, "{different} of {all} tables are not as declared:")?,
            (different, unread) => {
                writeln!(
                    f,
                    "{different} of {all} tables are not as declared, and {unread} could not be {done}:"
                )?;
            }
        }
        write_tables(f, &self.tables)
    }
}

impl StdError for DeclaredTablesError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.faults().next().map(|fault| fault as _)
    }
}
