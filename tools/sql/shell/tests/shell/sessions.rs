//! The sessions of `docs/analytics.md` are run, and print what it shows. `KEYDERIVE_BLESS=1` writes what they print.

use std::path::Path;
use std::{env, fs};

use crate::server::Server;

/// The page with each session as it runs now.
fn run(page: &str, server: &Server) -> String {
    let (mut now, mut is_session) = (String::new(), false);
    for line in page.lines() {
        let is_fence = line.starts_with("```");
        is_session = if is_fence { line == "```console" } else { is_session };
        match line.strip_prefix("$ ") {
            // What it printed before.
            None if is_session && !is_fence => continue,
            Some(command) if is_session => {
                let (printed, code) = server.shell(command);
                now += &format!("{line}\n{printed}");
                if code != 0 {
                    now += &format!("[exit code {code}]\n");
                }
            }
            _ => now += &format!("{line}\n"),
        }
    }
    now
}

#[test]
fn the_sessions_of_the_page_print_what_it_shows() {
    let server = Server::start("sessions");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs/analytics.md");
    let page = fs::read_to_string(&path).unwrap();
    let now = run(&page, &server);
    if env::var_os("KEYDERIVE_BLESS").is_some() {
        return fs::write(&path, &now).unwrap();
    }
    for (line, expected) in now.lines().zip(page.lines()) {
        assert_eq!(line, expected, "the page shows the second");
    }
    assert_eq!(now.lines().count(), page.lines().count());
}
