//! A disk that is full or fails, and recovers.

use super::*;

/// A disk that may fail or lose power.
#[derive(Debug)]
pub(super) struct FaultyDisk {
    kept: Vec<u8>,
    /// What was written since the last sync. After a failed sync, reads return it, but it is never written to the disk.
    unsynced: Vec<(u64, Vec<u8>)>,
    /// How many writes and syncs succeed before one fails, and how many fail then.
    succeeding: usize,
    failing: usize,
    /// Whether a write or sync has failed.
    has_failed: bool,
}

impl FaultyDisk {
    fn meet_fault(&mut self) -> io::Result<()> {
        if self.succeeding > 0 {
            self.succeeding -= 1;
        } else if self.failing > 0 {
            self.failing -= 1;
            self.has_failed = true;
            return Err(io::ErrorKind::StorageFull.into());
        }
        Ok(())
    }

    pub(super) fn write(&mut self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.meet_fault()?;
        self.unsynced.push((offset, data.to_vec()));
        Ok(())
    }

    pub(super) fn sync(&mut self, bytes: u64) -> io::Result<()> {
        let unsynced = mem::take(&mut self.unsynced);
        self.meet_fault()?;
        self.kept.resize(usize::try_from(bytes).unwrap(), 0);
        for (offset, data) in unsynced {
            let start = usize::try_from(offset).unwrap();
            self.kept[start..][..data.len()].copy_from_slice(&data);
        }
        Ok(())
    }
}

impl TestFile {
    /// Makes `failing` writes and syncs fail after the next `succeeding` ones.
    fn fail_after(&self, succeeding: usize, failing: usize) {
        let kept = self.contents();
        let disk = FaultyDisk { kept, unsynced: Vec::new(), succeeding, failing, has_failed: false };
        *self.faulty_disk.lock().unwrap() = Some(disk);
    }

    fn repair(&self) {
        self.faulty_disk.lock().unwrap().as_mut().unwrap().failing = 0;
    }

    fn has_failed(&self) -> bool {
        self.faulty_disk.lock().unwrap().as_ref().unwrap().has_failed
    }

    /// The rows after a power failure.
    fn after_a_power_failure(&self) -> RowPage {
        let kept = self.faulty_disk.lock().unwrap().as_ref().unwrap().kept.clone();
        all(&TestFile::of(&kept).open().unwrap()).unwrap()
    }
}

fn with(rows: RowPage, key: &str, value: &str) -> RowPage {
    let (key, cells) = row(key, value);
    let mut rows: std::collections::BTreeMap<_, _> = rows.into_iter().collect();
    rows.insert(key, cells);
    rows.into_iter().collect()
}

/// Writes a row to a file whose disk fails after some writes and syncs, and then recovers. Returns whether it did fail.
fn fails_and_works_again(succeeding: usize, failing: usize) -> bool {
    let file = filled();
    let durable = file.open().unwrap();
    file.fail_after(succeeding, failing);
    let written = durable.put_rows(TABLE, encoded(vec![row("000", "lost"), row("lost", "lost")]));
    let written = written.and_then(|()| durable.commit(7000));
    let has_failed = file.has_failed();
    let rows = match &written {
        Ok(()) => with(with(rows(), "000", "lost"), "lost", "lost"),
        Err(status) => {
            assert!(has_failed, "{status}");
            assert!(status.message().contains("`test`"), "{status}");
            // "Resource exhausted" is only for writes that were not applied.
            if status.code() == Code::ResourceExhausted {
                assert!(status.message().starts_with("this write was not applied"), "{status}");
            } else {
                assert_eq!(status.code(), Code::Internal);
                assert!(status.message().starts_with("this write may have been applied"), "{status}");
            }
            rows()
        }
    };
    let place = format!("{failing} faults after {succeeding} writes and syncs");
    if written.is_ok() || failing == 1 {
        assert_eq!(all(&durable).unwrap(), rows, "{place}");
        assert_eq!(file.after_a_power_failure(), rows, "{place}");
    }
    file.repair();
    // Changes after a failed one in its group are not applied either.
    drop(durable.commit(0));
    assert_eq!(all(&durable).unwrap(), rows, "{place}");
    durable.put_rows(TABLE, encoded(vec![row("001", "kept")])).unwrap();
    durable.commit(8000).unwrap();
    let rows = with(rows, "001", "kept");
    assert_eq!(all(&durable).unwrap(), rows, "{place}");
    assert_eq!(file.after_a_power_failure(), rows, "{place}");
    drop(durable);
    let durable = file.open().unwrap();
    assert_eq!((all(&durable).unwrap(), durable.latest_micros()), (rows, 8000), "{place}");
    has_failed
}

