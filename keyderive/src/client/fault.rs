//! What can go wrong below an attempt, as errors that name the layer: `failure.rs` says what each means for a retry.

use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;

use keyderive_proto::MAX_MESSAGE_BYTES;
use tonic::Status;

/// An underlying failure.
pub(crate) type Source = Arc<dyn StdError + Send + Sync>;

/// The connection could not be made, or took no more requests: nothing was sent.
#[derive(Clone, Debug)]
pub(super) struct ConnectError(pub(super) Source);

impl ConnectError {
    /// The text with the root cause.
    pub(super) fn with_cause(&self) -> String {
        let causes = std::iter::successors(self.source(), |&error| error.source());
        match causes.last() {
            Some(cause) => format!("{self}: {cause}"),
            None => self.to_string(),
        }
    }
}

impl fmt::Display for ConnectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the connection could not be made")
    }
}

impl StdError for ConnectError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        Some(&*self.0)
    }
}

/// The runtime of a connection has ended, which closed the connection.
#[derive(Debug)]
pub(super) struct RuntimeEnded;

impl fmt::Display for RuntimeEnded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the tokio runtime in which this client was made has ended; make one client per runtime")
    }
}

impl StdError for RuntimeEnded {}

/// Why a request may not wait for a connection.
#[derive(Debug)]
pub(super) struct Overload {
    /// How many requests wait.
    pub(super) waiting: usize,
    /// Whether a connection is open.
    pub(super) is_open: bool,
    /// Why a connection could not be made, if none is open.
    pub(super) cause: Option<ConnectError>,
}

/// An answer has more than the client holds.
#[derive(Clone, Copy, Debug)]
pub(super) enum TooLarge {
    /// A message announces this many bytes.
    Message(usize),
    /// A row takes more memory than this.
    Row(usize),
    /// The keys of the samples have more bytes than this.
    Samples(usize),
}

impl TooLarge {
    pub(super) fn status(self) -> Status {
        Status::from_error(Box::new(self))
    }
}

impl fmt::Display for TooLarge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Message(len) => {
                write!(
                    f,
                    "a message of the answer has {len} bytes, and at most {MAX_MESSAGE_BYTES} are accepted"
                )
            }
            Self::Row(limit) => write!(
                f,
                "the row takes more than {limit} bytes, the limit of `Settings::max_row_bytes`; read fewer of its columns or \
                 versions, or raise the limit"
            ),
            Self::Samples(limit) => write!(f, "the keys of the answer have more than {limit} bytes"),
        }
    }
}

impl StdError for TooLarge {}

/// An answer breaks the protocol: how.
#[derive(Debug)]
pub(super) struct ProtocolViolation(String);

impl ProtocolViolation {
    pub(super) fn status(how: String) -> Status {
        Status::from_error(Box::new(Self(how)))
    }
}

impl fmt::Display for ProtocolViolation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl StdError for ProtocolViolation {}
