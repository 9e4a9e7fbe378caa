//! DataFusion without its wrong answers: what it would answer wrongly without an error is computed exactly, or refused.

mod arithmetic;
mod casts;
mod depth;
mod functions;
mod lists;
mod queries;
mod rule;
mod statements;
mod sum;
mod times;

use std::collections::VecDeque;
use std::sync::Arc;

use datafusion::arrow::compute::CastOptions;
use datafusion::arrow::util::display::FormatOptions;
use datafusion::catalog::Session;
use datafusion::common::{Result, plan_datafusion_err, plan_err};
use datafusion::dataframe::DataFrame;
use datafusion::execution::{SessionState, SessionStateBuilder};
use datafusion::logical_expr::LogicalPlan;
use datafusion::optimizer::analyzer::type_coercion::TypeCoercion;
use datafusion::optimizer::analyzer::{Analyzer, AnalyzerRule as _};
use datafusion::prelude::{SessionConfig, SessionContext};
use datafusion::sql::parser::{DFParserBuilder, Statement};
use datafusion::sql::sqlparser::dialect::dialect_from_str;
use keyderive::Client;
use keyderive::dynamic::TableLayout;

use self::rule::ExactRule;
use crate::BigtableTable;

/// For casts that fail where a value is not of the type.
const CHECKED: CastOptions<'static> = CastOptions { safe: false, format_options: FormatOptions::new() };

/// A session of DataFusion that answers a query exactly, or refuses it and says what is missing. Run statements with [`sql`](Self::sql):
/// `sql` of the [`SessionContext`] lets pass what only the text shows, and answers wrongly: `EXCEPT ALL` and `INTERSECT ALL`, which count equal
/// rows; `TABLESAMPLE`, which is ignored; an `IS DISTINCT FROM` before `AND` or `OR`; integers beyond 64 bits and floats beyond `FLOAT64`, which
/// are rounded; and a chain of thousands of operators, which overflows the stack.
///
/// ```
/// use datafusion::prelude::SessionConfig;
/// use keyderive_datafusion::Exact;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> datafusion::common::Result<()> {
/// let exact = Exact::new(SessionConfig::new());
/// let rows = exact.sql("SELECT v FROM (VALUES (1), (NULL)) AS t (v) WHERE v NOT IN (1) OR v NOT IN (3)").await?;
/// // NULL is in no list, and not in none.
/// assert_eq!(rows.count().await?, 1);
/// # Ok(())
/// # }
/// ```
///
/// What DataFusion 55.2 does otherwise, and the reports of it:
///
/// | DataFusion | here | report |
/// |---|---|---|
/// | lists that exclude each other, or hold NULL, are true or false where they are NULL; `array_has` is NULL where it is false | exact | [24246](https://github.com/apache/datafusion/issues/24246) |
/// | lists of columns that have no column in common exclude each other | exact | none found |
/// | -0.0 is in no list with 0.0, and another value for `count(DISTINCT …)` | exact | [22490](https://github.com/apache/datafusion/issues/22490) |
/// | `v ^ v` is 0 for NULL | exact | 24246 |
/// | `s ~ '.*'` is false for NULL | exact | [24379](https://github.com/apache/datafusion/issues/24379) |
/// | `-a & a` is 0, `-a \| a` is -1 | exact | [24665](https://github.com/apache/datafusion/issues/24665) |
/// | integers and their sums wrap | 64 bits, or an error | [17539](https://github.com/apache/datafusion/issues/17539) |
/// | the year of a time is compared with one that nanoseconds do not reach | exact | [25135](https://github.com/apache/datafusion/issues/25135) |
/// | `date_trunc` of a constant before 1970 is later than it; of the least time it wraps or panics | exact; an error | [25129](https://github.com/apache/datafusion/issues/25129) |
/// | times are compared in nanoseconds, which end in 2262 | exact | [6653](https://github.com/apache/datafusion/issues/6653) is of the kind |
/// | what a column cannot hold is cut or rounded by `INSERT` | an error | [11886](https://github.com/apache/datafusion/issues/11886) is of the kind |
/// | `NOT IN` of a query that reads a column of the outer one ignores NULL | an error | [25347](https://github.com/apache/datafusion/issues/25347) |
/// | conditions of a query that reads a column of the outer one are moved past an outer join | an error | [25507](https://github.com/apache/datafusion/issues/25507) |
/// | a condition on one side of a `RIGHT` or `FULL` join is asked of a column of the same name on the other | exact | [25244](https://github.com/apache/datafusion/issues/25244) is of the kind |
/// | `IN` before a query is false where it is NULL, below `NOT`, in a value and as an alternative with `NOT` | an error | [21309](https://github.com/apache/datafusion/issues/21309) |
/// | `RIGHT` and `FULL` joins with `USING`, and `NATURAL` ones, take their column from the left side | an error | [22881](https://github.com/apache/datafusion/issues/22881) |
/// | aggregates, `HAVING`, limits and window functions of queries that read a column of the outer one | an error | none found |
/// | `COPY` writes '' and NULL alike to csv, and NaN as `null` to json | an error | [7797](https://github.com/apache/datafusion/issues/7797) is of the kind |
/// | `EXCEPT ALL` and `INTERSECT ALL` count wrongly | an error of [`sql`](Self::sql) | [12956](https://github.com/apache/datafusion/issues/12956), [12955](https://github.com/apache/datafusion/issues/12955) |
/// | `TABLESAMPLE` is ignored | an error of `sql` | [13563](https://github.com/apache/datafusion/issues/13563) |
/// | `ANY` and `ALL` before a query of the same table compare a column with itself | an error | [25258](https://github.com/apache/datafusion/issues/25258) |
/// | `IS DISTINCT FROM` takes what `AND` joins | an error of `sql` | [23692](https://github.com/apache/datafusion/issues/23692) |
/// | a long chain of operators overflows the stack | an error of `sql` | [22229](https://github.com/apache/datafusion/issues/22229) |
///
/// All but the errors of `sql` also holds for data frames, and for `sql` of the context. Dates and times are not compared with numbers, nor text
/// with a number: both are errors that say what to write. In `EXPLAIN`, `as_is(v)` is the value of `v`.
///
/// Not mended, and without an error: sums of `DECIMAL` wrap beyond 38 digits; sums and averages over windows that slide lose digits of floats,
/// and stay NaN after one; `= ANY(ARRAY[…])` is false where it is NULL, and so are comparisons of rows and lists that have NULL; an interval
/// below a day is left out beside a `DATE`, and intervals are compared by their fields; `extract(epoch …)` of more than 68 years is NULL;
/// `SIMILAR TO` finds parts; casts to integers cut; and a `COPY` that fails leaves a file without rows.
///
/// Two faults of floats stay: `min` and `max` of a group that has NaN can be another value of the group, and `CASE x WHEN 0` and `nullif(x, 0)`
/// take -0.0 for another value.
#[derive(Clone)]
pub struct Exact {
    context: SessionContext,
}

