//! A year of weather, written in bulk: random plans must return what a filter over the file returns.

mod data;
mod keys;
mod plans;
mod spec;
