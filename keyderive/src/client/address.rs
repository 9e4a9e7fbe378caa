//! Addresses of Bigtables, in the one form that arguments and configuration have.

use std::fmt;

use super::environment::{DEFAULT_INSTANCE, DEFAULT_PROJECT};
use super::error::Error;

/// A Bigtable, as an address or the environment names it.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Address {
    Cloud { project: String, instance: String, app_profile: Option<String> },
    Emulator { host: String, project: String, instance: String },
    Embedded { path: Option<String> },
}

impl Address {
    /// The same, with another project and instance.
    pub(super) fn with_instance(self, project: String, instance: String) -> Self {
        match self {
            Self::Cloud { app_profile, .. } => Self::Cloud { project, instance, app_profile },
            Self::Emulator { host, .. } => Self::Emulator { host, project, instance },
            embedded @ Self::Embedded { .. } => embedded,
        }
    }

    pub(super) fn parse(address: &str) -> Result<Self, Error> {
        if let Some(path) = address.strip_prefix("embedded:") {
            return Ok(Self::Embedded {
                path: Some(path).filter(|path| !path.is_empty()).map(str::to_owned),
            });
        }
        let parsed = match address.split_once("://") {
            Some(("bigtable", instance)) => cloud(instance),
            Some(("emulator", emulator)) => self::emulator(emulator),
            _ => None,
        };
        parsed.ok_or_else(|| {
            Error::configuration(format!(
                "`{address}` is no address of a Bigtable; write `bigtable://project/instance`, with `?app_profile=name` \
                 where one is wanted, `emulator://host:port/project/instance`, `embedded:` or `embedded:path`"
            ))
        })
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cloud { project, instance, app_profile: None } => {
                write!(f, "bigtable://{project}/{instance}")
            }
            Self::Cloud { project, instance, app_profile: Some(name) } => {
                write!(f, "bigtable://{project}/{instance}?app_profile={name}")
            }
            Self::Emulator { host, project, instance } => write!(f, "emulator://{host}/{project}/{instance}"),
            Self::Embedded { path } => write!(f, "embedded:{}", path.as_deref().unwrap_or_default()),
        }
    }
}

fn cloud(address: &str) -> Option<Address> {
    let (instance, app_profile) = match address.split_once('?') {
        Some((instance, query)) => (instance, Some(query.strip_prefix("app_profile=")?)),
        None => (address, None),
    };
    if app_profile.is_some_and(|name| name.is_empty() || name.contains(['&', '='])) {
        return None;
    }
    let (project, instance) = names(instance)?;
    Some(Address::Cloud { project, instance, app_profile: app_profile.map(str::to_owned) })
}

fn emulator(address: &str) -> Option<Address> {
    let (host, instance) = address.split_once('/').unwrap_or((address, ""));
    let (project, instance) = match instance {
        "" => (DEFAULT_PROJECT.to_owned(), DEFAULT_INSTANCE.to_owned()),
        instance => names(instance)?,
    };
    Some(Address::Emulator { host: host.to_owned(), project, instance })
}

fn names(instance: &str) -> Option<(String, String)> {
    let (project, instance) = instance.split_once('/')?;
    let is_name = |name: &str| !name.is_empty() && !name.contains(['/', '?']);
    (is_name(project) && is_name(instance)).then(|| (project.to_owned(), instance.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(address: &str) -> Address {
        Address::parse(address).unwrap()
    }

    #[test]
    fn an_address_names_one_bigtable() {
        let cloud = |project: &str, app_profile: Option<&str>| Address::Cloud {
            project: project.to_owned(),
            instance: "i".to_owned(),
            app_profile: app_profile.map(str::to_owned),
        };
        assert_eq!(parsed("bigtable://p/i"), cloud("p", None));
        assert_eq!(
            parsed("bigtable://example.com:p/i?app_profile=batch"),
            cloud("example.com:p", Some("batch"))
        );
        let emulator = |host: &str, project: &str, instance: &str| Address::Emulator {
            host: host.to_owned(),
            project: project.to_owned(),
            instance: instance.to_owned(),
        };
        assert_eq!(parsed("emulator://[::1]:8086/p/i"), emulator("[::1]:8086", "p", "i"));
        for short in ["emulator://localhost:8086", "emulator://localhost:8086/"] {
            assert_eq!(parsed(short), emulator("localhost:8086", "keyderive", "local"));
        }
        assert_eq!(parsed("embedded:"), Address::Embedded { path: None });
        let path = |path: &str| Address::Embedded { path: Some(path.to_owned()) };
        assert_eq!(parsed("embedded:/tmp/a b.tables"), path("/tmp/a b.tables"));
        assert_eq!(parsed("embedded:C:\\tables"), path("C:\\tables"));
        for address in [
            "bigtable://p/i?app_profile=a",
            "bigtable://p/i",
            "emulator://h:1/p/i",
            "embedded:",
            "embedded:f",
        ] {
            assert_eq!(parsed(address).to_string(), address);
        }
    }

    #[test]
    fn what_names_no_bigtable_is_an_error_with_the_forms() {
        for address in [
            "",
            "localhost:8086",
            "embedded",
            "bigtable://",
            "bigtable://p",
            "bigtable://p/",
            "bigtable:///i",
            "bigtable://p/i/tables/t",
            "bigtable://p/i?profile=x",
            "bigtable://p/i?app_profile=",
            "bigtable://p/i?app_profile=a&b=c",
            "emulator://localhost:8086/p",
            "emulator://localhost:8086/p/i/j",
            "http://localhost:8086",
        ] {
            let error = Address::parse(address).unwrap_err();
            let text = error.to_string();
            assert!(
                error.is_misconfiguration() && text.starts_with(&format!("`{address}` is no address")),
                "{text}"
            );
            assert!(text.contains("`embedded:path`"), "{text}");
        }
    }
}
