//! The text of an error.

use std::error::Error as StdError;
use std::fmt;

use bytes::Bytes;
use keyderive_proto::code_name;
use tonic::Code;

use super::{AttemptSummary, Error, Protocol, RekeyingEnd, Repr, RetryLimit, Rpc};
use crate::client::Target;
use crate::client::failure::Failure;
use crate::client::operation::Idempotency;
use crate::key::ShownKey;

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f, Keys::Shown)
    }
}

/// Which row keys and values a text shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Keys {
    Shown,
    /// All but the key of the row that the error is about, which the caller has printed.
    Named,
    /// None, and no messages of the server or of serde, which may name a row.
    Redacted,
}

impl Error {
    /// The text without row keys and values, for logs that must not contain them.
    ///
    /// ```
    /// # use keyderive::{Client, Error, RowKey};
    /// # #[derive(RowKey)] struct UserKey { name: String }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// let users = Client::embedded().table::<UserKey, ()>("users");
    /// let error = users.get(&UserKey { name: "alice".into() }).await.unwrap_err();
    /// assert!(error.to_string().starts_with("ReadRows of row `alice` on table `users` failed: NOT_FOUND"));
    /// assert!(error.redacted().to_string().starts_with("ReadRows on table `users` failed: NOT_FOUND"));
    /// # }
    /// ```
    ///
    /// It also leaves out the messages of the server and of serde, which may name a row or a value. It names tables, key types,
    /// fields, families and columns; the columns of a map are its keys.
    #[must_use = "it is a text, to be printed"]
    pub fn redacted(&self) -> impl fmt::Display + '_ {
        fmt::from_fn(|f| self.write(f, Keys::Redacted))
    }

    /// The text to print after the key of the row that the error is about.
    pub(crate) fn without_own_key(&self) -> impl fmt::Display + '_ {
        fmt::from_fn(|f| self.write(f, Keys::Named))
    }

    fn write(&self, f: &mut fmt::Formatter<'_>, keys: Keys) -> fmt::Result {
        self.write_fault(f, keys)?;
        match self.remedy() {
            Some(remedy) if !f.alternate() => write!(f, "; {remedy}"),
            _ => Ok(()),
        }
    }

    /// What to do about it, in calls and attributes.
    fn remedy(&self) -> Option<&'static str> {
        match self.cause() {
            Repr::Mismatch { remedy, .. } => *remedy,
            Repr::Row { error, .. } => error.remedy(),
            Repr::Rpc(rpc) => rpc.remedy(),
            Repr::Input { error, .. } | Repr::Rekeying { cause: Some(error), .. } => error.remedy(),
            _ => None,
        }
    }

    fn write_fault(&self, f: &mut fmt::Formatter<'_>, keys: Keys) -> fmt::Result {
        match self.repr() {
            Repr::Damaged { .. } if keys == Keys::Redacted => {
                f.write_str("the file of an embedded Bigtable is damaged")
            }
            Repr::Configuration { message }
            | Repr::Unreachable { message }
            | Repr::InUse { message }
            | Repr::Damaged { message } => f.write_str(message),
            Repr::Credentials { error } => write!(
                f,
                "there is no access token for the cloud: {error}; run `gcloud auth application-default login`, set \
                 `GOOGLE_APPLICATION_CREDENTIALS` to a key file, or call `ClientBuilder::credentials`"
            ),
            Repr::Closed { rpc, table, key } => {
                write!(f, "{}: the client is closed", Failed { rpc, table, key, keys })
            }
            Repr::RuntimeEnded { table, .. } => write!(
                f,
                "MutateRows on table `{table}` failed: the tokio runtime ended before the answer came{MAY_BE_APPLIED}"
            ),
            Repr::Rpc(rpc) => rpc.write(f, keys),
            Repr::Protocol(Protocol { rpc, table, message, is_write, key, last, .. }) => {
                write!(f, "{}: the server's answer breaks the protocol", Failed { rpc, table, key, keys })?;
                if keys != Keys::Redacted {
                    write!(f, ": {message}")?;
                }
                f.write_str(if *is_write { MAY_BE_APPLIED } else { "" })?;
                write!(f, "{}", LastRow(last, keys))
            }
            Repr::Limit { table, key, message } => {
                write!(f, "{} of table `{table}` was not written: {message}", OneRow(key, keys))
            }
            Repr::Key { table, error } => match keys {
                Keys::Redacted => write!(f, "{}{}", InTable(table), error.redacted()),
                _ => write!(f, "{}{error}", InTable(table)),
            },
            Repr::Plan { table, error } => match keys {
                Keys::Redacted => write!(f, "{}{}", InTable(table), error.redacted()),
                _ => write!(f, "{}{error}", InTable(table)),
            },
            Repr::Filter { table, error } => write!(f, "table `{table}`: {error}"),
            Repr::Foreign { table, error } => match keys {
                Keys::Redacted => write!(f, "{}foreign row: {}", InTable(table), error.redacted()),
                _ => write!(f, "{}foreign row: {error}", InTable(table)),
            },
            Repr::Row { table, key, error } => {
                match key[..] {
                    // An error about no row, such as the columns that a scan selects.
                    [] => write!(f, "table `{table}`: ")?,
                    _ => write!(f, "{} of table `{table}`: ", OneRow(key, keys))?,
                }
                match keys {
                    Keys::Redacted => write!(f, "{:#}", error.redacted()),
                    _ => write!(f, "{error:#}"),
                }
            }
            Repr::NewKey { table, key, error } => {
                write!(f, "{} of table `{table}` has no new key", OneRow(key, keys))?;
                match error.downcast_ref::<Self>() {
                    Some(error) => {
                        f.write_str(": ")?;
                        error.write_fault(f, keys)
                    }
                    None if keys == Keys::Redacted => Ok(()),
                    None => write!(f, ": {error}"),
                }
            }
            // The inner error names the key.
            Repr::Entry { key, error } if error.row_key() == Some(key) => error.write_fault(f, keys),
            Repr::Entry { key, error } => {
                let verb = if error.is_outcome_unknown() { "may not have been" } else { "was not" };
                write!(f, "{} {verb} written: ", OneRow(key, keys))?;
                error.write_fault(f, keys)
            }
            Repr::Input { index, error } => {
                write!(f, "row {index} of the input, counted from 0: ")?;
                error.write_fault(f, keys)
            }
            Repr::Scan { bucket, last, error } => {
                error.write_fault(f, keys)?;
                let last = last.as_ref().filter(|_| keys != Keys::Redacted);
                match (bucket, last) {
                    (Some(bucket), Some(key)) => {
                        write!(f, "; in bucket {bucket}, and the last row delivered was {}", ShownKey(key))
                    }
                    (Some(bucket), None) if keys == Keys::Redacted => write!(f, "; in bucket {bucket}"),
                    (Some(bucket), None) => write!(f, "; in bucket {bucket}, before any row was delivered"),
                    (None, Some(key)) => write!(f, "; the last row delivered was {}", ShownKey(key)),
                    (None, None) => Ok(()),
                }
            }
            Repr::Query { text, error } => {
                match keys {
                    Keys::Redacted => f.write_str("query: ")?,
                    _ => write!(f, "query `{text}`: ")?,
                }
                error.write_fault(f, keys)
            }
            Repr::Parameter { name, message } => {
                write!(f, "the parameter `@{name}` cannot be sent")?;
                match keys {
                    Keys::Redacted => Ok(()),
                    _ => write!(f, ": {message}"),
                }
            }
            Repr::Column { error } => match keys {
                Keys::Redacted => write!(f, "{}", error.redacted()),
                _ => write!(f, "{error}"),
            },
            Repr::Sql { error } => write!(f, "{error}"),
            Repr::NotPrefixes { table, message } => write!(f, "table `{table}`: {message}"),
            Repr::Definition { table, message } | Repr::Mismatch { table, message, .. } => {
                write!(f, "table `{table}`: {message}")
            }
            Repr::Rekeying { table, key, end, cause } => {
                if let Some(key) = key {
                    write!(f, "{} of ", OneRow(key, keys))?;
                }
                write!(f, "table `{table}`, which is re-keyed: {}", rekeying_end(*end))?;
                match cause {
                    None => Ok(()),
                    Some(error) => {
                        f.write_str(": ")?;
                        error.write_fault(f, keys)
                    }
                }
            }
        }
    }
}

