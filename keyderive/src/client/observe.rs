//! The span and the metrics of an operation.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;

use keyderive_proto::code_name;
use tokio::time::Instant;
use tonic::Code;
use tracing::Span;
use tracing::field::Empty;

use super::error::Error;
use super::operation::Operation;
use super::scan_counters::ScanCounters;

/// The target of the spans.
const SPANS: &str = "keyderive::operation";

/// The span of an operation, which emits its metrics when dropped. An operation that is dropped before its end counts as
/// cancelled.
pub(super) struct Watch {
    span: Span,
    operation: &'static str,
    table: Arc<str>,
    scan: Option<Arc<ScanCounters>>,
    begun: Instant,
    attempts: u32,
    /// When the attempt in flight began, if there is one.
    attempt_begun: Option<Instant>,
    rows: u64,
    /// How often the server has reported a row as scanned that it did not return.
    scanned: u64,
    /// How many rows the server has read, for requests that it has said so of.
    seen: u64,
    bytes: u64,
    outcome: Code,
}

impl Watch {
    pub(super) fn new(operation: &Operation, begun: Instant) -> Self {
        let span = tracing::info_span!(
            target: SPANS,
            "bigtable",
            operation = operation.name(),
            table = &**operation.table(),
            bucket = operation.bucket,
            scan = operation.scan().and_then(|scan| scan.name()),
            attempts = Empty,
            rows = Empty,
            bytes = Empty,
            code = Empty,
        );
        Self {
            span,
            operation: operation.name(),
            table: Arc::clone(operation.table()),
            scan: operation.scan().cloned(),
            begun,
            attempts: 0,
            attempt_begun: None,
            rows: 0,
            scanned: 0,
            seen: 0,
            bytes: 0,
            outcome: Code::Cancelled,
        }
    }

    pub(super) fn span(&self) -> &Span {
        &self.span
    }

    /// The future, polled within the span: what it logs, and what the program's own credentials log, belongs to the operation.
    ///
    /// The caller keeps the future: passed by value, it would take its size twice in the caller's future.
    pub(super) async fn entered<F: Future>(&self, mut future: Pin<&mut F>) -> F::Output {
        poll_fn(|cx| self.span.in_scope(|| future.as_mut().poll(cx))).await
    }

    /// Whether anything records the span or its metrics, so that costly values are worth computing.
    pub(super) fn is_wanted(&self) -> bool {
        cfg!(feature = "metrics") || !self.span.is_disabled()
    }

    pub(super) fn attempt_begins(&mut self, now: Instant) {
        self.attempts = self.attempts.saturating_add(1);
        self.attempt_begun = Some(now);
    }

    pub(super) fn attempt_ends(&mut self, code: Code) {
        if let Some(begun) = self.attempt_begun.take() {
            emit::attempt(&self.labels(), code_name(code), begun);
        }
    }

    #[inline]
    pub(super) fn rows(&mut self, count: u64) {
        self.rows += count;
    }

    /// Counts reports of the server that it has scanned a row which it does not return.
    #[inline]
    pub(super) fn scanned(&mut self, reports: u64) {
        self.scanned += reports;
    }

    /// Counts rows that the server says it has read.
    pub(super) fn seen(&mut self, rows: u64) {
        self.seen = self.seen.saturating_add(rows);
    }

    fn labels(&self) -> Labels<'_> {
        let scan = self.scan.as_ref().and_then(|scan| scan.name());
        Labels { operation: self.operation, table: &self.table, scan }
    }

    /// Counts rows and bytes.
    pub(super) fn count(&mut self, rows: usize, bytes: usize) {
        self.rows = self.rows.saturating_add(u64::try_from(rows).unwrap_or(u64::MAX));
        self.bytes = self.bytes.saturating_add(u64::try_from(bytes).unwrap_or(u64::MAX));
    }

    /// Sets the outcome of the operation.
    pub(super) fn set_outcome(&mut self, outcome: Code) {
        self.outcome = outcome;
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.attempt_ends(self.outcome);
        let code = code_name(self.outcome);
        self.span.record("attempts", self.attempts);
        self.span.record("code", code);
        if self.rows > 0 {
            self.span.record("rows", self.rows);
        }
        if self.bytes > 0 {
            self.span.record("bytes", self.bytes);
        }
        emit::operation(&self.labels(), code, self.begun, self.rows, self.bytes);
        if let Some(scan) = &self.scan {
            scan.add_seen(self.seen.max(self.rows.saturating_add(self.scanned)));
        }
    }
}

