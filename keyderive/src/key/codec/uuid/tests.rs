//! The bytes of UUIDs and their refusals.

use std::borrow::Cow;

use uuid::Uuid;

use super::super::{Simple, Text, V4};
use super::UuidCodec;
use crate::key::KeyField;

const RANDOM: Uuid = Uuid::from_u128(0x67e5_5044_10b1_426f_9247_bb68_0e5f_e0c8);
const OF_TIME: Uuid = Uuid::from_u128(0x0190_5c2e_8d7a_7b3c_9247_bb68_0e5f_e0c8);

fn write<C: UuidCodec>(value: Uuid) -> Result<String, String> {
    let mut out = Vec::new();
    <Uuid as KeyField<C>>::write(value, &mut out).map_err(|error| error.to_string())?;
    Ok(String::from_utf8(out).unwrap())
}

fn read<C: UuidCodec>(text: &str) -> Result<Uuid, String> {
    <Uuid as KeyField<C>>::read(Cow::Borrowed(text.as_bytes())).map_err(|error| error.to_string())
}

#[test]
fn bytes() {
    assert_eq!(write::<Text>(RANDOM).unwrap(), "67e55044-10b1-426f-9247-bb680e5fe0c8");
    assert_eq!(write::<V4>(RANDOM).unwrap(), "67e55044-10b1-426f-9247-bb680e5fe0c8");
    assert_eq!(write::<Simple>(RANDOM).unwrap(), "67e5504410b1426f9247bb680e5fe0c8");
    assert_eq!(write::<V4<Simple>>(RANDOM).unwrap(), "67e5504410b1426f9247bb680e5fe0c8");
}

#[test]
fn other_versions_are_refused_both_ways() {
    let text = write::<Text>(OF_TIME).unwrap();
    for error in [write::<V4>(OF_TIME).unwrap_err(), read::<V4>(&text).unwrap_err()] {
        assert!(
            error.contains(&text) && error.contains("version 7") && error.contains("version 4"),
            "{error}"
        );
    }
    assert!(write::<V4>(Uuid::nil()).unwrap_err().contains("a variant without versions"));
}

#[test]
fn only_the_written_form_is_read() {
    for text in [
        "67E55044-10B1-426F-9247-BB680E5FE0C8",
        "67e5504410b1426f9247bb680e5fe0c8",
        "{67e55044-10b1-426f-9247-bb680e5fe0c8}",
        "urn:uuid:67e55044-10b1-426f-9247-bb680e5fe0c8",
        "67e55044-10b1-426f-9247-bb680e5fe0cg",
        "",
    ] {
        let error = read::<Text>(text).unwrap_err();
        assert!(error.contains(text) && error.contains("with hyphens, 36 bytes"), "{error}");
    }
    assert!(read::<Simple>("67e55044-10b1-426f-9247-bb680e5fe0c8").is_err());
}
