#[allow(unused_macros)]
macro_rules! unreachable { () => { 7 }; }
#[allow(unused_macros)]
macro_rules! matches { () => { 7 }; }
