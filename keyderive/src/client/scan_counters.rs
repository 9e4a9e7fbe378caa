//! How many rows a scan has read and returned, its name in spans and metrics, and the warning about a scan that reads in vain.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::{Client, Route, ScanWarning};

/// How long no second warning is logged about the scans of one name, or of one table without a name.
const WARN_INTERVAL: Duration = Duration::from_secs(60);

/// How many names of scans are remembered; within a minute, further names get no warning.
const MAX_NAMES: usize = 256;

/// The counters that a scan shares with its requests. The last of them to be dropped logs the warning.
#[derive(Debug)]
pub(crate) struct ScanCounters {
    table: Arc<str>,
    name: Option<&'static str>,
    /// The rows that its requests have read, as far as the client knows.
    seen: AtomicU64,
    returned: AtomicU64,
    warning: ScanWarning,
    warnings: Arc<ScanWarnings>,
}

/// When scans were warned of last, by table and name.
#[derive(Debug, Default)]
pub(super) struct ScanWarnings(Mutex<HashMap<ScanName, Instant>>);

/// A table, and the name of a scan of it.
type ScanName = (Arc<str>, Option<&'static str>);

impl Client {
    /// The counters of a scan of this client. Without `warns`, the scan logs no warning.
    pub(crate) fn scan_counters(
        &self,
        table: &Route,
        name: Option<&'static str>,
        warns: bool,
    ) -> Arc<ScanCounters> {
        Arc::new(ScanCounters {
            table: Arc::clone(table.table()),
            name,
            seen: AtomicU64::new(0),
            returned: AtomicU64::new(0),
            warning: if warns { self.settings().scan_warning } else { ScanWarning::Off },
            warnings: Arc::clone(&self.inner.scan_warnings),
        })
    }
}

impl ScanCounters {
    /// The name of the scan.
    pub(super) fn name(&self) -> Option<&'static str> {
        self.name
    }

    /// Adds rows that a request has read.
    pub(super) fn add_seen(&self, rows: u64) {
        self.seen.fetch_add(rows, Ordering::Relaxed);
    }

    /// Adds rows that the scan has returned to its caller.
    pub(crate) fn add_returned(&self, rows: u64) {
        self.returned.fetch_add(rows, Ordering::Relaxed);
    }
}

impl Drop for ScanCounters {
    fn drop(&mut self) {
        let ScanWarning::At { rows, per_returned } = self.warning else { return };
        let (seen, returned) = (*self.seen.get_mut(), *self.returned.get_mut());
        let is_wasteful = seen >= rows && seen > returned && seen >= returned.saturating_mul(per_returned);
        if is_wasteful && self.warnings.permits(&self.table, self.name) {
            tracing::warn!(
                table = &*self.table,
                scan = self.name,
                rows_seen = seen,
                rows_returned = returned,
                "a scan has read far more rows than it returned; fix more fields of its key, or store the rows under a key that \
                 begins with what is asked for; `explain_analyze` shows what a scan reads"
            );
        }
    }
}

impl ScanWarnings {
    /// Whether a warning may be logged now.
    fn permits(&self, table: &Arc<str>, name: Option<&'static str>) -> bool {
        let now = Instant::now();
        let mut warned = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_recent = |at: &Instant| now.saturating_duration_since(*at) < WARN_INTERVAL;
        let key = (Arc::clone(table), name);
        if warned.get(&key).is_some_and(is_recent) {
            return false;
        }
        if warned.len() >= MAX_NAMES && !warned.contains_key(&key) {
            warned.retain(|_, at| is_recent(at));
            if warned.len() >= MAX_NAMES {
                return false;
            }
        }
        warned.insert(key, now);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_name_is_warned_of_once_a_minute_and_few_names_are_kept() {
        let warnings = ScanWarnings::default();
        let table: Arc<str> = "t".into();
        assert!(warnings.permits(&table, None) && warnings.permits(&table, Some("a")));
        assert!(!warnings.permits(&table, None) && !warnings.permits(&table, Some("a")));
        assert!(warnings.permits(&"u".into(), None));
        tokio::time::advance(WARN_INTERVAL).await;
        assert!(warnings.permits(&table, Some("a")) && !warnings.permits(&table, Some("a")));
        let permitted = (0..1000).filter(|number| warnings.permits(&number.to_string().into(), None)).count();
        assert_eq!(permitted, MAX_NAMES - 1, "all but the one of this minute");
        assert_eq!(warnings.0.lock().unwrap().len(), MAX_NAMES);
        tokio::time::advance(WARN_INTERVAL).await;
        assert!(warnings.permits(&table, None));
        assert_eq!(warnings.0.lock().unwrap().len(), 1);
    }
}
