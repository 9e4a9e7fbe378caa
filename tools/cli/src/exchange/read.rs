//! Records as rows: which name is which part of a row, and the values that texts say.

use std::collections::{HashMap, HashSet};
use std::fmt;

use keyderive::dynamic::{ColumnValue, DynKey, DynRow, UniqueJson, Value, parse_cell};
use keyderive::key::{RawKey, TimeUnit};
use keyderive::row::{CellType, ColumnKind, Timestamped, Versions};
use serde_json::{Map, Value as Json};

use super::lines::{Parse, without_place};
use super::times::{Rest, Times, nine_digits, rfc3339};
use super::{KEY, Shape, is_escaped};
use crate::conditions::{finer_than, time_unit};
use crate::exit::{Failure, Outcome};
use crate::layout::{field_names, nearest};

/// Makes rows of records.
pub(crate) struct Reader {
    shape: Shape,
    /// What a name stands for.
    mapped: HashMap<String, String>,
    ignored: HashSet<String>,
    times: Times,
}

/// Where a value of a record belongs.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Place {
    Key,
    Field(String),
    /// A column, as `family:name`.
    Column(String),
    /// All columns of a family that is a map.
    Map(String),
    /// A family that may be absent.
    Family(String),
    Ignored,
}

/// What a name of the input stands for, in words.
impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Key => f.write_str("the row key"),
            Self::Field(name) => write!(f, "the field {name} of the key"),
            Self::Column(path) => write!(f, "the column {path}"),
            Self::Map(family) => write!(f, "the columns of {family}"),
            Self::Family(family) => write!(f, "whether {family} is there"),
            Self::Ignored => f.write_str("left out"),
        }
    }
}

/// What a record has at a place.
enum Given<'a> {
    Text(&'a str),
    Json(Json),
}

/// What names stand for, from arguments such as `name=field`.
pub(super) fn mapped(maps: &[String]) -> Outcome<HashMap<String, String>> {
    let mut mapped = HashMap::new();
    for argument in maps {
        let Some((name, to)) = argument.rsplit_once('=') else {
            return Err(Failure::usage(format_args!(
                "`--map {argument}`: write `name=field` or `name=family:column`"
            )));
        };
        if mapped.insert(name.to_owned(), to.to_owned()).is_some() {
            return Err(Failure::usage(format_args!("`--map` says twice what `{name}` is")));
        }
    }
    Ok(mapped)
}

impl Reader {
    /// `maps` are arguments such as `name=field`.
    pub(crate) fn new(shape: Shape, maps: &[String], ignored: &[String], times: Times) -> Outcome<Self> {
        let reader = Self { shape, mapped: mapped(maps)?, ignored: ignored.iter().cloned().collect(), times };
        for name in reader.mapped.keys() {
            reader.place(name, true).map_err(Failure::usage)?;
        }
        Ok(reader)
    }

    /// Where the values of this name belong. In csv, a name can stand for a whole map.
    pub(super) fn place(&self, name: &str, is_csv: bool) -> Result<Place, String> {
        if self.ignored.contains(name) {
            return Ok(Place::Ignored);
        }
        let shape = &self.shape;
        let to = self.mapped.get(name).map_or(name, String::as_str);
        if to == KEY {
            return Ok(Place::Key);
        }
        if field_names(shape.layout.key()).any(|field| field == to) {
            return Ok(Place::Field(to.to_owned()));
        }
        let (family, column) = to.split_once(':').unwrap_or((&shape.own, to));
        let is_of = |families: &[String]| families.iter().any(|known| known == family);
        match column {
            "*" if is_csv && is_of(&shape.maps) => return Ok(Place::Map(family.to_owned())),
            "" if is_of(&shape.optional) => return Ok(Place::Family(family.to_owned())),
            _ => {}
        }
        let path = format!("{family}:{column}");
        let fault = match shape.column(&path) {
            Some(column) if column.kind().is_aggregate() => {
                format!("column `{path}` is an aggregate, which the server keeps")
            }
            None if is_of(&shape.maps) && !column.is_empty() => return Ok(Place::Column(path)),
            Some(_) => return Ok(Place::Column(path)),
            None => return Err(self.unknown(name, to)),
        };
        Err(format!(
            "`{name}`: {fault}; say what it is by `--map '{name}=…'`, or leave it out by `--ignore '{name}'`"
        ))
    }

