//! TLS to the cloud: ring, with Mozilla's roots.

use std::sync::Arc;

use rustls::crypto::ring;
use rustls::{ClientConfig, RootCertStore};

use crate::client::error::Error;

/// How a client proves a server's name, and that both speak HTTP/2.
pub(super) fn config() -> Result<ClientConfig, Error> {
    let roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| Error::configuration(format!("TLS cannot be used: {error}")))?;
    let mut config = config.with_root_certificates(roots).with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec()];
    Ok(config)
}