impl std::fmt::Debug for Exact {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Exact").field("session", &self.context.session_id()).finish_non_exhaustive()
    }
}

impl Exact {
    /// A new session.
    #[must_use]
    pub fn new(config: SessionConfig) -> Self {
        Self::add(&SessionContext::new_with_config(config))
    }

    /// Makes a session exact, in place. Its tables, functions and rules stay; statements that it has prepared do not, since their text was
    /// not checked.
    #[must_use]
    pub fn add(context: &SessionContext) -> Self {
        let state = context.state_ref();
        let mut state = state.write();
        if !is_exact(&*state) {
            let mut rules = state.analyzer().rules.clone();
            rules.retain(|rule| rule.name() != ExactRule::NAME);
            rules.insert(0, Arc::new(ExactRule));
            // It takes columns by their names: a condition on one side of a RIGHT or FULL join was asked of the other.
            let physical = state.physical_optimizers().iter();
            let physical = physical.filter(|rule| rule.name() != "FilterPushdown").cloned().collect();
            let mut builder = SessionStateBuilder::new_from_existing(state.clone())
                .with_physical_optimizer_rules(physical)
                .with_session_id(state.session_id().to_owned());
            let functions = state.analyzer().function_rewrites.clone();
            *builder.analyzer() = Some(Analyzer { function_rewrites: functions, rules });
            let mut exact = builder.build();
            // The check compares whether columns may be NULL, of which DataFusion knows less in physical expressions: it refuses right plans.
            exact.config_mut().options_mut().execution.skip_physical_aggregate_schema_check = true;
            *state = exact;
        }
        drop(state);
        Self { context: context.clone() }
    }

    /// The session.
    #[must_use]
    pub fn context(&self) -> &SessionContext {
        &self.context
    }

    /// A table of keyderive. [`register_table`](SessionContext::register_table) adds it to this session or to another exact one; in others it
    /// is an error to read or to write it.
    ///
    /// # Errors
    /// If two columns have the same name, even as `family:qualifier`.
    pub fn table(&self, client: &Client, layout: &TableLayout) -> Result<BigtableTable> {
        BigtableTable::of(client, layout, false)
    }

    /// Parses, checks and plans a statement, as [`SessionContext::sql`] does.
    ///
    /// # Errors
    /// If it is wrong, if it is not one statement, or if DataFusion would answer it wrongly.
    pub async fn sql(&self, text: &str) -> Result<DataFrame> {
        let mut statements = self.parse(text)?;
        match (statements.pop_front(), statements.len()) {
            (Some(statement), 0) => self.context.execute_logical_plan(self.plan(statement).await?).await,
            (_, more) => plan_err!("`sql` runs one statement, and the text has {}", more + 1),
        }
    }

    /// The statements of a text, checked.
    ///
    /// # Errors
    /// If it is wrong, or if DataFusion would answer one of them wrongly.
    pub fn parse(&self, text: &str) -> Result<VecDeque<Statement>> {
        let options = self.context.state_ref().read().config_options().sql_parser.clone();
        let dialect = dialect_from_str(options.dialect)
            .ok_or_else(|| plan_datafusion_err!("there is no dialect `{}`", options.dialect))?;
        let limit = options.recursion_limit.get();
        let tokens = depth::tokens(text, &*dialect, limit)?;
        let parser = DFParserBuilder::new(tokens).with_dialect(&*dialect).with_recursion_limit(limit);
        let statements = parser.build()?.parse_statements()?;
        statements.iter().try_for_each(statements::check)?;
        Ok(statements)
    }

    /// The plan of a statement that [`parse`](Self::parse) has returned.
    ///
    /// # Errors
    /// If the statement is wrong, or if DataFusion would answer it wrongly.
    pub async fn plan(&self, statement: Statement) -> Result<LogicalPlan> {
        statements::check(&statement)?;
        self.context.state().statement_to_plan(statement).await
    }
}

/// Whether a session has the rule, before operands are brought to one type.
pub(crate) fn is_exact(session: &dyn Session) -> bool {
    let Some(state) = session.as_any().downcast_ref::<SessionState>() else { return false };
    let rules = || state.analyzer().rules.iter().map(|rule| rule.name());
    let coercion = TypeCoercion::new();
    let place = |name: &str| rules().position(|rule| rule == name);
    place(ExactRule::NAME).is_some_and(|own| place(coercion.name()).is_none_or(|other| own < other))
}
