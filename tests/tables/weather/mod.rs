//! A year of weather, written in bulk, and scanned by random plans that must return what a plain filter
//! over the file returns.

mod data;
mod keys;
mod plans;
mod spec;
