//! The derive macros of `keyderive`; use them through that crate.
