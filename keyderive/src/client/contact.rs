//! Whether a server of HTTP/2 has ever been met at an address.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};

use futures_core::future::BoxFuture;
use http::Uri;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tower_service::Service;

/// Where a frame of HTTP/2 says of what type it is, and the type of the one that a server begins with: SETTINGS, as
/// RFC 9113 has it in 3.4 and 4.1.
const TYPE_AT: usize = 3;
const SETTINGS: u8 = 4;

/// How the answers of HTTP/1 begin.
const HTTP_1: &[u8; TYPE_AT + 2] = b"HTTP/";

/// Made for good when a server has begun to speak HTTP/2, on any connection to the address. A server does so when the
/// connection is there, before it answers any request.
#[derive(Clone, Debug, Default)]
pub(super) struct Contact(Arc<Met>);

#[derive(Debug, Default)]
struct Met {
    made: AtomicBool,
    http_1: AtomicBool,
}

impl Contact {
    pub(super) fn is_made(&self) -> bool {
        self.0.made.load(Ordering::Relaxed)
    }

    /// Whether something there has answered by HTTP/1.
    pub(super) fn is_of_http_1(&self) -> bool {
        self.0.http_1.load(Ordering::Relaxed)
    }

    fn set_made(&self) {
        self.0.made.store(true, Ordering::Relaxed);
    }

    fn set_of_http_1(&self) {
        self.0.http_1.store(true, Ordering::Relaxed);
    }
}

/// Makes connections as another connector does, and looks at how the other end begins.
#[derive(Clone, Debug)]
pub(super) struct Watched<C> {
    connector: C,
    contact: Contact,
}

impl<C> Watched<C> {
    pub(super) fn new(connector: C, contact: Contact) -> Self {
        Self { connector, contact }
    }
}

impl<C, IO> Service<Uri> for Watched<C>
where
    C: Service<Uri, Response = TokioIo<IO>, Future: Send + 'static>,
{
    type Response = TokioIo<Beginning<IO>>;
    type Error = C::Error;
    type Future = BoxFuture<'static, Result<Self::Response, C::Error>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), C::Error>> {
        self.connector.poll_ready(cx)
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let (connecting, contact) = (self.connector.call(uri), self.contact.clone());
        Box::pin(async move {
            let io = connecting.await?.into_inner();
            Ok(TokioIo::new(Beginning { io, contact, read: 0, is_http_1: true }))
        })
    }
}

/// A connection whose first bytes are looked at.
#[derive(Debug)]
pub(super) struct Beginning<IO> {
    io: IO,
    contact: Contact,
    /// How many bytes have been looked at.
    read: usize,
    /// Whether they are those that an answer of HTTP/1 begins with.
    is_http_1: bool,
}

impl<IO> Beginning<IO> {
    fn look_at(&mut self, bytes: &[u8]) {
        if self.read >= HTTP_1.len() {
            return;
        }
        let expected = &HTTP_1[self.read..];
        let seen = &bytes[..bytes.len().min(expected.len())];
        self.is_http_1 &= expected.starts_with(seen);
        if self.is_http_1 && seen.len() == expected.len() {
            self.contact.set_of_http_1();
        }
        if self.read <= TYPE_AT && bytes.get(TYPE_AT - self.read) == Some(&SETTINGS) {
            self.contact.set_made();
        }
        self.read += bytes.len();
    }
}

impl<IO: AsyncRead + Unpin> AsyncRead for Beginning<IO> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        ready!(Pin::new(&mut self.io).poll_read(cx, buf))?;
        self.look_at(buf.filled().get(before..).unwrap_or_default());
        Poll::Ready(Ok(()))
    }
}

impl<IO: AsyncWrite + Unpin> AsyncWrite for Beginning<IO> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a server has been met as that begins with these bytes, which come in such parts.
    fn contact(parts: &[&[u8]]) -> Contact {
        let mut beginning = Beginning { io: (), contact: Contact::default(), read: 0, is_http_1: true };
        parts.iter().for_each(|part| beginning.look_at(part));
        beginning.contact
    }

    fn is_met(parts: &[&[u8]]) -> bool {
        contact(parts).is_made()
    }

    #[test]
    fn an_answer_of_http_1_is_known_by_its_beginning() {
        let is_http_1 = |parts: &[&[u8]]| contact(parts).is_of_http_1();
        assert!(is_http_1(&[b"HTTP/1.1 400 Bad Request\r\n\r\n"]) && is_http_1(&[b"H", b"TT", b"P/1.0"]));
        assert!(
            !is_http_1(&[b"HTTP"])
                && !is_http_1(&[b"xHTTP/1.1"])
                && !is_http_1(&[b"HTTQ/"])
                && !is_http_1(&[])
        );
        assert!(!is_http_1(&[b"HT", b"HTTP/1.1"]));
    }

    #[test]
    fn a_server_of_http_2_is_met_by_its_settings() {
        let settings: &[u8] = &[0, 0, 6, 4, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 100];
        assert!(is_met(&[settings]));
        assert!(is_met(&[&settings[..1], &settings[1..3], &settings[3..4], &settings[4..]]));
        assert!(!is_met(&[&settings[..3]]) && !is_met(&[]));
    }

    #[test]
    fn another_server_is_not_met() {
        assert!(!is_met(&[b"HTTP/1.1 400 Bad Request\r\n\r\n"]));
        // The type is looked for where it is, and nowhere else.
        assert!(!is_met(&[b"HTTP", &[4; 8]]) && !is_met(&[b"SSH-2.0\r\n", &[0, 0, 6, 4]]));
    }
}
