//! Which Bigtable the environment names.

use std::ffi::OsString;

use super::address::Address;
use super::error::Error;

pub(super) const EMULATOR: &str = "BIGTABLE_EMULATOR_HOST";
pub(super) const PROJECT: &str = "GOOGLE_CLOUD_PROJECT";
pub(super) const INSTANCE: &str = "BIGTABLE_INSTANCE";

/// The project and the instance of an emulator where nothing names them.
pub(super) const DEFAULT_PROJECT: &str = "keyderive";
pub(super) const DEFAULT_INSTANCE: &str = "local";

/// What the variables that `lookup` finds name. An empty variable is one that is not set.
pub(super) fn decide(lookup: impl Fn(&str) -> Option<OsString>) -> Result<Address, Error> {
    let variable = |name: &str| read(name, lookup(name));
    let (project, instance) = (variable(PROJECT)?, variable(INSTANCE)?);
    if let Some(host) = variable(EMULATOR)? {
        return Ok(Address::Emulator {
            host,
            project: project.unwrap_or_else(|| DEFAULT_PROJECT.to_owned()),
            instance: instance.unwrap_or_else(|| DEFAULT_INSTANCE.to_owned()),
        });
    }
    match (project, instance) {
        (Some(project), Some(instance)) => Ok(Address::Cloud { project, instance, app_profile: None }),
        (None, Some(instance)) => Err(Error::configuration(format!(
            "`{INSTANCE}` names the instance `{instance}`, but `{PROJECT}` names no project; set both"
        ))),
        (project, None) => Err(nothing_named(project.as_deref())),
    }
}

fn read(name: &str, value: Option<OsString>) -> Result<Option<String>, Error> {
    let Some(value) = value.filter(|value| !value.is_empty()) else { return Ok(None) };
    value.into_string().map(Some).map_err(|value| {
        Error::configuration(format!("`{name}` is set to `{}`, which is not UTF-8", value.display()))
    })
}

/// The error of an environment that names nothing, or a project alone.
fn nothing_named(project: Option<&str>) -> Error {
    let half = match project {
        Some(project) => format!(", since `{PROJECT}` is `{project}`, but `{INSTANCE}` is not set"),
        None => String::new(),
    };
    Error::configuration(format!(
        "the environment names no Bigtable{half}: set `{EMULATOR}` to an emulator's `host:port`, \
         or `{PROJECT}` and `{INSTANCE}` to an instance of the cloud"
    ))
}

/// Fails for a project or an instance that has no name, or the name of something in it.
pub(super) fn check_instance(project: &str, instance: &str) -> Result<(), Error> {
    for (what, id) in [("project", project), ("instance", instance)] {
        if id.is_empty() || id.contains(|char: char| char == '/' || char.is_whitespace() || char.is_control())
        {
            return Err(Error::configuration(format!(
                "`{id}` is no {what}; write its id alone, such as `my-{what}`"
            )));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decide(variables: &[(&str, &str)]) -> Result<Address, Error> {
        super::decide(|name| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| value.into())
        })
    }

    #[test]
    fn an_emulator_comes_first() {
        let emulator = |project: &str, instance: &str| Address::Emulator {
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
        let cloud = Address::Cloud { project: "p".to_owned(), instance: "i".to_owned(), app_profile: None };
        assert_eq!(decide(&[(PROJECT, "p"), (INSTANCE, "i")]).unwrap(), cloud);
        let error = decide(&[(INSTANCE, "i")]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "`BIGTABLE_INSTANCE` names the instance `i`, but `GOOGLE_CLOUD_PROJECT` names no project; set both"
        );
    }

    #[test]
    fn a_project_alone_and_empty_variables_name_nothing() {
        for nothing in [&[][..], &[(EMULATOR, ""), (INSTANCE, "")]] {
            let error = decide(nothing).unwrap_err();
            assert!(error.is_misconfiguration(), "{error}");
            let text = error.to_string();
            assert!(
                text.starts_with("the environment names no Bigtable: set `BIGTABLE_EMULATOR_HOST`"),
                "{text}"
            );
        }
        let text = decide(&[(PROJECT, "p")]).unwrap_err().to_string();
        assert!(text.contains("`GOOGLE_CLOUD_PROJECT` is `p`, but `BIGTABLE_INSTANCE` is not set"), "{text}");
    }

    #[test]
    fn an_id_is_no_path() {
        check_instance("example.com:my-project", "local").unwrap();
        for (project, instance, wrong) in [
            ("", "i", "`` is no project"),
            ("p", "", "`` is no instance"),
            ("a/b", "c", "`a/b` is no project"),
            ("p", "c d", "`c d` is no instance"),
        ] {
            let error = check_instance(project, instance).unwrap_err();
            assert!(error.is_misconfiguration() && error.to_string().starts_with(wrong), "{error}");
        }
    }

    #[test]
    #[cfg(unix)]
    fn a_variable_that_is_no_text_is_an_error() {
        use std::os::unix::ffi::OsStringExt as _;
        let error =
            super::decide(|name| (name == EMULATOR).then(|| OsString::from_vec(vec![0xff]))).unwrap_err();
        assert!(error.to_string().starts_with("`BIGTABLE_EMULATOR_HOST` is set to"), "{error}");
    }
}
