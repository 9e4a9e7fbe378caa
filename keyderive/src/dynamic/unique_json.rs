//! JSON in which no object has a name twice: of two values, readers take one each, and nobody says which.

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// JSON in which no object, however deep, has a name twice: that is an error.
#[derive(Clone, Debug, PartialEq)]
pub struct UniqueJson(pub Value);

impl<'de> Deserialize<'de> for UniqueJson {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ValueVisitor)
    }
}

struct ValueVisitor;

impl<'de> Visitor<'de> for ValueVisitor {
    type Value = UniqueJson;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<UniqueJson, E> {
        Ok(UniqueJson(Value::Null))
    }

    fn visit_bool<E>(self, value: bool) -> Result<UniqueJson, E> {
        Ok(UniqueJson(Value::Bool(value)))
    }

    fn visit_i64<E>(self, value: i64) -> Result<UniqueJson, E> {
        Ok(UniqueJson(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<UniqueJson, E> {
        Ok(UniqueJson(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<UniqueJson, E> {
        Ok(UniqueJson(Number::from_f64(value).map_or(Value::Null, Value::Number)))
    }

    fn visit_str<E>(self, value: &str) -> Result<UniqueJson, E> {
        Ok(UniqueJson(value.into()))
    }

    fn visit_string<E>(self, value: String) -> Result<UniqueJson, E> {
        Ok(UniqueJson(Value::String(value)))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<UniqueJson, A::Error> {
        let mut values = Vec::new();
        while let Some(UniqueJson(value)) = seq.next_element()? {
            values.push(value);
        }
        Ok(UniqueJson(Value::Array(values)))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<UniqueJson, A::Error> {
        let mut members = Map::new();
        each_member(map, |name, UniqueJson(value)| members.insert(name, value).is_none())?;
        Ok(UniqueJson(Value::Object(members)))
    }
}

/// Adds each member of an object; `add` returns whether its name is new.
fn each_member<'de, A: MapAccess<'de>, V: Deserialize<'de>>(
    mut map: A,
    mut add: impl FnMut(String, V) -> bool,
) -> Result<(), A::Error> {
    while let Some(name) = map.next_key::<String>()? {
        let value = map.next_value()?;
        if !add(name.clone(), value) {
            return Err(A::Error::custom(format_args!("the name `{name}` is there twice")));
        }
    }
    Ok(())
}

/// [`UniqueJson`] for a field that is a [`Value`].
pub(crate) fn value<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Value, D::Error> {
    UniqueJson::deserialize(deserializer).map(|UniqueJson(value)| value)
}

/// An object whose names are data, each once.
pub(crate) fn map<'de, D: Deserializer<'de>, V: Deserialize<'de>>(
    deserializer: D,
) -> Result<BTreeMap<String, V>, D::Error> {
    struct MapVisitor<V>(PhantomData<V>);

    impl<'de, V: Deserialize<'de>> Visitor<'de> for MapVisitor<V> {
        type Value = BTreeMap<String, V>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object")
        }

        fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
            let mut members = BTreeMap::new();
            each_member(map, |name, value| members.insert(name, value).is_none())?;
            Ok(members)
        }
    }

    deserializer.deserialize_map(MapVisitor(PhantomData))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_twice_is_refused_however_deep() {
        let read = |json: &str| serde_json::from_str::<UniqueJson>(json).map(|UniqueJson(value)| value);
        let json = r#"{"a":[1,-1,18446744073709551615,0.5,null,true,{"b":{"a":"\n"},"a":{}}],"c":[]}"#;
        assert_eq!(read(json).unwrap(), serde_json::from_str::<Value>(json).unwrap());
        for json in [r#"{"a":1,"a":1}"#, r#"[{"b":[{"a":1,"c":2,"a":1}]}]"#, r#"{"b":{"a":1,"\u0061":2}}"#] {
            let error = read(json).unwrap_err().to_string();
            assert!(error.starts_with("the name `a` is there twice at line 1 column"), "{error}");
        }
    }
}
