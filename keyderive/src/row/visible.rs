//! What of a stored row counts for the calls of a table: the one rule for reads, conditions, writes if absent and copies.
//!
//! A stored row can have cells of other programs' columns, former names of columns, versions that are not read, and cells whose `ttl`
//! has passed. Each call asks a [`VisibleCells`] which of them it takes, at a time by the client's clock.

use std::sync::Arc;
use std::time::Duration;

use super::condition::Condition;
use super::error::RowError;
use super::filter::RowFilter;
use super::live::Live;
use super::raw::RawRow;
use super::schema::{ColumnSchema, FamilyRule, FieldSchema, RowSchema};
use super::select::{
    ErasedSelection, HeldSelection, SchemaSelection, SelectedColumns, SelectedField, Selection,
};

/// The column family that a row's columns are in unless [`Table::family`](crate::Table::family) names another.
///
/// Short, because the service stores a family's name with its data.
pub const DEFAULT_FAMILY: &str = "cf";

/// How many versions of a column are read and kept by default: a row is one value.
pub(crate) const DEFAULT_VERSIONS: u32 = 1;

/// The cells of stored rows that count for a table's calls.
#[derive(Clone, Debug)]
pub(crate) struct VisibleCells {
    /// The columns and families of the row type.
    schema: &'static RowSchema,
    /// The same of the row type that the table was declared with; `schema` may be a part of it.
    base: &'static RowSchema,
    /// The family of a row that is a map.
    family: Arc<str>,
    /// The same for `base`.
    base_family: Arc<str>,
    columns: Columns,
    /// The columns that reads pick of these.
    selection: Option<Arc<dyn ErasedSelection>>,
    /// Whether reads take every version of a column, or the newest alone.
    every_version: bool,
}

/// Which columns a row has.
#[derive(Clone, Debug)]
enum Columns {
    /// All except those that a `ttl` hides.
    Everything,
    /// All that are stored.
    Stored,
    /// Those of the row type.
    RowType,
    /// A selection names no column, and this filter is rejected with its error.
    Failed(RowFilter),
}

/// What the caller of a read asks of each row.
#[derive(Clone, Debug, Default)]
pub(crate) struct ReadFilters {
    /// Keep or drop whole rows, before any filter that keeps some of their cells.
    pub(crate) rows: Vec<RowFilter>,
    /// Applied then to the cells that count, in this order.
    pub(crate) cells: Vec<RowFilter>,
    /// How many versions of a column to read, if the caller says so.
    pub(crate) versions: Option<u32>,
}

impl ReadFilters {
    /// Whether the caller asks for some of the stored rows and cells.
    pub(crate) fn is_given(&self) -> bool {
        !self.rows.is_empty() || !self.cells.is_empty()
    }
}

impl VisibleCells {
    /// Every column of a table with rows of this type, named by it or not.
    pub(crate) fn everything(schema: &'static RowSchema, family: &str) -> Self {
        let every_version = schema.has_versions(None);
        let (family, columns): (Arc<str>, _) = (family.into(), Columns::Everything);
        let base_family = Arc::clone(&family);
        Self { schema, base: schema, family, base_family, columns, selection: None, every_version }
    }

    /// The same columns, of a row that is a map in another family.
    pub(crate) fn in_family(self, family: &str) -> Self {
        let family: Arc<str> = family.into();
        // The family of a part is not the family of the whole.
        let base_family = match self.columns {
            Columns::RowType => self.base_family,
            _ => Arc::clone(&family),
        };
        Self { family, base_family, ..self }
    }

    /// The columns of another row type alone.
    pub(crate) fn of_type(&self, schema: &'static RowSchema) -> Self {
        let every_version = schema.has_versions(None);
        Self { schema, columns: Columns::RowType, selection: None, every_version, ..self.clone() }
    }

    /// All that is stored: every version of every column, hidden or not.
    pub(crate) fn stored(self) -> Self {
        Self { columns: Columns::Stored, selection: None, every_version: true, ..self }
    }

    /// Whether it is all that is stored.
    pub(crate) fn is_stored(&self) -> bool {
        matches!(self.columns, Columns::Stored)
    }

    /// The selected columns alone.
    pub(crate) fn selected<R, S: Selection<R>>(&self, selection: S) -> Self
    where
        S::Output: 'static,
    {
        match selection.reader() {
            Ok(reader) => self.of_selection(self.schema, HeldSelection::new(reader)),
            Err(error) => Self { columns: Columns::Failed(RowFilter::of_no_column(&error)), ..self.clone() },
        }
    }

    /// No column: what a scan of keys reads.
    pub(crate) fn of_keys(&self) -> Self {
        self.of_fields(self.schema, Vec::new())
    }