    /// Says that what a name stands for is no part of a row.
    fn unknown(&self, name: &str, to: &str) -> String {
        let shape = &self.shape;
        let row = shape.layout.row_type().map_or("the row type", |row| row.name());
        let paths = shape.columns.iter().map(|(path, _)| path.clone());
        let paths: Vec<_> = paths.chain(shape.maps.iter().map(|family| format!("{family}:…"))).collect();
        let own = format!("{}:", shape.own);
        let short = paths.iter().filter_map(|path| path.strip_prefix(&own)).map(str::to_owned);
        let fields = field_names(shape.layout.key()).map(str::to_owned);
        let known: Vec<_> = fields.chain(short).chain(paths.iter().cloned()).collect();
        let near = nearest(to, known.iter().map(String::as_str))
            .map(|near| format!("; did you mean `{near}`?"))
            .unwrap_or_default();
        let columns = paths.iter().map(|path| format!("`{path}`")).collect::<Vec<_>>().join(", ");
        let columns = if columns.is_empty() { "none".to_owned() } else { columns };
        let fault = format!(
            "`{to}` is neither a key field nor a column of `{row}`, whose columns are {columns}{near}"
        );
        match self.mapped.contains_key(name) {
            true => format!("`--map '{name}={to}'`: {fault}"),
            false => format!(
                "{fault}{} say what it is by `--map '{name}=…'`, or leave it out by `--ignore '{name}'`",
                if near.is_empty() { ";" } else { "" }
            ),
        }
    }
}

impl Parse for Reader {
    type Place = Place;
    type Record = (DynKey, DynRow);

    fn places(&self, names: &[String]) -> Outcome<Vec<Place>> {
        let places = names.iter().map(|name| self.place(name, true).map_err(Failure::refused));
        let places: Vec<_> = places.collect::<Outcome<_>>()?;
        let mut known = HashSet::new();
        for (name, place) in names.iter().zip(&places) {
            if *place != Place::Ignored && !known.insert(place) {
                return Err(Failure::refused(format_args!(
                    "two names are one part of a row: the second is `{name}`"
                )));
            }
        }
        let is_of_map = |place: &Place| match place {
            Place::Column(path) => {
                path.split_once(':').is_some_and(|(family, _)| known.contains(&Place::Map(family.to_owned())))
            }
            _ => false,
        };
        if let Some((name, _)) = names.iter().zip(&places).find(|(_, place)| is_of_map(place)) {
            return Err(Failure::refused(format_args!(
                "`{name}` is one of the columns of a family that another name has whole: leave one of the two out by `--ignore`"
            )));
        }
        if let Some(name) = self.mapped.keys().find(|name| !names.contains(name)) {
            return Err(Failure::refused(format_args!(
                "the input has no `{name}`, which `--map` says what it is"
            )));
        }
        if let Some(name) = self.ignored.iter().find(|name| !names.contains(name)) {
            let names: Vec<_> = names.iter().map(|name| format!("`{name}`")).collect();
            return Err(Failure::refused(format_args!(
                "`--ignore '{name}'`: the input has no such name; its names are {}",
                names.join(", ")
            )));
        }
        let mut fields = field_names(self.shape.layout.key());
        let has = |place: Place| places.contains(&place);
        match fields.find(|field| !has(Place::Field((*field).to_owned()))) {
            Some(field) if !has(Place::Key) => Err(Failure::refused(format_args!(
                "the input has no field `{field}` of the key; a name is mapped to it by `--map 'name={field}'`"
            ))),
            _ => Ok(places),
        }
    }

    fn of_cells<'a>(
        &self,
        places: &[Place],
        cells: impl Iterator<Item = &'a str>,
    ) -> Result<(DynKey, DynRow), String> {
        let mut draft = Draft::new(&self.shape, self.times);
        for (place, cell) in places.iter().zip(cells) {
            match place {
                Place::Column(path) => draft.cell(path, cell)?,
                Place::Map(_) | Place::Family(_) if cell.is_empty() => {}
                Place::Map(family) => draft.map(family, cell)?,
                place => draft.set(place, Given::Text(cell))?,
            }
        }
        draft.finish()
    }

    fn of_object(&self, members: Map<String, Json>) -> Result<(DynKey, DynRow), String> {
        let (mut draft, mut known) = (Draft::new(&self.shape, self.times), HashSet::new());
        for (name, value) in members {
            let place = self.place(&name, false)?;
            if place != Place::Ignored && !known.insert(place.clone()) {
                return Err(format!("`{name}` is there twice"));
            }
            if value != Json::Null {
                draft.set(&place, Given::Json(value))?;
            }
        }
        draft.finish()
    }
}

