//! The way to Google Cloud: where its services are, and what is shown to them.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;

use super::builder::{ClientBuilder, Endpoint};
use super::credentials::{Authorizer, CredentialsError};
use super::dial::Dialer;
use super::target::Place;
use super::{Client, Error};

/// Where the data service is, and the admin service.
const DATA: &str = "https://bigtable.googleapis.com";
const ADMIN: &str = "https://bigtableadmin.googleapis.com";

/// How long the first token may take. Off the cloud, the machine's own service account is asked for in vain, at an
/// address that may swallow what is sent to it.
const FIRST_TOKEN: Duration = Duration::from_secs(10);

impl ClientBuilder {
    /// A client of what the endpoints name, which shows the credentials.
    pub(super) async fn reach_cloud(self) -> Result<Client, Error> {
        let (endpoint, admin_endpoint) = self.endpoints();
        let admin = match (admin_endpoint, endpoint) {
            (Some(uri), _) => Some(Dialer::endpoint(uri)?),
            (None, Some(_)) => None,
            (None, None) => Some(Dialer::endpoint(ADMIN)?),
        };
        let data = Dialer::endpoint(endpoint.unwrap_or(DATA))?;
        let credentials = self.authorizer(&data, admin.as_ref()).await?;
        let reach = Endpoint {
            place: Place::Cloud(data.address().into()),
            runtime: data.runtime().clone(),
            data: Arc::new(data),
            admin: admin.map(|admin| Arc::new(admin) as _),
            credentials,
        };
        Ok(self.open(reach).await)
    }

    /// What is shown to the two services: what was given, or what the environment has. To servers without encryption
    /// nothing of the environment's is shown, and nothing at all to those on other machines.
    async fn authorizer(&self, data: &Dialer, admin: Option<&Dialer>) -> Result<Option<Authorizer>, Error> {
        let dialers = || std::iter::once(data).chain(admin);
        let authorizer = match self.given_credentials() {
            Some(given) => given.clone(),
            None if dialers().all(Dialer::is_plaintext) => return Ok(None),
            None => application_default().map_err(Error::credentials)?,
        };
        if let Some(exposed) = dialers().find(|dialer| dialer.is_exposed()) {
            return Err(Error::configuration(format!(
                "`http://{}` is on another machine, and an access token would be sent to it unencrypted; use `https`",
                exposed.address()
            )));
        }
        let first = timeout(FIRST_TOKEN, authorizer.headers()).await;
        let first =
            first.unwrap_or_else(|_| Err(CredentialsError::new(format!("none came within {FIRST_TOKEN:?}"))));
        first.map(|_| Some(authorizer)).map_err(Error::credentials)
    }
}

#[cfg(feature = "cloud")]
fn application_default() -> Result<Authorizer, CredentialsError> {
    super::google::default().map(Authorizer::new)
}

#[cfg(not(feature = "cloud"))]
fn application_default() -> Result<Authorizer, CredentialsError> {
    Err(CredentialsError::new("keyderive is built without its feature `cloud`"))
}
