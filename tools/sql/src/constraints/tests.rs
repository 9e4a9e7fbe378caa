//! Predicates and plans beside what DataFusion finds of the same expressions, over all keys of some tables.
#![allow(clippy::unwrap_used, clippy::panic, reason = "these are tests")]

use datafusion::arrow::array::{ArrayRef, AsArray as _, RecordBatch, StructArray};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{Field, Schema};
use datafusion::common::DFSchema;
use datafusion::functions::core::r#struct;
use datafusion::logical_expr::Like;
use datafusion::physical_expr::expressions::{binary, in_list, lit as physical};
use datafusion::physical_expr::utils::collect_columns;
use datafusion::prelude::{SessionContext, col, lit};
use fastrand::Rng;
use keyderive::dynamic::TableLayout;
use keyderive::{KeyField, Row, RowKey};

use super::*;

#[derive(RowKey)]
#[salt(range = 4, over = "user_id,site")]
struct EventKey {
    user_id: String,
    site: String,
    #[reverse_ts]
    at: u64,
    #[pad(6)]
    seq: u32,
}

#[derive(Clone, Copy, Debug, KeyField)]
#[repr(u8)]
enum Status {
    Open = 1,
    Closed = 2,
    Archived = 3,
}

#[derive(RowKey)]
#[row_key(tag = "T")]
struct WideKey {
    status: Status,
    flag: bool,
    #[row_key(desc)]
    small: i16,
    name: String,
}

#[derive(Row)]
struct Event {
    kind: String,
}

/// A table, and keys of all combinations of some values.
struct Table {
    layout: TableLayout,
    columns: Columns,
    /// The values of each key's fields.
    rows: Vec<Vec<Value>>,
    keys: Vec<Vec<u8>>,
    batch: RecordBatch,
}

impl Table {
    fn new<K: RowKey>(values: &[Vec<Value>]) -> Self {
        let layout = TableLayout::of::<K, Event>("table");
        let columns = Columns::of(&layout).unwrap();
        let mut rows = vec![Vec::new()];
        for values in values {
            let with = |row: Vec<Value>| {
                let row = values.iter().map(move |value| row.iter().chain([value]).cloned().collect());
                row.collect::<Vec<Vec<Value>>>()
            };
            rows = rows.into_iter().flat_map(with).collect();
        }
        let names = || layout.key().schema().fields().iter().map(keyderive::key::Field::name);
        let key = |row: &Vec<Value>| layout.key().encode(names().zip(row.iter().cloned())).unwrap();
        let keys = rows.iter().map(key).collect();
        let schema = Schema::new(columns.schema.fields()[..columns.key.len()].to_vec());
        let arrays = columns.key.iter().map(|column| -> ArrayRef {
            let scalars = rows.iter().map(|row| scalar(&row[column.field], column));
            ScalarValue::iter_to_array(scalars).unwrap()
        });
        let batch = RecordBatch::try_new(Arc::new(schema), arrays.collect()).unwrap();
        Self { layout, columns, rows, keys, batch }
    }

    fn events() -> Self {
        let texts = |texts: &[&str]| texts.iter().map(|text| Value::from(*text)).collect();
        Self::new::<EventKey>(&[
            texts(&["", "a", "user", "user0", "v"]),
            texts(&["blog", "home", "shop"]),
            [0_u64, 5, 6, 1 << 40].map(Value::from).to_vec(),
            [0_u32, 7, 999_999].map(Value::from).to_vec(),
        ])
    }

    fn wide() -> Self {
        Self::new::<WideKey>(&[
            ["Open", "Closed", "Archived"].map(Value::from).to_vec(),
            [false, true].map(Value::from).to_vec(),
            [i16::MIN, -1, 0, 12].map(Value::from).to_vec(),
            ["a", "ab", "b"].map(Value::from).to_vec(),
        ])
    }

    /// The keys for which the expression is true.
    fn is_true(&self, expr: &Arc<dyn PhysicalExpr>) -> Vec<bool> {
        let values = expr.evaluate(&self.batch).unwrap().into_array(self.rows.len()).unwrap();
        values.as_boolean().iter().map(|is| is == Some(true)).collect()
    }

