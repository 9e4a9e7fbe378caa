//! What a call fails with.

use std::time::Duration;

use bytes::Bytes;
use prost::Message as _;
use tonic::{Code, Status};

use keyderive_proto::values;

const RETRY_INFO: &str = "type.googleapis.com/google.rpc.RetryInfo";

/// What a call fails with.
///
/// ```
/// use std::time::Duration;
/// use keyderive::embedded::Fault;
///
/// let busy = Fault::resource_exhausted().retry_after(Duration::from_secs(2));
/// let lost = Fault::unavailable().after_the_call();
/// # drop((busy, lost));
/// ```
#[derive(Clone, Debug)]
#[must_use = "a fault does nothing until calls fail with it"]
pub struct Fault {
    code: Code,
    retry_after: Option<Duration>,
    pub(super) after_the_call: bool,
}

impl Fault {
    /// The server cannot be reached for now; a client may try again what may be applied twice.
    pub fn unavailable() -> Self {
        Self::of(Code::Unavailable)
    }

    /// The call has collided with another; a client may try again.
    pub fn aborted() -> Self {
        Self::of(Code::Aborted)
    }

    /// The call took too long; a client may try again.
    pub fn deadline_exceeded() -> Self {
        Self::of(Code::DeadlineExceeded)
    }

    /// A quota is used up, or the server is overloaded. A client may try again where it is told
    /// [when](Self::retry_after).
    pub fn resource_exhausted() -> Self {
        Self::of(Code::ResourceExhausted)
    }

    /// Something is wrong with the server.
    pub fn internal() -> Self {
        Self::of(Code::Internal)
    }

    /// The caller may not do this.
    pub fn permission_denied() -> Self {
        Self::of(Code::PermissionDenied)
    }

    /// The server does not know who calls.
    pub fn unauthenticated() -> Self {
        Self::of(Code::Unauthenticated)
    }

    /// The system is not in a state for this call.
    pub fn failed_precondition() -> Self {
        Self::of(Code::FailedPrecondition)
    }

    /// The same fault, with the server's word that the call is to be tried again after so long, by a `RetryInfo` in
    /// its details.
    pub fn retry_after(self, delay: Duration) -> Self {
        Self { retry_after: Some(delay), ..self }
    }

    /// The same fault, after the call has been carried out: what it changed is changed, and only the answer is lost.
    ///
    /// It is for faults that leave open what was done, as [`unavailable`](Self::unavailable): a client believes a server that
    /// refuses, as by [`permission_denied`](Self::permission_denied).
    pub fn after_the_call(self) -> Self {
        Self { after_the_call: true, ..self }
    }

    fn of(code: Code) -> Self {
        Self { code, retry_after: None, after_the_call: false }
    }

    pub(super) fn status(&self) -> Status {
        let message = "the call fails because the test asks for it";
        match self.retry_after {
            None => Status::new(self.code, message),
            Some(delay) => Status::with_details(self.code, message, details(self.code, message, delay)),
        }
    }
}

/// The details of a status are the status once more as a message, with what is attached to it.
fn details(code: Code, message: &str, delay: Duration) -> Bytes {
    #[derive(prost::Message)]
    struct RetryInfo {
        #[prost(message, optional, tag = "1")]
        retry_delay: Option<values::Duration>,
    }
    let retry_delay = values::Duration {
        seconds: i64::try_from(delay.as_secs()).unwrap_or(i64::MAX),
        nanos: delay.subsec_nanos().cast_signed(),
    };
    let info = RetryInfo { retry_delay: Some(retry_delay) };
    let any = values::Any { type_url: RETRY_INFO.to_owned(), value: info.encode_to_vec().into() };
    let status = values::Status { code: code.into(), message: message.to_owned(), details: vec![any] };
    status.encode_to_vec().into()
}