/// A row with some parts set.
struct Draft<'a> {
    shape: &'a Shape,
    times: Times,
    key: Option<Vec<u8>>,
    fields: Vec<(String, String)>,
    row: DynRow,
}

impl<'a> Draft<'a> {
    fn new(shape: &'a Shape, times: Times) -> Self {
        Self { shape, times, key: None, fields: Vec::new(), row: shape.empty.clone() }
    }

    fn set(&mut self, place: &Place, given: Given<'_>) -> Result<(), String> {
        match place {
            Place::Ignored => {}
            Place::Key => {
                let key = RawKey::parse(&text(given, false)?).map_err(|error| format!("`{KEY}`: {error}"))?;
                self.key = Some(key.as_bytes().to_vec());
            }
            Place::Field(name) => {
                let mut text = text(given, false).map_err(|fault| format!("`{name}`: {fault}"))?;
                if let Some(unit) = time_unit(self.shape.layout.key(), name) {
                    text = rfc3339(&text, None).unwrap_or(text);
                    text = match nine_digits(&text) {
                        (cut, Rest::Zero) => cut.into_owned(),
                        // Rows of two times would have one key.
                        _ => return Err(finer_than_key(name, &text, unit)),
                    };
                }
                self.fields.push((name.clone(), text));
            }
            Place::Family(family) => match text(given, false)?.as_str() {
                "true" => _ = self.row.set_family(family, true).map_err(|error| error.to_string())?,
                _ => return Err(format!("`{family}:` says that the family is there by `true`")),
            },
            Place::Column(path) => {
                let value = match given {
                    Given::Text(text) => Value::from(text).into(),
                    Given::Json(json) => column_value(json, self.has_floats(path))
                        .map_err(|fault| format!("`{path}`: {fault}"))?,
                };
                self.column(path, value)?;
            }
            Place::Map(_) => {}
        }
        Ok(())
    }

    fn has_floats(&self, path: &str) -> bool {
        matches!(self.shape.stored(path), Some(CellType::F32 | CellType::F64))
    }

    /// A value of a column; of times, one that it has.
    fn value(&self, path: &str, value: Value) -> Result<Value, String> {
        let (Some(stored @ (CellType::Time | CellType::UnixTime(_))), Value::Text(text)) =
            (self.shape.stored(path), &value)
        else {
            return Ok(value);
        };
        let text = rfc3339(text, None).unwrap_or_else(|| text.clone());
        let (cut, rest) = nine_digits(&text);
        let unit = match stored {
            CellType::UnixTime(unit) => unit,
            _ if rest == Rest::Zero => return Ok(Value::Text(cut.into_owned())),
            _ => TimeUnit::Nanos,
        };
        match parse_cell(stored, &cut) {
            Ok(time) => self.times.of_column(path, &text, (time, rest), unit),
            // The row says why.
            Err(_) => Ok(Value::Text(text)),
        }
    }

    fn version(&self, path: &str, version: &Timestamped<Value>) -> Result<Timestamped<Value>, String> {
        Ok(Timestamped::new(version.timestamp_micros, self.value(path, version.value.clone())?))
    }

    fn column(&mut self, path: &str, value: ColumnValue) -> Result<(), String> {
        let value = match value {
            ColumnValue::Value(value) => self.value(path, value)?.into(),
            ColumnValue::Timestamped(version) => self.version(path, &version)?.into(),
            ColumnValue::Versions(versions) => {
                let versions = versions.iter().map(|version| self.version(path, version));
                versions.collect::<Result<Versions<Value>, _>>()?.into()
            }
            absent => absent,
        };
        self.row.set(path, value).map(|_| ()).map_err(|error| error.to_string())
    }

    /// Sets a column by a cell of csv.
    fn cell(&mut self, path: &str, cell: &str) -> Result<(), String> {
        let column = self.shape.column(path);
        let is_required = column.is_some_and(|column| self.shape.is_required(path, column));
        let has_times = column
            .is_some_and(|column| matches!(column.kind(), ColumnKind::Timestamped | ColumnKind::Versions));
        if cell.is_empty() && (has_times || !is_required) {
            return Ok(());
        }
        if has_times {
            let UniqueJson(json) = serde_json::from_str(cell).map_err(|error| cell_fault(path, &error))?;
            return self.set(&Place::Column(path.to_owned()), Given::Json(json));
        }
        let text = match cell.strip_prefix('\\').filter(|_| is_escaped(cell)) {
            Some("empty") => "",
            Some(text) => text,
            None => cell,
        };
        self.column(path, Value::from(text).into())
    }

