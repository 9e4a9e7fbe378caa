//! Aggregate functions.

use std::cmp::Ordering;
use std::collections::HashSet;

use sqlparser::tokenizer::Location;
use tonic::Status;

use crate::error::{out_of_range, unimplemented};
use crate::expr::Expr;
use crate::functions::{joined, no_signature};
use crate::meter::Held;
use crate::relation::of_entry;
use crate::typed::Typed;
use crate::types::Type;
use crate::value::Value;

/// An aggregate function of an expression.
pub(crate) struct Aggregate {
    kind: Kind,
    /// None for `COUNT(*)`.
    operand: Option<Expr>,
    is_distinct: bool,
}

enum Kind {
    Count,
    CountIf,
    SumInt,
    SumFloat,
    Average,
    Least,
    Greatest,
    Any,
    Array { ignores_null: bool },
    Text { delimiter: Vec<u8>, is_text: bool },
    And,
    Or,
}

/// What an aggregate has seen.
pub(crate) struct State {
    value: Value,
    count: u64,
    int: i128,
    float: f64,
    /// Whether all numbers so far are finite, so that their sum has to be.
    is_finite: bool,
    elements: Vec<Value>,
    held: Held,
    seen: HashSet<Vec<u8>>,
}

/// The names of aggregate functions.
pub(crate) fn is_aggregate(name: &str) -> bool {
    matches!(
        name,
        "COUNT"
            | "COUNTIF"
            | "SUM"
            | "AVG"
            | "MIN"
            | "MAX"
            | "ANY_VALUE"
            | "ARRAY_AGG"
            | "STRING_AGG"
            | "LOGICAL_AND"
            | "LOGICAL_OR"
    )
}

impl Aggregate {
    pub(crate) fn count_rows() -> (Self, Type) {
        (Self { kind: Kind::Count, operand: None, is_distinct: false }, Type::Int64)
    }

    /// The aggregate of this name, and its type.
    pub(crate) fn new(
        name: &str,
        mut all: Vec<Typed>,
        is_distinct: bool,
        ignores_null: bool,
        at: Location,
    ) -> Result<(Self, Type), Status> {
        let wrong = no_signature(&format!("aggregate function {name}"), &all, at);
        let delimiter = if name == "STRING_AGG" && all.len() == 2 { all.pop() } else { None };
        let (Some(operand), true) = (all.pop(), all.is_empty()) else { return Err(wrong) };
        let of = operand.of.clone();
        if is_distinct && !of.is_groupable() {
            return Err(unimplemented(format!("{name}(DISTINCT …) of {of}")));
        }
        let (kind, result) = match name {
            "COUNT" => (Kind::Count, Type::Int64),
            "COUNTIF" if of == Type::Bool => (Kind::CountIf, Type::Int64),
            "SUM" if of == Type::Int64 => (Kind::SumInt, Type::Int64),
            "SUM" if of.is_float() => (Kind::SumFloat, Type::Float64),
            "AVG" if of.is_number() => (Kind::Average, Type::Float64),
            "MIN" if of.is_ordered() => (Kind::Least, of),
            "MAX" if of.is_ordered() => (Kind::Greatest, of),
            "ANY_VALUE" => (Kind::Any, of),
            "ARRAY_AGG" if !matches!(of, Type::Array(_)) => (Kind::Array { ignores_null }, Type::array(of)),
            "STRING_AGG" if of.is_text_or_bytes() => {
                let delimiter = match delimiter.map(|delimiter| delimiter.coerced(&of)).transpose()? {
                    None => b",".to_vec(),
                    Some(Ok(Typed { expr: Expr::Literal(value), .. })) if !value.is_null() => {
                        value.raw().to_vec()
                    }
                    Some(Ok(_)) => return Err(unimplemented("a delimiter of STRING_AGG that is no literal")),
                    Some(Err(_)) => return Err(wrong),
                };
                (Kind::Text { delimiter, is_text: of == Type::Text }, of)
            }
            "LOGICAL_AND" if of == Type::Bool => (Kind::And, Type::Bool),
            "LOGICAL_OR" if of == Type::Bool => (Kind::Or, Type::Bool),
            _ => return Err(wrong),
        };
        Ok((Self { kind, operand: Some(operand.expr), is_distinct }, result))
    }

    pub(crate) fn state(&self) -> State {
        State {
            value: Value::Null,
            count: 0,
            int: 0,
            float: 0.0,
            is_finite: true,
            elements: Vec::new(),
            held: Held::default(),
            seen: HashSet::new(),
        }
    }

    /// Adds a row.
    pub(crate) fn add(&self, state: &mut State, row: &[Value]) -> Result<(), Status> {
        let Some(operand) = &self.operand else {
            state.count += 1;
            return Ok(());
        };
        let value = operand.value(row)?;
        if value.is_null() && !matches!(self.kind, Kind::Array { ignores_null: false }) {
            return Ok(());
        }
        if self.is_distinct {
            let mut key = Vec::new();
            value.group_key(&mut key);
            key.shrink_to_fit();
            state.held.add(of_entry::<Vec<u8>>() + key.len())?;
            if !state.seen.insert(key) {
                return Ok(());
            }
        }
        if matches!(self.kind, Kind::CountIf) && !value.is_true() {
            return Ok(());
        }
        state.count += 1;
        match &self.kind {
            Kind::Count | Kind::CountIf => {}
            // Only the whole sum has to be in range; fewer than 2^64 numbers of 64 bits fit 128.
            Kind::SumInt => state.int += i128::from(value.int()),
            Kind::SumFloat | Kind::Average => {
                state.float += value.float();
                state.is_finite &= value.float().is_finite();
            }
            Kind::Least | Kind::Greatest => {
                let is_least = matches!(self.kind, Kind::Least);
                let sought = if is_least { Ordering::Less } else { Ordering::Greater };
                if state.value.is_null() || value.replaces(&state.value, sought) {
                    state.value = value;
                }
            }
            Kind::Any if state.value.is_null() => state.value = value,
            Kind::Any => {}
            Kind::Array { .. } | Kind::Text { .. } => {
                state.held.add(of_entry::<Value>() + value.bytes())?;
                state.elements.push(value);
            }
            Kind::And => {
                state.value =
                    Value::Bool(value.is_true() && (state.value.is_null() || state.value.is_true()));
            }
            Kind::Or => state.value = Value::Bool(value.is_true() || state.value.is_true()),
        }
        Ok(())
    }

    /// The value of a group.
    pub(crate) fn finish(&self, state: State) -> Result<Value, Status> {
        let has_none = state.count == 0;
        let overflow = || out_of_range("SUM() aggregation overflow");
        Ok(match &self.kind {
            Kind::Count | Kind::CountIf => Value::Int64(i64::try_from(state.count).unwrap_or(i64::MAX)),
            _ if has_none => Value::Null,
            Kind::SumInt => Value::Int64(i64::try_from(state.int).map_err(|_| overflow())?),
            Kind::SumFloat | Kind::Average if state.is_finite && !state.float.is_finite() => {
                return Err(overflow());
            }
            Kind::SumFloat => Value::Float64(state.float),
            #[expect(clippy::cast_precision_loss, reason = "an average is no more precise")]
            Kind::Average => Value::Float64(state.float / state.count as f64),
            Kind::Array { .. } => Value::Array(state.elements),
            Kind::Text { delimiter, is_text } => {
                let parts: Vec<&[u8]> = state.elements.iter().map(Value::raw).collect();
                joined(*is_text, &parts, delimiter)?
            }
            _ => state.value,
        })
    }
}
