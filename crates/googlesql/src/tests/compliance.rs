//! Compliance cases of GoogleSQL's reference implementation: each agrees, is refused by name, or belongs to a class of `classes.txt`.
//! The folder's README says where the tables come from, and how they read.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use keyderive_proto::admin::Type as TypeMessage;
use keyderive_proto::admin::r#type::Kind;
use keyderive_proto::data::{Value as Message, value};
use regex::bytes::Regex;
use tonic::{Code, Status};

use super::{Database, show_column};
use crate::types::Type;
use crate::value::Value;

const CLASSES: &str = include_str!("compliance/classes.txt");

#[tokio::test]
async fn functions_agree_with_the_reference() {
    judge("functions", include_str!("compliance/functions.txt")).await;
}

#[tokio::test]
async fn queries_agree_with_the_reference() {
    judge("queries", include_str!("compliance/queries.txt")).await;
}

/// A value, as it is compared.
#[derive(Clone, Debug)]
enum Node {
    Scalar(String),
    Float(f64),
    Array { is_ordered: bool, elements: Vec<Node> },
    Struct(Vec<Node>),
}

async fn judge(table: &str, text: &str) {
    let database = Database::new();
    let mut classes: Vec<(usize, Regex, &str, usize)> = CLASSES
        .lines()
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| {
            let parts: Vec<&str> = line.split('\t').collect();
            let [of, count, pattern, reason] = parts[..] else { panic!("a class has four parts: {line}") };
            (of == table).then(|| (count.parse().unwrap(), Regex::new(pattern).unwrap(), reason, 0))
        })
        .collect();
    let mut tables: BTreeMap<&str, &str> = BTreeMap::new();
    let (mut agree, mut refused, mut others) = (0, 0, String::new());
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let mut parts = line.split('\t');
        let name = parts.next().unwrap();
        let query = parts.next().unwrap();
        if name.starts_with('{') {
            tables.insert(name, query);
            continue;
        }
        let mut query = query.replace('␊', "\n");
        for (id, rows) in tables.iter().filter(|(id, _)| line.contains(**id)) {
            let alias = id[1..].split(' ').next().unwrap();
            let has_alias = query.split(*id).nth(1).is_some_and(has_alias);
            let alias = if has_alias { String::new() } else { format!(" AS {alias}") };
            query = query.replace(*id, &format!("(SELECT * FROM UNNEST({rows})){alias}"));
        }
        let (expected, value) = (parts.next().unwrap(), parts.next().unwrap_or_default());
        let is_near = parts.next() == Some("near") || table == "queries";
        let verdict = match (database.values(&query, &[]).await, expected.strip_prefix('!')) {
            (Err(status), _) if is_refusal(&status) => {
                refused += 1;
                continue;
            }
            (Err(status), Some(code)) if is_fitting(&status, code) => None,
            (Err(status), _) => Some(format!("{:?}: {}", status.code(), status.message())),
            (Ok((columns, values)), code) => {
                let shown: Vec<String> = columns.iter().map(show_column).collect();
                let mut of = format!("ARRAY<STRUCT<{}>>", shown.join(", "));
                let types: Vec<&TypeMessage> =
                    columns.iter().map(|column| column.r#type.as_ref().unwrap()).collect();
                let rows = values.chunks(columns.len()).map(|row| {
                    Node::Struct(row.iter().zip(&types).map(|(value, of)| node(value, of)).collect())
                });
                let mut found = Node::Array { is_ordered: true, elements: rows.collect() };
                if table == "functions"
                    && let Node::Array { elements, .. } = &mut found
                    && let Some(Node::Struct(mut row)) = elements.pop()
                {
                    found = row.remove(0);
                    of = Type::of_message(types[0]).unwrap().to_string();
                }
                let is_type = expected == of || expected.contains("ARRAY<>");
                (code.is_some() || !is_type || !equal(&parsed(&mut &value[..]), &found, is_near))
                    .then(|| format!("{of} {}", shown_node(&found)))
            }
        };
        let Some(verdict) = verdict else {
            agree += 1;
            continue;
        };
        let line = format!("{line}\t=> {verdict}");
        match classes.iter_mut().find(|(_, pattern, ..)| pattern.is_match(line.as_bytes())) {
            Some((.., count)) => *count += 1,
            None => writeln!(others, "{line}").unwrap(),
        }
    }
    let listed: usize = classes.iter().map(|(.., count)| count).sum();
    println!("{table}: {agree} agree, {refused} are refused by name, {listed} are listed");
    for (expected, pattern, reason, count) in &classes {
        if expected != count {
            writeln!(others, "{count} cases are of the class `{pattern}`, and not {expected}: {reason}")
                .unwrap();
        }
    }
    assert!(others.is_empty(), "{} others:\n{others}", others.lines().count());
}

/// Whether the text after a table names it.
fn has_alias(rest: &str) -> bool {
    let word =
        rest.trim_start().split(|each: char| !each.is_ascii_alphanumeric() && each != '_').next().unwrap();
    const KEYWORDS: [&str; 22] = [
        "",
        "WHERE",
        "GROUP",
        "ORDER",
        "LIMIT",
        "HAVING",
        "UNION",
        "JOIN",
        "LEFT",
        "RIGHT",
        "FULL",
        "INNER",
        "CROSS",
        "ON",
        "USING",
        "EXCEPT",
        "INTERSECT",
        "TABLESAMPLE",
        "QUALIFY",
        "WINDOW",
        "PIVOT",
        "UNPIVOT",
    ];
    !KEYWORDS.contains(&&word.to_ascii_uppercase()[..])
}