fn rekeying_end(end: RekeyingEnd) -> &'static str {
    match end {
        RekeyingEnd::NoLease => {
            "the state of the re-keying could not be read, and nothing is read or written without it; call again"
        }
        RekeyingEnd::Waited => {
            "the re-keying is at a state in which writes wait, for some seconds, and the call ran out of time; call again, or \
             give calls more time while a table is re-keyed"
        }
        RekeyingEnd::Late => {
            "the lease on the state of the re-keying ended before the answer, so the write may have been applied; read the row to \
             know"
        }
        RekeyingEnd::Unanswered => {
            "the state of the re-keying changed, or the lease on it ended, before the answer arrived, so the write may have been \
             applied; the call failed before it could repeat the write; call again"
        }
        RekeyingEnd::Changed => {
            "the re-keying reached its next state during a scan in no order, or a comparison, which cannot continue in it; run it again"
        }
    }
}

const MAY_BE_APPLIED: &str = "; it may have been applied";

/// Why a write that adds to an aggregate was not repeated.
const TOKENS_ARE_IGNORED: &str =
    ", since it adds to an aggregate, and this server is not known to honour idempotency tokens";

/// The row that the error is about.
struct OneRow<'a>(&'a [u8], Keys);

impl fmt::Display for OneRow<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self(key, Keys::Shown) => write!(f, "row {}", ShownKey(key)),
            Self(_, Keys::Named | Keys::Redacted) => f.write_str("the row"),
        }
    }
}

