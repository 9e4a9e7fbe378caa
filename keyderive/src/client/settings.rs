//! How long and how often each operation is tried.

use std::time::Duration;

/// How long and how often the operations of a client are tried, each kind by its own [`CallSettings`].
///
/// ```
/// use std::time::Duration;
/// use keyderive::Client;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let client = Client::embedded();
/// let hasty = client.with(|settings| settings.read_row.total_timeout = Duration::from_millis(200));
/// let patient = client.with(|settings| settings.each(|call| call.total_timeout *= 10));
/// # drop((hasty, patient));
/// # }
/// ```
///
/// | operation | an attempt | in all | idle | attempts in a row |
/// |---|---|---|---|---|
/// | `read_row` | 20 s | 10 min | | no limit |
/// | `read_rows` | 30 min | 12 h | 5 min | 10 |
/// | `sample_row_keys` | 5 min | 10 min | 5 min | no limit |
/// | `mutate_row` | 60 s | 60 s | | no limit |
/// | `mutate_rows` | 60 s | 10 min | | no limit |
/// | `check_and_mutate_row`, `read_modify_write_row` | 20 s | 20 s | | no limit |
/// | `admin` | 60 s | 10 min | | no limit |
/// | `ping_and_warm` | 30 s | 30 s | | 1 |
///
/// The pause between attempts is the same for all: 25 ms at first, twice as long after each failure, 10 s at most,
/// of which a random half to whole is waited, so that clients that failed together do not come back together. An
/// address that no Bigtable has ever answered at is tried for 3 s, which is `first_contact`.
///
/// The values are those of Google's Java client, but for the pauses.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Settings {
    /// Reads of one row by its key.
    pub read_row: CallSettings,
    /// Scans; of a scan over several buckets, the request for each.
    pub read_rows: CallSettings,
    /// Samples of a table's keys, by which it is cut into parts.
    pub sample_row_keys: CallSettings,
    /// Writes of one row.
    pub mutate_row: CallSettings,
    /// Writes of many rows; each request of them.
    pub mutate_rows: CallSettings,
    /// Conditional writes, which are sent again only when they were not sent, or the server refused them in a transient way.
    pub check_and_mutate_row: CallSettings,
    /// Increments and appends, which are sent again only when they were not sent, or the server refused them in a transient way.
    pub read_modify_write_row: CallSettings,
    /// What is done to tables: creating, describing, changing and deleting them.
    pub admin: CallSettings,
    /// The first request on a new connection, which has the server open what it will need.
    pub ping_and_warm: CallSettings,
    /// How long an address is tried that no Bigtable has ever answered at: 3 s.
    ///
    /// An outage is waited out for as long as the operation's own settings say. An address that is wrong, or of an
    /// emulator that does not run, is to be told at once: one that refuses connections or swallows them, that has no
    /// DNS record, that takes connections and stays silent, or where something else than HTTP/2 is spoken. A server
    /// has answered when it has sent the first frame of HTTP/2, as each does before it looks at a request: its first
    /// answer may take as long as the operation's settings say. Of zero, there is one attempt in the time of its own.
    ///
    /// By TLS, the handshake is the first answer, and may take 10 s. Where connections are
    /// [primed](crate::client::ClientBuilder::prime), making the client may take the time of `ping_and_warm` besides.
    pub first_contact: Duration,
    /// Whether requests to a table fail until its [layout](crate::guide::tables#layout) could be read: false. Unless it is
    /// required, they go on, with a warning, where the admin service refuses or does not answer within 3 s.
    ///
    /// It does not refuse tables without a voucher. The 3 s come on top of a call's own time, once for each table.
    pub require_layout_check: bool,
}

/// How long and how often one kind of operation is tried.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct CallSettings {
    /// How long one attempt may take, the answer included. The server is told, and stops then too. Of zero, every
    /// operation fails by [`is_deadline`](crate::Error::is_deadline), and nothing is sent.
    pub attempt_timeout: Duration,
    /// How long all attempts may take together, with the pauses between them. A pause that would be longer than what is
    /// left is cut, once, so that a last attempt has the last quarter of it, or second. Zero is as in
    /// `attempt_timeout`.
    pub total_timeout: Duration,
    /// How long a stream may be silent while its reader waits. Time in which nobody waits does not count, nor does
    /// time in which what came has not been taken. Of the operations that are no streams, none uses it.
    pub idle_timeout: Duration,
    /// How many attempts may fail one after the other. A stream that has delivered a row, or the server's word that
    /// it has scanned that far, starts counting again.
    pub max_attempts: u32,
    /// How long is waited between attempts, unless the server says how long.
    pub backoff: Backoff,
}