    fn logical(&self, expr: &Expr) -> Arc<dyn PhysicalExpr> {
        let schema = DFSchema::try_from(self.batch.schema()).unwrap();
        SessionContext::new().create_physical_expr(expr.clone(), &schema).unwrap()
    }

    fn holds(&self, predicate: &Predicate) -> Vec<bool> {
        self.rows.iter().map(|row| predicate.test.holds(&row[predicate.field])).collect()
    }

    fn filter(&self, predicates: &[Predicate]) -> KeyFilter {
        key_filter(self.layout.key(), predicates).unwrap()
    }

    /// The keys that a scan reads.
    fn reads(&self, filter: &KeyFilter) -> Vec<bool> {
        let requests = filter.plan().requests();
        self.keys.iter().map(|key| requests.iter().any(|request| request.asks_for(key))).collect()
    }

    fn shown(&self, predicates: &[Predicate]) -> String {
        shown(predicates, &self.columns).to_string()
    }

    fn of_expr(&self, expr: &Expr) -> String {
        Predicate::of_expr(expr, &self.columns).map_or("none".to_owned(), |one| self.shown(&[one]))
    }

    /// A literal of a column, mostly the value of a key.
    fn literal(&self, column: &KeyColumn, random: &mut Rng) -> ScalarValue {
        let stored = &self.rows[random.usize(..self.rows.len())][column.field];
        let of_type = |text: String| ScalarValue::try_from_string(text, &column.kind.data_type());
        match (random.u32(..12), stored) {
            (0, _) => ScalarValue::try_from(&column.kind.data_type()).unwrap(),
            (1, Value::Integer(number)) => {
                of_type((number + 1).to_string()).unwrap_or_else(|_| scalar(stored, column))
            }
            (1, Value::Text(text)) => ScalarValue::from(format!("{text}#")),
            (2, Value::Text(text)) => ScalarValue::from(format!("{text}0")),
            // The code of a variant, which is no name.
            (3, Value::Text(_)) if column.variants.is_some() => {
                ScalarValue::from(random.u32(..4).to_string())
            }
            _ => scalar(stored, column),
        }
    }

    /// A random test of a column, mostly of a left one.
    fn atom(&self, random: &mut Rng) -> Expr {
        let at = random.usize(..self.columns.key.len()).min(random.usize(..self.columns.key.len()));
        let column = &self.columns.key[at];
        let value = |random: &mut Rng| Expr::Literal(self.literal(column, random), None);
        let (of, one, other) = (col(column.name), value(random), value(random));
        let compared = |random: &mut Rng, left: Expr, right: Expr| match random.u32(..6) {
            0 => left.lt(right),
            1 => left.lt_eq(right),
            2 => left.gt(right),
            3 => left.gt_eq(right),
            4 => left.eq(right),
            _ => left.not_eq(right),
        };
        match random.u32(..14) {
            0 | 1 if column.kind == Kind::Bool => of,
            2 | 3 if column.kind == Kind::Bool => !of,
            0..3 => of.eq(one),
            3..6 => compared(random, of, one),
            6 => compared(random, one, of),
            7 => of.in_list(vec![one, other], random.u32(..4) == 0),
            8 if random.u32(..4) == 0 => of.not_between(one, other),
            8 => of.between(one, other),
            9 => of.clone().eq(one).or(of.eq(other)),
            10 => self.atom(random).or(self.atom(random)),
            _ if column.kind != Kind::Text => of.eq(one),
            11 if random.u32(..4) == 0 => of.not_like(lit("u%")),
            11 if random.u32(..4) == 0 => of.ilike(lit("U%")),
            _ => {
                let patterns = ["u%", "user%", "us%r%", "u_er%", "%", "user", "a", "A%", "user0%%", "C%d"];
                of.like(lit(patterns[random.usize(..patterns.len())]))
            }
        }
    }
}

/// A value in the type of the column.
fn scalar(value: &Value, column: &KeyColumn) -> ScalarValue {
    match value {
        Value::Bool(value) => ScalarValue::from(*value),
        Value::Text(text) => ScalarValue::from(text.as_str()),
        other => ScalarValue::try_from_string(format!("{other:?}"), &column.kind.data_type()).unwrap(),
    }
}

