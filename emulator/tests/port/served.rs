//! The command, run as a process.

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Child, ChildStderr, ChildStdout, Command, Stdio};

/// A running `keyderive-emulator` on a free port. It ends with this value, also where a test panics.
#[derive(Debug)]
pub(crate) struct Served {
    process: Child,
    host: String,
    /// Kept open, so that the command can write to it.
    stdout: BufReader<ChildStdout>,
}

/// The command with these arguments.
pub(crate) fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_keyderive-emulator"));
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

impl Served {
    pub(crate) fn start() -> Self {
        Self::with(&[])
    }

    /// Starts it with these arguments besides the port's.
    pub(crate) fn with(arguments: &[&str]) -> Self {
        let mut process = command(arguments).args(["--port", "0"]).spawn().unwrap();
        let mut stdout = BufReader::new(process.stdout.take().unwrap());
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        let host = line.trim_end().strip_prefix("export BIGTABLE_EMULATOR_HOST=").map(str::to_owned);
        let Some(host) = host else { panic!("the command printed `{line}`") };
        Self { process, host, stdout }
    }

    /// Its address, as the variable `BIGTABLE_EMULATOR_HOST` has it.
    pub(crate) fn host(&self) -> &str {
        &self.host
    }

    /// The most memory that it has had at a time, where the system tells.
    pub(crate) fn most_bytes(&self) -> Option<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.process.id())).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
        line.trim().strip_suffix(" kB")?.parse().ok().map(|kilobytes: u64| kilobytes << 10)
    }

    /// The next line that it prints.
    pub(crate) fn line(&mut self) -> String {
        let mut line = String::new();
        self.stdout.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    /// Asks it to end, and waits until it has.
    #[cfg(unix)]
    pub(crate) fn terminate(&mut self) -> std::process::ExitStatus {
        let id = self.process.id().to_string();
        assert!(Command::new("kill").args(["-s", "TERM", &id]).status().unwrap().success());
        self.process.wait().unwrap()
    }

    /// Ends it, and returns what it has written to the standard error.
    pub(crate) fn end(mut self) -> String {
        let stderr = self.process.stderr.take();
        self.process.kill().unwrap();
        stderr.map(text).unwrap_or_default()
    }
}

fn text(mut stderr: ChildStderr) -> String {
    let mut text = String::new();
    stderr.read_to_string(&mut text).unwrap();
    text
}

impl Drop for Served {
    fn drop(&mut self) {
        // Neither can fail for a process that is this one's child and was not waited for.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