/// How long is waited before an operation is tried again.
///
/// After the first failure `initial`, then `multiplier` times as long after each further one, `max` at most; of that,
/// a random half to whole.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Backoff {
    /// The longest pause after the first failure.
    pub initial: Duration,
    /// How many times longer the next pause is. Below 1 it counts as 1.
    pub multiplier: f64,
    /// The longest pause.
    pub max: Duration,
}

impl Settings {
    /// Changes the settings of every operation in the same way.
    pub fn each(&mut self, mut change: impl FnMut(&mut CallSettings)) {
        let Self {
            read_row,
            read_rows,
            sample_row_keys,
            mutate_row,
            mutate_rows,
            check_and_mutate_row,
            read_modify_write_row,
            admin,
            ping_and_warm,
            first_contact: _,
            require_layout_check: _,
        } = self;
        let all = [
            read_row,
            read_rows,
            sample_row_keys,
            mutate_row,
            mutate_rows,
            check_and_mutate_row,
            read_modify_write_row,
            admin,
            ping_and_warm,
        ];
        all.into_iter().for_each(&mut change);
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            read_row: CallSettings::of(20 * SECOND, 10 * MINUTE),
            read_rows: CallSettings { max_attempts: 10, ..CallSettings::of(30 * MINUTE, 12 * 60 * MINUTE) },
            sample_row_keys: CallSettings::of(5 * MINUTE, 10 * MINUTE),
            mutate_row: CallSettings::of(MINUTE, MINUTE),
            mutate_rows: CallSettings::of(MINUTE, 10 * MINUTE),
            check_and_mutate_row: CallSettings::of(20 * SECOND, 20 * SECOND),
            read_modify_write_row: CallSettings::of(20 * SECOND, 20 * SECOND),
            admin: CallSettings::of(MINUTE, 10 * MINUTE),
            ping_and_warm: CallSettings { max_attempts: 1, ..CallSettings::of(30 * SECOND, 30 * SECOND) },
            first_contact: 3 * SECOND,
            require_layout_check: false,
        }
    }
}

const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_secs(60);

impl CallSettings {
    fn of(attempt_timeout: Duration, total_timeout: Duration) -> Self {
        Self {
            attempt_timeout,
            total_timeout,
            idle_timeout: 5 * MINUTE,
            max_attempts: u32::MAX,
            backoff: Backoff::default(),
        }
    }
}

impl Default for Backoff {
    fn default() -> Self {
        Self { initial: Duration::from_millis(25), multiplier: 2.0, max: 10 * SECOND }
    }
}

impl Backoff {
    /// The pause after so many failures in a row, of which `share`, from 0 to 1, says how much of its random half.
    pub(super) fn pause(&self, failures: u32, share: f64) -> Duration {
        let exponent = i32::try_from(failures.saturating_sub(1)).unwrap_or(i32::MAX);
        let times = self.multiplier.max(1.0).powi(exponent);
        let longest = (self.initial.as_secs_f64() * times).min(self.max.as_secs_f64());
        Duration::try_from_secs_f64(longest * (0.5 + share / 2.0)).unwrap_or(self.max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_the_longest() {
        let backoff = Backoff::default();
        let longest: Vec<u128> = (1..=11).map(|failures| backoff.pause(failures, 1.0).as_millis()).collect();
        assert_eq!(longest, [25, 50, 100, 200, 400, 800, 1600, 3200, 6400, 10_000, 10_000]);
        assert_eq!(backoff.pause(2, 0.0), Duration::from_millis(25));
        assert_eq!(backoff.pause(u32::MAX, 1.0), backoff.max);
    }

    #[test]
    fn no_setting_of_a_pause_panics() {
        for multiplier in [f64::NAN, f64::INFINITY, -1.0, 0.0, f64::MAX] {
            let backoff = Backoff { multiplier, initial: Duration::MAX, max: Duration::MAX };
            for failures in [0, 1, 2, u32::MAX] {
                assert!(backoff.pause(failures, 1.0) <= Duration::MAX);
            }
        }
    }
}
