//! Which Bigtable the environment names.

use std::ffi::OsString;

use super::error::Error;

pub(super) const EMULATOR: &str = "BIGTABLE_EMULATOR_HOST";
pub(super) const PROJECT: &str = "GOOGLE_CLOUD_PROJECT";
pub(super) const INSTANCE: &str = "BIGTABLE_INSTANCE";

/// The project and the instance of an emulator where nothing names them.
pub(super) const DEFAULT_PROJECT: &str = "keyderive";
pub(super) const DEFAULT_INSTANCE: &str = "local";

/// What the environment names. An empty variable is one that is not set.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Environment {
    Emulator {
        host: String,
        project: String,
        instance: String,
    },
    Cloud {
        project: String,
        instance: String,
    },
    /// Neither an emulator nor an instance.
    Nothing,
}

impl Environment {
    /// Decides by the variables that `lookup` finds.
    pub(crate) fn decide(lookup: impl Fn(&str) -> Option<OsString>) -> Result<Self, Error> {
        let variable = |name: &str| read(name, lookup(name));
        let (project, instance) = (variable(PROJECT)?, variable(INSTANCE)?);
        if let Some(host) = variable(EMULATOR)? {
            return Ok(Self::Emulator {
                host,
                project: project.unwrap_or_else(|| DEFAULT_PROJECT.to_owned()),
                instance: instance.unwrap_or_else(|| DEFAULT_INSTANCE.to_owned()),
            });
        }
        match (project, instance) {
            (Some(project), Some(instance)) => Ok(Self::Cloud { project, instance }),
            (None, Some(instance)) => Err(Error::configuration(format!(
                "`{INSTANCE}` names the instance `{instance}`, but `{PROJECT}` names no project; set both"
            ))),
            (_, None) => Ok(Self::Nothing),
        }
    }
}

fn read(name: &str, value: Option<OsString>) -> Result<Option<String>, Error> {
    let Some(value) = value.filter(|value| !value.is_empty()) else { return Ok(None) };
    value.into_string().map(Some).map_err(|value| {
        Error::configuration(format!("`{name}` is set to `{}`, which is not UTF-8", value.display()))
    })
}

/// The error of an environment that names nothing.
pub(super) fn nothing_named() -> Error {
    Error::configuration(format!(
        "the environment names no Bigtable: set `{EMULATOR}` to an emulator's `host:port`, \
         or `{PROJECT}` and `{INSTANCE}` to an instance of the cloud"
    ))
}

/// The error of an instance which this build cannot reach.
pub(super) fn no_cloud(project: &str, instance: &str) -> Error {
    Error::configuration(format!(
        "the instance `{instance}` of project `{project}` is in the cloud, which keyderive is built without; enable \
         its feature `cloud`, or set `{EMULATOR}` to use an emulator"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decide(variables: &[(&str, &str)]) -> Result<Environment, Error> {
        Environment::decide(|name| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| value.into())
        })
    }

    #[test]
    fn an_emulator_comes_first() {
        let emulator = |project: &str, instance: &str| Environment::Emulator {
            host: "localhost:8086".to_owned(),
            project: project.to_owned(),
            instance: instance.to_owned(),
        };
        assert_eq!(decide(&[(EMULATOR, "localhost:8086")]).unwrap(), emulator("keyderive", "local"));
        let named = [(EMULATOR, "localhost:8086"), (PROJECT, "p"), (INSTANCE, "i")];
        assert_eq!(decide(&named).unwrap(), emulator("p", "i"));
        assert_eq!(
            decide(&[(EMULATOR, "localhost:8086"), (INSTANCE, "i")]).unwrap(),
            emulator("keyderive", "i")
        );
    }

    #[test]
    fn an_instance_needs_its_project() {
        let cloud = Environment::Cloud { project: "p".to_owned(), instance: "i".to_owned() };
        assert_eq!(decide(&[(PROJECT, "p"), (INSTANCE, "i")]).unwrap(), cloud);
        let error = decide(&[(INSTANCE, "i")]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "`BIGTABLE_INSTANCE` names the instance `i`, but `GOOGLE_CLOUD_PROJECT` names no project; set both"
        );
    }

    #[test]
    fn a_project_alone_and_empty_variables_name_nothing() {
        assert_eq!(decide(&[]).unwrap(), Environment::Nothing);
        assert_eq!(decide(&[(PROJECT, "p")]).unwrap(), Environment::Nothing);
        assert_eq!(decide(&[(EMULATOR, ""), (INSTANCE, "")]).unwrap(), Environment::Nothing);
    }

    #[test]
    #[cfg(unix)]
    fn a_variable_that_is_no_text_is_an_error() {
        use std::os::unix::ffi::OsStringExt as _;
        let error = Environment::decide(|name| (name == EMULATOR).then(|| OsString::from_vec(vec![0xff])))
            .unwrap_err();
        assert!(error.to_string().starts_with("`BIGTABLE_EMULATOR_HOST` is set to"), "{error}");
    }
}
