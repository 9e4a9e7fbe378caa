//! One row for each value of the first fields: which rows of a bucket begin a value, and when to seek past the others.

use std::collections::{HashSet, VecDeque};

use crate::client::{Error, Route};
use crate::key::{KeySchema, KeyType};
use crate::plan::{KeyRange, Leading};
use crate::row::RawRow;

/// How many rows cost as much to read as a further request, about: the time of a request that reads one row, by that of a row among
/// many.
pub(crate) const SEEK_ROWS: u64 = 512;

/// After how many seeks a request reads on, to see whether values have become short.
const PROBE_EVERY: u32 = 8;

/// How many values a bucket reads ahead while another one is waited for.
const AHEAD: usize = 2;

/// The most bytes of values that a scan remembers which reads the buckets one after the other.
const REMEMBERED_BYTES: usize = 64 << 20;

/// The rows of a bucket that begin a value.
pub(super) struct DistinctRows {
    /// How many fields the values are of.
    count: usize,
    /// The value of the last row that was kept.
    value: Option<Leading>,
    /// Whether the last stored row has that value.
    is_within: bool,
    pub(super) seeks: SeekPolicy,
    pub(super) current: Option<RawRow>,
    pub(super) ahead: VecDeque<RawRow>,
    /// How the bucket has ended, after the rows that are ahead.
    pub(super) ended: Option<Result<(), Error>>,
}

impl DistinctRows {
    pub(super) fn new(count: usize, limit: Option<u64>) -> Self {
        Self {
            count,
            value: None,
            is_within: false,
            seeks: SeekPolicy::new(limit),
            current: None,
            ahead: VecDeque::new(),
            ended: None,
        }
    }

    /// Whether more rows may be read ahead.
    pub(super) fn has_room(&self) -> bool {
        self.ahead.len() < AHEAD && self.ended.is_none()
    }

    /// Counts a stored row; returns whether it has the value of the last row that was kept, as far as its first bytes show.
    #[inline]
    pub(super) fn continues(&mut self, key: &[u8]) -> bool {
        self.is_within = self.value.as_ref().is_some_and(|value| value.begins(key));
        self.seeks.row(self.is_within);
        self.is_within
    }

    /// Whether a row begins a value. A foreign row does: it ends the scan in its turn.
    pub(super) fn begins(&mut self, key_type: KeyType, key: &[u8]) -> bool {
        let leading = key_type.check(key).ok().and_then(|()| Leading::of(key_type.schema(), key, self.count));
        let Some(leading) = leading else { return true };
        self.is_within = true;
        if self.value.as_ref().is_some_and(|last| last.value() == leading.value()) {
            return false;
        }
        self.value = Some(leading);
        self.seeks.value();
        true
    }

    /// The keys after the last stored row and the rows with its value, if it is known.
    pub(super) fn rest(&self, reversed: bool) -> Option<KeyRange> {
        self.value.as_ref().filter(|_| self.is_within).map(|value| value.rest(reversed))
    }
}

/// How many rows the requests of a bucket ask for.
///
/// A request begins past the last value of the one before, so what is decided is how far each one reads on: one row, which seeks
/// from value to value, or many. Where values have `L` rows, a seek costs as much as [`SEEK_ROWS`] rows, and reading on costs `L`.
/// So requests read one row where a value has had more rows than that, with a longer one now and then; otherwise each reads three
/// times as many rows as those before it. A run of more than [`SEEK_ROWS`] rows of one value ends its request early.
#[derive(Debug)]
pub(super) struct SeekPolicy {
    /// How many rows the request asks for.
    limit: u64,
    /// The stored rows of the request, and the values that begin in it.
    rows: u64,
    values: u64,
    /// How many rows of the last value have come in the request.
    run: u64,
    /// The rows of all requests since the last seek.
    read: u64,
    /// How many seeks come before the next request that reads on; 0 if requests read on.
    seeks: u32,
}

impl SeekPolicy {
    fn new(limit: Option<u64>) -> Self {
        let limit = limit.map_or(SEEK_ROWS, |limit| limit.clamp(1, SEEK_ROWS));
        Self { limit, rows: 0, values: 0, run: 0, read: 0, seeks: 0 }
    }

    pub(super) fn limit(&self) -> u64 {
        self.limit
    }

    #[inline]
    fn row(&mut self, is_within: bool) {
        self.rows += 1;
        self.run = if is_within { self.run + 1 } else { 0 };
    }

    fn value(&mut self) {
        self.values += 1;
    }

    /// Whether to end the request, and seek past the rest of the value.
    #[inline]
    pub(super) fn is_run_long(&self) -> bool {
        self.run >= SEEK_ROWS
    }

    /// Decides how many rows the next request asks for.
    pub(super) fn next_request(&mut self) {
        let rows = std::mem::take(&mut self.rows);
        let values = std::mem::take(&mut self.values);
        self.run = 0;
        if values > 0 && rows >= values.saturating_mul(SEEK_ROWS) {
            (self.limit, self.read, self.seeks) = (1, 0, PROBE_EVERY);
        } else if values > 0 && self.seeks > 0 {
            self.seeks -= 1;
            self.limit = if self.seeks > 0 { 1 } else { SEEK_ROWS };
        } else {
            // Also where no row was kept: there is no value to seek past.
            self.seeks = 0;
            self.read = self.read.saturating_add(rows);
            self.limit = self.read.saturating_mul(3).max(SEEK_ROWS);
        }
    }
}