fn is_refusal(status: &Status) -> bool {
    status.code() == Code::Unimplemented
        && status.message().starts_with("the embedded Bigtable's SQL does not support ")
}

/// Whether an error is the reference's. What fails for each row here may fail in the analysis there, but not because a query is not
/// understood.
fn is_fitting(status: &Status, expected: &str) -> bool {
    const NOT_UNDERSTOOD: [&str; 6] = [
        "Syntax error",
        "Function not found",
        "No matching",
        "Unrecognized name",
        "Table not found",
        "Type not found",
    ];
    let is_understood = !NOT_UNDERSTOOD.iter().any(|words| status.message().starts_with(words));
    matches!(expected, "OUT_OF_RANGE" | "INVALID_ARGUMENT")
        && matches!(status.code(), Code::OutOfRange | Code::InvalidArgument)
        && is_understood
}

fn node(message: &Message, of: &TypeMessage) -> Node {
    match (&message.kind, of.kind.as_ref().unwrap()) {
        (Some(value::Kind::FloatValue(number)), Kind::Float32Type(_)) => {
            Node::Float(format!("{:?}", *number as f32).parse().unwrap())
        }
        (Some(value::Kind::FloatValue(number)), _) => Node::Float(*number),
        (Some(value::Kind::ArrayValue(array)), Kind::ArrayType(of)) => {
            let of = of.element_type.as_ref().unwrap();
            Node::Array {
                is_ordered: true,
                elements: array.values.iter().map(|value| node(value, of)).collect(),
            }
        }
        (Some(value::Kind::ArrayValue(array)), Kind::StructType(of)) => {
            let fields = array.values.iter().zip(&of.fields);
            Node::Struct(fields.map(|(value, field)| node(value, field.r#type.as_ref().unwrap())).collect())
        }
        _ => Node::Scalar(match Value::of_message(message, &Type::of_message(of).unwrap()).unwrap() {
            Value::Null => "NULL".to_owned(),
            Value::Bool(value) => value.to_string(),
            Value::Int64(number) => number.to_string(),
            Value::Text(text) => format!("\"{}\"", text.escape_default()),
            Value::Bytes(bytes) => format!("b\"{}\"", bytes.escape_ascii()),
            Value::Timestamp(micros) => format!("@{micros}"),
            date @ Value::Date(_) => crate::cast::text(&date),
            other => panic!("{other:?}"),
        }),
    }
}

/// A value of the table.
fn parsed(text: &mut &str) -> Node {
    let is_ordered = !text.starts_with('?');
    *text = text.trim_start_matches('?');
    if text.starts_with(['[', '(']) {
        let is_array = text.starts_with('[');
        *text = &text[1..];
        let mut elements = Vec::new();
        while !text.starts_with([']', ')']) {
            elements.push(parsed(text));
            *text = text.trim_start_matches([',', ' ']);
        }
        *text = &text[1..];
        return if is_array { Node::Array { is_ordered, elements } } else { Node::Struct(elements) };
    }
    let (mut is_quoted, mut is_escaped) = (false, false);
    let end = text.find(|each: char| {
        let is_end = !is_quoted && matches!(each, ',' | ']' | ')');
        is_quoted ^= each == '"' && !is_escaped;
        is_escaped = each == '\\' && !is_escaped;
        is_end
    });
    let (scalar, rest) = text.split_at(end.unwrap_or(text.len()));
    *text = rest;
    let is_float = scalar
        .starts_with(|each: char| each.is_ascii_digit() || each == '-' || each == 'i' || each == 'N')
        && scalar.contains(['.', 'e', 'n', 'N']);
    match scalar.parse() {
        Ok(number) if is_float => Node::Float(number),
        _ => Node::Scalar(scalar.to_owned()),
    }
}

fn equal(expected: &Node, found: &Node, is_near: bool) -> bool {
    let all = |left: &[Node], right: &[Node]| {
        left.len() == right.len() && left.iter().zip(right).all(|(left, right)| equal(left, right, is_near))
    };
    match (expected, found) {
        (Node::Scalar(left), Node::Scalar(right)) => left == right,
        (Node::Float(left), Node::Float(right)) => {
            let margin = if is_near { (1e-13 * left.abs()).max(1e-15) } else { 0.0 };
            left == right || (left.is_nan() && right.is_nan()) || (left - right).abs() <= margin
        }
        (Node::Array { is_ordered: false, elements: left }, Node::Array { elements: right, .. }) => {
            let mut rest: Vec<&Node> = right.iter().collect();
            let is_all = left.iter().all(|each| {
                let found = rest.iter().position(|other| equal(each, other, is_near));
                found.map(|at| rest.remove(at)).is_some()
            });
            is_all && rest.is_empty()
        }
        (Node::Array { elements: left, .. }, Node::Array { elements: right, .. }) => all(left, right),
        (Node::Struct(left), Node::Struct(right)) => all(left, right),
        _ => false,
    }
}

fn shown_node(node: &Node) -> String {
    let all = |nodes: &[Node]| nodes.iter().map(shown_node).collect::<Vec<_>>().join(", ");
    match node {
        Node::Scalar(text) => text.clone(),
        Node::Float(number) => format!("{number:?}"),
        Node::Array { elements, .. } => format!("[{}]", all(elements)),
        Node::Struct(fields) => format!("({})", all(fields)),
    }
}
