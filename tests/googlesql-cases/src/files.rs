//! The queries of the `.test` files.

use std::collections::BTreeMap;

use crate::value::{Type, Value, parse_date, parse_timestamp};
use crate::{Case, Expected, Tally};

/// A table that queries of a file read, and the columns of types that Bigtable does not have.
struct Table {
    of: Type,
    rows: Value,
    foreign: Vec<(String, String)>,
}

/// Reads the cases of a file; `name` is its name without the ending.
pub(crate) fn read(name: &str, text: &str, tally: &mut Tally) -> Vec<Case> {
    let mut tables: BTreeMap<String, Table> = BTreeMap::new();
    let mut cases = Vec::new();
    let mut defaults: Vec<String> = Vec::new();
    for section in text.split("\n==\n") {
        let section = section.trim_end().trim_end_matches("\n==");
        match one(section, &mut defaults) {
            Ok(Some(Section::Table(id, of, rows))) => {
                let Some(table) = table(of, rows) else {
                    tally.unread("tables whose value is not understood");
                    continue;
                };
                tables.insert(id.to_ascii_lowercase(), table);
            }
            Ok(Some(Section::Query { id, query, features, expected })) => {
                let id = format!("{name}/{id}");
                match with_tables(&query, &tables) {
                    Ok((query, tables)) => cases.push(Case { name: id, query, tables, features, expected }),
                    Err(reason) => tally.unread(&reason),
                }
            }
            Ok(None) => {}
            Err(reason) => tally.unread(&reason),
        }
    }
    cases
}

enum Section {
    Table(String, Type, Value),
    Query { id: String, query: String, features: Vec<String>, expected: Expected },
}

fn one(section: &str, defaults: &mut Vec<String>) -> Result<Option<Section>, String> {
    let mut rest = section.trim_start_matches('\n');
    let (mut id, mut features, mut parameters) = (String::new(), defaults.clone(), Vec::new());
    let mut is_table = false;
    loop {
        rest = rest.trim_start();
        if rest.starts_with('#') {
            rest = rest.split_once('\n').map_or("", |(_, rest)| rest);
            continue;
        }
        if !rest.starts_with('[') {
            break;
        }
        let end = closing(rest).ok_or("an option that does not end")?;
        let option = &rest[1..end];
        rest = &rest[end + 1..];
        let (key, value) = option.split_once('=').unwrap_or((option, ""));
        let list =
            || value.split([',', '\n']).map(|each| each.trim().to_owned()).filter(|each| !each.is_empty());
        match key.trim() {
            "name" => id = value.trim().to_owned(),
            "prepare_database" => is_table = true,
            "required_features" => features.extend(list()),
            "default required_features" => *defaults = list().collect(),
            "parameters" => parameters = parse_parameters(value)?,
            _ => {}
        }
        if key.trim() == "default required_features" {
            features.clone_from(defaults);
        }
    }
    if rest.is_empty() {
        return Ok(None);
    }
    let mut parts = rest.split("\n--\n");
    let query = uncommented(parts.next().unwrap_or_default());
    let Some(result) = parts.next() else { return Err("sections without a result".to_owned()) };
    if parts.next().is_some() {
        return Err("sections with several results".to_owned());
    }
    if query.contains("{{") {
        return Err("queries with alternations".to_owned());
    }
    if is_table {
        let words: Vec<&str> = query.split_whitespace().take(3).collect();
        let [create, table, id] = words[..] else { return Err("tables without a name".to_owned()) };
        if !create.eq_ignore_ascii_case("CREATE") || !table.eq_ignore_ascii_case("TABLE") {
            return Err("statements of prepare_database other than CREATE TABLE".to_owned());
        }
        let (of, value) = Reader::read(result)?;
        return Ok(Some(Section::Table(id.to_owned(), of, value)));
    }
    let expected = match result.trim().strip_prefix("ERROR: ") {
        Some(error) => {
            let error = error.trim_start_matches("generic::");
            let (code, message) = error.split_once(':').unwrap_or((error, ""));
            let message = message.trim().lines().next().unwrap_or_default().to_owned();
            Expected::Error(code.to_ascii_uppercase(), message)
        }
        None => {
            let (of, value) = Reader::read(result)?;
            match of.foreign() {
                Some(foreign) => Expected::Foreign(foreign.to_owned()),
                None => Expected::Rows(of, value),
            }
        }
    };
    let query = query.trim().trim_end_matches(';').trim_end().to_owned();
    Ok(Some(Section::Query {
        id,
        query: with_types(&with_parameters(&query, &parameters)),
        features,
        expected,
    }))
}

