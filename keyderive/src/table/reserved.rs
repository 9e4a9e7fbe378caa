//! The names that are keyderive's own: of a table, and of column families.

pub(super) use keyderive_layout::row_rules::{ORIGINS, is_reserved};

use crate::client::{Error, REGISTRY};

/// Fails for the registry.
pub(super) fn check_table(table: &str) -> Result<(), Error> {
    if table != REGISTRY {
        return Ok(());
    }
    let fault =
        "it is keyderive's own, in which programs find each other's layouts; give your table another name";
    Err(Error::definition(table, fault))
}

/// Fails for the registry, and for families with reserved names.
pub(super) fn check_reserved<'a>(
    table: &str,
    mut families: impl Iterator<Item = &'a str>,
) -> Result<(), Error> {
    check_table(table)?;
    match families.find(|name| is_reserved(name)) {
        None => Ok(()),
        Some(name) => Err(Error::definition(
            table,
            format!(
                "the column family `{name}` has a name that is reserved for keyderive itself, as are `keyderive`, \
                 `keyderive-origin` and all that begin with `keyderive.`; give the field another name by \
                 `#[row(name = \"…\")]`, or declare the family with another name"
            ),
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::ErrorKind;

    #[test]
    fn reserved_names_are_rejected() {
        for name in ["keyderive", "keyderive-origin", "keyderive.", "keyderive.x"] {
            let error = check_reserved("t", ["cf", name].into_iter()).unwrap_err();
            assert!(error.kind() == ErrorKind::InvalidArgument && error.attempts() == 0, "{error}");
            assert!(error.to_string().contains(&format!("`{name}`")), "{error}");
        }
        let error = check_reserved("keyderive", ["cf"].into_iter()).unwrap_err();
        assert!(error.to_string().contains("give your table another name"), "{error}");
        assert!(check_reserved("t", ["cf", "keyderiv", "keyderive_x", "Keyderive"].into_iter()).is_ok());
    }
}
