//! Idempotency tokens: by them a server recognizes a repeated write that adds to an aggregate.
//!
//! Each request, or entry of a request, has its own token, which stays the same in all attempts. The protocol says that a
//! server remembers it for 15 minutes.

use std::time::Duration;

use keyderive_proto::data::Idempotency;
use keyderive_proto::values::Timestamp;
use prost::Message as _;

use crate::client::protobuf::LENGTH;

/// How long a write with a token is retried: for less than the time that servers remember tokens.
pub(crate) const RETRIED_FOR: Duration = Duration::from_secs(10 * 60);

/// How long servers remember tokens.
pub(crate) const REMEMBERED_FOR: Duration = Duration::from_secs(15 * 60);

const TOKEN_BYTES: usize = 16;

/// The size of the message: two lengths and their tags, the token, and a time of 5 bytes with its tag.
const MESSAGE_BYTES: usize = 2 + TOKEN_BYTES + 2 + 1 + SECONDS_BYTES;

/// A number of seconds since 1970 takes 5 bytes from 1978 to 3058.
const SECONDS_BYTES: usize = 5;

/// The size of the field of an entry that holds the message.
pub(super) const FIELD_BYTES: usize = 2 + MESSAGE_BYTES;

/// The number of that field in an entry.
const FIELD: u8 = 3;

/// A token, and when it was first sent, by the sender's clock.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Token {
    pub(crate) bytes: [u8; TOKEN_BYTES],
    /// Seconds since the epoch.
    pub(crate) since: i64,
}

impl Token {
    /// A new token, with `now_micros` as the time of the first attempt.
    fn random(now_micros: i64) -> Self {
        let mut bytes = [0; TOKEN_BYTES];
        fastrand::fill(&mut bytes);
        Self { bytes, since: now_micros / 1_000_000 }
    }
}

fn message(Token { bytes, since }: Token) -> Idempotency {
    // Other clocks are so wrong that no server takes the time for one of the last minutes.
    let seconds = since.clamp(1 << 28, (1 << 35) - 1);
    let token = bytes.to_vec().into();
    Idempotency { token, start_time: Some(Timestamp { seconds, nanos: 0 }) }
}

/// A new token as field `number` of a message.
pub(super) fn field(number: u8, now_micros: i64) -> Vec<u8> {
    field_of(number, Token::random(now_micros))
}

fn field_of(number: u8, token: Token) -> Vec<u8> {
    let message = message(token);
    let mut field = vec![number << 3 | LENGTH];
    message.encode_length_delimited(&mut field).map_or_else(|_| Vec::new(), |()| field)
}

/// Appends room for a token.
pub(super) fn reserve(out: &mut Vec<u8>) {
    out.extend_from_slice(&[0; FIELD_BYTES]);
}

/// Makes a token in the room at the end of an entry.
pub(super) fn fill(entry: &mut [u8], now_micros: i64) {
    fill_with(entry, Token::random(now_micros));
}

/// Writes a token into the room at the end of an entry.
pub(super) fn fill_with(entry: &mut [u8], token: Token) {
    if let Some(room) = entry.last_chunk_mut::<FIELD_BYTES>()
        && let Ok(field) = field_of(FIELD, token).try_into()
    {
        *room = field;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_fills_its_room() {
        let mut entry = b"before".to_vec();
        reserve(&mut entry);
        fill(&mut entry, 1_700_000_000_000_000);
        let (before, field) = entry.split_at(6);
        assert_eq!((before, &field[..2]), (&b"before"[..], &[FIELD << 3 | LENGTH, MESSAGE_BYTES as u8][..]));
        let Idempotency { token, start_time } = Idempotency::decode(&field[2..]).unwrap();
        assert_eq!((token.len(), start_time.unwrap().seconds), (TOKEN_BYTES, 1_700_000_000));
    }
}