fn all(one: &[bool], other: &[bool]) -> Vec<bool> {
    one.iter().zip(other).map(|(one, other)| *one && *other).collect()
}

#[test]
fn a_predicate_holds_exactly_where_its_expression_is_true() {
    let mut random = Rng::with_seed(1);
    for table in [Table::events(), Table::wide()] {
        let mut known = 0;
        for _ in 0..2_500 {
            let expr = table.atom(&mut random);
            let Some(predicate) = Predicate::of_expr(&expr, &table.columns) else { continue };
            assert_eq!(
                table.holds(&predicate),
                table.is_true(&table.logical(&expr)),
                "{expr}: {predicate:?}"
            );
            known += 1;
        }
        assert!(known > 1_200, "{known}");
    }
}

#[test]
fn the_expressions_that_are_predicates() {
    let (events, wide) = (Table::events(), Table::wide());
    let (user, at, seq) = (|| col("user_id"), || col("at"), || col("seq"));
    let null = || Expr::Literal(ScalarValue::Utf8(None), None);
    let like = |pattern: &str| Like::new(false, Box::new(user()), Box::new(lit(pattern)), None, false);
    for (expr, expected) in [
        (user().eq(lit("a")), "user_id = \"a\""),
        (lit("a").eq(user()), "user_id = \"a\""),
        (user().eq(null()), "user_id IN 0 values"),
        (user().lt(null()), "none"),
        (user().lt(lit("a")), "user_id < \"a\""),
        (user().lt_eq(lit("a")), "user_id <= \"a\""),
        (user().gt(lit("a")), "user_id > \"a\""),
        (lit("a").gt_eq(user()), "user_id <= \"a\""),
        (user().not_eq(lit("a")), "none"),
        (at().eq(lit(5_u64)), "at = 5"),
        (at().eq(lit(5_i32)), "none"),
        (seq().eq(lit(5_u32)), "seq = 5"),
        (user().eq(user()), "none"),
        (user().in_list(vec![lit("a"), lit("b")], false), "user_id IN [\"a\", \"b\"]"),
        (user().in_list(vec![lit("a"), null()], false), "user_id = \"a\""),
        (user().in_list(vec![lit("a"), col("site")], false), "none"),
        (user().in_list(vec![lit("a"), lit("b")], true), "none"),
        (user().eq(lit("a")).or(user().eq(lit("b"))), "user_id IN [\"a\", \"b\"]"),
        (user().eq(lit("a")).or(col("site").eq(lit("b"))), "none"),
        (user().eq(lit("a")).or(user().lt(lit("b"))), "none"),
        (user().between(lit("a"), lit("b")), "user_id >= \"a\" AND user_id <= \"b\""),
        (user().between(null(), lit("b")), "none"),
        (user().not_between(lit("a"), lit("b")), "none"),
        (Expr::Like(like("a%")), "user_id LIKE 'a%'"),
        (Expr::Like(Like { negated: true, ..like("a%") }), "none"),
        (Expr::Like(Like { case_insensitive: true, ..like("a%") }), "none"),
        (Expr::Like(Like { escape_char: Some('!'), ..like("a%") }), "none"),
        (Expr::Like(like("a")), "none"),
        (Expr::Like(like("a_%")), "none"),
        (Expr::Like(like("a%b%")), "none"),
        (Expr::Like(like("a\\%")), "none"),
        (user(), "none"),
        (!user(), "none"),
        (col("kind").eq(lit("a")), "none"),
    ] {
        assert_eq!(events.of_expr(&expr), expected, "{expr}");
    }
    for (expr, expected) in [
        (col("flag"), "flag = true"),
        (!col("flag"), "flag = false"),
        (col("status").eq(lit("Open")), "status = \"Open\""),
        (col("status").gt(lit("Closed")), "status = \"Open\""),
        (col("status").lt_eq(lit("Closed")), "status IN [\"Closed\", \"Archived\"]"),
        (col("status").like(lit("A%")), "status = \"Archived\""),
        (col("small").lt(lit(3_i16)), "small < 3"),
    ] {
        assert_eq!(wide.of_expr(&expr), expected, "{expr}");
    }
}