/// Where the bracket at the start closes.
fn closing(text: &str) -> Option<usize> {
    let (mut depth, mut quote) = (0, None);
    for (at, each) in text.char_indices() {
        match (quote, each) {
            (Some(open), each) if open == each => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => quote = Some(each),
            (None, '[') => depth += 1,
            (None, ']') => {
                depth -= 1;
                if depth == 0 {
                    return Some(at);
                }
            }
            _ => {}
        }
    }
    None
}

/// `expression as name, …`
fn parse_parameters(text: &str) -> Result<Vec<(String, String)>, String> {
    let (mut depth, mut start, mut parts) = (0, 0, Vec::new());
    for (at, each) in text.char_indices() {
        match each {
            '(' | '[' | '<' | '{' => depth += 1,
            ')' | ']' | '>' | '}' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    let parameter = |part: &str| {
        let (value, name) =
            part.trim().rsplit_once(char::is_whitespace).ok_or("parameters that are not understood")?;
        let value = value.trim_end();
        let value = match value.to_ascii_lowercase().strip_suffix("as") {
            Some(before) if before.ends_with(char::is_whitespace) => &value[..before.len()],
            _ => value,
        };
        Ok((name.to_owned(), value.trim().to_owned()))
    };
    parts.into_iter().map(parameter).collect()
}

/// Calls `f` with each token, of which it is said whether it is code and not a literal or a comment.
fn for_each_token<'a>(text: &'a str, mut f: impl FnMut(&'a str, bool)) {
    let mut rest = text;
    while !rest.is_empty() {
        let first = rest.chars().next().unwrap_or_default();
        let quote = ["'''", "\"\"\"", "'", "\"", "`"].into_iter().find(|quote| rest.starts_with(quote));
        let len = if let Some(quote) = quote {
            let mut at = quote.len();
            while at < rest.len() && !rest[at..].starts_with(quote) {
                at += if rest[at..].starts_with('\\') { 1 } else { 0 };
                at += rest.get(at..).and_then(|rest| rest.chars().next()).map_or(1, char::len_utf8);
            }
            (at + quote.len()).min(rest.len())
        } else if first == '#' || rest.starts_with("--") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            rest.find("*/").map_or(rest.len(), |at| at + 2)
        } else if first.is_ascii_alphanumeric() || first == '_' {
            rest.find(|each: char| !each.is_ascii_alphanumeric() && each != '_').unwrap_or(rest.len())
        } else {
            first.len_utf8()
        };
        f(&rest[..len], quote.is_none());
        rest = &rest[len..];
    }
}

/// A query in one line, without comments; a line end in a literal is `␊`.
fn uncommented(query: &str) -> String {
    let mut out = String::new();
    for_each_token(query, |token, is_code| match token {
        _ if !is_code => out.push_str(&token.replace('\n', "␊").replace('\t', "\\t")),
        _ if token.starts_with('#') || token.starts_with("--") || token.starts_with("/*") => {}
        _ if token.trim().is_empty() => {
            if !out.ends_with(' ') {
                out.push(' ');
            }
        }
        _ => out.push_str(token),
    });
    out.trim().to_owned()
}

/// The names of types that Bigtable has, where the reference has others: `CAST(x AS DOUBLE)`.
fn with_types(query: &str) -> String {
    let mut tokens: Vec<&str> = Vec::new();
    for_each_token(query, |token, _| tokens.push(token));
    let near = |at: usize, step: isize| {
        let mut at = at.checked_add_signed(step);
        while let Some(place) = at
            && tokens.get(place).is_some_and(|token| token.trim().is_empty())
        {
            at = place.checked_add_signed(step);
        }
        at.and_then(|at| tokens.get(at)).map(|token| token.to_ascii_uppercase()).unwrap_or_default()
    };
    let shown = (0..tokens.len()).map(|at| {
        let is_type = matches!(&near(at, -1)[..], "AS" | "<") && matches!(&near(at, 1)[..], ")" | ">");
        match &tokens[at].to_ascii_uppercase()[..] {
            "DOUBLE" if is_type => "FLOAT64",
            "FLOAT" if is_type => "FLOAT32",
            _ => tokens[at],
        }
    });
    shown.collect()
}

fn with_parameters(query: &str, parameters: &[(String, String)]) -> String {
    let mut out = String::new();
    for_each_token(query, |token, is_code| {
        let found = parameters.iter().find(|(name, _)| name.eq_ignore_ascii_case(token));
        match found {
            Some((_, value)) if is_code && out.ends_with('@') => {
                out.pop();
                // LIMIT takes a literal, and no parentheses.
                let is_plain = value.chars().all(|each| each.is_ascii_alphanumeric());
                out.push_str(&if is_plain { value.clone() } else { format!("({value})") });
            }
            _ => out.push_str(token),
        }
    });
    uncommented(&out)
}

/// Whether the source says all of a type.
fn is_known(of: &Type) -> bool {
    match of {
        Type::Array(element) => is_known(element),
        Type::Struct(fields) => fields.iter().all(|(_, of)| is_known(of)),
        of => *of != Type::Other(String::new()),
    }
}

fn table(of: Type, rows: Value) -> Option<Table> {
    let (Type::Array(row), Value::Array { elements, .. }) = (of, rows) else { return None };
    let Type::Struct(fields) = *row else { return None };
    let is_kept: Vec<bool> = fields.iter().map(|(_, of)| of.foreign().is_none() && is_known(of)).collect();
    let mut foreign = Vec::new();
    for (name, of) in &fields {
        if let Some(other) = of.foreign() {
            foreign.push((name.clone(), other.to_owned()));
        }
    }
    let kept = |row: Value| match row {
        Value::Struct(values) => {
            let kept = values.into_iter().zip(&is_kept).filter(|(_, is_kept)| **is_kept);
            Some(Value::Struct(kept.map(|(value, _)| value).collect()))
        }
        _ => None,
    };
    let elements = elements.into_iter().map(kept).collect::<Option<Vec<_>>>()?;
    let kept = fields
        .into_iter()
        .zip(&is_kept)
        .filter(|(_, is_kept)| **is_kept)
        .map(|(field, _)| field)
        .collect::<Vec<_>>();
    Some(Table { of: Type::Struct(kept), rows: Value::Array { is_ordered: true, elements }, foreign })
}

/// The query with a subquery for each table that it reads, in braces.
fn with_tables(
    query: &str,
    tables: &BTreeMap<String, Table>,
) -> Result<(String, Vec<(String, String)>), String> {
    let mut out = String::new();
    let mut used: Vec<(String, String)> = Vec::new();
    let mut last = String::new();
    let mut foreign = None;
    let mut words: Vec<String> = Vec::new();
    for_each_token(query, |token, is_code| {
        let lower = token.to_ascii_lowercase();
        if is_code && !token.trim().is_empty() {
            if let Some(table) = tables.get(&lower).filter(|_| matches!(&last[..], "from" | "join")) {
                let (Type::Struct(fields), Value::Array { elements, .. }) = (&table.of, &table.rows) else {
                    return;
                };
                let of = Type::Array(Box::new(Type::Struct(fields.clone())));
                let rows: Vec<String> = elements.iter().map(|row| row.sql(&table.of)).collect();
                let sql = if rows.is_empty() {
                    format!("{}[]", of.sql())
                } else {
                    format!("[{}]", rows.join(", "))
                };
                used.push((token.to_owned(), sql));
                foreign =
                    foreign.take().or_else(|| (!table.foreign.is_empty()).then(|| table.foreign.clone()));
                out.push_str(&format!("{{{token}}}"));
                last = lower;
                return;
            }
            words.push(lower.clone());
            last = lower;
        }
        out.push_str(token);
    });
    if let Some(foreign) = foreign
        && let Some((_, of)) = foreign.iter().find(|(name, _)| words.contains(&name.to_ascii_lowercase()))
    {
        return Err(format!("queries of a column of the type {}", of.split('<').next().unwrap_or_default()));
    }
    Ok((out, used))
}

/// Reads a value as the files write it: `ARRAY<STRUCT<a INT64>>[{1}]`.
struct Reader<'a> {
    rest: &'a str,
}

