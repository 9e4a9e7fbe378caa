//! The command, run as a process.

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Child, ChildStderr, ChildStdout, Command, Stdio};

/// A running `keyderive serve` on a free port. Dropping this ends it, even if a test panics.
#[derive(Debug)]
pub(crate) struct Served {
    process: Child,
    host: String,
    /// Kept open, so that the command can write to it.
    stdout: BufReader<ChildStdout>,
}

/// The command with these arguments.
pub(crate) fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_keyderive"));
    command.arg("serve").args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

impl Served {
    pub(crate) fn start() -> Self {
        Self::with(&[])
    }

    /// Starts it with further arguments.
    pub(crate) fn with(arguments: &[&str]) -> Self {
        Self::of(&mut command(arguments))
    }

    /// Like [`with`](Self::with), in a process with a limit of descriptors.
    #[cfg(target_os = "linux")]
    pub(crate) fn limited_to(descriptors: usize, arguments: &[&str]) -> Self {
        let mut limited = Command::new("sh");
        limited.arg("-c").arg(format!("ulimit -n {descriptors} && exec \"$0\" \"$@\""));
        limited.arg(env!("CARGO_BIN_EXE_keyderive")).arg("serve").args(arguments);
        limited.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        Self::of(&mut limited)
    }

    fn of(command: &mut Command) -> Self {
        let mut process = command.args(["--port", "0"]).spawn().unwrap();
        let mut stdout = BufReader::new(process.stdout.take().unwrap());
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        let host = line.trim_end().strip_prefix("export BIGTABLE_EMULATOR_HOST=").map(str::to_owned);
        let Some(host) = host else { panic!("the command printed `{line}`") };
        Self { process, host, stdout }
    }

    /// Its address, in the form of the variable `BIGTABLE_EMULATOR_HOST`.
    pub(crate) fn host(&self) -> &str {
        &self.host
    }

    /// Its peak memory, if the system reports it.
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

    /// The processor time it has used.
    #[cfg(target_os = "linux")]
    pub(crate) fn processor_time(&self) -> std::time::Duration {
        let id = self.process.id().to_string();
        let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap();
        // After the name in parentheses: the user and system times, in hundredths of a second.
        let (_, fields) = stat.rsplit_once(')').unwrap();
        let times = fields.split_whitespace().skip(11).take(2).map(|time| time.parse::<u64>().unwrap());
        std::time::Duration::from_millis(times.sum::<u64>() * 10)
    }

    /// Asks it to end.
    #[cfg(unix)]
    pub(crate) fn signal(&self) {
        let id = self.process.id().to_string();
        assert!(Command::new("kill").args(["-s", "TERM", &id]).status().unwrap().success());
    }

    /// Its exit status, if it has ended.
    pub(crate) fn ended(&mut self) -> Option<std::process::ExitStatus> {
        self.process.try_wait().unwrap()
    }

    /// Asks it to end, and waits for that.
    #[cfg(unix)]
    pub(crate) fn terminate(&mut self) -> std::process::ExitStatus {
        self.signal();
        self.process.wait().unwrap()
    }

    /// Ends it, and returns its standard error.
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
        // Neither can fail for a child process that was not waited for.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
