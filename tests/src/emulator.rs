//! Google's Bigtable emulator, a process for each test that needs one.

use std::env;
use std::ffi::OsString;
use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::Duration;

/// Names the binary; takes precedence over every other place.
const BINARY: &str = "CBTEMULATOR";
/// Set to fail the tests that need an emulator, instead of skipping them.
const REQUIRED: &str = "KEYDERIVE_REQUIRE_EMULATOR";

/// Where the gcloud SDK installs its component `bigtable`.
const IN_SDK: &str = "platform/bigtable-emulator/cbtemulator";
/// Where packages and images install the SDK.
const SDKS: [&str; 3] = ["/usr/lib/google-cloud-sdk", "/usr/share/google-cloud-sdk", "/opt/google-cloud-sdk"];

/// The emulator starts within milliseconds, unless the machine is very busy.
const START_TIMEOUT: Duration = Duration::from_secs(30);

/// A running emulator without tables. It ends when dropped, also by a panic.
#[derive(Debug)]
pub struct Emulator {
    process: Child,
    address: SocketAddr,
}

impl Emulator {
    /// Starts an emulator on a free port of the loopback interface. Without an installed emulator, says on stderr that tests
    /// are left out and returns `None`.
    ///
    /// The binary is the one that the variable `CBTEMULATOR` names, else `cbtemulator` on the `PATH`, else the one of
    /// the gcloud SDK. If the variable is empty, there is none.
    ///
    /// # Panics
    ///
    /// When none is installed and `KEYDERIVE_REQUIRE_EMULATOR` is set, or when the emulator does not start. On another thread than that
    /// of a test whose path has the word `emulator`: by it, CI finds what it runs once more, with an emulator.
    #[must_use]
    pub fn start() -> Option<Self> {
        // One test after the other runs on the thread `main`; a thread of a test's own has another name, or none.
        let thread = thread::current();
        let test = thread.name().unwrap_or_default();
        assert!(
            test == "main" || test.contains("emulator"),
            "`{test}` starts an emulator, and its name does not say so: name the test so, and start the emulator on its thread"
        );
        if let Some(binary) = find(|name| env::var_os(name)) {
            return Some(
                Self::run(&binary)
                    .unwrap_or_else(|reason| panic!("`{}` is no emulator: {reason}", binary.display())),
            );
        }
        let missing = format!(
            "there is no Bigtable emulator; install it with `gcloud components install bigtable`, or name a \
             `cbtemulator` by the variable `{BINARY}`"
        );
        assert!(
            env::var_os(REQUIRED).is_none_or(|value| value.is_empty()),
            "`{REQUIRED}` is set, and {missing}"
        );
        crate::left_out(&format!("all tests on Google's emulator, since {missing}"));
        None
    }

    /// Its address, in the form of the variable `BIGTABLE_EMULATOR_HOST`.
    #[must_use]
    pub fn host(&self) -> String {
        self.address.to_string()
    }

    /// Its process id.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.process.id()
    }

    fn run(binary: &PathBuf) -> Result<Self, String> {
        // The system chooses the port, so that no other process can take it.
        let mut process = Command::new(binary)
            .args(["-host", "127.0.0.1", "-port", "0"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| format!("it does not start: {error}"))?;
        let lines = process.stdout.take().map(lines);
        // From here on, `drop` ends the process.
        let mut emulator = Self { process, address: SocketAddr::from(([127, 0, 0, 1], 0)) };
        emulator.address = lines
            .and_then(|lines| announced(&lines))
            .ok_or_else(|| format!("it did not say within {START_TIMEOUT:?} at which address it listens"))?;
        Ok(emulator)
    }
}

impl Drop for Emulator {
    fn drop(&mut self) {
        // Neither can fail for a child process that nobody has waited for.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The emulator's output, read to its end because the emulator exits when its pipe closes.
fn lines(stdout: ChildStdout) -> Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        for line in BufReader::new(stdout).lines().map_while(Result::ok) {
            // Only the first lines have a receiver.
            let _ = sender.send(line);
        }
    });
    receiver
}

