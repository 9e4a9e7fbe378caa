//! The error is on the option that needs the default.
#![allow(missing_docs)]

#[derive(::keyderive::Row)]
pub struct Row {
    #[row(/*<*/default/*>*/)]
    pub faulty: ::std::net::Ipv4Addr,
}

pub fn run() {}
