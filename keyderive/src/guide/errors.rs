//! Errors: what each kind means, what to do, and what is retried.
//!
//! The text of an error states the fault, then the remedy. It names the operation, the table, the key (in hexadecimal
//! too unless it is plain text), the value and the limit. It is for people, and its wording may change in any release.
//! Programs decide by predicates, such as `is_not_found`, or match [`kind`](crate::Error::kind); a later release can add
//! kinds.
//!
//! [`RawKey::parse`](crate::key::RawKey::parse) reads a key from the text of an error, of `explain` or of `cbt`, for operators' tools; the
//! key type's [`decode`](crate::RowKey::decode) then reads its fields.
//!
//! Keys and values often hold personal data. [`redacted`](crate::Error::redacted) is a text for logs that must not have
//! them: it leaves out keys, values, the text of a query, and the server's own message, which may name a row. A text ends with the
//! remedy, in calls and attributes of this crate; a tool for people who do not write the program prints `{:#}`, which leaves it out.
//!
//! ```
//! use keyderive::{Client, Error, ErrorKind, RowKey};
//! # #[derive(RowKey)] struct UserKey { #[pad(6)] id: u32 }
//! # type User = std::collections::BTreeMap<String, i64>;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Error> {
//! # let client = Client::embedded();
//! let users = client.table::<UserKey, User>("users");
//!
//! // The table does not exist.
//! let error = users.get(&UserKey { id: 1 }).await.unwrap_err();
//! assert!(error.is_not_found());
//!
//! // The key has at most six digits.
//! users.create_if_absent().await?;
//! let error = users.get(&UserKey { id: 1_000_000 }).await.unwrap_err();
//! assert!(error.kind() == ErrorKind::InvalidKey && error.attempts() == 0); // nothing was sent
//!
//! /// The HTTP status for an error.
//! fn status(error: &Error) -> u16 {
//!     match error.kind() {
//!         ErrorKind::InvalidKey | ErrorKind::InvalidPageToken => 400,
//!         // The write may have been applied: the caller must check before repeating it.
//!         _ if error.is_outcome_unknown() => 502,
//!         ErrorKind::DeadlineExceeded => 504,
//!         ErrorKind::Unavailable | ErrorKind::Overloaded | ErrorKind::ResourceExhausted => 503,
//!         ErrorKind::ClientClosed => 503, // the process is ending
//!         // `NotFound` too: the table is missing. A row that is missing is `None` or `false`.
//!         _ => 500,
//!     }
//! }
//! assert_eq!(status(&error), 400);
//! eprintln!("{}", error.redacted()); // for a log: the table, the field and the remedy, without the key
//! # Ok(())
//! # }
//! ```
//!
//! # `Error`
//!
//! Tables and clients return [`Error`](crate::Error). It has one [`kind`](crate::Error::kind), which says what failed. Kinds that programs
//! act on have a predicate too; several can be true of one error.
//!
//! | kind or predicate | meaning | what to do |
//! |---|---|---|
//! | [`InvalidKey`](crate::ErrorKind::InvalidKey) | no key of the table can hold the value; nothing was sent | reject the value, or widen the field, which changes the layout |
//! | [`InvalidPageToken`](crate::ErrorKind::InvalidPageToken) | the text is not a page token, or belongs to another scan | request the first page |
//! | [`ForeignRow`](crate::ErrorKind::ForeignRow) | a scan met a foreign row: [`row_key`](crate::Error::row_key) does not decode as the table's key type | find out who writes it; skip such rows with [`on_foreign`](crate::Scan::on_foreign), or give each key type a tag |
//! | [`InvalidRow`](crate::ErrorKind::InvalidRow) | a value cannot be stored as columns, the columns do not decode as the row type, or the columns of a [query](super::sql)'s result are not what the program expects: one is missing or malformed | the source, a [`RowError`](crate::row::RowError) or a [`ColumnError`](crate::query::ColumnError), names the column; if rows may lack it, make the field an `Option` or give it a default |
//! | [`is_not_found`](crate::Error::is_not_found) | the table, or a family of the write, does not exist; never a row | create it: [tables](super::tables) |
//! | [`is_already_exists`](crate::Error::is_already_exists) | the table to create exists already | call `create_if_absent`: it compares the table, and fails with `is_table_mismatch` if it differs or has no stamp |
//! | [`is_table_mismatch`](crate::Error::is_table_mismatch) | the table differs from its declaration, its keys have another layout, its [row types](super::tables#registry) do not fit, or a checkpoint belongs to another table; the text shows both sides | do not write; deploy the right program or change the table. If a load's checkpoint is rejected, start from the beginning: [loading](super::loading#resuming) |
//! | [`InvalidArgument`](crate::ErrorKind::InvalidArgument) | the request is malformed or exceeds a limit of Bigtable, whatever the table holds | fix the program: [limits](super::limits) |
//! | [`is_permission_denied`](crate::Error::is_permission_denied) | the caller is not authenticated, or lacks a permission | grant the role: [deployment](super::deployment#permissions) |
//! | [`MissingCredentials`](crate::ErrorKind::MissingCredentials) | the client has no access token | log in, or set a service account; the source says what the client tried |
//! | [`is_deadline_exceeded`](crate::Error::is_deadline_exceeded) | the timeout of the [`Settings`](crate::client::Settings), or the deadline of `with_deadline` or `with_timeout`, has passed; the text says which | raise it, or request less; for a write see `is_outcome_unknown` |
//! | [`is_unavailable`](crate::Error::is_unavailable) | Bigtable is unreachable, or cannot serve now | retry later, unless the text names [an invalid certificate](super::deployment#on-the-cloud); the client may have retried already: the text says how often, and names `retry_budget` if [many requests fail](super::serving#the-retry-budget) |
//! | [`ResourceExhausted`](crate::ErrorKind::ResourceExhausted) | a quota or a limit of the server is exhausted | send less, raise the quota, or [`throttle`](crate::client::ClientBuilder::throttle) loads |
//! | [`is_overloaded`](crate::Error::is_overloaded) | too many requests of this client wait for a connection, so that the last attempt was not sent; with `is_unavailable` if no connection can be opened | shed load; do not call again at once: [a service under load](super::serving#connections) |
//! | [`Unimplemented`](crate::ErrorKind::Unimplemented) | the server does not offer the operation | use the service; the emulator and the embedded Bigtable lack some operations |
//! | [`ProtocolViolation`](crate::ErrorKind::ProtocolViolation) | the response violates the protocol | report it: a bug in the server or in keyderive |
//! | [`Misconfiguration`](crate::ErrorKind::Misconfiguration) | the arguments or the environment do not name a Bigtable | set the variable or enable the feature that the text names |
//! | [`FileInUse`](crate::ErrorKind::FileInUse) | the file of an embedded Bigtable is already open | open it once, and clone the client; for several processes, [serve the file on a port](super::testing#files-and-more-than-one-process) |
//! | [`DataLoss`](crate::ErrorKind::DataLoss) | stored data is damaged | restore the file |
//! | [`ClientClosed`](crate::ErrorKind::ClientClosed) | the client was closed before the operation began, or while its stream was not polled | make a new client; rows that a writer had accepted were sent, and its `flush` reports failures |
//! | [`is_outcome_unknown`](crate::Error::is_outcome_unknown) | the write may or may not have been applied | depends on the call: [unknown outcomes](#unknown-outcomes) |
//! | [`is_retryable`](crate::Error::is_retryable) | the failure is transient, and repeating the call is safe | repeat the call later |
//!
//! An error also has
//!
//! - [`attempts`](crate::Error::attempts): 0 if nothing was sent, or if a response could not be decoded as a key or a
//!   row;
//! - [`bucket`](crate::Error::bucket): the salt bucket in which a scan failed;
//! - [`last_row_key`](crate::Error::last_row_key): the row after which a scan can resume;
//! - [`grpc_code`](crate::Error::grpc_code): the status code of gRPC.
//!
//! # Retries
//!
//! The client retries transient failures, on another connection if there is one: with exponential backoff, or after the delay the server
//! asks for. A scan resumes after the last row it delivered, so no row comes twice. A write of many rows retries only the rows that failed.
//! A conditional write, an increment or an append is retried only if it was not applied: it was not sent, or the server
//! [rejected](#unknown-outcomes) it. Reads and writes of one row are not retried while many of the client's requests fail: see
//! [a service under load](super::serving). The error of an operation that gives up says what it tried:
//!
//! ```text
//! ReadRows on table `events` failed: DEADLINE_EXCEEDED; given up after 9 attempts in 3.0 s; the timeout is 3s; the last attempt: UNAVAILABLE: the connection could not be made: Connection refused (os error 111), at the emulator at 127.0.0.1:8086
//! ```
//!
//! Timeouts, backoffs and most limits can be set for a client, a table or one call.
//! [`Settings`](crate::client::Settings), [`ClientBuilder`](crate::client::ClientBuilder) and
//! [`WriterSettings`](crate::client::WriterSettings) list them with their defaults.
//!
//! ```
//! # use std::time::Duration;
//! # use keyderive::{Client, RowKey};
//! # #[derive(RowKey)] struct UserKey { id: u64 }
//! # type User = std::collections::BTreeMap<String, i64>;
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), keyderive::Error> {
//! # let users = Client::embedded().table::<UserKey, User>("users");
//! # users.create_if_absent().await?;
//! let hasty = users.with(|settings| settings.read_row.total_timeout = Duration::from_millis(200));
//! let user = hasty.get(&UserKey { id: 7 }).await?;
//! # assert!(user.is_none());
//! # Ok(())
//! # }
//! ```
//!
//! # Unknown outcomes
//!
//! The client cannot know whether a write was applied after a broken connection or a deadline, or after the codes `UNAVAILABLE`,
//! `DEADLINE_EXCEEDED`, `CANCELLED`, `ABORTED`, `UNKNOWN`, `INTERNAL` and `DATA_LOSS`: the server may have failed halfway. With any other
//! code, such as `RESOURCE_EXHAUSTED`, `FAILED_PRECONDITION` or `PERMISSION_DENIED`, the server has rejected the write, and applied none of
//! it. If one attempt of a write is unknown, so is the call: [`is_outcome_unknown`](crate::Error::is_outcome_unknown) is true, even if a
//! later attempt was rejected, and the text says "it may have been applied". What to do depends on the call:
//!
//! | call | after an unknown outcome |
//! |---|---|
//! | `put`, `insert`, `merge`, `update`, `delete`, [`put_both`](crate::put_both) | repeat the call. It also overwrites what others have written in the meantime: if that matters, read the row and use a condition |
//! | `put_all`, `merge_all`, `delete_rows`, a `writer` | repeat the call with the same rows: the error names one row, but the outcome of the other rows of its request is unknown too |
//! | `load` | resume it |
//! | [`mutate_row`](crate::client::RawTable::mutate_row), [`mutate_rows`](crate::client::RawTable::mutate_rows), a [`RawWriter`](crate::client::RawWriter) | if it only deletes and sets cells at your own timestamps, repeat the call, as for `put`. A cell at the server's time gets one more version, which reads of one version do not show. An addition may count twice |
//! | [`check_and_mutate_row`](crate::client::RawTable::check_and_mutate_row), [`read_modify_write_row`](crate::client::RawTable::read_modify_write_row) | as `put_if` and as `increment` below |
//! | `put_if`, `put_if_absent`, `delete_if`, `update` with `only_if` | if the write makes its own condition false, repeat the same call, with a number unique to the caller in a column: after `true` it is written, once; after `false` read the row: with your number, it is yours. If the condition stays true, a repetition may apply a second time, which counts in sums: choose a condition that the write makes false. A read alone proves nothing, since the first request may be applied later; waiting makes that less likely, but no time rules it out |
//! | `increment`, `append`, `modify` | repeating the call may count or append twice. With one writer, read the row. With several, the row cannot tell: if each event must count once, store a row per event, or use `put_if` |
//! | a table created, changed or deleted, `drop_rows` | check the table, as `create_if_absent` does |
//!
//! The outcome of a read, or of a call that failed before it was sent, is never unknown.
//! [`is_retryable`](crate::Error::is_retryable) is false if repeating the call might apply it twice.
//!
//! # Other error types
//!
//! | type | from | predicates and fields |
//! |---|---|---|
//! | [`EncodeError`](crate::key::EncodeError) | [`encode`](crate::RowKey::encode): a value that the key cannot hold | `field_name`, `is_too_long`, `is_empty_key` |
//! | [`DecodeError`](crate::key::DecodeError) | [`decode`](crate::RowKey::decode): bytes that encode would not have written | `field_name`, `is_other_tag`, `is_wrong_bucket`, and the `key` |
//! | [`PlanError`](crate::plan::PlanError) | `into_plan`, `explain`: a fixed value that no key can hold, a page token | `field_name`, `is_invalid_page_token` |
//! | [`ParseKeyError`](crate::key::ParseKeyError) | [`RawKey::parse`](crate::key::RawKey::parse): text that is not a row key | `position` |
//! | [`RowError`](crate::row::RowError) | the source of an error of the kind `InvalidRow` | `is_missing_column`, `is_malformed`, `is_unsupported` |
//! | [`ColumnError`](crate::query::ColumnError) | [`QueryRow::get`](crate::query::QueryRow::get), and the source of an error of a query of the kind `InvalidRow` | `redacted` |
//! | [`FilterError`](crate::row::FilterError) | the source of an error about a filter that the service does not accept | `is_too_large` |
//! | [`WriteErrors`](crate::client::WriteErrors) | a writer's `flush` and `close` | `failed`: each row with its key and its error; `is_outcome_unknown` |
//! | [`LoadError`](crate::load::LoadError) | a load that ended before its input | `is_input`, `is_too_many_failures`, `error`, `checkpoint`, `report` |
//! | [`PutBothError`](crate::PutBothError) | [`put_both`](crate::put_both) | `first`, `second`: the outcome of each row; `is_retryable`, `is_outcome_unknown` |
//! | [`CredentialsError`](crate::client::CredentialsError) | the source of an error of the kind `MissingCredentials` | `is_transient` |
//! | [`SqlError`](crate::key::SqlError) | [`row_key_schema`](crate::RowKey::row_key_schema), [`sql`](crate::RowKey::sql) | |
//!
//! `?` converts the first three, the last, and a [`ColumnError`](crate::query::ColumnError) of a query's result into an
//! [`Error`](crate::Error). The others are the source of an `Error`, or hold several.
