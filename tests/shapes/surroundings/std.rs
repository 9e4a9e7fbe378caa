/// Mine.
#[derive(Debug)]
pub struct Option;
/// Mine.
#[derive(Debug)]
pub struct Result;
/// Mine.
#[derive(Debug)]
pub struct Vec;
/// Mine.
#[derive(Debug)]
pub struct String;
/// Mine.
#[derive(Debug)]
pub struct Box;
/// Mine.
#[allow(non_snake_case)]
pub const fn Some() {}
/// Mine.
#[allow(non_snake_case)]
pub const fn Ok() {}
/// Mine.
#[allow(non_snake_case)]
pub const fn Err() {}
/// Mine.
pub trait Clone {}
/// Mine.
pub trait Debug {}
/// Mine.
pub trait PartialEq {}
/// Mine.
pub trait Iterator {}
/// Mine.
pub trait Into {}