/// Which predicates a plan meets, as the crate's documentation says; and the number of values of each field that is fixed.
fn expected(table: &Table, predicates: &[Predicate]) -> (Vec<bool>, Vec<usize>) {
    let (mut used, mut fixed) = (vec![false; predicates.len()], Vec::new());
    for (field, of) in table.layout.key().schema().fields().iter().enumerate() {
        let mine: Vec<_> = (0..predicates.len()).filter(|at| predicates[*at].field == field).collect();
        let any = |is: fn(&KeyTest) -> bool| mine.iter().any(|at| is(&predicates[*at].test));
        if any(|test| matches!(test, KeyTest::AnyOf(_))) {
            mine.iter().for_each(|at| used[*at] = true);
            let mut values: Vec<&Value> = Vec::new();
            for test in mine.iter().map(|at| &predicates[*at].test) {
                let KeyTest::AnyOf(list) = test else { continue };
                values.extend(list.iter().filter(|value| {
                    let holds = mine.iter().all(|at| predicates[*at].test.holds(value));
                    holds && table.layout.key().can_hold(of.name(), *value).unwrap_or(false)
                }));
            }
            values.sort_by(|one, other| one.compare(other).unwrap());
            values.dedup();
            fixed.push(values.len());
            continue;
        }
        let is_prefix = any(|test| matches!(test, KeyTest::Prefix(_)));
        for at in mine {
            used[at] = is_prefix == matches!(predicates[at].test, KeyTest::Prefix(_));
        }
        break;
    }
    (used, fixed)
}

#[test]
fn a_plan_reads_the_rows_that_its_predicates_leave() {
    let mut random = Rng::with_seed(2);
    for table in [Table::events(), Table::wide()] {
        let (mut reads, mut empty, mut narrow) = (0, 0, 0);
        for _ in 0..4_000 {
            let atoms = (0..random.usize(1..6)).map(|_| table.atom(&mut random));
            let predicates: Vec<_> =
                atoms.filter_map(|expr| Predicate::of_expr(&expr, &table.columns)).collect();
            let filter = table.filter(&predicates);
            let read = table.reads(&filter);
            let of = |used: bool| {
                let of = predicates.iter().zip(filter.decided()).filter(|(_, is)| !used || **is);
                of.fold(vec![true; table.rows.len()], |rows, (one, _)| all(&rows, &table.holds(one)))
            };
            let shown = table.shown(&predicates);
            if filter.contradiction().is_some() {
                assert!(!read.contains(&true) && !of(false).contains(&true), "{shown}");
                empty += 1;
                continue;
            }
            assert_eq!(read, of(true), "{shown}: {filter:?}");
            let (used, fixed) = expected(&table, &predicates);
            assert_eq!((filter.decided(), filter.choices()), (&used[..], &fixed[..]), "{shown}");
            assert!(!predicates.iter().any(|one| one.test == KeyTest::AnyOf(Vec::new())), "{shown}");
            reads += usize::from(read.contains(&true));
            narrow += usize::from(read.contains(&false));
        }
        assert!(reads > 1_500 && narrow > 1_000 && empty > 500, "{reads}, {narrow} and {empty}");
    }
}

fn column(table: &Table, name: &str) -> Arc<dyn PhysicalExpr> {
    Arc::new(Column::new(name, table.batch.schema().index_of(name).unwrap()))
}

