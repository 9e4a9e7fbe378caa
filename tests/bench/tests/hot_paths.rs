//! Runs the benchmark of the hot paths with few rows. The benchmark itself checks that all paths read the same rows
//! and write the same cells.

use std::process::Command;

#[test]
fn all_paths_read_the_same_rows_and_write_the_same_cells() {
    let output = Command::new(env!("CARGO_BIN_EXE_hot-paths"))
        .args(["--rows", "500", "--runs", "1"])
        .output()
        .unwrap();
    let (tables, errors) =
        (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    assert!(output.status.success(), "{tables}{errors}");
    for title in ["Scans", "Ordered merge of 64 buckets", "Bulk writes", "Keys"] {
        assert!(tables.contains(&format!("## {title}\n")), "{tables}");
    }
}