/// What the metrics of an operation are labelled with.
#[cfg_attr(not(feature = "metrics"), expect(dead_code, reason = "only metrics have labels"))]
struct Labels<'a> {
    operation: &'static str,
    table: &'a Arc<str>,
    scan: Option<&'static str>,
}

/// Counts a layout check that failed.
pub(super) fn unchecked(table: &str, error: &Error) {
    emit::unchecked(table, code_name(error.code().unwrap_or(Code::Unknown)));
}

#[cfg(all(feature = "heat", feature = "metrics"))]
pub(super) use emit::busiest;
pub(super) use emit::{
    cost, describe, future_cells, hedge_won, hedged, mismatched, refreshed, rejected, rekeyed, rekeying,
    stats, throttled,
};

#[cfg(feature = "metrics")]
mod emit {
    use std::sync::Arc;
    use std::time::Duration;

    use metrics::{
        Label, SharedString, Unit, counter, describe_counter, describe_gauge, describe_histogram, gauge,
        histogram,
    };
    use tokio::time::Instant;

    use super::Labels;
    use crate::client::ClientStats;
    use crate::client::operation::Operation;
    use crate::client::stats::ReadCost;

    const ATTEMPT_SECONDS: &str = "keyderive.attempt.seconds";
    const SECONDS: &str = "keyderive.operation.seconds";
    const ROWS: &str = "keyderive.rows";
    const BYTES: &str = "keyderive.bytes";
    const FUTURE_CELLS: &str = "keyderive.future_cells";
    const ROWS_SEEN: &str = "keyderive.rows.seen";
    const CELLS_SEEN: &str = "keyderive.cells.seen";
    const CELLS_RETURNED: &str = "keyderive.cells.returned";
    const SERVER_SECONDS: &str = "keyderive.server.seconds";
    const THROTTLE: &str = "keyderive.throttle.seconds";
    const UNCHECKED: &str = "keyderive.layout.unchecked";
    const MISMATCHES: &str = "keyderive.layout.mismatches";
    const CONNECTIONS: &str = "keyderive.connections";
    const IN_FLIGHT: &str = "keyderive.requests.in_flight";
    const WAITING: &str = "keyderive.requests.waiting";
    const REJECTED: &str = "keyderive.requests.rejected";
    const RETRY_TOKENS: &str = "keyderive.retry_tokens";
    const HEDGES: &str = "keyderive.hedges";
    const HEDGES_WON: &str = "keyderive.hedges.won";
    const REFRESHES: &str = "keyderive.connection.refreshes";
    const REKEYED: &str = "keyderive.rekey.rows";
    const REKEYING: &str = "keyderive.rekey.state";
    #[cfg(feature = "heat")]
    const BUSIEST_SHARE: &str = "keyderive.heat.busiest_share";

    pub(in super::super) fn future_cells(table: &Arc<str>, count: u64) {
        counter!(FUTURE_CELLS, "table" => shared(table)).increment(count);
    }

