//! What the compiler says of calls that do not exist, where its own words mislead: each call is here as a method that never compiles.
//!
//! Each is one error: an `async fn` would have one more for its future, and another where that is awaited. The bounds have a
//! parameter. A bound without one, which is never met, would be an error of this crate and not of the call.

use crate::plan::Plan;

#[cfg(feature = "client")]
mod columns;
#[cfg(all(feature = "client", not(all(feature = "cloud", feature = "embedded", feature = "serve"))))]
mod features;
#[cfg(feature = "client")]
mod streams;

/// Bounds that no type meets, each with what to write instead.
macro_rules! instead {
    ($(#[doc = $doc:literal] $name:ident: $message:literal, $label:literal, $note:literal;)*) => {$(
        #[doc = $doc]
        #[doc(hidden)]
        #[diagnostic::on_unimplemented(message = $message, label = $label, note = $note)]
        pub trait $name<T> {
            fn never<R>() -> R;
        }
    )*};
}

#[cfg(feature = "client")]
use instead;

instead! {
    /// A plan of nothing.
    BegunByNew: "a plan begins with a scan of its key type",
        "begin with the key type's, such as `EventKey::scan()`, and end with `.into_plan()?`",
        "a table's `scan` takes `EventKey::scan()` itself";
}

#[doc(hidden)]
impl<K: ?Sized> Plan<K> {
    #[allow(clippy::new_without_default, reason = "it never compiles")]
    #[must_use]
    pub fn new<T>() -> Self
    where
        Self: BegunByNew<T>,
    {
        Self::never()
    }
}
