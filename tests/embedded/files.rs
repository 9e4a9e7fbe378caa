//! Opening, sharing and reopening files.

use keyderive::{Client, ErrorKind};
use keyderive_tests::Folder;
use keyderive_tests::fixtures::assert_error;

use super::{FILE, ReadingKey, child, reading, readings};

#[test]
fn tables_are_there_again_in_another_runtime() {
    let folder = Folder::new("again");
    let file = folder.join("readings.keyderive");
    let rows: Vec<_> = (0..1000).map(|id| reading(0, id)).collect();
    let run = |future: std::pin::Pin<Box<dyn Future<Output = ()>>>| {
        tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future);
    };
    let (path, written) = (file.clone(), rows.clone());
    run(Box::pin(async move {
        let client = Client::embedded_at(&path).await.unwrap();
        assert_eq!(
            client.target().to_string(),
            format!("embedded Bigtable (in the file `{}`)", path.display())
        );
        readings(&client).create_if_absent().await.unwrap();
        readings(&client).put_all(&written).await.unwrap();
    }));
    run(Box::pin(async move {
        let client = Client::embedded_at(&file).await.unwrap();
        let table = readings(&client);
        assert_eq!(table.scan(ReadingKey::scan()).collect().await.unwrap(), rows);
        let mut reversed = table.scan(ReadingKey::scan()).reversed().collect().await.unwrap();
        reversed.reverse();
        assert_eq!(reversed, rows);
        assert_eq!(table.get(&rows[500].0).await.unwrap().as_ref(), Some(&rows[500].1));
        // A stream keeps the file open, even without its client.
        let mut stream = table.scan(ReadingKey::scan()).stream();
        drop((table, client));
        assert_eq!(stream.next().await.unwrap().unwrap(), rows[0]);
        assert_eq!(Client::embedded_at(&file).await.unwrap_err().kind(), ErrorKind::FileInUse);
        drop(stream);
        Client::embedded_at(&file).await.unwrap();
    }));
}

#[tokio::test]
async fn a_file_is_for_one_process() {
    let folder = Folder::new("one");
    let file = folder.join("readings.keyderive");
    let client = Client::embedded_at(&file).await.unwrap();
    readings(&client).create_if_absent().await.unwrap();
    let said = child("files::opens_a_file_that_is_open", &file).output().unwrap();
    let said = String::from_utf8_lossy(&said.stdout).into_owned();
    let expected = format!("refused: the file `{}` is in use by another process", file.display());
    assert!(said.contains(&expected), "{said}");
    // What to do instead.
    for remedy in ["keyderive serve --file", "Bigtable::serve", "Client::emulator"] {
        assert!(said.contains(remedy), "{said}");
    }
}

/// Runs in a child.
#[tokio::test]
async fn opens_a_file_that_is_open() {
    let Some(file) = std::env::var_os(FILE) else { return };
    let error = Client::embedded_at(file).await.unwrap_err();
    assert!(error.kind() == ErrorKind::FileInUse && error.kind() != ErrorKind::Misconfiguration);
    println!("refused: {error}");
}

#[tokio::test]
async fn an_error_of_opening_names_the_file() {
    let folder = Folder::new("none");
    let file = folder.join("text");
    std::fs::write(&file, "text").unwrap();
    let error = Client::embedded_at(&file).await.unwrap_err();
    assert_error(&error, ErrorKind::Misconfiguration, &[&file.display().to_string()]);
    let error = Client::embedded_at(folder.join("no/such/directory")).await.unwrap_err();
    assert_error(&error, ErrorKind::Misconfiguration, &["no/such/directory"]);
}
