//! A Bigtable on a port, and the program in a folder of its own.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use std::{env, fs, thread};

use keyderive::embedded::Bigtable;
use keyderive::layouts::Layouts;
use keyderive::{Client, Row, RowKey};
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio::sync::oneshot;

#[derive(RowKey, Clone, Debug)]
#[salt(range = 4, over = "user_id")]
pub(crate) struct EventKey {
    user_id: String,
    site: String,
    #[reverse_ts]
    at: SystemTime,
}

#[derive(Row, Clone, Debug)]
pub(crate) struct Event {
    kind: String,
    amount: Option<f64>,
    note: Option<String>,
}

/// The text of the layout file.
pub(crate) fn layouts() -> String {
    Layouts::new().table::<EventKey, Event>("events").to_json()
}

/// 2026-11-24.
const FIRST_DAY: u64 = 1_795_478_400;

async fn create(client: &Client) {
    let events = client.table::<EventKey, Event>("events");
    events.create().await.unwrap();
    for user in ["alice", "bob", "carol"] {
        for (site, hours) in [("home", 0..6), ("work", 3..9)] {
            for hour in hours {
                let kind = ["login", "view", "buy"][(hour % 3) as usize];
                let event = Event {
                    kind: kind.into(),
                    amount: (kind == "buy").then_some(9.5 + hour as f64),
                    note: (user == "bob" && hour == 4).then(|| "twice\u{1b}[31m\u{202e}".into()),
                };
                let at = UNIX_EPOCH + Duration::from_secs(FIRST_DAY + hour * 8 * 3600);
                events.put(&EventKey { user_id: user.into(), site: site.into(), at }, &event).await.unwrap();
            }
        }
    }
}

/// A Bigtable with the events, which is served until this is dropped, and a folder in which the program runs.
pub(crate) struct Server {
    runtime: Option<Runtime>,
    stop: Option<oneshot::Sender<()>>,
    pub(crate) client: Client,
    address: String,
    folder: PathBuf,
}

impl Server {
    pub(crate) fn start(name: &str) -> Self {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        if folder.exists() {
            fs::remove_dir_all(&folder).unwrap();
        }
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("layouts.json"), layouts()).unwrap();
        let (runtime, bigtable) = (Runtime::new().unwrap(), Bigtable::in_memory());
        let client = runtime.block_on(async { bigtable.client() });
        runtime.block_on(create(&client));
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let (stop, stopped) = oneshot::channel::<()>();
        runtime.spawn(async move {
            let stopped = async { _ = stopped.await };
            bigtable.serve(listener, stopped).await.unwrap();
        });
        Self { runtime: Some(runtime), stop: Some(stop), client, address, folder }
    }

    /// Runs a future beside the server.
    pub(crate) fn wait<F: IntoFuture>(&self, future: F) -> F::Output {
        self.runtime.as_ref().unwrap().block_on(async { future.await })
    }

    pub(crate) fn address(&self) -> String {
        format!("emulator://{}/keyderive/local", self.address)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    pub(crate) fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        fs::write(self.path(name), text).unwrap();
    }

    pub(crate) fn command(&self, program: &str) -> Command {
        let binary = Path::new(env!("CARGO_BIN_EXE_keyderive-sql"));
        let others = env::var_os("PATH").unwrap_or_default();
        let path = [binary.parent().unwrap().to_owned()].into_iter().chain(env::split_paths(&others));
        let mut command = Command::new(program);
        command.current_dir(&self.folder).env("PATH", env::join_paths(path).unwrap());
        for name in ["KEYDERIVE_ADDRESS", "GOOGLE_CLOUD_PROJECT", "BIGTABLE_INSTANCE"] {
            command.env_remove(name);
        }
        command.env("BIGTABLE_EMULATOR_HOST", &self.address).env("XDG_STATE_HOME", self.path("state"));
        command
    }

    /// Runs a line of a shell; returns all that it prints, and its exit code.
    pub(crate) fn shell(&self, line: &str) -> (String, i32) {
        let mut command = self.command("sh");
        let output =
            command.args(["-c", &format!("exec 2>&1; {line}")]).stdin(Stdio::null()).output().unwrap();
        (String::from_utf8(output.stdout).unwrap(), output.status.code().unwrap())
    }

    /// Runs the program with input.
    pub(crate) fn run(&self, arguments: &[&str], input: &[u8]) -> Output {
        let mut command = self.command(env!("CARGO_BIN_EXE_keyderive-sql"));
        let command = command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        thread::scope(|scope| {
            scope.spawn(move || {
                // The program may end before it has read all.
                let _ = stdin.write_all(input);
            });
            child.wait_with_output().unwrap()
        })
    }

    /// Runs the program; returns what it prints on standard output, and asserts that it is done.
    #[track_caller]
    pub(crate) fn prints(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments, b"");
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{arguments:?}: {:?}: {error}", output.status);
        String::from_utf8(output.stdout).unwrap()
    }

    /// Runs the program; asserts its exit code, and that it says this on standard error.
    #[track_caller]
    pub(crate) fn fails(&self, arguments: &[&str], code: i32, says: &str) {
        let output = self.run(arguments, b"");
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(
            output.status.code() == Some(code) && error.contains(says),
            "{arguments:?}: {:?}: {error}",
            output.status
        );
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_timeout(Duration::from_secs(10));
        }
    }
}
