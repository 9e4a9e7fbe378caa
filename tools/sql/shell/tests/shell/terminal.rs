//! The shell on a terminal: completion, statements of several lines, history, and Ctrl-C.

use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::os::fd::{AsFd as _, BorrowedFd};
use std::process::Child;
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, poll};
use nix::pty::{Winsize, openpty};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::server::Server;

/// How long something may take that comes at once on a machine that does nothing else.
const PATIENCE: Duration = Duration::from_secs(120);

struct Terminal {
    child: Child,
    end: File,
    /// What the program has sent, without the escapes that move the cursor.
    sent: String,
}

impl Terminal {
    fn start(server: &Server, arguments: &[&str]) -> Self {
        let size = Winsize { ws_row: 50, ws_col: 200, ws_xpixel: 0, ws_ypixel: 0 };
        let terminal = openpty(Some(&size), None).unwrap();
        let end = || terminal.slave.try_clone().unwrap();
        let mut command = server.command(env!("CARGO_BIN_EXE_keyderive-sql"));
        let command = command.args(arguments).env("TERM", "xterm").stdin(end()).stdout(end()).stderr(end());
        let child = command.spawn().unwrap();
        Self { child, end: File::from(terminal.master), sent: String::new() }
    }

    fn types(&mut self, text: &str) {
        self.end.write_all(text.as_bytes()).unwrap();
    }

    /// Reads what there is within this time; false if there is nothing.
    fn read(&mut self, within: Duration) -> bool {
        let end: BorrowedFd<'_> = self.end.as_fd();
        let mut ready = [PollFd::new(end, PollFlags::POLLIN)];
        if poll(&mut ready, u16::try_from(within.as_millis()).unwrap()).unwrap() == 0 {
            return false;
        }
        let mut buffer = [0; 4096];
        let Ok(read) = self.end.read(&mut buffer) else { return false };
        self.sent += &String::from_utf8_lossy(&buffer[..read]);
        read > 0
    }

    /// Waits until the program has sent the text after what was waited for before.
    #[track_caller]
    fn expect(&mut self, text: &str) {
        let begun = Instant::now();
        loop {
            if let Some(at) = self.sent.find(text) {
                self.sent.drain(..at + text.len());
                return;
            }
            assert!(begun.elapsed() < PATIENCE, "{text:?} does not come: {:?}", self.sent);
            self.read(Duration::from_millis(100));
        }
    }

    /// The exit code of the program.
    fn ends(mut self) -> i32 {
        while self.read(Duration::from_secs(30)) {}
        self.child.wait().unwrap().code().unwrap()
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // Of a test that failed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn words_are_completed_and_statements_continue() {
    let server = Server::start("terminal");
    let mut terminal = Terminal::start(&server, &[]);
    terminal.expect("sql> ");
    // A line that ends no statement goes on.
    terminal.types("sel\t count(*) AS n from ev\t\r");
    terminal.expect("events");
    terminal.types("where \"user_id\" = 'alice';\r");
    terminal.expect("12");
    terminal.expect("note:");
    terminal.expect("1 row in");
    terminal.expect("sql> ");
    terminal.types("\\d ev\t\r");
    terminal.expect("field 1 of the key");
    terminal.expect("sql> ");
    terminal.types("SELECT gone;\r");
    terminal.expect("error:");
    terminal.expect("sql> ");
    terminal.types("SELECT note FROM events WHERE note IS NOT NULL;\r");
    terminal.expect("twice\\x1b[31m\\u{202e}");
    terminal.expect("sql> ");
    terminal.types("\\?\r");
    terminal.expect("EXPLAIN ANALYZE");
    terminal.expect("sql> ");
    terminal.types("\\q\r");
    assert_eq!(terminal.ends(), 0);
    let history = fs::read_to_string(server.path("state/keyderive/sql-history")).unwrap();
    assert!(history.contains("select count(*) AS n from events"), "{history}");

    // The next session has it, and ends at Ctrl-D.
    let mut terminal = Terminal::start(&server, &[]);
    terminal.expect("sql> ");
    terminal.types("\u{1b}[A\u{1b}[A\r");
    terminal.expect("EXPLAIN ANALYZE");
    terminal.expect("sql> ");
    terminal.types("\u{4}");
    assert_eq!(terminal.ends(), 0);
}

#[test]
fn ctrl_c_cancels_a_query_and_not_the_shell() {
    let server = Server::start("cancelled");
    let mut terminal = Terminal::start(&server, &[]);
    terminal.expect("sql> ");
    terminal.types("SELECT sum(value) FROM generate_series(1, 100000000000000);\r");
    // The progress says that it runs.
    terminal.expect("0 rows read");
    kill(Pid::from_raw(terminal.child.id().cast_signed()), Signal::SIGINT).unwrap();
    terminal.expect("cancelled");
    terminal.expect("sql> ");
    // Also while rows are printed that have come already.
    terminal.types("SELECT * FROM generate_series(1, 1000000000);\r");
    terminal.expect("20000\r\n");
    kill(Pid::from_raw(terminal.child.id().cast_signed()), Signal::SIGINT).unwrap();
    terminal.expect("cancelled");
    terminal.expect("sql> ");
    // On the prompt it clears the line.
    terminal.types("SELECT x\u{3}");
    terminal.expect("sql> ");
    terminal.types("SELECT 40 + 2;\r");
    terminal.expect("42");
    terminal.types("\\q\r");
    assert_eq!(terminal.ends(), 0);
}

#[test]
fn an_import_asks() {
    let server = Server::start("asked");
    server.prints(&["-c", "COPY (SELECT * FROM events WHERE user_id = 'alice') TO 'alice.parquet'"]);
    for (answer, wrote) in [("n", "nothing was changed"), ("y", "wrote 12 rows of `events`")] {
        let mut terminal = Terminal::start(&server, &["import", "events", "alice.parquet"]);
        terminal.expect("would write 12 rows of `events`");
        terminal.expect("Write them? [y/N]");
        terminal.types(&format!("{answer}\n"));
        terminal.expect(wrote);
        assert_eq!(terminal.ends(), 0);
    }
}
