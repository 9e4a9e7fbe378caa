//! Bytes in lower-case hexadecimal, which every format of serde can hold.

use serde::de::Error as _;
use serde::{Deserialize as _, Deserializer, Serializer};

use crate::key::Hex;
use crate::key::codec::read_hex;

pub(crate) fn serialize<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&Hex(bytes))
}

pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
    read_hex(String::deserialize(deserializer)?.as_bytes()).map_err(D::Error::custom)
}

pub(super) mod option {
    use serde::{Deserialize, Deserializer, Serialize as _, Serializer};

    pub(in super::super) fn serialize<S: Serializer>(
        bytes: &Option<Vec<u8>>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        bytes.as_deref().map(|bytes| super::Hex(bytes).to_string()).serialize(serializer)
    }

    pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Vec<u8>>, D::Error> {
        #[derive(Deserialize)]
        struct Bytes(#[serde(with = "super")] Vec<u8>);
        Ok(Option::<Bytes>::deserialize(deserializer)?.map(|Bytes(bytes)| bytes))
    }
}

pub(super) mod list {
    use serde::{Deserialize, Deserializer, Serializer};

    pub(in super::super) fn serialize<S: Serializer>(
        all: &[Vec<u8>],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(all.iter().map(|bytes| super::Hex(bytes).to_string()))
    }

    pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<Vec<u8>>, D::Error> {
        #[derive(Deserialize)]
        struct Bytes(#[serde(with = "super")] Vec<u8>);
        Ok(Vec::<Bytes>::deserialize(deserializer)?.into_iter().map(|Bytes(bytes)| bytes).collect())
    }
}
