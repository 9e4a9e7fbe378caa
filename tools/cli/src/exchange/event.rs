//! Records as events: the fields of a key, a time, and how many bytes.

use std::collections::{HashMap, HashSet};

use clap::ValueEnum;
use keyderive::dynamic::{KeyLayout, Value, parse_cell};
use keyderive::key::{Field, Format};
use keyderive::row::CellType;
use serde_json::{Map, Value as Json};

use super::lines::Parse;
use super::read::{mapped, one_text};
use super::times::{nine_digits, rfc3339};
use crate::conditions::time_unit;
use crate::exit::{Failure, Outcome};

/// The zone of times without one.
const UTC: Option<&str> = Some("Z");

/// The unit of times that are numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum TimeUnit {
    /// Seconds since 1970
    S,
    /// Milliseconds since 1970
    Ms,
    /// Microseconds since 1970
    Us,
    /// Nanoseconds since 1970
    Ns,
}

/// A record: what is written, and when. Its fields are a key of the layout.
pub(crate) struct Event {
    /// In milliseconds since 1970; none if the records have no time.
    pub(crate) time: Option<i64>,
    pub(crate) values: Vec<(&'static str, Value)>,
    pub(crate) bytes: u64,
}

/// Makes events of records.
pub(crate) struct EventReader {
    layout: KeyLayout,
    mapped: HashMap<String, String>,
    /// The name, or the field of the key, that has the time.
    time: Option<String>,
    unit: TimeUnit,
    bytes: Option<String>,
}

/// What a name is; it can be a field and the time.
#[derive(Clone, Copy)]
pub(crate) struct Place {
    field: Option<&'static str>,
    is_time: bool,
    is_bytes: bool,
}

impl Place {
    /// Whether it has the time of an event.
    pub(crate) fn is_time(&self) -> bool {
        self.is_time
    }
}

impl EventReader {
    /// `maps` are arguments such as `name=field`. Without a name for the time, it is the first field of times.
    pub(crate) fn new(
        layout: &KeyLayout,
        maps: &[String],
        time: Option<&str>,
        unit: TimeUnit,
        bytes: Option<&str>,
    ) -> Outcome<Self> {
        let mapped = mapped(maps)?;
        for field in mapped.values() {
            // The error lists the fields.
            if !layout.schema().fields().iter().any(|known| known.name() == field) {
                layout.value(field, "").map_err(Failure::usage)?;
            }
        }
        let of_key = || layout.schema().fields().iter().find(|field| is_time(field)).map(Field::name);
        let time = time.or_else(of_key).map(str::to_owned);
        Ok(Self { layout: layout.clone(), mapped, time, unit, bytes: bytes.map(str::to_owned) })
    }

    /// The name of the time.
    pub(crate) fn time(&self) -> Option<&str> {
        self.time.as_deref()
    }

    fn place(&self, name: &str) -> Place {
        let to = self.mapped.get(name).map_or(name, String::as_str);
        let mut fields = self.layout.schema().fields().iter().map(Field::name);
        let is =
            |wanted: &Option<String>| wanted.as_deref().is_some_and(|wanted| wanted == name || wanted == to);
        Place { field: fields.find(|field| *field == to), is_time: is(&self.time), is_bytes: is(&self.bytes) }
    }

    /// The time of a value of a field.
    fn time_of_value(&self, value: &Value) -> Result<i64, String> {
        let nanos = match value {
            Value::Time(nanos) => Some(*nanos),
            Value::Date(days) => Some(i128::from(*days) * 86_400_000_000_000),
            Value::Integer(number) => number.checked_mul(match self.unit {
                TimeUnit::S => 1_000_000_000,
                TimeUnit::Ms => 1_000_000,
                TimeUnit::Us => 1000,
                TimeUnit::Ns => 1,
            }),
            Value::Text(text) => return self.time_of_text(text),
            _ => None,
        };
        let millis = nanos.and_then(|nanos| i64::try_from(nanos.div_euclid(1_000_000)).ok());
        millis.ok_or_else(|| format!("`{value}` is not a time: write RFC 3339, or a number of `--time-unit`"))
    }

    fn time_of_text(&self, text: &str) -> Result<i64, String> {
        let text = text.trim();
        if let Ok(number) = text.parse::<i64>() {
            return self.time_of_value(&Value::Integer(number.into()));
        }
        match rfc3339(text, UTC).and_then(|text| parse_cell(CellType::Time, &nine_digits(&text).0).ok()) {
            Some(time @ Value::Time(_)) => self.time_of_value(&time),
            _ => Err(format!("`{text}` is not a time: write RFC 3339, or a number of `--time-unit`")),
        }
    }

