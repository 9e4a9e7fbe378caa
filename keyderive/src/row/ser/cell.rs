//! From the value of one column to the bytes of its cell.

use std::fmt::Display;

use bytes::Bytes;
use serde::ser::{Impossible, Serialize, Serializer};

use super::json::Json;
use super::refuse;
use crate::row::error::Fault;
use crate::row::value;

/// Takes the value of one column. Its result is the cell's value; none where the column is absent.
pub(super) struct CellSerializer;

fn not_a_value(found: &str) -> Fault {
    Fault::unsupported(format_args!(
        "is {found}, and a column holds one value; move its fields into the row, or write it as a string \
         with `#[serde(with = \"…\")]`"
    ))
}

macro_rules! integers {
    ($($method:ident $type:ident;)*) => {$(
        fn $method(self, value: $type) -> Result<Option<Bytes>, Fault> {
            Ok(Some(value::integer(value.into())))
        }
    )*};
}

impl Serializer for CellSerializer {
    type Ok = Option<Bytes>;
    type Error = Fault;
    type SerializeSeq = Json;
    type SerializeTuple = Json;
    type SerializeTupleStruct = Json;
    type SerializeTupleVariant = Json;
    type SerializeMap = Impossible<Option<Bytes>, Fault>;
    type SerializeStruct = Impossible<Option<Bytes>, Fault>;
    type SerializeStructVariant = Json;

    integers! {
        serialize_i8 i8;
        serialize_i16 i16;
        serialize_i32 i32;
        serialize_i64 i64;
        serialize_u8 u8;
        serialize_u16 u16;
        serialize_u32 u32;
    }

    fn serialize_u64(self, value: u64) -> Result<Option<Bytes>, Fault> {
        value::unsigned(value).map(Some)
    }

    fn serialize_i128(self, _: i128) -> Result<Option<Bytes>, Fault> {
        Err(value::too_wide("i128"))
    }

    fn serialize_u128(self, _: u128) -> Result<Option<Bytes>, Fault> {
        Err(value::too_wide("u128"))
    }

    fn serialize_bool(self, value: bool) -> Result<Option<Bytes>, Fault> {
        Ok(Some(value::boolean(value)))
    }

    fn serialize_f32(self, value: f32) -> Result<Option<Bytes>, Fault> {
        Ok(Some(value::float(value)))
    }

    fn serialize_f64(self, value: f64) -> Result<Option<Bytes>, Fault> {
        Ok(Some(value::double(value)))
    }

    fn serialize_char(self, value: char) -> Result<Option<Bytes>, Fault> {
        self.serialize_str(value.encode_utf8(&mut [0; 4]))
    }

    fn serialize_str(self, value: &str) -> Result<Option<Bytes>, Fault> {
        self.serialize_bytes(value.as_bytes())
    }

    fn collect_str<T: Display + ?Sized>(self, value: &T) -> Result<Option<Bytes>, Fault> {
        Ok(Some(value.to_string().into()))
    }

    fn serialize_bytes(self, value: &[u8]) -> Result<Option<Bytes>, Fault> {
        Ok(Some(Bytes::copy_from_slice(value)))
    }

    fn serialize_unit(self) -> Result<Option<Bytes>, Fault> {
        Ok(Some(Bytes::new()))
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<Option<Bytes>, Fault> {
        self.serialize_unit()
    }

    fn serialize_unit_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
    ) -> Result<Option<Bytes>, Fault> {
        Ok(Some(Bytes::from_static(variant.as_bytes())))
    }

    fn serialize_none(self) -> Result<Option<Bytes>, Fault> {
        Ok(None)
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<Option<Bytes>, Fault> {
        value.serialize(self)?.map(Some).ok_or_else(|| {
            Fault::unsupported("is `Some(None)`, which would be read as `None`; use one `Option`")
        })
    }

    /// Refuses a `None` inside: serde asks for the newtype when the column is absent, and fails.
    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        name: &'static str,
        value: &T,
    ) -> Result<Option<Bytes>, Fault> {
        value.serialize(self)?.map(Some).ok_or_else(|| {
            Fault::unsupported(format_args!(
                "is a `None` inside `{name}`, which would not be read back; put `#[serde(transparent)]` on `{name}`"
            ))
        })
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<Option<Bytes>, Fault> {
        Json::newtype_variant(variant, value).map(Some)
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Json, Fault> {
        Ok(Json::array())
    }

    fn serialize_tuple(self, _: usize) -> Result<Json, Fault> {
        Ok(Json::array())
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Json, Fault> {
        Ok(Json::array())
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Json, Fault> {
        Json::tuple_variant(variant)
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Json, Fault> {
        Json::struct_variant(variant)
    }

    refuse! { not_a_value;
        serialize_map(Option<usize>) -> SerializeMap = "a map";
        serialize_struct(&'static str, usize) -> SerializeStruct = "a struct";
    }
}
