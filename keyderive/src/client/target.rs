//! Where the tables of a client are.

use std::fmt;

/// Where the tables of a [`Client`](super::Client) are. Its text is for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target(pub(super) Place);

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// In memory, or in a file.
    #[cfg(feature = "embedded")]
    Embedded(Option<std::sync::Arc<str>>),
    Emulator(std::sync::Arc<str>),
    Cloud(std::sync::Arc<str>),
}

impl Target {
    #[cfg(test)]
    pub(super) fn for_test() -> Self {
        Self(Place::Emulator("127.0.0.1:1".into()))
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            #[cfg(feature = "embedded")]
            Place::Embedded(None) => f.write_str("embedded Bigtable (in memory)"),
            #[cfg(feature = "embedded")]
            Place::Embedded(Some(path)) => write!(f, "embedded Bigtable (in the file `{path}`)"),
            Place::Emulator(host) => write!(f, "emulator at {host}"),
            Place::Cloud(host) => write!(f, "cloud at {host}"),
        }
    }
}
