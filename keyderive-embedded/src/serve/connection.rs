//! The connections of a port: how many there may be, how long a peer may be silent, and how they end.

use std::io::{self, ErrorKind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_core::Stream;
use futures_util::stream::unfold;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::futures::OwnedNotified;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, Sleep, sleep};
use tonic::transport::server::Connected;

use super::ServeSettings;

/// What each connection of HTTP/2 begins with: `PRI * HTTP/2.0`, two ends of lines, `SM`, two ends of lines.
const PREFACE_BYTES: usize = 24;

/// How long the port is left alone when it gives no connection, at first and at most. The usual reason is that the
/// process has no descriptor left, which passes when a connection ends.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// What holds new connections up is told at most so often.
const WARN_EVERY: Duration = Duration::from_secs(10);

/// The connections that peers open, until `over` is notified, which ends them.
pub(super) fn incoming(
    listener: TcpListener,
    settings: &ServeSettings,
    over: Arc<Notify>,
) -> impl Stream<Item = io::Result<Connection>> + use<> {
    let most = settings.connections.clamp(1, Semaphore::MAX_PERMITS);
    let door = Door {
        listener,
        most,
        places: Arc::new(Semaphore::new(most)),
        over,
        handshake_timeout: settings.handshake_timeout,
        write_timeout: settings.keep_alive_interval.saturating_add(settings.keep_alive_timeout),
        warned: None,
    };
    unfold(door, |mut door| async move {
        let connection = door.accept().await;
        Some((Ok(connection), door))
    })
}

/// Where connections come in.
struct Door {
    listener: TcpListener,
    most: usize,
    places: Arc<Semaphore>,
    over: Arc<Notify>,
    handshake_timeout: Duration,
    write_timeout: Duration,
    warned: Option<Instant>,
}

impl Door {
    async fn accept(&mut self) -> Connection {
        let place = self.place().await;
        let mut pause = FIRST_PAUSE;
        let stream = loop {
            match self.listener.accept().await {
                Ok((stream, _)) => break stream,
                // The peer was gone before its connection was taken.
                Err(error)
                    if matches!(error.kind(), ErrorKind::ConnectionAborted | ErrorKind::ConnectionReset) => {}
                Err(error) => {
                    if self.may_warn() {
                        tracing::warn!(%error, "no connection can be accepted; it is tried again");
                    }
                    sleep(pause).await;
                    pause = (pause * 2).min(LONGEST_PAUSE);
                }
            }
        };
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(%error, "small answers of a connection may be late");
        }
        Connection {
            stream,
            _place: place,
            preface: Some(Box::pin(sleep(self.handshake_timeout))),
            missing: PREFACE_BYTES,
            write_timeout: self.write_timeout,
            stalled: None,
            over: Box::pin(Arc::clone(&self.over).notified_owned()),
        }
    }

    /// A place for another connection, when there is one. The semaphore is never closed.
    async fn place(&mut self) -> Option<OwnedSemaphorePermit> {
        if let Ok(place) = Arc::clone(&self.places).try_acquire_owned() {
            return Some(place);
        }
        if self.may_warn() {
            tracing::warn!(
                connections = self.most,
                "as many connections are open as may be; further ones wait"
            );
        }
        Arc::clone(&self.places).acquire_owned().await.ok()
    }

    fn may_warn(&mut self) -> bool {
        let may_warn = self.warned.is_none_or(|warned| warned.elapsed() >= WARN_EVERY);
        if may_warn {
            self.warned = Some(Instant::now());
        }
        may_warn
    }
}

/// A connection that fails when its peer is silent at first, when its peer takes nothing, and when serving is over.
///
/// It looks at the time and at the end where it would wait: a connection that is served comes to that each time.
pub(super) struct Connection {
    stream: TcpStream,
    _place: Option<OwnedSemaphorePermit>,
    /// Until when the preface is to have come; none when it has.
    preface: Option<Pin<Box<Sleep>>>,
    /// How many bytes of the preface have not come.
    missing: usize,
    write_timeout: Duration,
    /// Until when the peer is to take something; none while it does.
    stalled: Option<Pin<Box<Sleep>>>,
    over: Pin<Box<OwnedNotified>>,
}

impl Connection {
    fn heard(&mut self, bytes: usize) {
        self.missing = self.missing.saturating_sub(bytes);
        if self.missing == 0 {
            self.preface = None;
        }
    }

    /// Waits, unless there is nothing to wait for any more.
    fn wait<T>(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<T>> {
        let mut is_over = |sleep: &mut Option<Pin<Box<Sleep>>>| {
            sleep.as_mut().is_some_and(|sleep| sleep.as_mut().poll(cx).is_ready())
        };
        let why = if is_over(&mut self.preface) {
            "the peer has not said in time that it speaks HTTP/2"
        } else if is_over(&mut self.stalled) {
            "the peer takes nothing of what is sent to it"
        } else if self.over.as_mut().poll(cx).is_ready() {
            return Poll::Ready(Err(io::Error::new(ErrorKind::ConnectionAborted, "serving is over")));
        } else {
            return Poll::Pending;
        };
        tracing::debug!(reason = why, "a connection is closed");
        Poll::Ready(Err(io::Error::new(ErrorKind::TimedOut, why)))
    }

    fn wait_to_write(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        let Self { stalled, write_timeout, .. } = self;
        stalled.get_or_insert_with(|| Box::pin(sleep(*write_timeout)));
        self.wait(cx)
    }
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        match Pin::new(&mut self.stream).poll_read(cx, buffer) {
            Poll::Pending => self.wait(cx),
            read => {
                self.heard(buffer.filled().len() - before);
                read
            }
        }
    }
}

impl AsyncWrite for Connection {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match Pin::new(&mut self.stream).poll_write(cx, bytes) {
            Poll::Pending => self.wait_to_write(cx),
            written => {
                self.stalled = None;
                written
            }
        }
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match Pin::new(&mut self.stream).poll_write_vectored(cx, slices) {
            Poll::Pending => self.wait_to_write(cx),
            written => {
                self.stalled = None;
                written
            }
        }
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

impl Connected for Connection {
    type ConnectInfo = ();

    fn connect_info(&self) {}
}
