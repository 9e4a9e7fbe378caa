//! `std::time::SystemTime`.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::on_a_scale;
use super::scale::Instant;

/// The seconds of a `SystemTime` are at most 64 bits, so its nanoseconds are far from 127.
fn instant(time: SystemTime) -> Instant {
    let nanos = match time.duration_since(UNIX_EPOCH) {
        Ok(since) => since.as_nanos() as i128,
        Err(before) => -(before.duration().as_nanos() as i128),
    };
    nanos.into()
}

/// Where the system's clock is coarser than nanoseconds, the times that it would round are none of its own.
fn from_nanos(nanos: i128) -> Option<SystemTime> {
    let distance = Duration::from_nanos_u128(nanos.unsigned_abs());
    let time = if nanos < 0 { UNIX_EPOCH.checked_sub(distance) } else { UNIX_EPOCH.checked_add(distance) };
    time.filter(|time| instant(*time).nanos == nanos)
}

on_a_scale!(SystemTime, TimeCodec, instant, from_nanos);