    pub(in super::super) fn describe() {
        describe_counter!(
            FUTURE_CELLS,
            Unit::Count,
            "cells read whose time was more than a minute in the future, which hide later writes"
        );
        describe_histogram!(ATTEMPT_SECONDS, Unit::Seconds, "time that attempts of operations took");
        describe_histogram!(
            SECONDS,
            Unit::Seconds,
            "time that operations took, with all attempts and backoff"
        );
        describe_counter!(ROWS, Unit::Count, "rows received or sent");
        describe_counter!(BYTES, Unit::Bytes, "bytes of the messages that rows were received or sent in");
        describe_counter!(
            ROWS_SEEN,
            Unit::Count,
            "rows that the server has read, for reads with `ReadStats`"
        );
        describe_counter!(
            CELLS_SEEN,
            Unit::Count,
            "cells that the server has read, for reads with `ReadStats`"
        );
        describe_counter!(CELLS_RETURNED, Unit::Count, "cells that it returned, for reads with `ReadStats`");
        describe_histogram!(
            SERVER_SECONDS,
            Unit::Seconds,
            "the server's time for a request, for reads with `ReadStats`"
        );
        describe_histogram!(THROTTLE, Unit::Seconds, "time that the server's rate limit delayed writes");
        describe_counter!(UNCHECKED, Unit::Count, "layout checks of tables that failed");
        describe_counter!(
            MISMATCHES,
            Unit::Count,
            "calls that failed since the table differs from its declaration"
        );
        describe_gauge!(CONNECTIONS, Unit::Count, "connections to the data service");
        describe_gauge!(IN_FLIGHT, Unit::Count, "requests without a complete answer");
        describe_gauge!(WAITING, Unit::Count, "requests that wait to be sent");
        describe_counter!(REJECTED, Unit::Count, "calls that failed at once since too many requests waited");
        describe_gauge!(
            RETRY_TOKENS,
            Unit::Count,
            "tokens of the retry budget; with 50 or fewer nothing is retried"
        );
        describe_counter!(HEDGES, Unit::Count, "reads of one row that were sent a second time");
        describe_counter!(HEDGES_WON, Unit::Count, "reads that returned the second request's answer");
        describe_counter!(REFRESHES, Unit::Count, "refreshes of connections, by outcome");
        describe_counter!(REKEYED, Unit::Count, "rows that a driver has copied to other keys");
        #[cfg(feature = "heat")]
        describe_gauge!(
            BUSIEST_SHARE,
            "share of the busiest range of keys in the operations of the last window, from 0 to 1"
        );
        describe_gauge!(
            REKEYING,
            "the number of changes of the state of a re-keying that a process acts by; below 0 if it knows none"
        );
    }

    fn shared(table: &Arc<str>) -> SharedString {
        SharedString::from(Arc::clone(table))
    }

