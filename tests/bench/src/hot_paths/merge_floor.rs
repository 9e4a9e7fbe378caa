//! An ordered merge of the 4 buckets by hand, with rows that stay in their messages.

use std::ops::Range;

use bytes::Bytes;
use tonic::Streaming;
use tonic::transport::Channel;

use super::data::{LentReading, Outcome, Salted as _, Seen};
use super::floor::{self, Refused};
use super::raw;
use crate::program::Failure;
use crate::{EventKey, hand};

/// A bucket's stream, with its next row.
struct BucketStream {
    messages: Streaming<Bytes>,
    message: Bytes,
    /// The position of the unread rows in the message.
    rest: usize,
    /// Ranges in the message, because a row cannot be stored next to what it borrows from.
    key: Range<usize>,
    celsius: f64,
    humidity: i64,
    station: Range<usize>,
}

impl BucketStream {
    /// Advances to the next row; returns false at the end.
    async fn advance(&mut self) -> Result<bool, Failure> {
        while !self.advance_in_message()? {
            match self.messages.message().await? {
                Some(message) => (self.message, self.rest) = (message, 0),
                None => return Ok(false),
            }
        }
        Ok(true)
    }

    #[inline]
    fn advance_in_message(&mut self) -> Result<bool, Refused> {
        let mut rest = &self.message[self.rest..];
        let Some(row) = floor::next_row(&mut rest)? else { return Ok(false) };
        let place = |part: &[u8]| {
            let start = part.as_ptr().addr() - self.message.as_ptr().addr();
            start..start + part.len()
        };
        self.key = place(row.key);
        self.station = place(row.reading.station.as_bytes());
        (self.celsius, self.humidity) = (row.reading.celsius, row.reading.humidity);
        self.rest = self.message.len() - rest.len();
        Ok(true)
    }

    /// The merge order: the key without its salt.
    fn logical_key(&self) -> &[u8] {
        &self.message[self.key.start + EventKey::SALT_LEN..self.key.end]
    }

    fn see(&self, seen: &mut Seen) -> Result<(), Refused> {
        let key = hand::decode(&self.message[self.key.clone()]).map_err(|_| Refused)?;
        // Checked when the row was read; safe code pays for a second check of 6 bytes.
        let station = str::from_utf8(&self.message[self.station.clone()]).map_err(|_| Refused)?;
        seen.row(&key, LentReading { celsius: self.celsius, humidity: self.humidity, station });
        Ok(())
    }
}

pub(super) async fn merge(channel: Channel) -> Result<Outcome, Failure> {
    let mut streams = Vec::new();
    for bucket in 0..EventKey::BUCKETS {
        let request = raw::read_request(Some(format!("{bucket}#")));
        let mut stream = BucketStream {
            messages: raw::read_rows(&channel, &request).await?,
            message: Bytes::new(),
            rest: 0,
            key: 0..0,
            celsius: 0.0,
            humidity: 0,
            station: 0..0,
        };
        if stream.advance().await? {
            streams.push(stream);
        }
    }
    let mut seen = Seen::default();
    while let Some(least) = (0..streams.len()).min_by_key(|stream| streams[*stream].logical_key()) {
        streams[least].see(&mut seen)?;
        if !streams[least].advance().await? {
            streams.swap_remove(least);
        }
    }
    Ok(Outcome::Read(seen))
}
