//! What errors show of keys and values, and their redacted form.

use std::collections::BTreeMap;

use futures_util::TryStreamExt as _;
use keyderive::client::ReadRows;
use keyderive::table::put_both;
use keyderive::{Client, Error, Row, RowKey};
use keyderive_scripted::{Answer, Failure, Mock, Rpc, cell};
use keyderive_tests::fixtures::fails;
use tonic::Code;

use crate::support::{client, set, table};

#[derive(Clone, Debug, RowKey)]
struct Key {
    #[pad(4)]
    user: u32,
    name: String,
}

fn key() -> Key {
    Key { user: 12, name: "secret".to_owned() }
}

#[derive(Debug, Row)]
struct User {
    age: i64,
    note: String,
    #[row(counter)]
    visits: i64,
}

fn user() -> User {
    User { age: 4, note: "secret".to_owned(), visits: 1 }
}

/// A server whose message names a row.
fn telling() -> Mock {
    Mock::new().by(|_| Answer::failure(Failure::new(Code::FailedPrecondition, "row 0012#secret is locked")))
}

/// An error of each kind that can hold a key, a value or a server's message.
async fn errors() -> Vec<Error> {
    let told = client(&telling());
    let users = told.table::<Key, User>("users");
    let mut errors = vec![
        users.get(&key()).await.err().unwrap(),
        users.put(&key(), &user()).await.unwrap_err(),
        users.put_all([(key(), user())]).await.unwrap_err(),
        users.increment(&key(), User::VISITS, 1).await.unwrap_err(),
        users.scan(Key::scan()).collect().await.err().unwrap(),
        // A field that cannot hold its value: in a write, a list and a plan.
        users.put(&Key { user: 12, name: "secret#".to_owned() }, &user()).await.unwrap_err(),
        users.put_all([(Key { user: 12, name: "secret#".to_owned() }, user())]).await.unwrap_err(),
        users.scan(Key::scan().user(12).name("secret#")).collect().await.err().unwrap(),
        Key { user: 12, name: "secret#".to_owned() }.encode().unwrap_err().into(),
        Key::decode(b"0012#secret#").unwrap_err().into(),
        Key::decode(b"secret").unwrap_err().into(),
        told.raw_table("users").mutate_row("secret".repeat(1000), set()).await.unwrap_err(),
    ];
    let writer = users.writer();
    writer.put(&key(), &user()).await.unwrap();
    let failed = writer.close().await.unwrap_err();
    assert!(failed.to_string().contains("secret") && !failed.redacted().to_string().contains("secret"));
    let both = put_both((&users, &key(), &user()), (&users, &key(), &user())).await.unwrap_err();
    assert!(both.to_string().contains("secret") && !both.redacted().to_string().contains("secret"));
    told.close().await;
    errors.push(users.put(&key(), &user()).await.unwrap_err());
    // Rows that do not match their type.
    for chunk in [
        cell("secret").family("cf").qualifier("age"),
        cell("0012#secret").family("cf").qualifier("age").value("secret"),
        cell("0012#secret").family("cf").qualifier("note").value("secret"),
    ] {
        let mock = Mock::new().on(Rpc::ReadRows, Answer::chunks([chunk.commit()]));
        let users = client(&mock).table::<Key, User>("users").unchecked();
        errors.push(users.scan(Key::scan()).collect().await.err().unwrap());
    }
    // An answer that breaks the protocol, and a scan that fails after a row.
    let mock = Mock::new()
        .on(Rpc::ReadRows, Answer::chunks([cell("secret")]))
        .by(|_| Answer::rows(["secret"]).fail(Code::PermissionDenied));
    let table = table(&mock);
    for _ in 0..2 {
        errors.push(table.read_rows(ReadRows::all()).try_collect::<Vec<_>>().await.err().unwrap());
    }
    errors
}

#[tokio::test(start_paused = true)]
async fn the_redacted_form_has_no_keys_values_or_words_of_others() {
    for error in errors().await {
        let (text, redacted) = (error.to_string(), error.redacted().to_string());
        assert!(text.contains("secret"), "{text}");
        assert!(!redacted.contains("secret") && !redacted.contains("0012"), "{redacted}");
        let names = ["`users`", "`events`", "`Key`"];
        assert!(names.iter().any(|name| redacted.contains(name)), "{redacted}");
        assert!(redacted.len() > 20, "{redacted}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_text_names_a_plain_key_once() {
    for error in errors().await {
        let text = error.to_string();
        assert!(!text.contains("hex"), "{text}");
        let words = text
            .split_once("row 0012#secret is locked")
            .map_or(text.clone(), |(one, other)| format!("{one}{other}"));
        assert!(words.matches("0012#secret").count() <= 1, "{text}");
    }
    let both = {
        let users = client(&telling()).table::<Key, User>("users");
        let other = Key { user: 13, ..key() };
        put_both((&users, &key(), &user()), (&users, &other, &user())).await.unwrap_err()
    };
    assert_eq!(
        both.to_string(),
        "row `0012#secret` of table `users` was not written, and row `0013#secret` of table `users` was not written: \
         MutateRow on table `users` failed: FAILED_PRECONDITION: row 0012#secret is locked; once that is fixed, the same \
         call again writes both"
    );
}

#[tokio::test]
async fn a_key_that_is_no_plain_text_is_shown_in_hexadecimal_too() {
    let table = Client::embedded().raw_table("users");
    for (key, shown) in [
        (&b"a#1"[..], "row `a#1` on"),
        (b"a\x00", "row `a\\x00` (hex 6100) on"),
        (b"\xff", "row `\\xff` (hex ff) on"),
    ] {
        let error = fails(table.read_row(key, None).await, shown);
        assert!(
            error.redacted().to_string().starts_with("ReadRows on table `users` failed: NOT_FOUND"),
            "{error}"
        );
    }
}

#[tokio::test]
async fn columns_are_named_in_the_redacted_form() {
    let mock = Mock::new()
        .by(|_| Answer::chunks([cell("0001#a").family("cf").qualifier("age").value("secret").commit()]));
    let users = client(&mock).table::<Key, BTreeMap<String, i64>>("users");
    let error = users.scan(Key::scan()).collect().await.err().unwrap();
    assert_eq!(
        error.redacted().to_string(),
        "the row of table `users`: column `cf:age` does not hold a value of its field's type"
    );
}