    /// Sets the columns of a map by a cell of csv.
    fn map(&mut self, family: &str, cell: &str) -> Result<(), String> {
        let members = match serde_json::from_str(cell) {
            Ok(UniqueJson(Json::Object(members))) => members,
            Ok(_) => return Err(format!("`{family}:*` is not a JSON object")),
            Err(error) => return Err(cell_fault(&format!("{family}:*"), &error)),
        };
        if self.shape.optional.iter().any(|known| known == family) {
            self.row.set_family(family, true).map_err(|error| error.to_string())?;
        }
        for (name, value) in members {
            self.set(&Place::Column(format!("{family}:{name}")), Given::Json(value))?;
        }
        Ok(())
    }

    /// The row, if it can be written and read.
    fn finish(self) -> Result<(DynKey, DynRow), String> {
        let layout = self.shape.layout.key();
        let fault = |error: &dyn fmt::Display| format!("{error:#}");
        // Rows of two times would have one key.
        for (name, text) in &self.fields {
            if let Ok(value) = layout.value(name, text.as_str())
                && let Some(unit) = finer_than(layout, name, &value)
            {
                return Err(finer_than_key(name, &value.to_string(), unit));
            }
        }
        let key = match self.key {
            None => layout
                .encode(self.fields.iter().map(|(name, text)| (name, text.as_str())))
                .map_err(|error| fault(&error))?,
            Some(ref key) => key.clone(),
        };
        let key_fields = layout.decode(&key).map_err(|error| fault(&error))?;
        // Fields that are given with a key must be the key's.
        for (name, text) in self.fields.iter().filter(|_| self.key.is_some()) {
            let stored = key_fields.get(name);
            let is_it = stored.is_some_and(|value| {
                value.to_string() == *text
                    || layout.value(name, text.as_str()).is_ok_and(|given| given == *value)
            });
            if !is_it {
                return Err(format!("`{name}` is `{text}`, and in `{KEY}` it is another value"));
            }
        }
        self.row.mutations().map_err(|error| fault(&error))?;
        Ok((key_fields, self.row))
    }
}

fn finer_than_key(name: &str, time: &str, unit: TimeUnit) -> String {
    format!("`{name}` is {time}, and the key stores whole {}: round it", unit.name())
}

/// Why the JSON of a cell is not read.
fn cell_fault(name: &str, error: &serde_json::Error) -> String {
    match error.is_data() {
        true => format!("`{name}`: {}", without_place(error)),
        false => format!("`{name}` is not JSON: {}", without_place(error)),
    }
}

/// The text of a single value. A number that is no integer of 64 bits was read as a float, and is spelled otherwise than in the input: only
/// a column of floats, with `is_float`, takes it.
fn text(given: Given<'_>, is_float: bool) -> Result<String, String> {
    match given {
        Given::Text(text) => Ok(text.to_owned()),
        Given::Json(Json::String(text)) => Ok(text),
        Given::Json(Json::Number(number)) if number.is_f64() && !is_float => Err(format!(
            "the number, about {number}, is no integer of 64 bits, and would be stored with other digits: write it in quotation marks, as text"
        )),
        Given::Json(json @ (Json::Bool(_) | Json::Number(_))) => Ok(json.to_string()),
        Given::Json(_) => Err("one value is expected: text, a number, true or false".to_owned()),
    }
}

/// The text of a single value of JSON.
pub(super) fn one_text(json: Json) -> Result<String, String> {
    text(Given::Json(json), false)
}

/// What a column holds: a value, one with its time, or a list of these.
fn column_value(json: Json, is_float: bool) -> Result<ColumnValue, String> {
    Ok(match json {
        Json::Array(versions) => {
            let versions = versions.into_iter().map(|json| version(json, is_float));
            versions.collect::<Result<Versions<Value>, _>>()?.into()
        }
        Json::Object(_) => version(json, is_float)?.into(),
        json => Value::from(text(Given::Json(json), is_float)?).into(),
    })
}

fn version(json: Json, is_float: bool) -> Result<Timestamped<Value>, String> {
    let fault = || "a value with its time is written `{\"timestamp_micros\":…,\"value\":…}`".to_owned();
    let Json::Object(mut members) = json else { return Err(fault()) };
    let at = members.remove("timestamp_micros").and_then(|at| at.as_i64()).ok_or_else(fault)?;
    let value = members.remove("value").filter(|_| members.is_empty()).ok_or_else(fault)?;
    Ok(Timestamped::new(at, Value::from(text(Given::Json(value), is_float)?)))
}
