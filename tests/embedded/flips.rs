//! Files with one flipped bit give right answers or an error, and never a panic.
//!
//! `KEYDERIVE_FLIPS` is how many, 50 by default; `KEYDERIVE_FLIPS_SEED` repeats a run.

use std::path::Path;

use fastrand::Rng;
use keyderive::{Client, Error, ErrorKind};

use keyderive_tests::{Folder, variable};

use super::{Reading, ReadingKey, reading, readings};

const ROWS: u32 = 3000;
const PAGE: usize = 4096;

fn rows() -> Vec<(ReadingKey, Reading)> {
    (0..ROWS).map(|id| reading(1, id)).collect()
}

/// The contents of a file that was written in several steps, and from which rows were deleted.
async fn contents(file: &Path) -> Vec<u8> {
    let client = Client::embedded_at(file).await.unwrap();
    let table = readings(&client);
    table.create_if_absent().await.unwrap();
    for chunk in rows().chunks(500) {
        table.put_all(chunk).await.unwrap();
    }
    let gone: Vec<_> = (0..500).map(|id| reading(2, id)).collect();
    table.put_all(&gone).await.unwrap();
    table.delete_rows(ReadingKey::scan().round(2)).await.unwrap();
    drop((client, table));
    std::fs::read(file).unwrap()
}

/// All rows, and every tenth by its key.
async fn read(file: &Path) -> Result<Vec<(ReadingKey, Reading)>, Error> {
    let client = Client::embedded_at(file).await?;
    let table = readings(&client);
    for (key, row) in rows().iter().step_by(10) {
        assert_eq!(table.get(key).await?.as_ref(), Some(row));
    }
    table.scan(ReadingKey::scan()).collect().await
}

#[tokio::test]
async fn a_flipped_bit_gives_no_wrong_answer() {
    let flips = variable("KEYDERIVE_FLIPS", 50);
    let seed = variable("KEYDERIVE_FLIPS_SEED", 6);
    let folder = Folder::new("flips");
    let file = folder.join("readings.keyderive");
    let contents = contents(&file).await;
    // Most of a new file is empty.
    let used: Vec<usize> = (0..contents.len() / PAGE)
        .filter(|page| contents[page * PAGE..][..PAGE].iter().any(|byte| *byte != 0))
        .collect();
    let mut rng = Rng::with_seed(seed);
    let (mut refused, mut right) = (0, 0);
    for flip in 0..flips {
        let byte = match rng.u8(..10) {
            0 => rng.usize(..336),
            1 => rng.usize(..contents.len()),
            _ => used[rng.usize(..used.len())] * PAGE + rng.usize(..PAGE),
        };
        let mut damaged = contents.clone();
        damaged[byte] ^= 1 << rng.u8(..8);
        std::fs::write(&file, &damaged).unwrap();
        match read(&file).await {
            Ok(read) => {
                assert!(read == rows(), "flip {flip}, of byte {byte}: wrong rows");
                right += 1;
            }
            Err(error) => {
                assert!(
                    error.kind() == ErrorKind::DataLoss || error.kind() == ErrorKind::Misconfiguration,
                    "flip {flip}, of byte {byte}: {error}"
                );
                assert!(error.to_string().contains(&file.display().to_string()), "{error}");
                refused += 1;
            }
        }
    }
    println!("seed {seed}: {flips} flips, {refused} refused, {right} answered right");
}