/// The prefix of an error's text with the table, if it is known.
struct InTable<'a>(&'a Option<String>);

impl fmt::Display for InTable<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.as_ref().map_or(Ok(()), |table| write!(f, "table `{table}`: "))
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_tuple("Error");
        debug.field(&format_args!("{self}"));
        if let Some(source) = self.source() {
            debug.field(&source);
        }
        debug.finish()
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        match self.repr() {
            Repr::Credentials { error } => Some(error),
            Repr::Key { error, .. } => Some(error),
            Repr::Plan { error, .. } => Some(error),
            Repr::Filter { error, .. } => Some(error),
            Repr::Foreign { error, .. } => Some(error),
            Repr::Row { error, .. } => Some(error),
            Repr::NewKey { error, .. } => Some(error.as_ref()),
            Repr::Column { error } => Some(error),
            Repr::Sql { error } => Some(error),
            Repr::Input { error, .. } => Some(error),
            Repr::Entry { error, .. } | Repr::Scan { error, .. } | Repr::Query { error, .. } => {
                error.source()
            }
            Repr::Rpc(Rpc { failure, .. }) => {
                failure.source.as_ref().map(|source| source.as_ref() as &(dyn StdError + 'static))
            }
            Repr::Configuration { .. }
            | Repr::Unreachable { .. }
            | Repr::InUse { .. }
            | Repr::Damaged { .. }
            | Repr::Closed { .. }
            | Repr::Limit { .. }
            | Repr::RuntimeEnded { .. }
            | Repr::Protocol { .. }
            | Repr::NotPrefixes { .. }
            | Repr::Parameter { .. }
            | Repr::Definition { .. }
            | Repr::Mismatch { .. } => None,
            Repr::Rekeying { cause, .. } => cause.as_ref().map(|error| error as _),
        }
    }
}

