//! Rows as types.

use super::{Any, Entry, RowCells, RowError, RowSchema, RowWriter};

/// A row as a type: its families and columns, read and written.
///
/// ```
/// use std::collections::BTreeMap;
/// use keyderive::{Client, Row, RowKey};
/// # #[derive(RowKey)] struct PageKey { url: String }
///
/// #[derive(Row)]
/// struct Page {
///     title: String, // `cf:title`
///     #[row(counter)]
///     views: i64, // `cf:views`, which `increment` adds to
///     #[row(family)]
///     author: Option<Author>, // the family `author`: `author:name`
///     #[row(family)]
///     daily: BTreeMap<String, f64>, // the family `daily`, a column for each key
/// }
///
/// #[derive(Row)]
/// struct Author {
///     name: String,
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), keyderive::Error> {
/// let pages = Client::embedded().table::<PageKey, Page>("pages");
/// pages.create_if_absent().await?; // with the families `cf`, `author` and `daily`
/// let home = PageKey { url: "/".into() };
/// pages.put(&home, &Page { title: "Home".into(), views: 0, author: None, daily: BTreeMap::new() }).await?;
/// pages.update(&home).set(Page::TITLE, "Welcome").set(Page::AUTHOR.name, "alice").await?;
/// assert_eq!(pages.increment(&home, Page::VIEWS, 1).await?, 1);
/// assert_eq!(pages.get(&home).await?.unwrap().title, "Welcome");
/// # Ok(())
/// # }
/// ```
///
/// Derive it for a struct; [the derive](macro@crate::Row) lists its attributes, and [`row`](crate::row) describes how rows are
/// stored. A [`BTreeMap`](std::collections::BTreeMap) or [`HashMap`](std::collections::HashMap) of [`Cell`](crate::Cell)s
/// is a row too, whose entries are columns.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not the type of a row",
    label = "not a row",
    note = "write `#[derive(Row)]` on the struct; rows without a type are a `BTreeMap<String, …>`, or those of `client.raw_table`"
)]
pub trait Row {
    /// The type that is read: itself, with the lifetime of the row that it borrows from.
    type Decoded<'r>;
    /// The families and columns.
    const SCHEMA: &'static RowSchema;

    /// Reads a row from its cells.
    ///
    /// # Errors
    /// When a column that the type needs is absent, or a column holds something else than its type.
    fn decode(cells: RowCells<'_>) -> Result<Self::Decoded<'_>, RowError>;

    /// The column that text names, `name` or `family:name`, for programs that learn it at run time.
    ///
    /// ```
    /// use keyderive::Row;
    ///
    /// #[derive(Row)]
    /// struct Event {
    ///     kind: Option<String>,
    /// }
    ///
    /// let kind = Event::column("cf:kind")?;
    /// let error = Event::column("knid").unwrap_err().to_string();
    /// assert_eq!(error, "column `cf:knid` is not a column of `Event`; did you mean `cf:kind`?");
    /// # Ok::<(), keyderive::row::RowError>(())
    /// ```
    ///
    /// Its values are [`Value`](crate::dynamic::Value)s, whose type is compared with the column's before anything is sent. So is whether
    /// the column can be cleared, added to or counted in.
    ///
    /// # Errors
    /// If the type has no such column. For a map as a row, use `table.column(…)`.
    fn column(path: &str) -> Result<Entry<Self, Option<Any>>, RowError>
    where
        Self: Sized,
    {
        Self::SCHEMA.column_of(path)
    }

    /// Writes the row as the changes that make the stored row equal to it.
    ///
    /// # Errors
    /// When a value has no encoding.
    fn encode(&self, out: &mut RowWriter<'_>) -> Result<(), RowError>;
}

/// A row without columns, for tables whose keys say all.
impl Row for () {
    type Decoded<'r> = ();
    const SCHEMA: &'static RowSchema = &RowSchema::__new("()", "", &[], &[]);

    fn decode(_: RowCells<'_>) -> Result<(), RowError> {
        Ok(())
    }

    fn encode(&self, out: &mut RowWriter<'_>) -> Result<(), RowError> {
        let family = out.own_family();
        out.end_row(family);
        Ok(())
    }
}

impl OwnedRow for () {}

/// A row that borrows nothing, so that a read can return it. The derive implements it for structs without lifetimes.
#[diagnostic::on_unimplemented(
    message = "`{Self}` borrows from the row that it is read from, so a read cannot return it",
    label = "not an owned row",
    note = "read it in `scan(…).visit(…)`, or give its fields owned types, such as `String`; a row is a struct with `#[derive(Row)]`"
)]
pub trait OwnedRow: for<'r> Row<Decoded<'r> = Self> + Sized {}