impl<'a> Reader<'a> {
    fn read(text: &'a str) -> Result<(Type, Value), String> {
        let text = text.trim();
        let text = text.split("\n\nNOTE:").next().unwrap_or_default().trim();
        let mut reader = Self { rest: text.split("\nNOTE:").next().unwrap_or_default() };
        if reader.rest.starts_with("ALTERNATION") {
            return Err("results of alternations".to_owned());
        }
        if !reader.rest.starts_with("ARRAY<") {
            return Err("results that are no table".to_owned());
        }
        let of = reader.of()?;
        let value = reader.array_value(&of)?;
        reader.space();
        if !reader.rest.is_empty() {
            return Err("results that are not understood".to_owned());
        }
        // The elements say types that the head leaves out.
        Ok((value.1, value.0))
    }

    fn space(&mut self) {
        self.rest = self.rest.trim_start();
    }

    fn eat(&mut self, sign: &str) -> bool {
        self.space();
        match self.rest.strip_prefix(sign) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn word(&mut self) -> &'a str {
        self.space();
        let end = self
            .rest
            .find(|each: char| !each.is_alphanumeric() && !"_.$`".contains(each))
            .unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        word
    }

    fn of(&mut self) -> Result<Type, String> {
        let word = self.word();
        let is_open = self.rest.starts_with('<');
        match word {
            "ARRAY" if is_open => {
                self.eat("<");
                let element =
                    if self.rest.starts_with('>') { Type::Other(String::new()) } else { self.of()? };
                if !self.eat(">") {
                    return Err("types that are not understood".to_owned());
                }
                Ok(Type::Array(Box::new(element)))
            }
            "STRUCT" if is_open => {
                self.eat("<");
                let mut fields = Vec::new();
                while !self.eat(">") {
                    let before = self.rest;
                    let name = self.word();
                    self.space();
                    let is_type = self.rest.starts_with([',', '>', '<']);
                    let name = if is_type {
                        self.rest = before;
                        ""
                    } else {
                        name
                    };
                    fields.push((name.trim_matches('`').to_owned(), self.of()?));
                    self.eat(",");
                }
                Ok(Type::Struct(fields))
            }
            "" => Err("types that are not understood".to_owned()),
            word if is_open => {
                let end = self.rest.find('>').ok_or("types that are not understood")?;
                let inner = &self.rest[..=end];
                self.rest = &self.rest[end + 1..];
                Ok(Type::Other(format!("{word}{inner}")))
            }
            word if word.contains('.') => Ok(Type::Other("PROTO".to_owned())),
            word => Ok(Type::of_name(word)),
        }
    }