#[test]
fn a_disk_that_fails_once_loses_nothing_that_was_acknowledged() {
    let failed = (0..100).take_while(|succeeding| fails_and_works_again(*succeeding, 1)).count();
    // At least a page, a header and a sync, twice.
    assert!((6..100).contains(&failed), "{failed} places");
}

#[test]
fn a_disk_that_is_full_for_a_while_is_used_again() {
    let failed = (0..100).take_while(|succeeding| fails_and_works_again(*succeeding, 1000)).count();
    assert!((6..100).contains(&failed), "{failed} places");
}

#[test]
fn a_full_disk_allows_reads_and_no_writes() {
    let file = filled();
    let durable = file.open().unwrap();
    // The header, and then a page.
    file.fail_after(1, 1);
    let large = "v".repeat(100_000);
    durable.put_rows(TABLE, encoded(vec![row("large", &large)])).unwrap();
    let status = durable.commit(0).unwrap_err();
    assert_eq!(status.code(), Code::ResourceExhausted, "{status}");
    assert_eq!(all(&durable).unwrap(), rows());
    // The failed write is retried before any other write.
    file.fail_after(0, 1);
    let status = durable.put_rows(TABLE, encoded(vec![row("000", "later")])).unwrap_err();
    assert_eq!(status.code(), Code::ResourceExhausted, "{status}");
    assert!(status.message().starts_with("an earlier write failed, and retrying it failed, too"), "{status}");
    assert_eq!(all(&durable).unwrap(), rows());
    durable.put_rows(TABLE, encoded(vec![row("large", &large)])).unwrap();
    durable.commit(0).unwrap();
    assert_eq!(all(&durable).unwrap(), with(rows(), "large", &large));
}

#[test]
fn a_failed_read_is_retried() {
    let file = filled();
    let durable = file.open().unwrap();
    durable.put_rows(TABLE, encoded(vec![row("000", "lost")])).unwrap();
    file.set_fault(ERROR);
    // Most pages are cached, but not those that a new database reads.
    durable.has_failed.store(true, Ordering::Relaxed);
    let status = all(&durable).unwrap_err();
    assert!(status.message().starts_with("the file `test` cannot be read or written"), "{status}");
    file.set_fault(NONE);
    assert_eq!(all(&durable).unwrap(), rows());
    // The earlier write gets an error.
    let status = durable.commit(0).unwrap_err();
    assert!(status.message().starts_with("this write was not applied"), "{status}");
    durable.put_rows(TABLE, encoded(vec![row("000", "kept")])).unwrap();
    durable.commit(0).unwrap();
    assert_eq!(all(&durable).unwrap(), with(rows(), "000", "kept"));
}

#[test]
fn a_file_that_is_closed_stays_closed() {
    let file = filled();
    let durable = file.open().unwrap();
    file.fail_after(0, 1000);
    durable.put_rows(TABLE, encoded(vec![row("000", "lost")])).unwrap();
    durable.commit(0).unwrap_err();
    durable.close();
    file.repair();
    assert_eq!(all(&durable).unwrap_err().message(), "the file `test` is closed");
    assert_eq!(all(&file.open().unwrap()).unwrap(), rows());
}
