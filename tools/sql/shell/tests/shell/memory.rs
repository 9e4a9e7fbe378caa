//! Results of any size take constant memory, and sorts beyond the limit use files.

use std::fs;
use std::io::Read as _;
use std::process::Stdio;

use crate::server::Server;

/// The most memory that the process has had, in MB.
fn peak(process: u32) -> usize {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<usize>().unwrap() / 1000
}

/// The program takes about 110 MB for itself, up to 200 MB beside other work, and would take 300 MB more if it had all rows.
#[test]
fn output_is_streamed() {
    let server = Server::start("streamed");
    let sql = "SELECT value, repeat('x', 1000) AS text FROM generate_series(1, 300000)";
    // The others are printed by the same code.
    for format in ["table", "json"] {
        let mut command = server.command(env!("CARGO_BIN_EXE_keyderive-sql"));
        let command =
            command.args(["--format", format, "-c", sql]).stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child = command.stderr(Stdio::null()).spawn().unwrap();
        let mut out = child.stdout.take().unwrap();
        let (mut buffer, mut read) = (vec![0; 1 << 16], 0);
        // All but what a pipe holds, so that the process is still there.
        while read < 295_000_000 {
            read += out.read(&mut buffer).unwrap();
        }
        let peak = peak(child.id());
        assert!(peak < 300, "{format}: {peak} MB");
        drop(out);
        assert!(child.wait().unwrap().success(), "{format}");
    }
}

#[test]
fn a_sort_beyond_the_limit_uses_files() {
    let server = Server::start("spilled");
    let sql =
        "SELECT value, repeat('x', 200) AS text FROM generate_series(1, 100000) ORDER BY value % 997, value";
    let limited = server.prints(&["--memory", "12MB", "--format", "csv", "-c", sql]);
    assert_eq!(limited.lines().count(), 100_001);
    assert!(limited == server.prints(&["--format", "csv", "-c", sql]), "the rows differ");
    // What cannot be spilled says what to do.
    let sql = "SELECT array_agg(repeat('x', 1000) || value) FROM generate_series(1, 50000)";
    server.fails(&["--memory", "8MB", "--format", "csv", "-c", sql], 4, "help: `--memory` allows more");
}