/// A random filter as joins and the greatest of an order make them.
fn dynamic(table: &Table, random: &mut Rng, depth: u32) -> Arc<dyn PhysicalExpr> {
    let schema = table.batch.schema();
    let both = |random: &mut Rng, op| {
        let (left, right) = (dynamic(table, random, depth - 1), dynamic(table, random, depth - 1));
        binary(left, op, right, &schema).unwrap()
    };
    match random.u32(..8) {
        0..2 if depth > 0 => both(random, Operator::And),
        2..4 if depth > 0 => both(random, Operator::Or),
        4 if depth > 0 => {
            let whens =
                (0..2).map(|_| (table.logical(&table.atom(random)), dynamic(table, random, depth - 1)));
            let whens = whens.collect();
            let otherwise = match random.bool() {
                true => physical(false),
                false => dynamic(table, random, depth - 1),
            };
            Arc::new(CaseExpr::try_new(None, whens, Some(otherwise)).unwrap())
        }
        5 => {
            let inner = dynamic(table, random, 0);
            let columns = collect_columns(&inner).into_iter().map(|column| Arc::new(column) as _);
            Arc::new(DynamicFilterPhysicalExpr::new(columns.collect(), inner))
        }
        6 => {
            let (names, rows) = (["site", "user_id", "at"], [random.usize(..180), random.usize(..180)]);
            let args: Vec<_> = names.iter().map(|name| column(table, name)).collect();
            let of = ScalarFunctionExpr::try_new(r#struct(), args, &schema, Default::default()).unwrap();
            let fields = [("c0", 1), ("c1", 0), ("c2", 2)].map(|(name, field)| {
                let of = &table.columns.key[field];
                (Arc::new(Field::new(name, of.kind.data_type(), true)), field)
            });
            let value = |row: usize| {
                let arrays = fields.iter().map(|(name, field)| {
                    let scalar = scalar(&table.rows[row][*field], &table.columns.key[*field]);
                    (Arc::clone(name), scalar.to_array().unwrap())
                });
                let of = StructArray::from(arrays.collect::<Vec<_>>());
                physical_scalar(ScalarValue::Struct(Arc::new(of)))
            };
            in_list(Arc::new(of), rows.map(value).to_vec(), &(random.u32(..5) == 0), &schema).unwrap()
        }
        _ => {
            let at = random.usize(..4).min(random.usize(..4));
            let of = &table.columns.key[at];
            let wide = match (of.kind.data_type(), random.u32(..3)) {
                (from, 0) => from,
                (DataType::Utf8, _) => DataType::Utf8View,
                (DataType::UInt64, 1) => DataType::Decimal128(20, 0),
                (DataType::UInt64, _) => DataType::UInt32,
                (_, 1) => DataType::Int64,
                _ => DataType::UInt8,
            };
            let value = |random: &mut Rng| {
                let value = table.literal(of, random);
                physical_scalar(value.cast_to(&wide).unwrap_or(ScalarValue::try_from(&wide).unwrap()))
            };
            let cast: Arc<dyn PhysicalExpr> =
                Arc::new(CastExpr::new(column(table, of.name), wide.clone(), Some(LOSSY)));
            if random.bool() {
                let list = vec![value(random), value(random)];
                return in_list(cast, list, &(random.u32(..5) == 0), &schema).unwrap();
            }
            let ops =
                [Operator::Lt, Operator::LtEq, Operator::Gt, Operator::GtEq, Operator::Eq, Operator::NotEq];
            binary(cast, ops[random.usize(..ops.len())], value(random), &schema).unwrap()
        }
    }
}

/// A value that does not fit becomes NULL.
const LOSSY: datafusion::arrow::compute::CastOptions<'static> = datafusion::arrow::compute::CastOptions {
    safe: true,
    format_options: datafusion::arrow::util::display::FormatOptions::new(),
};

fn physical_scalar(value: ScalarValue) -> Arc<dyn PhysicalExpr> {
    Arc::new(PhysicalLiteral::new(value))
}

#[test]
fn what_a_dynamic_filter_implies_holds_wherever_it_does() {
    let (table, mut random) = (Table::events(), Rng::with_seed(3));
    let mut known = 0;
    for _ in 0..4_000 {
        let filter = dynamic(&table, &mut random, 2);
        let is_true = table.is_true(&filter);
        for predicate in Predicate::implied(&filter, &table.columns) {
            let holds = table.holds(&predicate);
            let is_implied = is_true.iter().zip(&holds).all(|(filter, holds)| !filter || *holds);
            assert!(is_implied, "{filter} does not imply {}", table.shown(&[predicate]));
            known += 1;
        }
    }
    assert!(known > 2_000, "{known}");
}

