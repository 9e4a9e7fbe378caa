//! Access tokens for Google Cloud: the application's own, and Google's application-default credentials.

use std::error::Error as StdError;
use std::fmt;
use std::future::Future;
use std::sync::Arc;
#[cfg(feature = "cloud")]
use std::sync::{Mutex, MutexGuard, PoisonError};
#[cfg(feature = "cloud")]
use std::time::{Duration, Instant};

use futures_core::future::BoxFuture;
use http::{HeaderMap, HeaderValue};

use super::fault::Source;

/// A source of access tokens.
///
/// ```
/// use keyderive::client::{AccessToken, Credentials, CredentialsError};
///
/// /// A token that something else keeps up to date.
/// struct Vault;
///
/// impl Credentials for Vault {
///     async fn access_token(&self) -> Result<AccessToken, CredentialsError> {
///         let token = std::env::var("VAULT_TOKEN")
///             .map_err(|error| CredentialsError::new("the vault has no token").with_source(error))?;
///         Ok(AccessToken::new(token))
///     }
/// }
///
/// # #[cfg(feature = "cloud")]
/// # async fn sample() -> Result<(), keyderive::Error> {
/// let client = keyderive::Client::builder().credentials(Vault).cloud("my-project", "my-instance").await?;
/// # Ok(())
/// # }
/// ```
///
/// The client caches no token: it calls [`access_token`](Self::access_token) before each attempt of each operation. An
/// implementation that fetches tokens caches each while it is valid, and fetches the next one minutes before it expires. The call
/// counts towards the attempt's timeout.
pub trait Credentials: Send + Sync + 'static {
    /// A token that is valid now.
    ///
    /// # Errors
    /// When there is none. The attempt then fails before anything is sent, and is retried only if the error is
    /// [transient](CredentialsError::transient).
    fn access_token(&self) -> impl Future<Output = Result<AccessToken, CredentialsError>> + Send;

    /// The server has rejected a token of theirs (`UNAUTHENTICATED`): a cache should fetch another. The client then sends the
    /// request once more, with what [`access_token`](Self::access_token) returns. Nothing by default.
    fn rejected(&self) {}
}

/// An OAuth 2.0 access token. It is a secret: `Debug` does not print it.
#[derive(Clone)]
pub struct AccessToken {
    token: String,
    quota_project: Option<String>,
}

impl AccessToken {
    /// The token, without the word `Bearer`.
    #[must_use]
    pub fn new(token: impl Into<String>) -> Self {
        Self { token: token.into(), quota_project: None }
    }

    /// The project to which requests are billed, and whose quota they use, if it is not the token's own.
    #[must_use]
    pub fn with_quota_project(self, project: impl Into<String>) -> Self {
        Self { quota_project: Some(project.into()), ..self }
    }

    fn headers(&self) -> Result<HeaderMap, CredentialsError> {
        let mut headers = HeaderMap::new();
        headers.insert("authorization", secret(&format!("Bearer {}", self.token))?);
        if let Some(project) = &self.quota_project {
            headers.insert("x-goog-user-project", header(project)?);
        }
        Ok(headers)
    }
}

impl fmt::Debug for AccessToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AccessToken").field("quota_project", &self.quota_project).finish_non_exhaustive()
    }
}

fn header(value: &str) -> Result<HeaderValue, CredentialsError> {
    value.parse().map_err(|_| {
        CredentialsError::new("a token or its quota project has characters that no header can hold")
    })
}

fn secret(value: &str) -> Result<HeaderValue, CredentialsError> {
    let mut value = header(value)?;
    value.set_sensitive(true);
    Ok(value)
}

/// Why there is no access token.
#[derive(Clone)]
pub struct CredentialsError {
    message: String,
    transient: bool,
    source: Option<Source>,
}

impl CredentialsError {
    /// A permanent failure. Its message appears in errors and logs, so it must hold no secret.
    #[must_use]
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), transient: false, source: None }
    }

    /// Marks the failure as transient: the operation backs off and retries.
    #[must_use]
    pub fn transient(self) -> Self {
        Self { transient: true, ..self }
    }

    /// Adds the underlying failure.
    #[must_use]
    pub fn with_source(self, source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self { source: Some(Arc::from(source.into())), ..self }
    }

    /// Whether the failure is transient.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        self.transient
    }
}

impl fmt::Display for CredentialsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl fmt::Debug for CredentialsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_tuple("CredentialsError");
        debug.field(&self.message);
        if let Some(source) = &self.source {
            debug.field(source);
        }
        debug.finish()
    }
}

impl StdError for CredentialsError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.source.as_ref().map(|source| source.as_ref() as &(dyn StdError + 'static))
    }
}

/// Makes the headers that authorize a request.
pub(super) trait Authorize: Send + Sync {
    fn headers(&self) -> BoxFuture<'_, Result<HeaderMap, CredentialsError>>;

    /// The server has rejected headers of theirs.
    fn rejected(&self);
}

