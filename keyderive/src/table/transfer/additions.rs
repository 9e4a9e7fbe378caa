//! What a load adds to sums: the token of each row, and which rows the server may have counted although they are not done.
//!
//! A row's token is the number of the load and its own, so every attempt to send the row carries it, in this run and in resumed ones, and
//! a server that remembers the token counts the row once. Servers remember a token for 15 minutes. So no row is sent more than 10
//! minutes after its first attempt, by the client's clock, and a resumed load also tells the server a time that ends it after 10 minutes
//! by the server's clock.
//!
//! A killed run leaves a checkpoint behind, and has sent rows since. So each checkpoint says below which number rows are sent before the
//! next one is stored.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Range;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::look_ahead::LoadBatch;
use super::numbers::{count, hex};
use crate::client::token::{REMEMBERED_FOR, RETRIED_FOR, Token};
use crate::client::{Clock, Error};

/// For about how long a load sends rows before it stores another checkpoint.
const RESERVED_FOR: Duration = Duration::from_secs(10);

/// How many items the first checkpoint of a run lets it send.
const RESERVED_AT_FIRST: u64 = 100;

/// How much earlier than its first attempt a repeated row says that it was sent: to the server, its token is as old as it may be when
/// the client gives up.
const MARGIN: i64 = REMEMBERED_FOR.as_secs().saturating_sub(RETRIED_FOR.as_secs()).cast_signed();

/// The additions of a load, as its checkpoint has them. Times are in seconds since the epoch, by the client's clock.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StoredAdditions {
    /// The first half of all tokens.
    #[serde(with = "hex")]
    load: u64,
    /// No further item was sent. Those before it that are not processed may have been.
    #[serde(deserialize_with = "count")]
    sent: u64,
    /// When the first of these was sent, at the earliest.
    since: i64,
    /// The rows that failed and may have been counted, each with the time at which it was sent, at the earliest.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    failed: Vec<(u64, i64)>,
    /// The rows among the failed ones whose additions were counted, and whose columns are written again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    counted: Vec<u64>,
    /// The items whose additions may have been counted twice.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    twice: Vec<Range<u64>>,
}

impl StoredAdditions {
    /// The additions of a new load.
    pub(super) fn begin() -> Self {
        Self {
            load: fastrand::u64(..),
            sent: 0,
            since: 0,
            failed: Vec::new(),
            counted: Vec::new(),
            twice: Vec::new(),
        }
    }

    /// The items whose additions may have been counted twice.
    pub(super) fn twice(&self) -> &[Range<u64>] {
        &self.twice
    }

    /// The failed rows whose additions were counted.
    pub(crate) fn counted(&self) -> &[u64] {
        &self.counted
    }

    /// Whether it fits a checkpoint after `items` items with these failed rows.
    pub(super) fn fits(&self, items: u64, failed: &[u64]) -> bool {
        let mut rows = self.failed.iter().map(|(row, _)| row).chain(&self.counted);
        self.sent >= items && rows.all(|row| failed.binary_search(row).is_ok())
    }
}

/// Which rows of a load the server may have counted.
pub(crate) struct Additions {
    load: u64,
    clock: Clock,
    /// Rows of earlier runs: all that are sent again and not among the failed ones.
    repeated: Sent,
    failed: BTreeMap<u64, FailedAddition>,
    /// The rows before the checkpoint that were written, and whose columns are written again.
    counted: BTreeSet<u64>,
    /// The rows that are sent as two entries, neither of them written yet, and whether one has failed.
    split: HashMap<u64, bool>,
    /// How far this run had sent at which time, oldest first. A row that is not done was sent at the first entry above
    /// it, or later.
    sent: Vec<Sent>,
    /// No row from here on is sent before the next checkpoint is stored.
    reserved: Sent,
    /// The next row when that was reserved.
    reserved_at: u64,
    most_reserved: u64,
    twice: Vec<Range<u64>>,
    policy: Policy,
    has_ended: bool,
}

/// Rows below a number, and a time.
#[derive(Clone, Copy, Debug)]
struct Sent {
    below: u64,
    at: i64,
}

/// A failed row that may have been counted, or is retried.
struct FailedAddition {
    since: i64,
    may_be_counted: bool,
    is_sent: bool,
}

/// What a load does about rows that may have been counted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Policy {
    /// Whether the rows have sums at all: minima and maxima are the same however often a value is added.
    pub(crate) has_sums: bool,
    /// Whether the server counts a row once that has the token of one before.
    pub(crate) honours_tokens: bool,
    /// Whether a row is sent again although it may be counted twice.
    pub(crate) may_count_twice: bool,
}

