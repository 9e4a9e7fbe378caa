//! Files that are reopened, opened twice, of other versions, foreign and damaged.

mod faults;
mod groups;
mod tokens;

use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU8, AtomicUsize};

use keyderive_proto::admin::ColumnFamily;
use redb::backends::InMemoryBackend;

use super::format::tests::set_version_without_time;
use super::sealed::ChecksummedFile;
use super::*;
use crate::check::Granularity;
use crate::storage::Cell;
use crate::storage::{Cells, PAGE_BYTES, RowPage, cells};

const TABLE: &str = "projects/p/instances/i/tables/t";

/// A file in memory that outlives the databases over it, and fails, panics or is slow on demand.
#[derive(Clone, Debug)]
struct TestFile {
    bytes: Arc<InMemoryBackend>,
    fault: Arc<AtomicU8>,
    syncs: Arc<AtomicUsize>,
    sync_gate: Arc<Mutex<()>>,
    faulty_disk: Arc<Mutex<Option<faults::FaultyDisk>>>,
}

const NONE: u8 = 0;
const ERROR: u8 = 1;
const PANIC: u8 = 2;

impl TestFile {
    fn new() -> Self {
        Self {
            bytes: Arc::new(InMemoryBackend::new()),
            fault: Arc::new(AtomicU8::new(NONE)),
            syncs: Arc::default(),
            sync_gate: Arc::default(),
            faulty_disk: Arc::default(),
        }
    }

    /// How often the file was synced.
    fn syncs(&self) -> usize {
        self.syncs.load(Ordering::Relaxed)
    }

    /// Blocks syncs until the guard is dropped.
    fn hold_syncs(&self) -> MutexGuard<'_, ()> {
        self.sync_gate.lock().unwrap()
    }

    fn set_fault(&self, fault: u8) {
        self.fault.store(fault, Ordering::Relaxed);
    }

    fn meet_fault(&self) -> io::Result<()> {
        match self.fault.load(Ordering::Relaxed) {
            NONE => Ok(()),
            ERROR => Err(io::Error::other("the disk is on fire")),
            _ => panic!("a page makes no sense"),
        }
    }

    fn open(&self) -> Result<FileStorage, OpenError> {
        FileStorage::over(Arc::new(self.clone()), "test".to_owned())
    }

    fn contents(&self) -> Vec<u8> {
        let mut contents = vec![0; usize::try_from(self.bytes.len().unwrap()).unwrap()];
        self.bytes.read(0, &mut contents).unwrap();
        contents
    }

    fn of(contents: &[u8]) -> Self {
        let file = Self::new();
        file.bytes.set_len(contents.len() as u64).unwrap();
        file.bytes.write(0, contents).unwrap();
        file
    }
}

impl StorageBackend for TestFile {
    fn len(&self) -> io::Result<u64> {
        self.bytes.len()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.meet_fault()?;
        self.bytes.read(offset, out)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.bytes.set_len(len)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.meet_fault()?;
        drop(self.sync_gate.lock());
        if let Some(disk) = &mut *self.faulty_disk.lock().unwrap() {
            disk.sync(self.bytes.len()?)?;
        }
        self.syncs.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.meet_fault()?;
        if let Some(disk) = &mut *self.faulty_disk.lock().unwrap() {
            disk.write(offset, data)?;
        }
        self.bytes.write(offset, data)
    }
}

/// A path in a directory of its own, which is removed with it.
struct TestPath(PathBuf);