    fn array_value(&mut self, of: &Type) -> Result<(Value, Type), String> {
        let Type::Array(element) = of else { return Err("results that are no table".to_owned()) };
        if self.eat("(NULL)") {
            return Ok((Value::Null, of.clone()));
        }
        if !self.eat("[") {
            return Err("results that are not understood".to_owned());
        }
        let mut is_ordered = !self.eat("unknown order:");
        self.eat("known order:");
        let mut elements = Vec::new();
        let mut found = (**element).clone();
        while !self.eat("]") {
            let (value, of) = self.value(element)?;
            if of != **element && value != Value::Null {
                found = of;
            }
            elements.push(value);
            self.eat(",");
        }
        is_ordered |= elements.len() < 2;
        Ok((Value::Array { is_ordered, elements }, Type::Array(Box::new(found))))
    }

    fn value(&mut self, of: &Type) -> Result<(Value, Type), String> {
        self.space();
        let wrong = || "results that are not understood".to_owned();
        let same = |value: Value| Ok((value, of.clone()));
        if self.rest.starts_with("NULL") {
            self.rest = &self.rest[4..];
            return same(Value::Null);
        }
        match of {
            Type::Other(_) => same(Value::Other(self.raw())),
            Type::Array(_) => {
                let of = if self.rest.starts_with("ARRAY<") { self.of()? } else { of.clone() };
                self.array_value(&of)
            }
            Type::Struct(fields) => {
                if self.rest.starts_with("STRUCT<") {
                    self.of()?;
                }
                if !self.eat("{") {
                    return Err(wrong());
                }
                let (mut values, mut types) = (Vec::new(), Vec::new());
                for (name, of) in fields {
                    let (value, of) = self.value(of)?;
                    values.push(value);
                    types.push((name.clone(), of));
                    self.eat(",");
                }
                if !self.eat("}") {
                    return Err(wrong());
                }
                Ok((Value::Struct(values), Type::Struct(types)))
            }
            Type::Text => {
                let bytes = self.quoted()?;
                same(Value::Text(
                    String::from_utf8(bytes).map_err(|_| "texts that are not UTF-8".to_owned())?,
                ))
            }
            Type::Bytes => {
                if !self.eat("b") {
                    return Err(wrong());
                }
                let bytes = self.quoted()?;
                same(Value::Bytes(bytes))
            }
            of => {
                let end = self.rest.find([',', '}', ']']).ok_or_else(wrong)?;
                let (text, rest) = self.rest.split_at(end);
                self.rest = rest;
                let text = text.trim();
                let value = match of {
                    Type::Bool => text.parse().ok().map(Value::Bool),
                    Type::Int64 => text.parse().ok().map(Value::Int64),
                    Type::Float32 => text.parse().ok().map(Value::Float32),
                    Type::Float64 => text.parse().ok().map(Value::Float64),
                    Type::Date => parse_date(text).map(Value::Date),
                    Type::Timestamp => parse_timestamp(text).map(Value::Timestamp),
                    _ => None,
                };
                same(value.ok_or_else(|| format!("values of {} that are not understood", of.sql()))?)
            }
        }
    }