    impl Labels<'_> {
        fn with(&self, code: Option<&'static str>) -> Vec<Label> {
            let Self { operation, table, scan } = *self;
            let mut labels = Vec::with_capacity(4);
            labels.push(Label::from_static_parts("operation", operation));
            labels.push(Label::new("table", shared(table)));
            labels.extend(code.map(|code| Label::from_static_parts("code", code)));
            labels.extend(scan.map(|scan| Label::from_static_parts("scan", scan)));
            labels
        }
    }

    pub(super) fn attempt(labels: &Labels<'_>, code: &'static str, begun: Instant) {
        histogram!(ATTEMPT_SECONDS, labels.with(Some(code))).record(begun.elapsed());
    }

    pub(super) fn operation(labels: &Labels<'_>, code: &'static str, begun: Instant, rows: u64, bytes: u64) {
        histogram!(SECONDS, labels.with(Some(code))).record(begun.elapsed());
        if rows > 0 {
            counter!(ROWS, labels.with(None)).increment(rows);
        }
        if bytes > 0 {
            counter!(BYTES, labels.with(None)).increment(bytes);
        }
    }

    pub(in super::super) fn throttled(table: &Arc<str>, waited: Duration) {
        histogram!(THROTTLE, "table" => shared(table)).record(waited);
    }

    pub(super) fn unchecked(table: &str, code: &'static str) {
        counter!(UNCHECKED, "table" => table.to_owned(), "code" => code).increment(1);
    }

    pub(in super::super) fn cost(table: &Arc<str>, cost: ReadCost) {
        counter!(ROWS_SEEN, "table" => shared(table)).increment(cost.rows_seen);
        counter!(CELLS_SEEN, "table" => shared(table)).increment(cost.cells_seen);
        counter!(CELLS_RETURNED, "table" => shared(table)).increment(cost.cells_returned);
        histogram!(SERVER_SECONDS, "table" => shared(table)).record(cost.server_latency);
    }

    pub(in super::super) fn mismatched(table: &Arc<str>) {
        counter!(MISMATCHES, "table" => shared(table)).increment(1);
    }

    #[expect(clippy::cast_precision_loss, reason = "no client has 2^52 requests in flight")]
    pub(in super::super) fn stats(instance: &Arc<str>, stats: ClientStats) {
        let ClientStats { connections, in_flight, waiting, retry_tokens } = stats;
        let instance = || shared(instance);
        gauge!(CONNECTIONS, "instance" => instance()).set(connections as f64);
        gauge!(IN_FLIGHT, "instance" => instance()).set(in_flight as f64);
        gauge!(WAITING, "instance" => instance()).set(waiting as f64);
        gauge!(RETRY_TOKENS, "instance" => instance()).set(retry_tokens);
    }

    pub(in super::super) fn rejected(operation: &Operation) {
        let table = shared(operation.table());
        counter!(REJECTED, "operation" => operation.name(), "table" => table).increment(1);
    }

    pub(in super::super) fn hedged(table: &Arc<str>) {
        counter!(HEDGES, "table" => shared(table)).increment(1);
    }

    pub(in super::super) fn hedge_won(table: &Arc<str>) {
        counter!(HEDGES_WON, "table" => shared(table)).increment(1);
    }

    pub(in super::super) fn rekeyed(table: &Arc<str>, rows: u64) {
        counter!(REKEYED, "table" => shared(table)).increment(rows);
    }

    pub(in super::super) fn rekeying(table: &Arc<str>, change: Option<u64>) {
        #[expect(clippy::cast_precision_loss, reason = "no state changes 2^52 times")]
        gauge!(REKEYING, "table" => shared(table)).set(change.map_or(-1.0, |change| change as f64));
    }

    /// The shares of reads and of writes of each table.
    #[cfg(feature = "heat")]
    pub(in super::super) fn busiest(shares: impl Iterator<Item = (String, [Option<f64>; 2])>) {
        for (table, shares) in shares {
            for (access, share) in ["read", "write"].into_iter().zip(shares) {
                let table = table.clone();
                gauge!(BUSIEST_SHARE, "table" => table, "access" => access).set(share.unwrap_or(0.0));
            }
        }
    }

    pub(in super::super) fn refreshed(renewed: bool) {
        let code = if renewed { "OK" } else { "UNAVAILABLE" };
        counter!(REFRESHES, "code" => code).increment(1);
    }
}

#[cfg(not(feature = "metrics"))]
mod emit {
    use std::sync::Arc;
    use std::time::Duration;

    use tokio::time::Instant;

    use super::Labels;
    use crate::client::ClientStats;
    use crate::client::operation::Operation;
    use crate::client::stats::ReadCost;

    pub(in super::super) fn describe() {}

    pub(in super::super) fn future_cells(_: &Arc<str>, _: u64) {}

    pub(super) fn attempt(_: &Labels<'_>, _: &'static str, _: Instant) {}

    pub(super) fn operation(_: &Labels<'_>, _: &'static str, _: Instant, _: u64, _: u64) {}

    pub(in super::super) fn stats(_: &Arc<str>, _: ClientStats) {}

    pub(in super::super) fn throttled(_: &Arc<str>, _: Duration) {}

    pub(super) fn unchecked(_: &str, _: &'static str) {}

    pub(in super::super) fn cost(_: &Arc<str>, _: ReadCost) {}

    pub(in super::super) fn mismatched(_: &Arc<str>) {}

    pub(in super::super) fn rejected(_: &Operation) {}

    pub(in super::super) fn hedged(_: &Arc<str>) {}

    pub(in super::super) fn hedge_won(_: &Arc<str>) {}

    pub(in super::super) fn rekeyed(_: &Arc<str>, _: u64) {}

    pub(in super::super) fn rekeying(_: &Arc<str>, _: Option<u64>) {}

    pub(in super::super) fn refreshed(_: bool) {}
}