impl TestPath {
    fn new(name: &str) -> Self {
        let directory = std::env::temp_dir().join(format!("keyderive-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&directory).unwrap();
        Self(directory.join("test.keyderive"))
    }
}

impl Drop for TestPath {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(self.0.parent().unwrap());
    }
}

fn definition() -> Definition {
    Definition {
        families: [("f".into(), ColumnFamily::default())].into(),
        splits: vec!["m".into()],
        deletion_protection: true,
        granularity: Granularity::Micros,
        ..Definition::default()
    }
}

fn row(key: &str, value: &str) -> (Bytes, Arc<Cells>) {
    let cell = Cell {
        family: "f".into(),
        qualifier: "q".into(),
        timestamp_micros: 1000,
        value: Bytes::copy_from_slice(value.as_bytes()),
        labels: Vec::new(),
    };
    (Bytes::copy_from_slice(key.as_bytes()), Arc::new(vec![cell]))
}

fn rows() -> RowPage {
    (0..300).map(|number| row(&format!("{number:03}"), &"v".repeat(number))).collect()
}

/// Encodes rows.
fn encoded(rows: RowPage) -> EncodedRows {
    rows.into_iter().map(|(key, row)| (key, cells::encode(&row, cells::MAX_BYTES).unwrap().into())).collect()
}

/// A file with one table of 300 rows.
fn filled() -> TestFile {
    let file = TestFile::new();
    let durable = file.open().unwrap();
    durable.put_table(TABLE, definition()).unwrap();
    durable.put_rows(TABLE, encoded(rows())).unwrap();
    durable.commit(0).unwrap();
    file
}

fn all(durable: &FileStorage) -> Result<RowPage, Status> {
    let mut all = Vec::new();
    let mut rest = Interval::all();
    loop {
        let page = durable.page(TABLE, &rest, false, 64)?;
        all.extend(page.rows);
        match all.last() {
            Some((key, _)) if !page.is_last => rest.advance_past(key, false),
            _ => return Ok(all),
        }
    }
}

#[test]
fn what_is_committed_is_there_again() {
    let path = TestPath::new("again");
    let durable = FileStorage::open(&path.0).unwrap();
    durable.put_table(TABLE, definition()).unwrap();
    durable.put_table("other", definition()).unwrap();
    durable.put_rows(TABLE, encoded(rows())).unwrap();
    durable.commit(0).unwrap();
    durable.put_rows(TABLE, encoded(vec![row("000", "not committed")])).unwrap();
    durable.delete_table("other").unwrap();
    drop(durable);

    let durable = FileStorage::open(&path.0).unwrap();
    assert_eq!(all(&durable).unwrap(), rows());
    assert_eq!(*durable.table(TABLE).unwrap().unwrap(), definition());
    assert_eq!(durable.tables("", "", 10).unwrap(), ["other", TABLE]);
    durable.delete_table("other").unwrap();
    durable.delete_rows(TABLE, &Interval::prefix(&"1".into())).unwrap();
    durable.commit(0).unwrap();
    drop(durable);

    let durable = FileStorage::open(&path.0).unwrap();
    assert_eq!(durable.tables("", "", 10).unwrap(), [TABLE]);
    let left: RowPage = rows().into_iter().filter(|(key, _)| key[0] != b'1').collect();
    assert_eq!(all(&durable).unwrap(), left);
    durable.delete_rows(TABLE, &Interval::all()).unwrap();
    durable.commit(0).unwrap();
    assert!(all(&durable).unwrap().is_empty());
}

#[test]
fn readers_see_what_is_committed_and_writers_what_is_changed() {
    let durable = filled().open().unwrap();
    durable.put_rows(TABLE, encoded(vec![row("000", "new")])).unwrap();
    assert_eq!(all(&durable).unwrap(), rows());
    assert_eq!(durable.row(TABLE, b"000").unwrap(), encoded(vec![row("000", "new")])[0].1);
    durable.commit(0).unwrap();
    assert_eq!(all(&durable).unwrap()[0], row("000", "new"));
}

#[test]
fn a_page_of_large_rows_is_short() {
    let durable = filled().open().unwrap();
    let large = "v".repeat(PAGE_BYTES / 2);
    durable
        .put_rows(TABLE, encoded((0..5).map(|number| row(&format!("l{number}"), &large)).collect()))
        .unwrap();
    durable.commit(0).unwrap();
    let page = durable.page(TABLE, &Interval::prefix(&"l".into()), false, 100).unwrap();
    assert_eq!((page.rows.len(), page.is_last), (2, false));
    let page = durable.page(TABLE, &Interval::prefix(&"l".into()), true, 100).unwrap();
    assert_eq!((&page.rows[0].0[..], page.rows.len(), page.is_last), (&b"l4"[..], 2, false));
}

#[test]
fn a_file_can_be_open_only_once() {
    let path = TestPath::new("one");
    let durable = FileStorage::open(&path.0).unwrap();
    let error = FileStorage::open(&path.0).err().unwrap();
    assert!(matches!(error, OpenError::InUse), "{error}");
    drop(durable);
    FileStorage::open(&path.0).unwrap().close();
    FileStorage::open(&path.0).unwrap();
}

#[test]
fn a_newer_format_is_refused() {
    let file = filled();
    set_version_without_time(Arc::new(file.clone()), 7);
    let error = file.open().err().unwrap();
    assert!(
        error
            .to_string()
            .starts_with("has version 7 of the format, and this release of keyderive reads version 1;"),
        "{error}"
    );
}

#[test]
fn files_of_others_are_refused_and_left_alone() {
    let path = TestPath::new("foreign");
    for contents in [&b"text"[..], &[b'x'; 5000], &[0; 100]] {
        std::fs::write(&path.0, contents).unwrap();
        let error = FileStorage::open(&path.0).err().unwrap();
        assert!(matches!(error, OpenError::Foreign(_)), "{error}");
        assert_eq!(std::fs::read(&path.0).unwrap(), contents);
    }
    std::fs::remove_file(&path.0).unwrap();
    drop(Database::create(&path.0).unwrap());
    assert!(matches!(FileStorage::open(&path.0).err().unwrap(), OpenError::Foreign(_)));
    let error = FileStorage::open(path.0.parent().unwrap()).err().unwrap();
    assert!(matches!(error, OpenError::System(_)), "{error}");
}

#[test]
fn a_file_whose_creation_was_cut_off_is_created_again() {
    let whole = {
        let file = TestFile::new();
        drop(file.open().unwrap());
        file.contents()
    };
    let mut without_header = whole.clone();
    without_header.fill(0);
    let without_magic = TestFile::of(&whole);
    let mut header = whole[..320].to_vec();
    header[..9].fill(0);
    ChecksummedFile::new(SharedFile::new(Arc::new(without_magic.clone()))).write(0, &header).unwrap();
    for file in [TestFile::of(&without_header), without_magic] {
        let durable = file.open().unwrap();
        durable.put_table(TABLE, definition()).unwrap();
        durable.commit(0).unwrap();
        drop(durable);
        assert!(file.open().unwrap().table(TABLE).unwrap().is_some());
    }
}

#[test]
fn a_flipped_bit_of_the_header_is_detected() {
    let contents = filled().contents();
    for byte in 0..336 {
        let mut damaged = contents.clone();
        damaged[byte] ^= 1 << (byte % 8);
        let error = TestFile::of(&damaged).open().err().unwrap();
        assert!(matches!(error, OpenError::Foreign(_) | OpenError::Damaged(_)), "byte {byte}: {error}");
    }
}

#[test]
fn damage_is_never_served() {
    let contents = filled().contents();
    let pages: Vec<usize> = (1..contents.len() / 4096)
        .filter(|page| contents[page * 4096..][..4096].iter().any(|byte| *byte != 0))
        .collect();
    let (mut rejected, mut right) = (0, 0);
    for number in 0..600_usize {
        let byte = pages[number % pages.len()] * 4096 + number * 1_000_003 % 4096;
        let mut damaged = contents.clone();
        damaged[byte] ^= 1 << (number % 8);
        let read = TestFile::of(&damaged).open().map(|durable| all(&durable));
        match read {
            Err(OpenError::Damaged(_)) | Ok(Err(_)) => rejected += 1,
            Err(error) => panic!("byte {byte}: {error}"),
            Ok(Ok(read)) => {
                assert_eq!(read, rows(), "byte {byte}");
                right += 1;
            }
        }
    }
    assert!(rejected > 0 && right > 0, "{rejected} rejected, {right} right");
}

#[test]
fn damage_under_an_open_file_is_named_by_its_row() {
    let file = filled();
    let durable = file.open().unwrap();
    let contents = file.contents();
    let value = format!("v{}", "v".repeat(250));
    let place = contents.windows(value.len()).position(|window| window == value.as_bytes()).unwrap();
    file.bytes.write(place as u64 + 100, b"w").unwrap();
    let status = all(&durable).unwrap_err();
    assert_eq!(status.code(), Code::DataLoss);
    assert!(status.message().contains("of table `projects/p/instances/i/tables/t` is damaged"), "{status}");
    assert!(status.message().contains("in the file `test`"), "{status}");
    // The other rows can still be read.
    assert!(!durable.row(TABLE, b"000").unwrap().is_empty());
}

#[test]
fn after_a_panic_of_redb_every_call_fails() {
    let file = filled();
    let durable = file.open().unwrap();
    durable.put_rows(TABLE, encoded(vec![row("000", "lost")])).unwrap();
    file.set_fault(PANIC);
    let status = durable.commit(0).unwrap_err();
    assert_eq!(status.code(), Code::DataLoss);
    file.set_fault(NONE);
    assert!(all(&durable).unwrap_err().message().contains("because redb panicked"));
    assert!(durable.row(TABLE, b"000").is_err() && durable.table(TABLE).is_err());
    drop(durable);
    assert_eq!(all(&file.open().unwrap()).unwrap(), rows());
    file.set_fault(PANIC);
    assert!(matches!(file.open().err().unwrap(), OpenError::Damaged(_)));
}