impl Policy {
    /// Whether a row that may have been sent at this time may be counted twice if it is sent now. A clock that was set back does not say
    /// how long ago that was.
    fn may_be_forgotten(self, since: i64, now: i64) -> bool {
        let age = now.saturating_sub(since);
        self.has_sums && !(self.honours_tokens && (0..RETRIED_FOR.as_secs().cast_signed()).contains(&age))
    }
}

/// The items that may have been counted, where a load cannot know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MayBeCounted(pub(crate) Vec<Range<u64>>);

impl Additions {
    /// The additions of a load that begins after `items` items.
    ///
    /// # Errors
    /// The items that may be counted twice, if they may not.
    pub(crate) fn resume(
        stored: &StoredAdditions,
        policy: Policy,
        clock: &Clock,
        items: u64,
        most_reserved: u64,
    ) -> Result<Self, MayBeCounted> {
        let StoredAdditions { load, sent, since, failed, counted, twice } = stored.clone();
        let now = seconds(clock);
        let failed = failed
            .into_iter()
            .map(|(row, since)| (row, FailedAddition { since, may_be_counted: true, is_sent: false }));
        let mut additions = Self {
            load,
            clock: clock.clone(),
            repeated: Sent { below: sent, at: since },
            failed: failed.collect(),
            counted: counted.into_iter().collect(),
            split: HashMap::new(),
            sent: Vec::new(),
            reserved: Sent { below: items, at: now },
            reserved_at: items,
            most_reserved,
            twice,
            policy,
            has_ended: false,
        };
        let mut lost: Vec<_> = (additions.failed.iter())
            .filter(|(_, failed)| policy.may_be_forgotten(failed.since, now))
            .map(|(row, _)| *row..row + 1)
            .collect();
        if items < sent && policy.may_be_forgotten(since, now) {
            lost.push(items..sent);
        }
        if !lost.is_empty() && !policy.may_count_twice {
            return Err(MayBeCounted(lost));
        }
        lost.into_iter().for_each(|rows| additions.count_twice(rows, now));
        Ok(additions)
    }

    /// Notes that rows that may be counted twice are sent from now on.
    fn count_twice(&mut self, rows: Range<u64>, now: i64) {
        match self.failed.get_mut(&rows.start) {
            Some(failed) => failed.since = now,
            None => self.repeated.at = now,
        }
        match self.twice.last_mut().filter(|last| (last.start..=last.end).contains(&rows.start)) {
            Some(last) => last.end = last.end.max(rows.end),
            None => self.twice.push(rows),
        }
    }

    /// Whether an earlier run may have sent this row, which is not done.
    pub(super) fn repeats(&self, row: u64) -> bool {
        row < self.repeated.below
    }

    /// Notes that a row is two entries.
    pub(super) fn split(&mut self, row: u64) {
        self.split.insert(row, false);
    }

    /// Whether the end of this entry does not settle its row: of two entries, a first one that was written does not, and a
    /// second one does not if the first failed and settled it.
    pub(super) fn is_part(&mut self, row: u64, has_failed: bool) -> bool {
        match self.split.remove(&row) {
            None => false,
            Some(true) => true,
            Some(false) if has_failed => {
                self.split.insert(row, true);
                false
            }
            Some(false) => true,
        }
    }

    /// How many further items may be read before the next checkpoint is stored, if `next` is the next row.
    pub(super) fn room(&self, next: u64) -> u64 {
        self.reserved.below.saturating_sub(next)
    }

    /// Lets further rows be sent once a checkpoint is stored: about as many as are read in [`RESERVED_FOR`].
    pub(super) fn reserve(&mut self, next: u64) {
        let now = seconds(&self.clock);
        let elapsed = now.saturating_sub(self.reserved.at).max(1).cast_unsigned();
        let read = next.saturating_sub(self.reserved_at);
        let least = if self.sent.is_empty() { RESERVED_AT_FIRST } else { 1 };
        let rows = (read / elapsed).saturating_mul(RESERVED_FOR.as_secs());
        let rows = rows.clamp(least, self.most_reserved.max(least));
        self.reserved = Sent { below: self.reserved.below.max(next.saturating_add(rows)), at: now };
        self.reserved_at = next;
    }

