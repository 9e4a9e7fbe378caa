//! The output of the command.

use keyderive::Client;
use keyderive_tests::fixtures::{UserKey, created};

use crate::served::{Served, command};

type User = std::collections::BTreeMap<String, u64>;

#[test]
fn help_goes_to_standard_output() {
    let output = command(&["--help"]).output().unwrap();
    let help = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success() && output.stderr.is_empty());
    for option in ["--port <PORT>", "--log", "--help", "`keyderive` and `local`", "SIGTERM"] {
        assert!(help.contains(option), "{help}");
    }
}

#[test]
fn errors_are_printed_and_end_it() {
    let taken = Served::start();
    let (_, port) = taken.host().rsplit_once(':').unwrap();
    for (arguments, message) in [
        (&["--prot"][..], "error: unexpected argument '--prot' found".to_owned()),
        (&["--port", "abc"], "error: invalid value 'abc' for '--port <PORT>': ".to_owned()),
        (&["--port", port], format!("error: cannot listen on port {port} of 127.0.0.1: ")),
    ] {
        let output = command(arguments).output().unwrap();
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success() && output.stdout.is_empty());
        assert!(error.starts_with(&message), "{error}");
    }
}

async fn use_it(host: &str) {
    let users = created::<UserKey, User>(&Client::emulator(host).await.unwrap(), "users").await;
    users.put(&UserKey { id: 7 }, &User::from([("visits".to_owned(), 1)])).await.unwrap();
    assert_eq!(users.get(&UserKey { id: 7 }).await.unwrap().unwrap()["visits"], 1);
}

#[tokio::test]
async fn requests_are_logged_with_the_option() {
    let (logging, silent) = (Served::with(&["--log"]), Served::start());
    use_it(logging.host()).await;
    use_it(silent.host()).await;
    let log = logging.end();
    for method in ["CreateTable", "MutateRow", "ReadRows"] {
        assert!(log.contains(&format!("method=\"{method}\"")), "{log}");
    }
    assert!(log.contains("method=\"MutateRow\" table=\"users\""), "{log}");
    assert_eq!(silent.end(), "");
}

#[tokio::test]
async fn an_answer_that_fails_is_logged_with_its_code_and_its_message() {
    let served = Served::with(&["--log"]);
    let users = Client::emulator(served.host()).await.unwrap().raw_table("absent");
    users.info().await.unwrap_err();
    let log = served.end();
    assert!(
        log.contains("method=\"GetTable\" table=\"absent\"") && log.contains("code=\"NOT_FOUND\""),
        "{log}"
    );
    assert!(log.contains("does not exist"), "{log}");
}

#[test]
fn it_prints_how_to_call_cbt() {
    let mut served = Served::start();
    assert_eq!(served.line(), "# cbt -project keyderive -instance local ls");
}

/// Service managers and containers send SIGTERM: open requests are answered, and the process succeeds.
#[test]
#[cfg(unix)]
fn it_ends_well_when_it_is_asked_to() {
    let mut served = Served::start();
    served.line();
    assert!(served.terminate().success());
}
