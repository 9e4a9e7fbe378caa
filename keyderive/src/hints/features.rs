//! Calls whose feature is off.

use std::future::Ready;

use super::instead;
#[cfg(not(all(feature = "cloud", feature = "embedded")))]
use crate::client::{Client, ClientBuilder, Error};

#[cfg(not(feature = "embedded"))]
instead! {
    /// The feature `embedded`.
    NeedsEmbedded: "the embedded Bigtable needs the feature `embedded` of keyderive, which is off",
        "enable the feature `embedded`",
        "in `Cargo.toml`, add \"embedded\" to the `features` of the dependency `keyderive`";
}

#[cfg(not(feature = "cloud"))]
instead! {
    /// The feature `cloud`.
    NeedsCloud: "Google Cloud needs the feature `cloud` of keyderive, which is off",
        "enable the feature `cloud`",
        "in `Cargo.toml`, add \"cloud\" to the `features` of the dependency `keyderive`, or remove `default-features = false`";
}

#[cfg(all(feature = "embedded", not(feature = "serve")))]
instead! {
    /// The feature `serve`.
    NeedsServe: "the embedded Bigtable on a port needs the feature `serve` of keyderive, which is off",
        "enable the feature `serve`",
        "in `Cargo.toml`, add \"serve\" to the `features` of the dependency `keyderive`";
}

#[cfg(not(feature = "embedded"))]
#[doc(hidden)]
impl Client {
    #[must_use]
    pub fn embedded<T>() -> Self
    where
        Self: NeedsEmbedded<T>,
    {
        Self::never()
    }

    pub fn embedded_at<P>(_path: P) -> Ready<Result<Self, Error>>
    where
        Self: NeedsEmbedded<P>,
    {
        Self::never()
    }
}

#[cfg(not(feature = "embedded"))]
#[doc(hidden)]
impl ClientBuilder {
    #[must_use]
    pub fn embedded<T>(self) -> Client
    where
        Self: NeedsEmbedded<T>,
    {
        Self::never()
    }

    pub fn embedded_at<P>(self, _path: P) -> Ready<Result<Client, Error>>
    where
        Self: NeedsEmbedded<P>,
    {
        Self::never()
    }
}

#[cfg(not(feature = "cloud"))]
#[doc(hidden)]
impl Client {
    pub fn cloud<P, I>(_project: P, _instance: I) -> Ready<Result<Self, Error>>
    where
        Self: NeedsCloud<P>,
    {
        Self::never()
    }
}

#[cfg(not(feature = "cloud"))]
#[doc(hidden)]
impl ClientBuilder {
    pub fn cloud<P, I>(self, _project: P, _instance: I) -> Ready<Result<Client, Error>>
    where
        Self: NeedsCloud<P>,
    {
        Self::never()
    }
}

#[cfg(all(feature = "embedded", not(feature = "serve")))]
#[doc(hidden)]
impl crate::embedded::Bigtable {
    pub fn serve<L, S>(&self, _listener: L, _shutdown: S) -> Ready<std::io::Result<()>>
    where
        Self: NeedsServe<L>,
    {
        Self::never()
    }

    pub fn serve_with<L, S, C>(&self, _listener: L, _shutdown: S, _change: C) -> Ready<std::io::Result<()>>
    where
        Self: NeedsServe<L>,
    {
        Self::never()
    }
}
