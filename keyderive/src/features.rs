//! What the compiler says of a call whose feature is off: each is here as a method that never compiles.
//!
//! Each is one error: an `async fn` would have one more for its future, and another where that is awaited. The bounds have a
//! parameter. A bound without one, which is never met, would be an error of this crate and not of the call.

use std::future::Ready;

#[cfg(not(all(feature = "cloud", feature = "embedded")))]
use crate::client::{Client, ClientBuilder, Error};

macro_rules! needs {
    ($(#[doc = $doc:literal] $name:ident: $message:literal, $label:literal, $note:literal;)*) => {$(
        #[doc = $doc]
        #[doc(hidden)]
        #[diagnostic::on_unimplemented(message = $message, label = $label, note = $note)]
        pub trait $name<T> {
            fn never<R>() -> R;
        }
    )*};
}

#[cfg(not(feature = "embedded"))]
needs! {
    /// The feature `embedded`.
    NeedsEmbedded: "the embedded Bigtable needs the feature `embedded` of keyderive, which is off",
        "enable the feature `embedded`",
        "in `Cargo.toml`, add \"embedded\" to the `features` of the dependency `keyderive`";
}

#[cfg(not(feature = "cloud"))]
needs! {
    /// The feature `cloud`.
    NeedsCloud: "Google Cloud needs the feature `cloud` of keyderive, which is off",
        "enable the feature `cloud`",
        "in `Cargo.toml`, add \"cloud\" to the `features` of the dependency `keyderive`, or remove `default-features = false`";
}

#[cfg(all(feature = "embedded", not(feature = "serve")))]
needs! {
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