    /// A value of a type that Bigtable does not have.
    fn raw(&mut self) -> String {
        let (mut depth, mut quote) = (0, None);
        for (at, each) in self.rest.char_indices() {
            match (quote, each) {
                (Some(open), each) if open == each => quote = None,
                (Some(_), _) => {}
                (None, '"' | '\'') => quote = Some(each),
                (None, '[' | '{' | '(') => depth += 1,
                (None, ',' | ']' | '}' | ')') if depth == 0 => {
                    let (raw, rest) = self.rest.split_at(at);
                    self.rest = rest;
                    return raw.to_owned();
                }
                (None, ']' | '}' | ')') => depth -= 1,
                _ => {}
            }
        }
        std::mem::take(&mut self.rest).to_owned()
    }

    fn quoted(&mut self) -> Result<Vec<u8>, String> {
        let wrong = || "texts that are not understood".to_owned();
        self.space();
        let quote = self.rest.chars().next().filter(|each| matches!(each, '"' | '\'')).ok_or_else(wrong)?;
        let mut chars = self.rest[1..].char_indices();
        let mut out = Vec::new();
        while let Some((at, each)) = chars.next() {
            if each == quote {
                self.rest = &self.rest[1 + at + 1..];
                return Ok(out);
            }
            if each != '\\' {
                out.extend(each.to_string().into_bytes());
                continue;
            }
            let (_, kind) = chars.next().ok_or_else(wrong)?;
            let mut code = |count: usize, first: &str, radix: u32| {
                let digits: String =
                    first.chars().chain(chars.by_ref().take(count).map(|(_, each)| each)).collect();
                u32::from_str_radix(&digits, radix).map_err(|_| wrong())
            };
            match kind {
                'n' => out.push(b'\n'),
                't' => out.push(b'\t'),
                'r' => out.push(b'\r'),
                'x' => out.push(u8::try_from(code(2, "", 16)?).map_err(|_| wrong())?),
                '0'..='3' => out.push(u8::try_from(code(2, &kind.to_string(), 8)?).map_err(|_| wrong())?),
                'u' => {
                    out.extend(char::from_u32(code(4, "", 16)?).ok_or_else(wrong)?.to_string().into_bytes());
                }
                other => out.extend(other.to_string().into_bytes()),
            }
        }
        Err(wrong())
    }
}
