//! The rules of keyderive's layouts, once: for the derives, which read attributes, and for layouts as data, which are JSON.
//!
//! ```
//! use keyderive_layout::Words;
//! use keyderive_layout::key_rules::{Field, Key, Place, Salt};
//!
//! let fields = ["user_id", "site"].map(|name| Field::named(name)).into();
//! let salts = vec![Salt { over: Some(vec!["user".into()]), ..Salt::of_range(4) }];
//! let key = Key { name: "EventKey".into(), fields, salts, ..Key::default() };
//! let [fault] = &key.faults()[..] else { panic!("one fault") };
//! assert!(matches!(fault.place, Place::Salt(0, _)));
//! assert_eq!(
//!     fault.reason.text(Words::Attributes),
//!     "`over` names `user`, which is not a field of `EventKey`; expected `user_id` or `site`"
//! );
//! ```
//!
//! Data is what somebody wrote, so any of it may be wrong. A reader of attributes or JSON fills it, asks for its faults, and says each at
//! its place. What only the types of fields decide, their formats and widths, has its rules where those types are.

#![warn(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout, clippy::print_stderr)]

pub mod key_rules;
mod names;
pub mod row_rules;

pub use names::{list, nearest};

/// A broken rule.
#[derive(Clone, Debug)]
pub struct Fault<P, R> {
    /// What is at fault.
    pub place: P,
    /// Why, and what to do.
    pub reason: R,
}

/// The first faults that are found.
struct Faults<P, R>(Vec<Fault<P, R>>);

impl<P, R> Faults<P, R> {
    fn add(&mut self, place: P, reason: R) {
        if self.0.len() < MOST_FAULTS {
            self.0.push(Fault { place, reason });
        }
    }
}

/// How many faults are listed: a hostile layout has many.
const MOST_FAULTS: usize = 100;

/// How a layout is written: a remedy is said in the same words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Words {
    /// Attributes of a struct.
    Attributes,
    /// JSON.
    Json,
}