impl<C: Credentials> Authorize for C {
    fn headers(&self) -> BoxFuture<'_, Result<HeaderMap, CredentialsError>> {
        Box::pin(async { self.access_token().await?.headers() })
    }

    fn rejected(&self) {
        Credentials::rejected(self);
    }
}

/// The application's own credentials, or Google's.
#[derive(Clone)]
pub(super) struct Authorizer(Arc<dyn Authorize>);

impl Authorizer {
    pub(super) fn new(credentials: impl Authorize + 'static) -> Self {
        Self(Arc::new(credentials))
    }

    pub(super) async fn headers(&self) -> Result<HeaderMap, CredentialsError> {
        self.0.headers().await
    }

    pub(super) fn rejected(&self) {
        self.0.rejected();
    }
}

impl fmt::Debug for Authorizer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Authorizer").finish_non_exhaustive()
    }
}

/// Google's application-default credentials: a file that `GOOGLE_APPLICATION_CREDENTIALS` names, the one that `gcloud`
/// writes, or the machine's service account. Sends nothing yet.
#[cfg(feature = "cloud")]
pub(super) fn application_default() -> Result<Authorizer, CredentialsError> {
    use google_cloud_auth::credentials::Builder;
    use rustls::crypto::{CryptoProvider, ring};

    // Google's crate panics if the process has no default crypto provider. We never replace one that the program has
    // installed, or installs at the same time.
    if CryptoProvider::get_default().is_none() {
        let _ = ring::default_provider().install_default();
    }
    match Builder::default().build() {
        Ok(credentials) => Ok(Authorizer::new(ApplicationDefault::new(credentials))),
        Err(error) => {
            let message = format!("the application-default credentials cannot be used: {error}");
            Err(CredentialsError::new(message).with_source(error))
        }
    }
}

/// Google's credentials, which fetch tokens ahead of time and keep them until they expire. After an error that they take for
/// permanent they fetch no more, so they are read again from the environment then, and when a server rejects their token.
#[cfg(feature = "cloud")]
struct ApplicationDefault {
    /// And when they were read again last.
    current: Mutex<(google_cloud_auth::credentials::Credentials, Option<Instant>)>,
}

/// How often credentials are read again at most.
#[cfg(feature = "cloud")]
const READ_AGAIN_AFTER: Duration = Duration::from_secs(10);

#[cfg(feature = "cloud")]
impl ApplicationDefault {
    fn new(credentials: google_cloud_auth::credentials::Credentials) -> Self {
        Self { current: Mutex::new((credentials, None)) }
    }

    fn current(&self) -> MutexGuard<'_, (google_cloud_auth::credentials::Credentials, Option<Instant>)> {
        // Nothing panics while it holds the lock.
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn read_again(&self) {
        let mut current = self.current();
        if current.1.is_none_or(|last| last.elapsed() >= READ_AGAIN_AFTER)
            && let Ok(credentials) = google_cloud_auth::credentials::Builder::default().build()
        {
            *current = (credentials, Some(Instant::now()));
        }
    }
}

#[cfg(feature = "cloud")]
impl Authorize for ApplicationDefault {
    fn headers(&self) -> BoxFuture<'_, Result<HeaderMap, CredentialsError>> {
        use google_cloud_auth::credentials::CacheableResource;

        Box::pin(async {
            let credentials = self.current().0.clone();
            match credentials.headers(http::Extensions::new()).await {
                Ok(CacheableResource::New { data, .. }) => Ok(data),
                // Only sent to a caller that passes the entity tag of its cached headers, which we do not.
                Ok(CacheableResource::NotModified) => Ok(HeaderMap::new()),
                Err(error) => {
                    self.read_again();
                    Err(from_google(error))
                }
            }
        })
    }

    fn rejected(&self) {
        self.read_again();
    }
}

#[cfg(feature = "cloud")]
fn from_google(error: google_cloud_auth::errors::CredentialsError) -> CredentialsError {
    // The answer of the token server may be in any of them, and what happened to the connection is in the last.
    let causes = std::iter::successors(error.source(), |&cause| cause.source());
    let mut message = format!("the application-default credentials gave no token: {error}");
    for cause in causes.map(ToString::to_string) {
        if !message.contains(&cause) {
            message = format!("{message}: {cause}");
        }
    }
    let transient = error.is_transient();
    CredentialsError { transient, ..CredentialsError::new(message).with_source(error) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_not_printed() {
        let token = AccessToken::new("very secret").with_quota_project("payer");
        assert_eq!(format!("{token:?}"), "AccessToken { quota_project: Some(\"payer\"), .. }");
        let headers = token.headers().unwrap();
        assert!(!format!("{headers:?}").contains("secret"));
        assert_eq!(headers.get("authorization").unwrap(), "Bearer very secret");
        assert_eq!(headers.get("x-goog-user-project").unwrap(), "payer");
    }

    #[test]
    fn a_token_that_is_no_header_is_an_error_without_the_token() {
        let error = AccessToken::new("secret\n").headers().unwrap_err();
        assert_eq!(error.to_string(), "a token or its quota project has characters that no header can hold");
        assert!(!error.is_transient());
    }
}