    /// Notes that a row before the checkpoint is sent again: one that failed, or, without its additions, one that was written.
    pub(super) fn retry(&mut self, row: u64, has_failed: bool) {
        if has_failed {
            let since = seconds(&self.clock);
            let failed = FailedAddition { since, may_be_counted: false, is_sent: false };
            self.failed.entry(row).or_insert(failed);
        } else {
            self.counted.insert(row);
        }
    }

    /// Gives the rows of a request their tokens, as it is about to be sent. All rows before `done` are done.
    ///
    /// # Errors
    /// The items that may be counted twice, if they may not.
    pub(super) fn send(&mut self, batch: &mut LoadBatch, done: u64) -> Result<(), MayBeCounted> {
        let now = seconds(&self.clock);
        let mut oldest = now;
        let mut tokens = Vec::with_capacity(batch.indexes.len());
        for (position, row) in batch.indexes.iter().enumerate() {
            let first_sent = match batch.entries.has_token(position) {
                true => self.first_sent(*row, done, now)?,
                false => None,
            };
            let since = first_sent.map_or(now, |first| {
                oldest = oldest.min(first);
                first.saturating_sub(MARGIN)
            });
            tokens.push(self.token(*row, since));
        }
        for row in &batch.indexes {
            self.failed.get_mut(row).into_iter().for_each(|failed| failed.is_sent = true);
        }
        let below = batch.indexes.iter().max().map_or(0, |last| last + 1);
        match self.sent.last_mut() {
            Some(last) if last.at == now => last.below = last.below.max(below),
            _ => {
                self.sent.retain(|sent| sent.below > done);
                self.sent.push(Sent { below, at: now });
            }
        }
        batch.set_tokens(tokens, Duration::from_secs(now.abs_diff(oldest)));
        Ok(())
    }

    fn token(&self, row: u64, since: i64) -> Token {
        let mut bytes = [0; 16];
        let (load, number) = bytes.split_at_mut(8);
        load.copy_from_slice(&self.load.to_be_bytes());
        number.copy_from_slice(&row.to_be_bytes());
        Token { bytes, since }
    }

    /// When an earlier run may have sent a row; now, if it is counted twice then.
    fn first_sent(&mut self, row: u64, done: u64, now: i64) -> Result<Option<i64>, MayBeCounted> {
        let (since, rows) = match self.failed.get(&row) {
            Some(FailedAddition { since, may_be_counted: true, .. }) => (*since, row..row + 1),
            None if row < self.repeated.below => (self.repeated.at, done..self.repeated.below),
            _ => return Ok(None),
        };
        if !self.policy.may_be_forgotten(since, now) {
            return Ok(Some(since));
        }
        if !self.policy.may_count_twice {
            return Err(MayBeCounted(vec![rows]));
        }
        // Where the server ignores tokens, that was noted when the load began.
        if self.policy.honours_tokens {
            self.count_twice(rows, now);
        }
        Ok(Some(now))
    }

    /// Notes that a row is done.
    pub(super) fn settle(&mut self, row: u64) {
        self.failed.remove(&row);
        self.counted.remove(&row);
    }

    /// Notes that a row failed.
    pub(super) fn fail(&mut self, row: u64, error: &Error) {
        if self.counted.contains(&row) {
            return;
        }
        // If the columns of a row of two entries failed, its additions may still be counted.
        let is_unknown = error.is_outcome_unknown() || self.split.contains_key(&row);
        let since = match self.failed.get(&row) {
            Some(FailedAddition { since, may_be_counted, .. }) => {
                (*may_be_counted || is_unknown).then_some(*since)
            }
            None => (is_unknown || self.repeats(row)).then(|| self.since(row)),
        };
        match since {
            Some(since) => {
                let failed = FailedAddition { since, may_be_counted: true, is_sent: true };
                self.failed.insert(row, failed);
            }
            None => self.settle(row),
        }
    }

    /// Whether a row that failed so is not sent again, since it may have been counted, and the load continues without it.
    pub(super) fn is_given_up(&self, error: &Error) -> bool {
        !self.policy.honours_tokens && error.is_outcome_unknown()
    }

    /// Notes that no request is in flight, and none will be sent.
    pub(crate) fn end(&mut self) {
        self.has_ended = true;
    }

