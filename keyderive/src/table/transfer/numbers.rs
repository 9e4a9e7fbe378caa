//! The numbers of a stored checkpoint: how serde writes them, and which it refuses.

use serde::de::Error as _;
use serde::{Deserialize as _, Deserializer};

/// More rows than any table has. Sums of such numbers fit in 64 bits.
pub(super) const MOST_ROWS: u64 = 1 << 48;

/// A number of rows.
pub(super) fn count<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    match u64::deserialize(deserializer)? {
        rows if rows <= MOST_ROWS => Ok(rows),
        rows => Err(D::Error::custom(format!(
            "the checkpoint is damaged: it counts {rows} rows, and no table has more than {MOST_ROWS}"
        ))),
    }
}

/// A number in hexadecimal, since some JSON readers take numbers as floats.
pub(super) mod hex {
    use serde::de::Error as _;
    use serde::{Deserialize as _, Deserializer, Serializer};

    pub(in super::super) fn serialize<S: Serializer>(number: &u64, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{number:016x}"))
    }

    pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
        let text = String::deserialize(deserializer)?;
        u64::from_str_radix(&text, 16).map_err(|_| {
            D::Error::custom(format!("the checkpoint is damaged: `{text}` is not the number of a load"))
        })
    }
}

/// The number of a table in hexadecimal, since some JSON readers take numbers as floats.
pub(super) mod hex_id {
    use serde::de::Error as _;
    use serde::{Deserialize as _, Deserializer, Serialize as _, Serializer};

    pub(in super::super) fn serialize<S: Serializer>(
        id: &Option<u64>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        id.map(|id| format!("{id:016x}")).serialize(serializer)
    }

    pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<u64>, D::Error> {
        let read_id = |id: String| {
            u64::from_str_radix(&id, 16).map_err(|_| {
                D::Error::custom(format!("the checkpoint is damaged: `{id}` is not the number of a table"))
            })
        };
        Option::<String>::deserialize(deserializer)?.map(read_id).transpose()
    }
}