/// Parses the address in `Cloud Bigtable emulator running on 127.0.0.1:39107`, printed when the emulator listens.
fn announced(lines: &Receiver<String>) -> Option<SocketAddr> {
    let listens = |line: String| line.rsplit_once(" running on ")?.1.trim().parse().ok();
    std::iter::from_fn(|| lines.recv_timeout(START_TIMEOUT).ok()).find_map(listens)
}

fn find(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    if let Some(named) = variable(BINARY) {
        return Some(PathBuf::from(named)).filter(|path| !path.as_os_str().is_empty());
    }
    let path = variable("PATH").unwrap_or_default();
    let on_path = |name| env::split_paths(&path).map(|folder| folder.join(name)).find(|file| file.is_file());
    on_path("cbtemulator").or_else(|| {
        // `gcloud` on the path is often a link to `bin/gcloud` of the SDK.
        let of_gcloud = on_path("gcloud")
            .and_then(|gcloud| gcloud.canonicalize().ok()?.parent()?.parent().map(PathBuf::from));
        let at_home = variable("HOME").map(|home| PathBuf::from(home).join("google-cloud-sdk"));
        [variable("CLOUDSDK_ROOT_DIR").map(PathBuf::from), of_gcloud]
            .into_iter()
            .chain(SDKS.map(|sdk| Some(sdk.into())))
            .chain([at_home])
            .flatten()
            .map(|sdk| sdk.join(IN_SDK))
            .find(|file| file.is_file())
    })
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;
    use crate::Folder;

    fn with(name: &str, files: &[&str]) -> Folder {
        let folder = Folder::new(name);
        for file in files {
            let file = folder.join(file);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, "").unwrap();
        }
        folder
    }

    fn found(variables: &[(&str, &Path)]) -> Option<PathBuf> {
        find(|name| Some(variables.iter().find(|(set, _)| *set == name)?.1.into()))
    }

    #[test]
    fn the_variable_comes_before_the_path() {
        let folder = with("path", &["bin/cbtemulator"]);
        let bin = folder.join("bin");
        assert_eq!(found(&[("PATH", &bin)]), Some(bin.join("cbtemulator")));
        let named = Path::new("elsewhere/cbtemulator");
        assert_eq!(found(&[("PATH", &bin), (BINARY, named)]), Some(named.into()));
    }

    #[test]
    #[cfg(unix)]
    fn the_sdk_is_found_by_its_variable_or_by_a_link_to_gcloud() {
        let folder = with("sdk", &["sdk/bin/gcloud", &format!("sdk/{IN_SDK}"), "bin/other"]);
        std::os::unix::fs::symlink(folder.join("sdk/bin/gcloud"), folder.join("bin/gcloud")).unwrap();
        let emulator = Some(folder.join("sdk").join(IN_SDK));
        assert_eq!(found(&[("PATH", &folder.join("bin"))]), emulator);
        assert_eq!(found(&[("CLOUDSDK_ROOT_DIR", &folder.join("sdk"))]), emulator);
    }

    #[test]
    #[cfg(unix)]
    fn what_does_not_listen_is_an_error() {
        let reason = Emulator::run(&"/bin/echo".into()).unwrap_err();
        assert!(reason.contains("at which address it listens"), "{reason}");
        let reason = Emulator::run(&"no/such/binary".into()).unwrap_err();
        assert!(reason.contains("does not start"), "{reason}");
    }

    #[test]
    fn an_emulator_ends_when_dropped() {
        let Some(emulator) = Emulator::start() else { return };
        let address = emulator.address;
        assert!(std::net::TcpStream::connect(address).is_ok());
        drop(emulator);
        assert!(std::net::TcpStream::connect(address).is_err());
    }
}
