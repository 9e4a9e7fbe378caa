#[allow(non_upper_case_globals, missing_docs, dead_code)]
mod lower {
    pub(super) const value: u8 = 7;
    pub(super) const out: u8 = 7;
    pub(super) const text: u8 = 7;
    pub(super) const f: u8 = 7;
    pub(super) const bytes: u8 = 7;
}
#[allow(unused_imports)]
use lower::*;
