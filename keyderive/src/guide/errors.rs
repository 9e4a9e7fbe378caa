//! Errors: what each predicate tells, and what to do then.
//!
//! A text names the operation, the table, the key (in hexadecimal too where it is no plain text), the value and the limit;
//! first the fault, then the remedy. It is for people, and its wording may change in any release. What a program decides
//! on is asked by predicate; kinds of errors are not enumerated, so that a release can add one.
//!
//! Keys and values are often those of users. [`redacted`](crate::Error::redacted) is the text without them, and without the
//! words of a server, which may name a row: for logs that are not to have them.
//!
//! ```
//! use keyderive::{Client, Error, RowKey};
//! # #[derive(RowKey)] struct UserKey { #[pad(6)] id: u32 }
//! # type User = std::collections::BTreeMap<String, i64>;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Error> {
//! # let client = Client::embedded();
//! let users = client.table::<UserKey, User>("users");
//!
//! // Nobody has made the table.
//! let error = users.get(&UserKey { id: 1 }).await.unwrap_err();
//! assert!(error.is_not_found());
//!
//! // The key has six digits.
//! users.create_if_absent().await?;
//! let error = users.get(&UserKey { id: 1_000_000 }).await.unwrap_err();
//! assert!(error.is_invalid_key() && error.attempts() == 0); // nothing was sent
//!
//! /// What an HTTP service says.
//! fn status(error: &Error) -> u16 {
//!     match error {
//!         error if error.is_invalid_key() || error.is_invalid_page_token() => 400,
//!         // A write that may have been applied: who asked looks before asking again.
//!         error if error.is_outcome_unknown() => 502,
//!         error if error.is_deadline_exceeded() => 504,
//!         error if error.is_retryable() => 503,
//!         _ => 500,
//!     }
//! }
//! assert_eq!(status(&error), 400);
//! eprintln!("{}", error.redacted()); // for a log: the table, the field and what to do, and not the key
//! # Ok(())
//! # }
//! ```
//!
//! # `Error`
//!
//! Tables and clients return [`Error`](crate::Error). Several predicates can hold of one error.
//!
//! | predicate | what has happened | what to do |
//! |---|---|---|
//! | [`is_invalid_key`](crate::Error::is_invalid_key) | a value was given that no key of the table holds; nothing was sent | refuse the value, or widen the field, which is another layout |
//! | [`is_invalid_page_token`](crate::Error::is_invalid_page_token) | a page token is none, or that of another scan | ask for the first page |
//! | [`is_foreign_row`](crate::Error::is_foreign_row) | a scan met a key of other code or another layout; [`row_key`](crate::Error::row_key) is it | find out who writes it; [`on_foreign`](crate::Scan::on_foreign) skips such rows, a tag for each key type keeps them apart |
//! | [`is_invalid_row`](crate::Error::is_invalid_row) | a value cannot be columns, or columns are not a row: one is missing, or malformed | the source, a [`RowError`](crate::row::RowError), tells which; make the field an `Option` or give it a default where rows may lack it |
//! | [`is_not_found`](crate::Error::is_not_found) | the table, or a family that was written to, does not exist | create it: [`tables`](super::tables) |
//! | [`is_already_exists`](crate::Error::is_already_exists) | the table that was to be created exists | `create_if_absent` compares it, and fails with `is_table_mismatch` where it differs or has no voucher |
//! | [`is_table_mismatch`](crate::Error::is_table_mismatch) | a table is not what was declared, its keys have another layout, or a checkpoint is of another one; the text has both sides | deploy the right program, or change the table; do not write. A load whose checkpoint is refused begins at the beginning: [`loading`](super::loading#resuming) |
//! | [`is_invalid_argument`](crate::Error::is_invalid_argument) | the request is malformed or above a limit of Bigtable, whatever the table holds | mend the program: [`limits`](super::limits) |
//! | [`is_permission_denied`](crate::Error::is_permission_denied) | the caller is unknown, or may not do this | grant the role: [`deployment`](super::deployment#permissions) |
//! | [`is_missing_credentials`](crate::Error::is_missing_credentials) | there was no access token to send a request with | log in, or name a service account; the source tells what was tried |
//! | [`is_deadline_exceeded`](crate::Error::is_deadline_exceeded) | the time for the operation ran out | give it more in [`Settings`](crate::client::Settings), or ask for less |
//! | [`is_unavailable`](crate::Error::is_unavailable) | Bigtable could not be reached, or cannot serve now | the client has tried again; try later |
//! | [`is_resource_exhausted`](crate::Error::is_resource_exhausted) | a quota or a limit of the server is used up | send less, raise the quota, or [`throttle`](crate::client::ClientBuilder::throttle) loads |
//! | [`is_unimplemented`](crate::Error::is_unimplemented) | the server does not offer the operation | the emulator and the embedded Bigtable lack some |
//! | [`is_protocol_violation`](crate::Error::is_protocol_violation) | the server's answer broke the protocol | a fault of the server or of keyderive: report it |
//! | [`is_misconfiguration`](crate::Error::is_misconfiguration) | no Bigtable could be told from the arguments or the environment | the text names the variable or the feature |
//! | [`is_file_in_use`](crate::Error::is_file_in_use) | the file of an embedded Bigtable is open elsewhere | open it once, and clone the client |
//! | [`is_data_loss`](crate::Error::is_data_loss) | stored data is damaged | restore the file |
//! | [`is_client_closed`](crate::Error::is_client_closed) | the client was closed before the operation began, or while nobody polled its stream | make a new client; rows that a writer had taken were sent, and its `flush` tells of them |
//! | [`is_outcome_unknown`](crate::Error::is_outcome_unknown) | a write may have been applied, or not | [as its call says](#unknown-outcomes) |
//! | [`is_retryable`](crate::Error::is_retryable) | the failure is one that passes, and the call may be made again | the same call may succeed later |
//!
//! [`attempts`](crate::Error::attempts) is 0 for what was not sent, and where an answer could not be read as a row or a key, [`bucket`](crate::Error::bucket) the salt bucket
//! that a scan failed in, [`last_row_key`](crate::Error::last_row_key) the row after which it can go on, and
//! [`grpc_code`](crate::Error::grpc_code) the code of the protocol.
//!
//! # Retries
//!
//! Transient failures are retried, on another connection if there is one: with exponential backoff, or after the delay the
//! server asks for. A scan resumes after the last row it delivered, so no row comes twice. A write of many rows retries only
//! the rows that failed. A conditional write, an increment or an append is retried only if it was not applied: it was not
//! sent, or the server rejected it. An operation that gives up says what it tried:
//!
//! ```text
//! ReadRows on table `events` failed: DEADLINE_EXCEEDED; given up after 9 attempts in 3.0 s, of 3s that are allowed; the last attempt: UNAVAILABLE: tcp connect error: Connection refused (os error 111), at the emulator at 127.0.0.1:8086
//! ```
//!
//! Every deadline, pause and bound has a default and can be set, for a client, a table or one call:
//! [`Settings`](crate::client::Settings), [`ClientBuilder`](crate::client::ClientBuilder) and
//! [`WriterSettings`](crate::client::WriterSettings) have them in three tables.
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
//! A connection that breaks, a deadline, and some answers of a server leave open whether a write was applied. Then
//! [`is_outcome_unknown`](crate::Error::is_outcome_unknown) is true, also where a later attempt was refused, and the text
//! says "it may have been applied". What to do depends on the call:
//!
//! | call | after an unknown outcome |
//! |---|---|
//! | `put`, `insert`, `merge`, `update`, `delete`, [`put_both`](crate::put_both) | the same call again makes it hold; it also replaces what others have written meanwhile, so where that counts, read the row and use a condition |
//! | `put_all`, `merge_all`, `delete_rows`, a `writer` | the same rows again; the error names one, and rows of its request are as open |
//! | `load` | resume it |
//! | `put_if`, `put_if_absent`, `delete_if`, `update` with `only_if` | read the row, and decide anew; a column with a number of your own for each attempt tells your write from another's |
//! | `increment`, `append`, `modify` | the same call again may count or append twice. With one writer, read the row; with several, the row does not tell: count by a row for each event, or by `put_if`, where each must count once |
//! | a table created, changed or deleted, `drop_rows` | look at the table; `create_if_absent` does |
//!
//! Reads are never open, nor is what failed before it was sent. [`is_retryable`](crate::Error::is_retryable) is false where
//! the same call again might do it twice.
//!
//! # Errors of their own
//!
//! | type | from | predicates |
//! |---|---|---|
//! | [`EncodeError`](crate::key::EncodeError) | [`encode`](crate::RowKey::encode): a value that the key cannot hold | `field_name`, `is_too_long`, `is_empty_key` |
//! | [`DecodeError`](crate::key::DecodeError) | [`decode`](crate::RowKey::decode): bytes that encode would not have written | `field_name`, `is_other_tag`, `is_wrong_bucket`, and the `key` |
//! | [`PlanError`](crate::plan::PlanError) | `into_plan`, `explain`: a fixed value that no key can hold, a page token | `field_name`, `is_invalid_page_token` |
//! | [`RowError`](crate::row::RowError) | the source of an error that `is_invalid_row` | `is_missing_column`, `is_malformed`, `is_unsupported` |
//! | [`FilterError`](crate::row::FilterError) | the source of an error about a filter that the service does not take | `is_too_large` |
//! | [`WriteErrors`](crate::client::WriteErrors) | a writer's `flush` and `close` | `failed`: each row with its key and its error; `is_outcome_unknown` |
//! | [`LoadError`](crate::load::LoadError) | a load that ended before its input did | `is_input`, `is_too_many_failures`, `error`, `checkpoint`, `report` |
//! | [`PutBothError`](crate::PutBothError) | [`put_both`](crate::put_both) | `first`, `second`, each with what it holds; `is_retryable`, `is_outcome_unknown` |
//! | [`CredentialsError`](crate::client::CredentialsError) | the source of an error that `is_missing_credentials` | `is_transient` |
//! | [`SqlError`](crate::key::SqlError) | [`row_key_schema`](crate::RowKey::row_key_schema), [`sql`](crate::RowKey::sql) | |
//!
//! The first three become an [`Error`](crate::Error) by `?`.
