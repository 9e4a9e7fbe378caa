//! Ordered merges of 4, 16 and 64 buckets.

use bytes::Bytes;
use keyderive::{Client, Error};
use tokio::runtime::Runtime;

use super::data::{In16, In64, LentReading, Outcome, ROWS_A_NAME, Reading, Salted, Seen, varied};
use super::report::{Comparison, Line, Memory, Table};
use super::server::{Server, Stored};
use super::turns::{self, Path};
use super::{Peak, Print, Size, bigtable, merge_floor, raw};
use crate::EventKey;
use crate::program::Failure;

/// In MiB.
const MOST_MEMORY: f64 = 25.0;

const BIGTABLE_RS: &str = "`bigtable_rs`, owned typed rows";
const BY_HAND: &str = "by hand, borrowed typed rows";
const OWNED: &str = "keyderive, owned typed rows";
const BORROWED: &str = "keyderive, borrowed typed rows";

/// Measures all merges.
pub(super) fn measure(size: Size<'_>, print: Print<'_>) -> Result<(), Failure> {
    let rows = varied(size.rows);
    measure_buckets::<EventKey>(&rows, size, print)?;
    measure_buckets::<In16>(&rows, size, print)?;
    measure_buckets::<In64>(&rows, size, print)
}

fn measure_buckets<K: Salted>(
    rows: &[(EventKey, Reading)],
    size: Size<'_>,
    print: Print<'_>,
) -> Result<(), Failure> {
    let title = format!("Ordered merge of {} buckets", K::BUCKETS);
    if !size.has(&title) {
        return Ok(());
    }
    let (stored, expected) = store::<K>(rows)?;
    let server = Server::start(stored);
    let runtime = turns::runtime()?;
    let path = |name: &&'static str| path::<K>(name, &runtime, &server.host(), Outcome::Read(expected));
    let paths = names::<K>().iter().map(path).collect::<Result<Vec<_>, _>>()?;
    let costs = turns::least(&runtime, &title, &paths, size)?;
    if size.only.is_some() {
        return Ok(());
    }
    let mut lines = Vec::new();
    for (path, cost) in paths.iter().zip(costs) {
        let peak = Peak { path: path.name.to_owned(), buckets: K::BUCKETS, host: server.host() };
        let none = Comparison::default().peer(0, None).memory(MOST_MEMORY);
        let beside = match (path.name, paths.iter().position(|path| path.name == BY_HAND)) {
            (OWNED, _) => none,
            (BORROWED, Some(floor)) => none.peer(0, 6.0).floor(floor, None),
            (BORROWED, None) => none.peer(0, 6.0),
            _ => Comparison::default(),
        };
        let memory = Some(Memory::Process(peak.measure()?));
        lines.push(Line { memory, ..Line::new(path.name, cost, beside) });
    }
    print(Table {
        title,
        about: format!(
            "One stream for each bucket, merged by the key without its salt. Each user has {ROWS_A_NAME} rows at each \
             site, so the merge switches buckets after every {ROWS_A_NAME} rows. The merge over `bigtable_rs` uses a \
             binary heap of rows, ordered by key bytes, and one connection per bucket: with fewer it can hang. Memory is \
             the peak of a process that runs only this path, and includes the program itself."
        ),
        unit: "row",
        units: size.rows.into(),
        lines,
    });
    Ok(())
}

/// Runs the path with this name once.
pub(super) fn run_once<K: Salted>(name: &str, host: &str) -> Result<(), Failure> {
    let runtime = turns::runtime()?;
    let name = *names::<K>().iter().find(|one| **one == name).ok_or("there is no such path")?;
    let path = path::<K>(name, &runtime, host, Outcome::Read(Seen::default()))?;
    path.run(&runtime).map(drop)
}

/// The paths, the peer first.
fn names<K: Salted>() -> &'static [&'static str] {
    // The path by hand supports only the key with 4 buckets.
    match K::BUCKETS == EventKey::BUCKETS {
        true => &[BIGTABLE_RS, BY_HAND, OWNED, BORROWED],
        false => &[BIGTABLE_RS, OWNED, BORROWED],
    }
}

fn path<K: Salted>(
    name: &'static str,
    runtime: &Runtime,
    host: &str,
    expected: Outcome,
) -> Result<Path<'static>, Failure> {
    Ok(match name {
        BIGTABLE_RS => {
            let connect = async { (0..K::BUCKETS).map(|_| bigtable::connect(host)).collect() };
            let peers: Result<Vec<_>, Failure> = runtime.block_on(connect);
            let peers = peers?;
            Path::new(name, expected, move || bigtable::merge::<K>(peers.clone()))
        }
        BY_HAND => {
            let channel = runtime.block_on(raw::connect(host))?;
            Path::new(name, expected, move || merge_floor::merge(channel.clone()))
        }
        _ => {
            let client = runtime.block_on(Client::emulator(host))?;
            match name == OWNED {
                true => Path::new(name, expected, move || owned::<K>(client.clone())),
                false => Path::new(name, expected, move || borrowed::<K>(client.clone())),
            }
        }
    })
}

/// The rows by bucket, and what a merge sees of them in key order.
fn store<K: Salted>(rows: &[(EventKey, Reading)]) -> Result<(Stored, Seen), Failure> {
    let mut buckets = vec![Vec::new(); K::BUCKETS];
    let mut logical = Vec::with_capacity(rows.len());
    for (at, (key, row)) in rows.iter().enumerate() {
        let key = Bytes::from(K::from_event(key.clone()).encode()?);
        let bucket: usize = str::from_utf8(&key[..K::SALT_LEN - 1])?.parse()?;
        logical.push((key.slice(K::SALT_LEN..), at));
        buckets[bucket].push((key, row));
    }
    for bucket in &mut buckets {
        bucket.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
    }
    logical.sort_unstable();
    Ok((Stored::new(buckets), Seen::of(logical.iter().map(|(_, at)| &rows[*at]))))
}

async fn owned<K: Salted>(client: Client) -> Result<Outcome, Failure> {
    let mut rows = client.table::<K, Reading>("readings").scan(K::full_scan()?).stream();
    let mut seen = Seen::default();
    while let Some(row) = rows.next().await {
        let (key, row) = row?;
        seen.row(&key.lend(), row.lend());
    }
    Ok(Outcome::Read(seen))
}

async fn borrowed<K: Salted>(client: Client) -> Result<Outcome, Failure> {
    let mut seen = Seen::default();
    let scan = client.table::<K, Reading>("readings").scan(K::full_scan()?);
    scan.visit::<K::Lent, Error>(|key, row| {
        seen.row(&K::view(key), row.read::<LentReading<'_>>()?);
        Ok(())
    })
    .await?;
    Ok(Outcome::Read(seen))
}
