//! A Bigtable on a port that the tests share, and the program in a folder of its own.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::OnceLock;
use std::thread::sleep;
use std::time::{Duration, Instant};
use std::{env, fs};

use futures_util::TryStreamExt as _;
use keyderive::client::{RawTable, ReadRows};
use keyderive::embedded::Bigtable;
use keyderive::key::TableKey;
use keyderive::layouts::Layouts;
use keyderive::row::RawRow;
use keyderive::{Client, Row, RowKey, Table};
use tokio::net::TcpListener;
use tokio::runtime::Runtime;

struct Server {
    runtime: Runtime,
    client: Client,
    address: String,
}

fn server() -> &'static Server {
    static SERVER: OnceLock<Server> = OnceLock::new();
    SERVER.get_or_init(|| {
        let (runtime, bigtable) = (Runtime::new().unwrap(), Bigtable::in_memory());
        let client = runtime.block_on(async { bigtable.client() });
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let address = listener.local_addr().unwrap().to_string();
        runtime.spawn(async move { bigtable.serve(listener, std::future::pending()).await.unwrap() });
        Server { runtime, client, address }
    })
}

/// The address of the Bigtable, with a project and an instance.
pub(crate) fn address() -> String {
    format!("emulator://{}/keyderive/local", server().address)
}

/// Runs a future beside the server.
pub(crate) fn wait<F: IntoFuture>(future: F) -> F::Output {
    server().runtime.block_on(async { future.await })
}

/// New tables of one type; the program knows their layout in the folder.
pub(crate) fn tables<K, R>(folder: &Folder, names: &[&str]) -> Vec<Table<K, R>>
where
    K: RowKey + TableKey,
    R: Row + 'static,
{
    let layouts = names.iter().fold(Layouts::new(), |layouts, name| layouts.table::<K, R>(name));
    folder.write("layouts.json", layouts.to_json());
    names.iter().map(|name| created(name)).collect()
}

/// A new table.
pub(crate) fn created<K: RowKey + TableKey, R: Row + 'static>(name: &str) -> Table<K, R> {
    let table = server().client.table::<K, R>(name);
    wait(table.create()).unwrap();
    table
}

/// A client of the Bigtable.
pub(crate) fn client() -> Client {
    server().client.clone()
}

pub(crate) fn table<K: RowKey + TableKey, R: Row + 'static>(folder: &Folder, name: &str) -> Table<K, R> {
    tables(folder, &[name]).remove(0)
}

pub(crate) fn raw(name: &str) -> RawTable {
    server().client.raw_table(name)
}

/// All rows of a table, as they are stored.
pub(crate) fn stored(name: &str) -> Vec<RawRow> {
    wait(raw(name).read_rows(ReadRows::all()).try_collect()).unwrap()
}

/// A folder in which the program runs.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new(name: &str) -> Self {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("changes").join(name);
        if folder.exists() {
            fs::remove_dir_all(&folder).unwrap();
        }
        fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    pub(crate) fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        fs::write(self.path(name), text).unwrap();
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_keyderive"));
        command.current_dir(&self.0).args(arguments);
        for name in ["KEYDERIVE_ADDRESS", "GOOGLE_CLOUD_PROJECT", "BIGTABLE_INSTANCE"] {
            command.env_remove(name);
        }
        command.env("BIGTABLE_EMULATOR_HOST", &server().address);
        command
    }

    pub(crate) fn spawn(&self, arguments: &[&str]) -> Child {
        let mut command = self.command(arguments);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    /// Runs the program with input.
    pub(crate) fn run_with(&self, arguments: &[&str], input: &[u8]) -> Ended {
        let mut child = self.spawn(arguments);
        let mut stdin = child.stdin.take().unwrap();
        let output = std::thread::scope(|scope| {
            scope.spawn(move || {
                // The program may end before it has read all.
                let _ = stdin.write_all(input);
            });
            child.wait_with_output().unwrap()
        });
        Ended::new(output, arguments)
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Ended {
        self.run_with(arguments, b"")
    }

    /// Runs the program again and again, and kills it ever later, `times` times; then it runs to its end.
    pub(crate) fn run_killed(&self, arguments: &[&str], times: u32) -> Ended {
        let mut killed = 0;
        for at in 0..times {
            let mut child = self.spawn(arguments);
            let until = Instant::now() + Duration::from_millis(60) + Duration::from_millis(40) * at;
            while Instant::now() < until && child.try_wait().unwrap().is_none() {
                sleep(Duration::from_millis(2));
            }
            killed += u32::from(child.try_wait().unwrap().is_none());
            child.kill().unwrap();
            child.wait().unwrap();
        }
        println!("{killed} of {times} runs were killed");
        self.run(arguments)
    }
}

/// What a program that has ended printed, and its exit code.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) out: String,
    pub(crate) error: String,
    pub(crate) code: i32,
}

impl Ended {
    /// Nothing that a terminal obeys is printed, and nothing panics.
    #[track_caller]
    pub(crate) fn new(output: Output, arguments: &[&str]) -> Self {
        let out = String::from_utf8(output.stdout).unwrap();
        let error = String::from_utf8(output.stderr).unwrap();
        let code = output.status.code().unwrap();
        assert!((0..=4).contains(&code) && !error.contains("panicked"), "{arguments:?}: {code}: {error}");
        let obeyed =
            |char: char| char.is_control() && char != '\n' || ('\u{202a}'..='\u{202e}').contains(&char);
        assert!(!error.contains(obeyed), "{arguments:?}: {error:?}");
        Self { out, error, code }
    }

    /// It has ended with this exit code; returns what it printed.
    #[track_caller]
    pub(crate) fn expect(self, code: i32) -> Self {
        assert_eq!(self.code, code, "{self:#?}");
        self
    }

    /// Its standard error has this text.
    #[track_caller]
    pub(crate) fn says(&self, text: &str) -> &Self {
        assert!(self.error.contains(text), "{}", self.error);
        self
    }

    /// Its standard output has this text.
    #[track_caller]
    pub(crate) fn prints(&self, text: &str) -> &Self {
        assert!(self.out.contains(text), "{}", self.out);
        self
    }

    /// Its standard output begins with this text.
    #[track_caller]
    pub(crate) fn begins(&self, text: &str) -> &Self {
        assert!(self.out.starts_with(text), "{}", self.out);
        self
    }
}
