//! Warnings of the derives, which a program can deny.

#![deny(warnings)]

use keyderive::{Row, RowKey};
use serde::{Deserialize, Serialize};

#[derive(RowKey)]
#[salt(range = 16, over = "active")]
pub struct BucketsKey {
    pub active: bool,
    pub user_id: String,
}

#[derive(RowKey)]
#[salt(range = 4)]
pub struct FlagKey {
    pub active: bool,
}

#[derive(Serialize, Deserialize, RowKey)]
pub struct UserKey {
    #[serde(rename = "id")]
    pub user_id: String,
}

#[derive(Serialize, Deserialize, Row)]
pub struct User {
    #[serde(rename = "n")]
    pub name: String,
    #[serde(with = "hex")]
    pub tag: String,
    #[serde(skip)]
    pub secret: String,
    #[serde(skip, default)]
    #[row(name = "hint")]
    pub password_hint: String,
}

mod hex {
    pub fn serialize<S: serde::Serializer>(value: &str, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(value)
    }

    pub fn deserialize<'de, D: serde::Deserializer<'de>>(from: D) -> Result<String, D::Error> {
        serde::Deserialize::deserialize(from)
    }
}

fn main() {}
