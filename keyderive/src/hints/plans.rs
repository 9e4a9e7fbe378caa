//! Plans that begin without a key type's scan.

use super::instead;
use crate::plan::Plan;

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
