//! The registry, and the stamps of tables.

use keyderive::Client;
use keyderive::client::{Family, TableInfo};
use keyderive::key::Fingerprint;

/// A client whose requests are those of its calls alone.
#[must_use]
pub fn without_registry(client: &Client) -> Client {
    client.with(|settings| settings.registry = false)
}

/// The family that stamps a table with the layout of this fingerprint.
#[must_use]
pub fn stamp_of(info: &TableInfo, fingerprint: Fingerprint) -> Option<&Family> {
    let prefix = format!("keyderive.{fingerprint}.");
    info.families().iter().find(|family| family.name().starts_with(&prefix))
}