    /// What a checkpoint stores of them after `done` rows with these failed ones.
    pub(super) fn stored(&self, done: u64, failed: &[u64]) -> StoredAdditions {
        let sent = self.rows_sent().map(|sent| sent.below).chain([done]).max().unwrap_or(done);
        let below = if self.has_ended { sent } else { sent.max(self.reserved.below) };
        let uncounted = failed.iter().filter_map(|row| {
            let failed = self.failed.get(row)?;
            (failed.may_be_counted || failed.is_sent || !self.has_ended).then_some((*row, failed.since))
        });
        StoredAdditions {
            load: self.load,
            sent: below,
            since: self.since(done).min(seconds(&self.clock)),
            failed: uncounted.collect(),
            counted: failed.iter().filter(|row| self.counted.contains(row)).copied().collect(),
            twice: self.twice.clone(),
        }
    }

    /// When a row that is not done was sent, or one after it, at the earliest; now, if none was.
    fn since(&self, row: u64) -> i64 {
        let sent = self.rows_sent().filter(|sent| sent.below > row).map(|sent| sent.at);
        sent.min().unwrap_or_else(|| seconds(&self.clock))
    }

    fn rows_sent(&self) -> impl Iterator<Item = &Sent> {
        [&self.repeated].into_iter().chain(&self.sent)
    }
}

/// The time in seconds.
fn seconds(clock: &Clock) -> i64 {
    clock.now_micros().div_euclid(1_000_000)
}

#[cfg(test)]
mod tests {
    use std::iter;

    use super::*;

    const POLICY: Policy = Policy { has_sums: true, honours_tokens: true, may_count_twice: false };

    fn stored(sent: u64, since: i64) -> StoredAdditions {
        StoredAdditions { load: 7, sent, since, failed: Vec::new(), counted: Vec::new(), twice: Vec::new() }
    }

    fn resumed(stored: &StoredAdditions, policy: Policy, items: u64) -> Result<Additions, MayBeCounted> {
        Additions::resume(stored, policy, &Clock::default(), items, 1000)
    }

    /// What an ended run leaves is all that may have been sent; a running one may send more before its next checkpoint.
    #[test]
    fn a_checkpoint_reaches_as_far_as_rows_may_be_sent() {
        let now = seconds(&Clock::default());
        let mut additions = resumed(&stored(100, 0), POLICY, 100).unwrap_or_else(|_| panic!());
        additions.reserve(100);
        assert_eq!((additions.room(100), additions.room(101)), (RESERVED_AT_FIRST, RESERVED_AT_FIRST - 1));
        assert_eq!(additions.stored(100, &[]).sent, 100 + RESERVED_AT_FIRST);
        additions.sent.push(Sent { below: 106, at: now - 30 });
        additions.sent.push(Sent { below: 116, at: now - 20 });
        assert_eq!(additions.stored(105, &[]).since, now - 30);
        // The rows that the first of both reached are done.
        assert_eq!(additions.stored(106, &[]).since, now - 20);
        additions.end();
        assert_eq!((additions.stored(106, &[]).sent, additions.stored(116, &[]).sent), (116, 116));
        assert!(additions.stored(116, &[]).since >= now);
    }

    #[test]
    fn what_may_be_forgotten_is_sent_only_if_it_may_count_twice() {
        let now = seconds(&Clock::default());
        let ignored = Policy { honours_tokens: false, ..POLICY };
        let extremes = Policy { has_sums: false, ..ignored };
        let refused = |since, policy| resumed(&stored(130, since), policy, 100).err();
        let items = MayBeCounted(iter::once(100..130).collect());
        assert_eq!(refused(now - 590, POLICY), None);
        for (since, policy) in [(now - 600, POLICY), (now + 60, POLICY), (now, ignored)] {
            assert_eq!(refused(since, policy), Some(items.clone()));
            let twice = Policy { may_count_twice: true, ..policy };
            let additions = resumed(&stored(130, since), twice, 100).unwrap_or_else(|_| panic!());
            assert_eq!(additions.stored(100, &[]).twice, items.0);
        }
        assert_eq!(refused(0, extremes), None);
        // Nothing was sent that is not done.
        assert_eq!(resumed(&stored(130, 0), ignored, 130).err(), None);
    }

    /// Of two entries of a row, the row is settled by the second, or by the first that fails.
    #[test]
    fn a_row_of_two_entries_is_settled_once() {
        let mut additions =
            resumed(&stored(130, seconds(&Clock::default())), POLICY, 100).unwrap_or_else(|_| panic!());
        for (outcomes, settles) in [
            ([false, false], [true, false]),
            ([false, true], [true, false]),
            ([true, false], [false, true]),
            ([true, true], [false, true]),
        ] {
            additions.split(207);
            assert_eq!(outcomes.map(|has_failed| additions.is_part(207, has_failed)), settles);
        }
    }
}
