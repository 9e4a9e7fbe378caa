//! What the compiler says of calls that do not exist, where its own words mislead: each call is here as a method that never compiles.
//!
//! Each is one error: an `async fn` would have one more for its future, and another where that is awaited. The bounds have a
//! parameter. A bound without one, which is never met, would be an error of this crate and not of the call.

#[cfg(feature = "client")]
mod columns;
#[cfg(all(feature = "client", not(all(feature = "cloud", feature = "embedded", feature = "serve"))))]
mod features;
mod plans;
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

use instead;
