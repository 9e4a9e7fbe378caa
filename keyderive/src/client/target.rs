//! Which Bigtable a client talks to.

use std::fmt;
use std::sync::Arc;

/// Where the tables of a [`Client`](super::Client) are. Its `Display` text is for people, not for programs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target(pub(super) TargetKind);

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum TargetKind {
    /// In memory, or in a file.
    #[cfg(feature = "embedded")]
    Embedded(Option<Arc<str>>),
    Emulator(Arc<str>),
    Cloud(Arc<str>),
}

impl TargetKind {
    /// Whether its server is known to apply a write once that carries an idempotency token. Google's emulator ignores tokens;
    /// an embedded Bigtable on a port names itself in its answers.
    pub(super) fn honours_tokens(&self) -> bool {
        !matches!(self, Self::Emulator(_))
    }
}

impl Target {
    #[cfg(test)]
    pub(super) fn for_test() -> Self {
        Self(TargetKind::Emulator("127.0.0.1:1".into()))
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            #[cfg(feature = "embedded")]
            TargetKind::Embedded(None) => f.write_str("embedded Bigtable (in memory)"),
            #[cfg(feature = "embedded")]
            TargetKind::Embedded(Some(path)) => write!(f, "embedded Bigtable (in the file `{path}`)"),
            TargetKind::Emulator(host) => write!(f, "emulator at {host}"),
            TargetKind::Cloud(host) => write!(f, "cloud at {host}"),
        }
    }
}
