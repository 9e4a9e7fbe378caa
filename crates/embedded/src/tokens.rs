//! Idempotency tokens: a mutation that carries one is applied once, however often a client repeats it.
//!
//! The protocol promises this for 15 minutes, which begin when the mutation is applied. A token is remembered with its row,
//! in the same step as the change.

use std::collections::{HashSet, VecDeque};

use bytes::Bytes;
use keyderive_farmhash::fingerprint64;
use keyderive_proto::data::Idempotency;
use tonic::Status;

const MINUTE_MICROS: i64 = 60_000_000;

/// How many minutes a token is remembered.
const WINDOW_MINUTES: i64 = 15;

/// The shortest token, in bytes.
const MIN_TOKEN_BYTES: usize = 8;

/// How many tokens are remembered at most. They take some 35 bytes each.
const MAX_TOKENS: usize = 1 << 23;

/// The digest of a token, its table and its row key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Token([u8; 16]);

impl Token {
    /// # Errors
    /// If the token is too short, or the client made it so long ago that it may be forgotten.
    pub(super) fn new(
        idempotency: &Idempotency,
        table: &str,
        table_id: Option<u64>,
        key: &Bytes,
        now: i64,
    ) -> Result<Self, Status> {
        let Idempotency { token, start_time } = idempotency;
        if token.len() < MIN_TOKEN_BYTES {
            return Err(Status::invalid_argument(format!(
                "the idempotency token of the mutation of row {key:?} has {} bytes, and at least {MIN_TOKEN_BYTES} are needed",
                token.len()
            )));
        }
        // Without a start time, the client takes the risk.
        let start_time = start_time.as_ref().filter(|start| (start.seconds, start.nanos) != (0, 0));
        let age = start_time.map_or(0, |start| (now / 1_000_000).saturating_sub(start.seconds));
        if age >= WINDOW_MINUTES * 60 {
            return Err(Status::failed_precondition(format!(
                "the mutation of row {key:?} began {age} s ago, by the start time of its idempotency token, and tokens are \
                 remembered for {WINDOW_MINUTES} minutes, so it may have been applied before; read the row, and compare the client's \
                 clock with the server's"
            )));
        }
        let table_id = table_id.unwrap_or_else(|| fingerprint64(table.as_bytes()));
        let [first, second] = [0, 1].map(|number: u8| {
            let key_len = key.len().to_be_bytes();
            let parts = [&[number][..], &table_id.to_be_bytes(), &key_len, key, token].concat();
            fingerprint64(&parts).to_be_bytes()
        });
        let mut digest = [0; 16];
        digest[..8].copy_from_slice(&first);
        digest[8..].copy_from_slice(&second);
        Ok(Self(digest))
    }

    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

/// The tokens of the mutations that were applied, by the minute.
#[derive(Debug)]
pub(super) struct Tokens {
    minutes: VecDeque<(i64, HashSet<Token>)>,
    /// How many there may be.
    most: usize,
}

impl Default for Tokens {
    fn default() -> Self {
        Self { minutes: VecDeque::new(), most: MAX_TOKENS }
    }
}

/// What a change adds to the stored tokens, and removes from them.
#[derive(Debug, Default)]
pub(super) struct TokenChanges<'a> {
    /// The minutes whose tokens are forgotten.
    pub(super) expired: Vec<i64>,
    /// The tokens that are new in a minute.
    pub(super) added: Option<(i64, &'a HashSet<Token>)>,
}

impl TokenChanges<'_> {
    pub(super) fn is_empty(&self) -> bool {
        self.expired.is_empty() && self.added.is_none()
    }
}

impl Tokens {
    /// Adds a token of a file. Any minute may come.
    pub(super) fn restore(&mut self, minute: i64, digest: [u8; 16]) {
        let place = self.minutes.partition_point(|(known, _)| *known < minute);
        if self.minutes.get(place).is_none_or(|(known, _)| *known != minute) {
            self.minutes.insert(place, (minute, HashSet::new()));
        }
        self.minutes[place].1.insert(Token(digest));
    }

    /// The minutes in which this token was added.
    pub(super) fn minutes_of(&self, token: &Token, now: i64) -> impl Iterator<Item = i64> {
        self.remembered(now).filter(|(_, tokens)| tokens.contains(token)).map(|(minute, _)| *minute)
    }

    fn remembered(&self, now: i64) -> impl Iterator<Item = &(i64, HashSet<Token>)> {
        let now = now / MINUTE_MICROS;
        self.minutes.iter().filter(move |(minute, _)| !is_expired(*minute, now))
    }

    /// Adds tokens, and forgets those that are too old.
    pub(super) fn add<'a>(&mut self, tokens: &'a HashSet<Token>, now: i64) -> TokenChanges<'a> {
        let minute = now / MINUTE_MICROS;
        let mut expired = Vec::new();
        while let Some((oldest, _)) = self.minutes.pop_front_if(|(known, _)| is_expired(*known, minute)) {
            expired.push(oldest);
        }
        if self.minutes.back().is_none_or(|(known, _)| *known < minute) {
            self.minutes.push_back((minute, HashSet::new()));
        }
        // A change may have begun a minute before a later one.
        let added = self.minutes.back_mut().map(|(minute, known)| {
            known.extend(tokens);
            (*minute, tokens)
        });
        TokenChanges { expired, added }
    }

    /// Fails if no token can be added to these and `more`.
    pub(super) fn check_room(&self, more: usize, now: i64) -> Result<(), Status> {
        let count: usize = self.remembered(now).map(|(_, tokens)| tokens.len()).sum();
        if count + more < self.most {
            return Ok(());
        }
        Err(Status::resource_exhausted(format!(
            "{count} idempotency tokens are remembered, each for {WINDOW_MINUTES} minutes, and the embedded Bigtable remembers \
             {} at most; send mutations with tokens more slowly",
            self.most
        )))
    }

    #[cfg(test)]
    pub(super) fn set_most(&mut self, most: usize) {
        self.most = most;
    }
}

/// Whether the tokens of `minute` are all older than the window.
fn is_expired(minute: i64, now: i64) -> bool {
    now - minute > WINDOW_MINUTES
}