    /// The columns of a part of the row type alone, and rows without any of them too.
    pub(crate) fn selected_as(&self, schema: &'static RowSchema) -> Self {
        self.of_fields(schema, SelectedField::all_of(schema))
    }

    /// The columns of the row type with these indices alone, and rows without any of them too. All that is stored stays that.
    pub(crate) fn selected_columns(&self, columns: &[usize]) -> Self {
        if matches!(self.columns, Columns::Stored) {
            return self.clone();
        }
        let (mut fields, mut first) = (Vec::new(), 0);
        for schema in self.schema.fields() {
            let count = schema.columns().len().max(usize::from(matches!(schema, FieldSchema::Map { .. })));
            let is_selected = |at: &usize| columns.contains(&(first + at));
            if (0..count).any(|at| is_selected(&at)) {
                let own = schema.columns().iter().enumerate().filter(|(at, _)| is_selected(at));
                fields.push(SelectedField { schema, columns: own.map(|(_, column)| column).collect() });
            }
            first += count;
        }
        self.of_fields(self.schema, fields)
    }

    fn of_fields(&self, schema: &'static RowSchema, fields: Vec<SelectedField>) -> Self {
        self.of_selection(schema, SchemaSelection { fields, family: Arc::clone(&self.family) })
    }

    fn of_selection(&self, schema: &'static RowSchema, selection: impl ErasedSelection + 'static) -> Self {
        // It says how many versions of each column are read.
        Self { schema, selection: Some(Arc::new(selection)), ..self.clone() }
    }

    fn live(&self, now_micros: i64) -> Live {
        Live { schema: self.schema, base: self.base, now_micros }
    }