#[test]
fn what_filters_imply() {
    let table = Table::events();
    let schema = table.batch.schema();
    let user = || column(&table, "user_id");
    let of = |left: Arc<dyn PhysicalExpr>, op: Operator, right: Arc<dyn PhysicalExpr>| {
        binary(left, op, right, &schema).unwrap()
    };
    let is = |value: &str| of(user(), Operator::Eq, physical(value));
    let seq = |op: Operator, value: u32| of(column(&table, "seq"), op, physical(value));
    let cast = |name: &str, to: DataType| -> Arc<dyn PhysicalExpr> {
        Arc::new(CastExpr::new(column(&table, name), to, Some(LOSSY)))
    };
    let case = |otherwise: Option<Arc<dyn PhysicalExpr>>| -> Arc<dyn PhysicalExpr> {
        let whens = vec![(seq(Operator::Eq, 0), is("a")), (seq(Operator::Eq, 1), is("v"))];
        Arc::new(CaseExpr::try_new(None, whens, otherwise).unwrap())
    };
    let (and, or) = (Operator::And, Operator::Or);
    let view = |text: &str| physical_scalar(ScalarValue::Utf8View(Some(text.to_owned())));
    for (filter, expected) in [
        (of(is("a"), and, seq(Operator::Gt, 7)), "user_id = \"a\" AND seq > 7"),
        (of(is("a"), or, is("v")), "user_id IN [\"a\", \"v\"]"),
        (of(is("a"), or, seq(Operator::Gt, 7)), ""),
        (of(is("a"), or, physical(false)), "user_id = \"a\""),
        (of(seq(Operator::Lt, 5), or, seq(Operator::Eq, 7)), "seq <= 7"),
        (of(seq(Operator::Gt, 5), or, seq(Operator::GtEq, 3)), "seq >= 3"),
        (of(seq(Operator::Gt, 5), or, seq(Operator::Lt, 3)), ""),
        (case(Some(physical(false))), "user_id IN [\"a\", \"v\"]"),
        (case(Some(is("user"))), "user_id IN [\"a\", \"v\", \"user\"]"),
        (case(Some(physical(true))), ""),
        (of(cast("user_id", DataType::Utf8View), Operator::Eq, view("a")), "user_id = \"a\""),
        (of(cast("seq", DataType::Int64), Operator::Lt, physical(5_i64)), "seq < 5"),
        (of(cast("seq", DataType::Int64), Operator::Lt, physical(-5_i64)), ""),
        (of(cast("seq", DataType::UInt8), Operator::Lt, physical(5_u8)), ""),
        (of(column(&table, "seq"), Operator::Lt, physical(5.5)), ""),
        (
            in_list(user(), vec![physical("a"), physical("v")], &false, &schema).unwrap(),
            "user_id IN [\"a\", \"v\"]",
        ),
        (in_list(user(), vec![physical("a"), physical("v")], &true, &schema).unwrap(), ""),
        (Arc::new(DynamicFilterPhysicalExpr::new(Vec::new(), is("a"))), "user_id = \"a\""),
    ] {
        assert_eq!(table.shown(&Predicate::implied(&filter, &table.columns)), expected, "{filter}");
    }
}

#[test]
fn a_cast_is_widening_if_it_keeps_the_least_and_the_greatest_value() {
    use DataType as T;

    let integers = [T::UInt8, T::UInt16, T::UInt32, T::UInt64, T::Int8, T::Int16, T::Int32, T::Int64];
    let ends = |of: &DataType| {
        let (bits, is_signed) = (of.primitive_width().unwrap() as u32 * 8, of.is_signed_integer());
        let (least, greatest) = match is_signed {
            true => (-(1_i128 << (bits - 1)), (1_i128 << (bits - 1)) - 1),
            false => (0, (1_i128 << bits) - 1),
        };
        let ends = [least, greatest].map(|end| ScalarValue::try_from_string(end.to_string(), of).unwrap());
        ScalarValue::iter_to_array(ends).unwrap()
    };
    let decimals = (1..=38).map(|precision| T::Decimal128(precision, 0)).chain([T::Decimal256(20, 0)]);
    let targets: Vec<_> = integers.iter().cloned().chain(decimals).collect();
    for from in &integers {
        let ends = ends(from);
        for to in &targets {
            let back = cast(&cast(&ends, to).unwrap(), from).unwrap();
            assert_eq!(is_widening(from, to), *back == *ends, "{from} to {to}");
        }
    }
    assert!(is_widening(&T::Utf8, &T::LargeUtf8) && is_widening(&T::Binary, &T::BinaryView));
    assert!(!is_widening(&T::Utf8, &T::Binary) && !is_widening(&T::Utf8, &T::Decimal128(38, 0)));
}
