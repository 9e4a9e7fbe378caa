//! Which Bigtable a command is about.

use std::collections::BTreeMap;
use std::env;
use std::fmt;
use std::path::{Path, PathBuf};

use clap::Args;
use keyderive::Client;
use serde::Deserialize;

use crate::exit::{Failure, Outcome};
use crate::input;

/// The variable that names a Bigtable, in place of `--address`.
const ADDRESS: &str = "KEYDERIVE_ADDRESS";
/// The file of named instances, in this folder or above it.
const SETTINGS: &str = "keyderive.toml";

const HEADING: &str = "Bigtable";

/// The arguments that name a Bigtable.
#[derive(Args, Clone, Debug, Default)]
pub struct Instance {
    /// `bigtable://project/instance`, with `?app_profile=name` for an app profile,
    /// `emulator://host:port/project/instance`, or `embedded:path`
    ///
    /// The default is `KEYDERIVE_ADDRESS`, then the usual environment: `BIGTABLE_EMULATOR_HOST`, or `GOOGLE_CLOUD_PROJECT` and
    /// `BIGTABLE_INSTANCE`; then the `default` of `keyderive.toml`.
    #[arg(long, help_heading = HEADING, value_name = "ADDRESS", conflicts_with_all = ["file", "on"])]
    address: Option<String>,
    /// The file of an embedded Bigtable
    #[arg(long, help_heading = HEADING, value_name = "FILE", conflicts_with = "on")]
    file: Option<PathBuf>,
    /// A named instance of `keyderive.toml`, in this folder or above it
    #[arg(long, help_heading = HEADING, value_name = "NAME")]
    on: Option<String>,
}

/// `keyderive.toml`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    /// The instance that is used if nothing else names one.
    default: Option<String>,
    #[serde(default)]
    instances: BTreeMap<String, Named>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Named {
    address: String,
    #[serde(default)]
    production: bool,
    /// The layout file of its tables.
    layouts: Option<PathBuf>,
}

/// The Bigtable that a command is about, before it is connected to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Target {
    /// None for the one of the usual environment.
    address: Option<String>,
    /// Its name in `keyderive.toml`.
    pub name: Option<String>,
    /// Whether `keyderive.toml` says that it is production.
    pub is_production: bool,
    /// The layout file of its tables, as `keyderive.toml` names it.
    pub layouts: Option<PathBuf>,
}

impl Instance {
    /// The one of these that is given, which is at most one.
    pub fn named(on: Option<String>, address: Option<String>, file: Option<PathBuf>) -> Self {
        Self { address, file, on }
    }

    /// The Bigtable that the arguments, the environment or the settings name.
    pub fn target(&self) -> Outcome<Target> {
        let of_address = |address: &str| Target { address: Some(address.to_owned()), ..Target::default() };
        if let Some(address) = &self.address {
            return Ok(of_address(address));
        }
        if let Some(file) = &self.file {
            let file = file.to_str().ok_or_else(|| Failure::usage("`--file`: the path is not UTF-8"))?;
            return Ok(of_address(&format!("embedded:{file}")));
        }
        if let Some(name) = &self.on {
            let Some((path, settings)) = Settings::find()? else {
                return Err(Failure::usage(format_args!(
                    "`--on {name}` is an instance of `{SETTINGS}`, and there is none in this folder or above it"
                )));
            };
            return settings.target(name, &path);
        }
        if let Some(address) = env::var_os(ADDRESS).filter(|address| !address.is_empty()) {
            let address = address.to_str();
            return address
                .map(of_address)
                .ok_or_else(|| Failure::usage(format_args!("`{ADDRESS}` is not UTF-8")));
        }
        let is_set = |name| env::var_os(name).is_some_and(|value| !value.is_empty());
        if !is_set("BIGTABLE_EMULATOR_HOST")
            && !is_set("BIGTABLE_INSTANCE")
            && let Some((path, settings)) = Settings::find()?
            && let Some(name) = &settings.default
        {
            return settings.target(name, &path);
        }
        Ok(Target::default())
    }
}

impl Settings {
    /// The settings, with their path, if there are any.
    fn find() -> Outcome<Option<(PathBuf, Self)>> {
        let Some(path) = find_above(SETTINGS) else { return Ok(None) };
        let faulty = |fault: &dyn std::fmt::Display| {
            Failure::usage(format_args!("`{}` is not read: {fault}", path.display()))
        };
        let text = input::read(&path).map_err(|error| faulty(&error))?;
        let settings = toml::from_str(&text).map_err(|error| faulty(&error))?;
        Ok(Some((path, settings)))
    }

    fn target(&self, name: &str, path: &Path) -> Outcome<Target> {
        let Some(named) = self.instances.get(name) else {
            let names: Vec<_> = self.instances.keys().map(|name| format!("`{name}`")).collect();
            let names = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
            return Err(Failure::usage(format_args!(
                "`{}` has no instance `{name}`; it has {names}",
                path.display()
            )));
        };
        let folder = path.parent().unwrap_or(Path::new(""));
        // A file is relative to the settings, not to where the command runs.
        let address = match named.address.strip_prefix("embedded:").filter(|file| !file.is_empty()) {
            Some(file) => format!("embedded:{}", folder.join(file).display()),
            None => named.address.clone(),
        };
        Ok(Target {
            address: Some(address),
            name: Some(name.to_owned()),
            is_production: named.production,
            layouts: named.layouts.as_ref().map(|file| folder.join(file)),
        })
    }
}

/// The address, or the environment that is one.
impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(address) = &self.address {
            return f.write_str(address);
        }
        let names = ["BIGTABLE_EMULATOR_HOST", "GOOGLE_CLOUD_PROJECT", "BIGTABLE_INSTANCE"];
        let set = names.into_iter().filter_map(|name| Some((name, env::var_os(name)?)));
        set.enumerate().try_for_each(|(at, (name, value))| {
            write!(f, "{}{name}={}", if at == 0 { "" } else { " " }, value.to_string_lossy())
        })
    }
}

impl Target {
    /// Connects. Every request to a table waits until its layout has been checked, and writes of many rows heed a server that is overloaded.
    pub async fn connect(&self) -> Outcome<Client> {
        let builder =
            Client::builder().throttle(true).settings(|settings| settings.require_layout_check = true);
        let Some(address) = &self.address else { return Ok(builder.from_env().await?) };
        match address.strip_prefix("embedded:") {
            // It would be created.
            Some(file) if !Path::new(file).is_file() => Err(Failure::refused(format_args!(
                "there is no file `{file}` of an embedded Bigtable; `keyderive serve --file`, or a \
                 program of yours, creates it"
            ))),
            _ => Ok(builder.connect(address).await?),
        }
    }
}

/// The path of a file in this folder, or in the nearest one above it that has it.
pub fn find_above(name: &str) -> Option<PathBuf> {
    let here = env::current_dir().ok()?;
    here.ancestors().map(|folder| folder.join(name)).find(|path| path.is_file())
}