    /// The row type that the table was declared with.
    pub(crate) fn base(&self) -> &'static RowSchema {
        self.base
    }

    pub(crate) fn schema(&self) -> &'static RowSchema {
        self.schema
    }

    /// The family of a row that is a map.
    pub(crate) fn family(&self) -> &str {
        &self.family
    }

    /// Whether reads take every version of the columns, unless the caller says how many.
    pub(crate) fn has_every_version(&self) -> bool {
        self.every_version
    }

    /// Whether reads take only some columns. Their filter then says how many versions of each.
    pub(crate) fn is_selected(&self) -> bool {
        self.selection.is_some()
    }

    /// Why no row can be read or written: its family has no name, or the row type is a part that does not fit the type that the table was
    /// declared with.
    pub(crate) fn misfit(&self) -> Option<String> {
        let is_unnamed = self.family.is_empty() && self.schema.maps().any(str::is_empty);
        match is_unnamed {
            true => Some("the family of its rows has an empty name; pass one to `family`".to_owned()),
            false => self.misfit_of(self.schema),
        }
    }

    /// The same for another type that rows are read as.
    pub(crate) fn misfit_of(&self, part: &RowSchema) -> Option<String> {
        self.base.misfit_of_part(&self.base_family, part, &self.family)
    }

    /// The first column of another row type that reads do not ask for, if there is one: it would be read as absent.
    pub(crate) fn column_not_read(&self, schema: &'static RowSchema) -> Option<String> {
        let asked = match (&self.selection, &self.columns) {
            (Some(selection), _) => SelectedColumns::of(&**selection),
            (None, Columns::RowType) => {
                let fields = SelectedField::all_of(self.schema);
                SelectedColumns::of(&SchemaSelection { fields, family: Arc::clone(&self.family) })
            }
            (None, Columns::Everything | Columns::Stored | Columns::Failed(_)) => return None,
        };
        schema.fields().iter().find_map(|field| {
            let family = field.family();
            if let FieldSchema::Map { .. } = field {
                let named = if family.is_empty() { &*self.family } else { family };
                return (!asked.contains(named, None)).then(|| format!("the family `{named}`"));
            }
            let is_unasked = |column: &&ColumnSchema| {
                let former = column.aliases().map(|alias| (alias.family.unwrap_or(family), alias.name));
                let mut places = [(family, column.name())].into_iter().chain(former);
                places.any(|(family, name)| !asked.contains(family, Some(name)))
            };
            if let Some(unasked) = field.columns().iter().find(is_unasked) {
                return Some(format!("the column `{family}:{}`", unasked.name()));
            }
            // The marker says that an optional family without columns is there.
            let is_unsure = field.is_optional() && !asked.contains(family, Some(""));
            is_unsure.then(|| format!("the optional family `{family}`"))
        })
    }

    /// The first family in which another row type hides cells by a `ttl` that reads do not heed, if there is one.
    pub(crate) fn unheeded_ttl(&self, schema: &'static RowSchema) -> Option<&'static str> {
        let is_unheeded = |rule: &&FamilyRule| rule.ttl.is_some() && self.ttl(rule.family) != rule.ttl;
        let all = matches!(self.columns, Columns::Stored);
        schema.rules().find(is_unheeded).filter(|_| !all).map(|rule| rule.family)
    }

    /// The `ttl` of a family, from the row type, or else from the type that the table was declared with.
    pub(crate) fn ttl(&self, family: &str) -> Option<Duration> {
        self.live(0).ttl(family)
    }

    /// The cells that count at this time, in every version; none if all stored ones do.
    fn cells(&self, now_micros: i64) -> Option<RowFilter> {
        match &self.columns {
            Columns::Everything => self.live(now_micros).cells(),
            Columns::Stored => None,
            Columns::RowType => Some(self.live(now_micros).of_type(&self.family)),
            Columns::Failed(refused) => Some(refused.clone()),
        }
    }

    /// What a read takes of a row, apart from its [newest versions](Self::newest), as successive filters: the cells that
    /// count, the caller's filters once, and the selection from what they leave.
    pub(crate) fn filters(&self, now_micros: i64, asked: &ReadFilters) -> Vec<RowFilter> {
        let (mut filters, counted) = (asked.rows.clone(), self.cells(now_micros));
        let Some(selection) = &self.selection else {
            filters.extend(counted.into_iter().chain(asked.cells.iter().cloned()));
            return filters;
        };
        if asked.rows.iter().chain(&asked.cells).any(RowFilter::has_label_or_sink) {
            return vec![RowFilter::in_selection()];
        }
        let columns = SelectedColumns::of(&**selection);
        // Without filters in between, each branch of the selection passes the counting cells of its own families, which is
        // less to evaluate. It cannot for a part of the row type, where not every cell of a family counts.
        if asked.cells.is_empty() && matches!(self.columns, Columns::Everything) {
            filters.push(columns.filter(Some(self.live(now_micros)), counted, asked.versions));
        } else {
            filters.extend(counted.into_iter().chain(asked.cells.iter().cloned()));
            filters.push(columns.filter(None, None, asked.versions));
        }
        filters
    }

    /// The filter of the newest versions of each column, after the others. None if a read takes all versions, or has a
    /// selection.
    pub(crate) fn newest(&self, versions: Option<u32>) -> Option<RowFilter> {
        let versions = versions.or((!self.every_version).then_some(DEFAULT_VERSIONS));
        versions.filter(|_| !self.is_selected()).map(RowFilter::latest)
    }

    /// What a read takes of a row without filters of a caller.
    pub(crate) fn read(&self, now_micros: i64) -> RowFilter {
        let filters = self.filters(now_micros, &ReadFilters::default());
        RowFilter::chain(filters.into_iter().chain(self.newest(None)))
    }

    /// Passes one cell, without its value, of a row that a read finds.
    pub(crate) fn existence(&self, now_micros: i64) -> RowFilter {
        let filters = self.filters(now_micros, &ReadFilters::default());
        RowFilter::chain(filters.into_iter().chain(RowFilter::existence()))
    }

    /// Passes a cell of a row that exists for a write if absent: one with any cell that no `ttl` hides, named by the row
    /// type or not. None if every stored row exists.
    pub(crate) fn presence(&self, now_micros: i64) -> Option<RowFilter> {
        self.live(now_micros).cells()
    }

    /// Whether every stored row is there for a write if absent, so that none is written over a hidden one.
    pub(crate) fn hides_no_row(&self) -> bool {
        self.live(0).is_every_cell()
    }

    /// The `ttl` of a family that hides cells of this time.
    pub(crate) fn hiding_ttl(
        &self,
        family: &str,
        timestamp_micros: i64,
        now_micros: i64,
    ) -> Option<Duration> {
        self.live(now_micros).hiding_ttl(family, timestamp_micros)
    }

    /// The filter that leaves a cell where a condition holds, or, for `true`, where it does not. None stands for any cell of the row.
    pub(crate) fn condition<R>(
        &self,
        condition: Condition<R>,
        now_micros: i64,
    ) -> Result<(Option<RowFilter>, bool), RowError> {
        condition.into_filter(self.live(now_micros))
    }

    /// Reads the selected columns of a row; none unless they are selected, as a `T`.
    pub(crate) fn read_selected<T: 'static>(&self, row: &RawRow) -> Option<Result<T, RowError>> {
        let selection = self.selection.as_ref()?;
        Some(selection.as_any().downcast_ref::<HeldSelection<T>>()?.read(row, &self.family))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::{Row, Versions};

    #[derive(crate::Row)]
    #[row(gc(never))]
    struct Walk {
        _name: Option<String>,
        _needed: String,
        _steps: Versions<i64>,
        #[row(family = "t", ttl = "1h")]
        _seen: Option<i64>,
    }

    /// A part of a `Walk` without its rules.
    #[derive(crate::Row)]
    struct Named {
        _name: Option<String>,
    }

    #[derive(crate::Row)]
    struct Renamed {
        #[row(alias = "title")]
        _name: Option<String>,
    }

    const NOW: i64 = 3_600_000_007;

    #[test]
    fn a_part_hides_what_the_whole_hides() {
        let part = VisibleCells::everything(Walk::SCHEMA, "cf").of_type(Named::SCHEMA);
        assert_eq!(part.ttl("t"), Some(Duration::from_secs(3600)));
        assert!(!part.hides_no_row());
        assert!(VisibleCells::everything(Named::SCHEMA, "cf").hides_no_row());
    }

    #[test]
    fn all_that_is_stored_stays_that() {
        let all = VisibleCells::everything(Walk::SCHEMA, "cf");
        assert!(all.selected_columns(&[0]).is_selected());
        let stored = all.stored().selected_columns(&[0]);
        assert!(stored.is_stored() && !stored.is_selected());
    }

    #[test]
    fn rows_with_versions_are_read_with_all_of_them() {
        let all = |schema| VisibleCells::everything(schema, "cf").has_every_version();
        assert!(all(Walk::SCHEMA) && !all(Named::SCHEMA));
    }

    #[test]
    fn a_family_without_a_name_is_the_fault_of_a_map_alone() {
        assert_eq!(VisibleCells::everything(Named::SCHEMA, "").misfit(), None);
        let map = <std::collections::BTreeMap<String, i64> as Row>::SCHEMA;
        assert!(VisibleCells::everything(map, "").misfit().is_some());
    }

    #[test]
    fn a_column_is_read_if_each_of_its_names_is_asked_for() {
        let read = VisibleCells::everything(Named::SCHEMA, "cf").of_type(Named::SCHEMA);
        assert_eq!(read.column_not_read(Named::SCHEMA), None);
        assert!(read.column_not_read(Renamed::SCHEMA).is_some());
    }

    fn columns(names: &[&str]) -> RowFilter {
        RowFilter::any_column("cf", names)
    }

    /// The cells of families without a `ttl`, and the younger ones of that with one.
    fn counted() -> RowFilter {
        let Some(counted) = VisibleCells::everything(Walk::SCHEMA, "cf").cells(NOW) else {
            panic!("`t` has a `ttl`")
        };
        counted
    }

    fn marked(cells: impl IntoIterator<Item = RowFilter>) -> RowFilter {
        let mark = RowFilter::existence().into_iter().chain([RowFilter::own_label("keyderive-row")]);
        RowFilter::chain(cells.into_iter().chain(mark))
    }

    #[test]
    fn a_selection_without_filters_has_what_counts_in_its_branches() {
        let all = VisibleCells::everything(Walk::SCHEMA, "cf");
        let newest = |cells| RowFilter::chain([cells, RowFilter::latest(1)]);
        let seen = || RowFilter::chain([RowFilter::exact_column("t", "_seen"), RowFilter::timestamps(7..)]);
        assert_eq!(
            all.selected((Walk::_NAME, Walk::_SEEN, Walk::_STEPS)).read(NOW),
            RowFilter::interleave([
                newest(RowFilter::interleave([columns(&["_name"]), seen()])),
                columns(&["_steps"]),
                marked([counted()]),
            ])
        );
        assert_eq!(all.selected(Walk::_NEEDED).read(NOW), newest(columns(&["_needed"])));
        assert_eq!(
            all.selected((Walk::_STEPS, Walk::_NEEDED)).read(NOW),
            RowFilter::interleave([newest(columns(&["_needed"])), columns(&["_steps"])])
        );
    }

    #[test]
    fn a_selection_picks_of_what_filters_leave() {
        let all = VisibleCells::everything(Walk::SCHEMA, "cf");
        let filter = RowFilter::skip_cells(1);
        let asked = |versions| ReadFilters {
            rows: vec![RowFilter::sample(0.5)],
            cells: vec![filter.clone()],
            versions,
        };
        let picked = RowFilter::interleave([columns(&["_steps"]), marked([])]);
        let rows = [RowFilter::sample(0.5), counted(), filter.clone()];
        let steps = all.selected(Walk::_STEPS);
        assert_eq!(steps.filters(NOW, &asked(None)), [&rows[..], &[picked]].concat());
        let two = RowFilter::chain([columns(&["_steps"]), RowFilter::latest(2)]);
        let picked = RowFilter::interleave([two, marked([])]);
        assert_eq!(steps.filters(NOW, &asked(Some(2))), [&rows[..], &[picked]].concat());
        assert_eq!(steps.newest(Some(2)), None);
        assert_eq!(steps.filters(NOW, &asked(Some(0))), [&rows[..], &[RowFilter::block_all()]].concat());
        assert_eq!(all.filters(NOW, &asked(Some(2))), rows);
    }
}
