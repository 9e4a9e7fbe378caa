//! Code that must compile without a warning, and whose `main` must end well.
//!
//! Each file is a module of this test: compiled as a program of its own, it would need all dependencies once more. `lints.rs` sets
//! lints of a crate, so it is one: an example of `keyderive-tests`.

#![allow(
    missing_docs,
    unreachable_pub,
    clippy::all,
    clippy::pedantic,
    clippy::restriction,
    reason = "each file sets the lints that it is held to"
)]

// Another name of the crate, for `crate_path`.
extern crate keyderive as bigtable_keys;

macro_rules! programs {
    ($($name:ident)*) => {$(
        pub mod $name;

        #[test]
        fn $name() -> impl std::process::Termination {
            $name::main()
        }
    )*

        const NAMES: &[&str] = &[$(stringify!($name)),*];
    };
}

programs! {
    borrowed_fields cells crate_path dead_code deprecated_key field_options field_types hashed_fields hotspot_allowed
    inside_a_function key_methods key_type_of_one_letter method_names missing_docs names_of_primitive_types
    names_of_the_standard_library no_implicit_prelude other_derives query_row raw_identifiers rows times
    warnings_allowed
}

#[test]
fn no_file_is_left_out() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../compiles");
    let files = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
    let mut names: Vec<_> =
        files.map(|file| file.file_stem().unwrap().to_str().unwrap().to_owned()).collect();
    names.retain(|name| name != "main" && name != "lints");
    names.sort_unstable();
    assert_eq!(names, NAMES);
}