    /// The event of named values; a place without a field is a column.
    fn event(
        &self,
        texts: impl Iterator<Item = Result<(Place, Option<String>, u64), String>>,
    ) -> Result<Event, String> {
        let (mut values, mut time, mut bytes, mut columns) = (Vec::new(), None, None, 0);
        for text in texts {
            let (Place { field, is_time, is_bytes }, text, len) = text?;
            if is_bytes && let Some(text) = &text {
                let number = text.trim().parse::<u64>();
                bytes = Some(number.map_err(|_| format!("the size `{text}` is no number of bytes"))?);
            }
            let Some(name) = field else {
                if is_time && let Some(text) = &text {
                    time = Some(self.time_of_text(text)?);
                }
                columns += if is_time || is_bytes { 0 } else { len };
                continue;
            };
            let Some(mut text) = text else { continue };
            if time_unit(&self.layout, name).is_some() {
                text = rfc3339(&text, UTC).unwrap_or(text);
                // A key stores the earlier count.
                text = nine_digits(&text).0.into_owned();
            }
            let value = self.layout.value(name, text).map_err(|error| error.to_string())?;
            if is_time {
                time = Some(self.time_of_value(&value)?);
            }
            values.push((name, value));
        }
        // Values that make no key are a bad line, and do not end the simulation.
        self.layout.encode(values.iter().cloned()).map_err(|error| error.to_string())?;
        match (&self.time, time) {
            (Some(name), None) => Err(format!("it has no time `{name}`")),
            (_, time) => Ok(Event { time, values, bytes: bytes.unwrap_or(columns) }),
        }
    }
}

fn is_time(field: &Field) -> bool {
    matches!(
        field.hash_of().unwrap_or(field).format(),
        Format::UnixTime(_) | Format::DateTime17 | Format::Date
    )
}

impl Parse for EventReader {
    type Place = Place;
    type Record = Event;

    fn places(&self, names: &[String]) -> Outcome<Vec<Place>> {
        let places: Vec<_> = names.iter().map(|name| self.place(name)).collect();
        let mut known = HashSet::new();
        for (name, field) in names.iter().zip(&places).filter_map(|(name, place)| Some((name, place.field?)))
        {
            if !known.insert(field) {
                return Err(Failure::refused(format_args!(
                    "two names are the field `{field}` of the key: the second is `{name}`"
                )));
            }
        }
        let mut fields = self.layout.schema().fields().iter().map(Field::name);
        if let Some(field) = fields.find(|field| !known.contains(field)) {
            return Err(Failure::refused(format_args!(
                "the input has no field `{field}` of the key; a name is mapped to it by `--map 'name={field}'`"
            )));
        }
        for (option, name, has) in [
            ("--time", &self.time, places.iter().filter(|place| place.is_time).count()),
            ("--bytes", &self.bytes, places.iter().filter(|place| place.is_bytes).count()),
        ] {
            if let Some(name) = name
                && has != 1
            {
                let names: Vec<_> = names.iter().map(|name| format!("`{name}`")).collect();
                return Err(Failure::refused(format_args!(
                    "`{option} {name}`: the input has {has} of that name; its names are {}",
                    names.join(", ")
                )));
            }
        }
        Ok(places)
    }

    fn of_cells<'a>(&self, places: &[Place], cells: impl Iterator<Item = &'a str>) -> Result<Event, String> {
        self.event(places.iter().zip(cells).map(|(place, cell)| {
            let is_read = place.field.is_some() || place.is_time || place.is_bytes;
            Ok((*place, is_read.then(|| cell.to_owned()), cell.len() as u64))
        }))
    }

    fn of_object(&self, members: Map<String, Json>) -> Result<Event, String> {
        self.event(members.into_iter().map(|(name, value)| {
            let place = self.place(&name);
            let is_read = (place.field.is_some() || place.is_time || place.is_bytes) && value != Json::Null;
            match value {
                value if is_read => {
                    let text = one_text(value).map_err(|fault| format!("`{name}`: {fault}"))?;
                    Ok((place, Some(text), 0))
                }
                Json::Null => Ok((place, None, 0)),
                Json::String(text) => Ok((place, None, text.len() as u64)),
                value => Ok((place, None, value.to_string().len() as u64)),
            }
        }))
    }
}
