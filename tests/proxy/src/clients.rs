//! The clients of the proxy, by their ids.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use keyderive::Client;
use keyderive::client::RawTable;
use keyderive_proto::values;
use tonic::Status;

use crate::proto::{CreateClientRequest, OptionalFeatureConfig};

/// The data target that stands for the emulator in the environment.
const EMULATOR: &str = "emulator";

/// A client, and what its requests must match.
#[derive(Clone, Debug)]
pub(crate) struct ConnectedClient {
    pub(crate) client: Client,
    /// `projects/…/instances/…`.
    instance: String,
    app_profile: String,
}

impl ConnectedClient {
    pub(crate) async fn make(request: CreateClientRequest) -> Result<Self, Status> {
        let required = [
            ("client_id", &request.client_id),
            ("data_target", &request.data_target),
            ("project_id", &request.project_id),
            ("instance_id", &request.instance_id),
        ];
        if let Some((field, _)) = required.into_iter().find(|(_, value)| value.is_empty()) {
            return Err(Status::invalid_argument(format!("a client needs a `{field}`")));
        }
        if request.security_options.as_ref().is_some_and(|security| security.use_ssl) {
            return Err(Status::unimplemented("this proxy reaches servers without encryption only"));
        }
        let timeout = request.per_operation_timeout.map(duration).transpose()?;
        let builder = Client::builder()
            .instance(&request.project_id, &request.instance_id)
            .app_profile(&request.app_profile_id)
            // The only feature that is off by default.
            .throttle(request.optional_feature_config == OptionalFeatureConfig::EnableAll as i32);
        let client = match request.data_target.as_str() {
            EMULATOR => builder.from_env().await,
            host => builder.emulator(host).await,
        };
        let client = client.map_err(|error| Status::invalid_argument(error.to_string()))?;
        let client = match timeout {
            Some(timeout) => client.with(|settings| settings.each(|call| call.total_timeout = timeout)),
            None => client,
        };
        Ok(Self {
            client,
            instance: format!("projects/{}/instances/{}", request.project_id, request.instance_id),
            app_profile: request.app_profile_id,
        })
    }

    /// The table of a request, by its full name.
    pub(crate) fn table(&self, name: &str, app_profile: &str) -> Result<RawTable, Status> {
        if !app_profile.is_empty() && app_profile != self.app_profile {
            return Err(Status::invalid_argument(format!(
                "the request has the app profile `{app_profile}`, and its client `{}`",
                self.app_profile
            )));
        }
        let id = name.strip_prefix(&self.instance).and_then(|rest| rest.strip_prefix("/tables/"));
        match id {
            Some(id) if !id.is_empty() && !id.contains('/') => Ok(self.client.raw_table(id)),
            _ => Err(Status::invalid_argument(format!("`{name}` is no table of `{}`", self.instance))),
        }
    }
}

fn duration(duration: values::Duration) -> Result<Duration, Status> {
    match (u64::try_from(duration.seconds), u32::try_from(duration.nanos)) {
        (Ok(seconds), Ok(nanos)) => Ok(Duration::new(seconds, nanos)),
        _ => Err(Status::invalid_argument("the timeout is below zero")),
    }
}

/// The clients by their ids.
#[derive(Debug, Default)]
pub(crate) struct Clients(Mutex<HashMap<String, ConnectedClient>>);

impl Clients {
    pub(crate) fn insert(&self, id: String, made: ConnectedClient) -> Result<(), Status> {
        match self.lock().entry(id) {
            Entry::Vacant(place) => {
                place.insert(made);
                Ok(())
            }
            Entry::Occupied(place) => {
                Err(Status::already_exists(format!("there is a client `{}` already", place.key())))
            }
        }
    }

    pub(crate) fn get(&self, id: &str) -> Result<ConnectedClient, Status> {
        self.lock().get(id).cloned().ok_or_else(|| unknown(id))
    }

    pub(crate) fn remove(&self, id: &str) -> Result<(), Status> {
        self.lock().remove(id).map(drop).ok_or_else(|| unknown(id))
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, ConnectedClient>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn unknown(id: &str) -> Status {
    Status::not_found(format!("there is no client `{id}`"))
}