impl Rpc {
    fn write(&self, f: &mut fmt::Formatter<'_>, keys: Keys) -> fmt::Result {
        let Self { rpc, table, target, failure, tries, key, last } = self;
        write!(f, "{}: ", Failed { rpc, table, key, keys })?;
        let outcome = AttemptOutcome { failure, target, keys };
        match tries.ended {
            // The operation timed out, whatever the last attempt ended with.
            Some(RetryLimit::Time(_) | RetryLimit::Deadline) if failure.code != Code::DeadlineExceeded => {
                write!(f, "DEADLINE_EXCEEDED{tries}; the last attempt: {outcome}")?;
            }
            _ => write!(f, "{outcome}{tries}")?,
        }
        if let Some(failure) = &failure.earlier {
            write!(f, "; an earlier attempt: {}", AttemptOutcome { failure, target, keys })?;
        }
        match tries.unknown_outcome {
            None => {}
            Some(Idempotency::ByToken) if !tries.honours_tokens => {
                write!(f, "{MAY_BE_APPLIED}, and was not repeated{TOKENS_ARE_IGNORED}")?;
            }
            Some(_) => f.write_str(MAY_BE_APPLIED)?,
        }
        if self.is_missing_table() {
            write!(f, "; this is the {target}")?;
        }
        write!(f, "{}", LastRow(last, keys))
    }

    fn remedy(&self) -> Option<&'static str> {
        match self.failure.code {
            Code::NotFound if self.is_missing_table() => {
                Some("create it with `table.create_if_absent()`, or check the instance")
            }
            Code::Unimplemented if self.rpc == "ListHotTablets" => Some("`sizes` works on all of them"),
            _ => None,
        }
    }

    /// Whether the table was not found, rather than a column family.
    fn is_missing_table(&self) -> bool {
        let Self { rpc, table, failure, .. } = self;
        let is_family = || failure.message.to_ascii_lowercase().contains("family");
        failure.code == Code::NotFound && !table.is_empty() && *rpc != "DeleteTable" && !is_family()
    }
}

/// What an attempt ended with.
struct AttemptOutcome<'a> {
    failure: &'a Failure,
    target: &'a Target,
    keys: Keys,
}

impl fmt::Display for AttemptOutcome<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { failure, target, keys } = self;
        write!(f, "{}", code_name(failure.code))?;
        let is_shown = *keys != Keys::Redacted || !failure.answered;
        if is_shown && !failure.message.is_empty() {
            write!(f, ": {}", failure.message)?;
        }
        if !failure.answered && !failure.timed_out && !failure.is_missing_token() {
            // The failure of a connection does not name the address.
            write!(f, ", at the {target}")?;
        }
        if failure.needs_single_row_transactions() {
            f.write_str(
                "; conditional writes, increments and appends need an app profile that routes to a single cluster and \
                 allows single-row transactions",
            )?;
        }
        if failure.is_missing_family() {
            f.write_str(
                "; declare the family with the table, `table.create().family(\"…\", GcRule::…)`, which also declares those \
                 of the row type, or add it with `table.modify_families(…)`; if a column's name has a colon, \
                 write its family first, even the table's own: `cf:METER:0015`",
            )?;
        }
        Ok(())
    }
}

impl fmt::Display for AttemptSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { attempts, elapsed, ended, .. } = self;
        let elapsed = elapsed.as_secs_f64();
        let tried = match attempts {
            0 | 1 if ended.is_none() => return Ok(()),
            0 => format!("after {elapsed:.1} s, before the first attempt"),
            1 => format!("after 1 attempt in {elapsed:.1} s"),
            _ => format!("after {attempts} attempts in {elapsed:.1} s"),
        };
        match ended {
            None => write!(f, "; {tried}"),
            Some(RetryLimit::Attempts) => write!(f, "; given up {tried}"),
            Some(RetryLimit::Time(allowed)) => write!(f, "; given up {tried}; the timeout is {allowed:?}"),
            Some(RetryLimit::Deadline) => {
                write!(f, "; given up {tried}, at the deadline of `with_deadline` or `with_timeout`")
            }
            Some(RetryLimit::Budget) => write!(
                f,
                "; {tried}, and not retried, since too many requests of this client fail (`retry_budget`)"
            ),
        }
    }
}

