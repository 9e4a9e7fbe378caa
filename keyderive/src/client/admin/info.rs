//! What the service says of a table.

use keyderive_proto::admin;

use super::family::Family;
use super::schema::TableSchema;

/// What a table is: its column families, and its row key schema where it has one.
///
/// ```
/// # async fn sample(client: keyderive::Client) -> Result<(), keyderive::Error> {
/// for name in client.list_tables().await? {
///     println!("{name}");
///     for family in client.table_info(&name).await?.families() {
///         println!("  {family}");
///     }
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct TableInfo {
    name: String,
    families: Vec<Family>,
    row_key_schema: Option<TableSchema>,
    deletion_protection: bool,
}

impl TableInfo {
    pub(super) fn new(name: &str, message: admin::Table) -> Self {
        let families = message.column_families.into_iter();
        Self {
            name: name.to_owned(),
            families: families.map(|(name, family)| Family::from_message(name, &family)).collect(),
            // A message without a field is how some servers leave it out.
            row_key_schema: message
                .row_key_schema
                .filter(|schema| !schema.fields.is_empty())
                .map(TableSchema),
            deletion_protection: message.deletion_protection,
        }
    }

    /// The table's name, without its project and instance.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its column families, by name.
    #[must_use]
    pub fn families(&self) -> &[Family] {
        &self.families
    }

    /// The family with this name.
    #[must_use]
    pub fn family(&self, name: &str) -> Option<&Family> {
        self.families.iter().find(|family| family.name() == name)
    }

    /// How SQL reads its row keys; none where SQL sees them as bytes.
    ///
    /// The emulator keeps no row key schemas.
    #[must_use]
    pub fn row_key_schema(&self) -> Option<&TableSchema> {
        self.row_key_schema.as_ref()
    }

    /// Whether the service refuses to delete the table.
    #[must_use]
    pub fn is_protected(&self) -> bool {
        self.deletion_protection
    }

    /// The names of its families, as a person reads a list, without those that keyderive adds.
    pub(crate) fn family_names(&self) -> String {
        let names = self.families.iter().map(Family::name).filter(|name| !name.starts_with("keyderive"));
        let names: Vec<_> = names.map(|name| format!("`{name}`")).collect();
        if names.is_empty() { "none".to_owned() } else { names.join(", ") }
    }
}
