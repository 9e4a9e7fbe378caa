//! Sequences, enum variants with data, and structs and maps inside a column: a cell holds them as JSON.

use bytes::Bytes;
use serde::ser::{
    Serialize, SerializeSeq, SerializeStructVariant, SerializeTuple, SerializeTupleStruct,
    SerializeTupleVariant,
};

use super::Stored;
use crate::row::error::Fault;
use crate::row::json::{Lost, check};

/// JSON that is being written, element by element, into one buffer.
///
/// `serde_json`'s own compound serializers borrow the serializer that made them, so they cannot be handed
/// out by a `Serializer` that ends with the call.
pub(super) struct Json {
    text: Vec<u8>,
    close: &'static [u8],
    empty: bool,
    /// How many arrays and objects its elements are in.
    depth: u8,
}

impl Json {
    pub(super) fn array() -> Self {
        Self { text: vec![b'['], close: b"]", empty: true, depth: 1 }
    }

    pub(super) fn object() -> Self {
        Self { text: vec![b'{'], close: b"}", empty: true, depth: 1 }
    }

    pub(super) fn tuple_variant(name: &str) -> Result<Self, Fault> {
        Ok(Self { text: member(name, b"[")?, close: b"]}", empty: true, depth: 2 })
    }

    pub(super) fn struct_variant(name: &str) -> Result<Self, Fault> {
        Ok(Self { text: member(name, b"{")?, close: b"}}", empty: true, depth: 2 })
    }

    pub(super) fn newtype_variant<T: Serialize + ?Sized>(name: &str, value: &T) -> Result<Bytes, Fault> {
        let mut text = member(name, b"")?;
        write(&mut text, value, 1)?;
        text.push(b'}');
        Ok(text.into())
    }

    fn element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Fault> {
        if !self.empty {
            self.text.push(b',');
        }
        self.empty = false;
        write(&mut self.text, value, self.depth)
    }

    /// The name of a member, whose value comes next.
    pub(super) fn name<T: Serialize + ?Sized>(&mut self, name: &T) -> Result<(), Fault> {
        if !self.empty {
            self.text.push(b',');
        }
        self.empty = false;
        let start = self.text.len();
        write_name(&mut self.text, name)?;
        match self.text.get(start) {
            Some(b'"') => {}
            // JSON has names of text alone, so that numbers are written as text, as `serde_json` does.
            Some(b'0'..=b'9' | b'-' | b't' | b'f') => {
                self.text.insert(start, b'"');
                self.text.push(b'"');
            }
            _ => return Err(Fault::unsupported("cannot be written as JSON: key must be a string")),
        }
        self.text.push(b':');
        Ok(())
    }

    /// The value of the member that was named last.
    pub(super) fn value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Fault> {
        write(&mut self.text, value, self.depth)
    }

    /// A member and its value.
    pub(super) fn member<T: Serialize + ?Sized>(&mut self, name: &str, value: &T) -> Result<(), Fault> {
        self.name(name)?;
        self.value(value)
    }

    pub(super) fn finish(mut self) -> Bytes {
        self.text.extend_from_slice(self.close);
        self.text.into()
    }
}

/// The start of an object whose one member is `name`.
fn member(name: &str, open: &[u8]) -> Result<Vec<u8>, Fault> {
    let mut text = vec![b'{'];
    write_name(&mut text, name)?;
    text.push(b':');
    text.extend_from_slice(open);
    Ok(text)
}

/// Writes a value that is `depth` arrays and objects deep.
fn write<T: Serialize + ?Sized>(text: &mut Vec<u8>, value: &T, depth: u8) -> Result<(), Fault> {
    match check(value, depth) {
        // What has no form at all is told by the writer.
        Ok(()) | Err(Lost::Other) => serde_json::to_writer(text, value).map_err(Fault::unwritable_json),
        Err(lost) => Err(Fault::unsupported(lost)),
    }
}

fn write_name<T: Serialize + ?Sized>(text: &mut Vec<u8>, name: &T) -> Result<(), Fault> {
    serde_json::to_writer(text, name).map_err(Fault::unwritable_json)
}

macro_rules! elements {
    ($($compound:ident $method:ident;)*) => {$(
        impl $compound for Json {
            type Ok = Stored;
            type Error = Fault;

            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Fault> {
                self.element(value)
            }

            fn end(self) -> Result<Stored, Fault> {
                Ok(Stored::value(self.finish()))
            }
        }
    )*};
}

elements! {
    SerializeSeq serialize_element;
    SerializeTuple serialize_element;
    SerializeTupleStruct serialize_field;
    SerializeTupleVariant serialize_field;
}

impl SerializeStructVariant for Json {
    type Ok = Stored;
    type Error = Fault;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Result<(), Fault> {
        self.member(name, value)
    }

    fn end(self) -> Result<Stored, Fault> {
        Ok(Stored::value(self.finish()))
    }
}