/// The beginning of a text: which operation failed, on which table and row.
struct Failed<'a> {
    rpc: &'a str,
    table: &'a str,
    key: &'a Option<Bytes>,
    keys: Keys,
}

impl fmt::Display for Failed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self { rpc, table: "", .. } => write!(f, "{rpc} failed"),
            Self { rpc, table, key: Some(key), keys: Keys::Shown } => {
                write!(f, "{rpc} of row {} on table `{table}` failed", ShownKey(key))
            }
            Self { rpc, table, .. } => write!(f, "{rpc} on table `{table}` failed"),
        }
    }
}

/// The end of a text: the last row that a scan read.
struct LastRow<'a>(&'a Option<Bytes>, Keys);

impl fmt::Display for LastRow<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self(Some(key), Keys::Shown | Keys::Named) => {
                write!(f, "; the last row read was {}", ShownKey(key))
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tonic::Status;

    use super::*;
    use keyderive_proto::Rpc as Of;

    use crate::client::operation::Operation;

    fn error(status: Status, attempts: u32, ended: Option<RetryLimit>) -> Error {
        let operation = Operation::for_test(Of::ReadRows, "events");
        let elapsed = Duration::from_millis(1234);
        Error::rpc(
            &operation,
            status.into(),
            AttemptSummary { attempts, elapsed, ended, unknown_outcome: None, honours_tokens: false },
        )
    }

    #[test]
    fn text_names_operation_table_code_and_message() {
        let not_found = error(Status::not_found("no such table"), 1, None);
        assert_eq!(
            not_found.to_string(),
            "ReadRows on table `events` failed: NOT_FOUND: no such table; this is the emulator at 127.0.0.1:1; create \
             it with `table.create_if_absent()`, or check the instance"
        );
        let family = error(Status::not_found("no column family `x`"), 1, None);
        assert_eq!(family.to_string(), "ReadRows on table `events` failed: NOT_FOUND: no column family `x`");
        assert!(not_found.is_not_found() && not_found.source().is_none());
        let aborted = error(Status::new(Code::Aborted, ""), 1, None);
        assert_eq!(aborted.to_string(), "ReadRows on table `events` failed: ABORTED");
    }

    #[test]
    fn text_says_what_was_tried() {
        let busy = || Status::unavailable("busy");
        let said =
            |attempts, ended| error(busy(), attempts, ended).with_last_row(Some("k".into())).to_string();
        let head = "ReadRows on table `events` failed: UNAVAILABLE: busy; ";
        let tail = "; the last row read was `k`";
        assert_eq!(
            said(10, Some(RetryLimit::Attempts)),
            format!("{head}given up after 10 attempts in 1.2 s{tail}")
        );
        let time = RetryLimit::Time(Duration::from_secs(2));
        assert_eq!(
            said(1, Some(time)),
            "ReadRows on table `events` failed: DEADLINE_EXCEEDED; given up after 1 attempt in 1.2 s; the timeout \
             is 2s; the last attempt: UNAVAILABLE: busy; the last row read was `k`"
        );
        assert_eq!(said(2, None), format!("{head}after 2 attempts in 1.2 s{tail}"));
        let silent = error(Status::deadline_exceeded("no answer"), 2, Some(time)).to_string();
        assert!(
            silent.contains("failed: DEADLINE_EXCEEDED: no answer; given up after 2 attempts"),
            "{silent}"
        );
        let late = error(busy(), 3, Some(time));
        assert!(
            late.is_deadline_exceeded()
                && late.is_unavailable()
                && late.is_retryable()
                && late.attempts() == 3
        );
        assert_eq!(late.grpc_code(), Some(4));
    }
}
