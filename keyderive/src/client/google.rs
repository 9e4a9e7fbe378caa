//! Google's application-default credentials, by Google's own crate.

use futures_core::future::BoxFuture;
use std::error::Error as StdError;

use google_cloud_auth::credentials::{Builder, CacheableResource};
use google_cloud_auth::errors::CredentialsError as GoogleError;
use rustls::crypto::{CryptoProvider, ring};
use tonic::metadata::MetadataMap;

use super::credentials::{Authorize, CredentialsError};

/// The credentials that the environment has: a file that `GOOGLE_APPLICATION_CREDENTIALS` names, the one that
/// `gcloud` leaves, or the machine's own service account. Nothing is sent yet.
pub(super) fn default() -> Result<ApplicationDefault, CredentialsError> {
    // The crate asks the process for its provider of cryptography and panics where there is none. One that the
    // program has installed stays, also one that it installs at this moment.
    if CryptoProvider::get_default().is_none() {
        let _ = ring::default_provider().install_default();
    }
    let built = Builder::default().build().map_err(|error| {
        CredentialsError::new(format!("the application-default credentials cannot be used: {error}"))
            .with_source(error)
    });
    built.map(ApplicationDefault)
}

#[derive(Debug)]
pub(super) struct ApplicationDefault(google_cloud_auth::credentials::Credentials);

impl Authorize for ApplicationDefault {
    fn headers(&self) -> BoxFuture<'_, Result<MetadataMap, CredentialsError>> {
        Box::pin(async {
            match self.0.headers(http::Extensions::new()).await {
                Ok(CacheableResource::New { data, .. }) => Ok(MetadataMap::from_headers(data)),
                // Only told to one who says which token it has.
                Ok(CacheableResource::NotModified) => Ok(MetadataMap::new()),
                Err(error) => Err(failed(error)),
            }
        })
    }
}

fn failed(error: GoogleError) -> CredentialsError {
    let passes = error.is_transient();
    // What is above the last cause are generalities.
    let mut cause: &dyn StdError = &error;
    while let Some(below) = cause.source() {
        cause = below;
    }
    let message = format!("the application-default credentials gave none: {cause}");
    let failed = CredentialsError::new(message).with_source(error);
    match passes {
        true => failed.transient(),
        false => failed,
    }
}
