//! The program in a folder of its own, beside a Bigtable on a port.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;
use std::{env, fs};

use keyderive::embedded::Bigtable;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;

use crate::tables;

/// The address of a Bigtable with the tables, which is served until the tests end.
fn address() -> &'static str {
    static ADDRESS: OnceLock<String> = OnceLock::new();
    ADDRESS.get_or_init(|| {
        let runtime = Runtime::new().unwrap();
        let bigtable = Bigtable::in_memory();
        let listener = runtime.block_on(async {
            tables::create(&bigtable.client()).await.unwrap();
            TcpListener::bind("127.0.0.1:0").await.unwrap()
        });
        let address = listener.local_addr().unwrap().to_string();
        std::thread::spawn(move || {
            runtime.block_on(bigtable.serve(listener, std::future::pending())).unwrap();
        });
        address
    })
}

/// A folder with `layouts.json`, in which the program runs.
pub(crate) struct Folder {
    path: PathBuf,
    /// The variable of the environment that names its Bigtable.
    bigtable: (&'static str, String),
}

impl Folder {
    /// Beside the Bigtable that the tests share.
    pub(crate) fn new(name: &str) -> Self {
        Self::beside(name, ("BIGTABLE_EMULATOR_HOST", address().to_owned()))
    }

    /// Beside the Bigtable that this variable of the environment names.
    pub(crate) fn beside(name: &str, bigtable: (&'static str, String)) -> Self {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        if folder.exists() {
            fs::remove_dir_all(&folder).unwrap();
        }
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("layouts.json"), tables::layouts()).unwrap();
        Self { path: folder, bigtable }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    fn command(&self, program: &str) -> Command {
        let binary = Path::new(env!("CARGO_BIN_EXE_keyderive"));
        let others = env::var_os("PATH").unwrap_or_default();
        let path = [binary.parent().unwrap().to_owned()].into_iter().chain(env::split_paths(&others));
        let mut command = Command::new(program);
        command.current_dir(&self.path).env("PATH", env::join_paths(path).unwrap());
        for name in
            ["BIGTABLE_EMULATOR_HOST", "KEYDERIVE_ADDRESS", "GOOGLE_CLOUD_PROJECT", "BIGTABLE_INSTANCE"]
        {
            command.env_remove(name);
        }
        let (name, value) = &self.bigtable;
        command.env(name, value);
        command
    }

    /// Runs a line of a shell; returns all that it prints, and its exit code.
    pub(crate) fn shell(&self, line: &str) -> (String, i32) {
        let output = self
            .command("sh")
            .args(["-c", &format!("exec 2>&1; {line}")])
            .stdin(Stdio::null())
            .output()
            .unwrap();
        (String::from_utf8(output.stdout).unwrap(), output.status.code().unwrap())
    }

    /// Runs the program with input.
    pub(crate) fn run<A: AsRef<std::ffi::OsStr>>(&self, arguments: &[A], input: &[u8]) -> Output {
        let mut child = self
            .command(env!("CARGO_BIN_EXE_keyderive"))
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        std::thread::scope(|scope| {
            scope.spawn(move || {
                // The program may end before it has read all.
                let _ = stdin.write_all(input);
            });
            child.wait_with_output().unwrap()
        })
    }
}