/// The values that a scan has delivered, as far as one can come again.
pub(super) struct Delivered {
    count: usize,
    last: Option<Vec<u8>>,
    /// For a scan of interleaved buckets, of which several can have rows of one value.
    interleaved: Option<Interleaved>,
}

/// The values of one choice of the fields left of the salt.
#[derive(Default)]
struct Interleaved {
    left: Vec<u8>,
    values: HashSet<Vec<u8>>,
    bytes: usize,
}

impl Delivered {
    pub(super) fn new(schema: &KeySchema, count: usize, is_ordered: bool) -> Self {
        let interleaved = (!is_ordered && is_spread(schema, count)).then(Interleaved::default);
        Self { count, last: None, interleaved }
    }

    /// Whether a row has a value that was delivered; otherwise notes it.
    ///
    /// # Errors
    /// If the values are too many to be remembered.
    pub(super) fn is_repeated(
        &mut self,
        table: &Route,
        key_type: KeyType,
        key: &[u8],
    ) -> Result<bool, Error> {
        let schema = key_type.schema();
        let leading = key_type.check(key).ok().and_then(|()| Leading::of(schema, key, self.count));
        // A foreign row ends the scan.
        let Some(leading) = leading else { return Ok(false) };
        let value = leading.value();
        if self.last.as_deref() == Some(value) {
            return Ok(true);
        }
        if let Some(Interleaved { left, values, bytes }) = &mut self.interleaved {
            let (front, _) = schema.split_at_salt(key);
            if left.as_slice() != front {
                (*left, *bytes) = (front.to_vec(), 0);
                values.clear();
            }
            if values.contains(value) {
                return Ok(true);
            }
            *bytes += value.len() + size_of::<Vec<u8>>();
            if *bytes > REMEMBERED_BYTES {
                return Err(Error::definition(
                    table,
                    format!(
                        "`distinct({})` would remember more than {} MiB of values, since several salt buckets have rows of one \
                         value, after a field that the scan does not fix; fix the fields left of the salt",
                        self.count,
                        REMEMBERED_BYTES >> 20,
                    ),
                ));
            }
            values.insert(value.to_vec());
        }
        self.last = Some(value.to_vec());
        Ok(false)
    }
}

/// Whether several buckets can have rows with one value of the first `count` fields, beside those of one choice of the fields left of
/// the salt.
pub(crate) fn is_spread(schema: &KeySchema, count: usize) -> bool {
    schema.salts().flatten().any(|salt| {
        let is_chosen_by_more = schema.has_epochs() || salt.over().iter().any(|field| *field >= count);
        count > salt.fields_before() && is_chosen_by_more
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Requests and rows that a bucket costs whose values have these numbers of rows.
    fn cost(lens: &[u64]) -> (u64, u64) {
        let mut policy = SeekPolicy::new(None);
        let (mut requests, mut seen, mut at, mut left) = (0, 0, 0, 0);
        'requests: loop {
            requests += 1;
            // The request begins past the last value.
            left = if left < lens.get(at).copied().unwrap_or_default() { 0 } else { left };
            let mut rows = 0;
            let mut begins = true;
            while rows < policy.limit() {
                if at == lens.len() {
                    seen += rows;
                    return (requests, seen);
                }
                rows += 1;
                policy.row(!begins);
                if begins {
                    policy.value();
                }
                left += 1;
                begins = left == lens[at];
                if begins {
                    (at, left) = (at + 1, 0);
                }
                if policy.is_run_long() {
                    break;
                }
            }
            seen += rows;
            if left > 0 {
                (at, left) = (at + 1, 0);
            }
            policy.next_request();
            if at > lens.len() {
                break 'requests;
            }
        }
        (requests, seen)
    }

    fn weighed((requests, rows): (u64, u64)) -> u64 {
        requests * SEEK_ROWS + rows
    }

    #[test]
    fn it_costs_at_most_half_more_than_the_better_of_reading_all_and_seeking_always() {
        for rows in [1, 10, 511, 512, 513, 1000, 2000, 2049, 6_250, 10_000, 100_000, 1_000_000] {
            for len in
                [1, 2, 3, 10, 50, 100, 256, 400, 500, 511, 512, 513, 600, 1000, 1024, 5000, 10_000, 100_000]
            {
                if len > rows {
                    continue;
                }
                let lens = vec![len; usize::try_from(rows / len).unwrap()];
                let (values, rows) = (lens.len() as u64, lens.iter().sum::<u64>());
                let best = weighed((1, rows)).min(weighed((values + 1, values)));
                let own = cost(&lens);
                assert!(
                    weighed(own) * 2 <= best * 3 + 2 * 8,
                    "{rows} rows of {values} values: {own:?}, and {best}"
                );
            }
        }
    }

    #[test]
    fn it_follows_values_that_become_longer_or_shorter() {
        let mixed: [(&str, Vec<u64>); 4] = [
            ("short, then long", [vec![1; 20_000], vec![5_000; 40]].concat()),
            ("long, then short", [vec![5_000; 40], vec![1; 20_000]].concat()),
            ("few long ones", (0..20_000).map(|at| if at % 1000 == 0 { 20_000 } else { 2 }).collect()),
            ("by turns", (0..2_000).map(|at| if at % 2 == 0 { 1 } else { 2_000 }).collect()),
        ];
        for (name, lens) in mixed {
            let values = lens.len() as u64;
            let best = weighed((1, lens.iter().sum())).min(weighed((values + 1, values)));
            let own = cost(&lens);
            assert!(weighed(own) * 2 <= best * 3, "{name}: {own:?}, and {best}");
        }
    }
}
