//! TLS to the cloud: ring, with Mozilla's roots and the program's.

use std::sync::Arc;

use rustls::crypto::ring;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::{ClientConfig, RootCertStore};

use crate::client::error::Error;

/// How a client verifies a server's name, and that both speak HTTP/2. `own_roots` are certificates in PEM.
pub(super) fn config(own_roots: &[u8]) -> Result<ClientConfig, Error> {
    let mut roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
    for root in CertificateDer::pem_slice_iter(own_roots) {
        let added = root.map_err(|error| error.to_string());
        added.and_then(|root| roots.add(root).map_err(|error| error.to_string())).map_err(|error| {
            Error::configuration(format!(
                "a root certificate cannot be used: {error}; give certificates in PEM"
            ))
        })?;
    }
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| Error::configuration(format!("TLS cannot be used: {error}")))?;
    let mut config = config.with_root_certificates(roots).with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec()];
    Ok(config)
}
