//! What an RPC is, apart from its message.

use std::sync::Arc;

use tonic::metadata::{AsciiMetadataValue, MetadataMap};

use super::settings::{CallSettings, Settings};
use super::{Client, Error, Target, headers};

/// How long the name of a table may be.
const MAX_TABLE_BYTES: usize = 50;

/// One RPC on one table, as errors name it and the service routes it.
#[derive(Clone)]
pub(crate) struct Operation {
    pub(super) rpc: &'static str,
    /// The table's short id; empty for what is about no table.
    pub(super) table: Arc<str>,
    /// The bucket that a scan reads by it.
    pub(super) bucket: Option<i32>,
    /// Where the client sends it.
    pub(super) target: Target,
    kind: Kind,
    replay: Replay,
    /// Whether it is one of many streams of a scan.
    high_fan_out: bool,
    routing: AsciiMetadataValue,
}

/// What its settings are found by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    ReadRow,
    ReadRows,
    SampleRowKeys,
    MutateRow,
    MutateRows,
    CheckAndMutateRow,
    ReadModifyWriteRow,
    PingAndWarm,
    Admin(&'static str),
}

/// Whether it may be sent again after it may have reached the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Replay {
    /// Twice is as good as once.
    Always,
    /// Twice is not once, so it is sent again only where nothing was done of it: it was not sent, or it was refused.
    IfUnsent,
}

impl Kind {
    fn rpc(self) -> &'static str {
        match self {
            Self::ReadRow | Self::ReadRows => "ReadRows",
            Self::SampleRowKeys => "SampleRowKeys",
            Self::MutateRow => "MutateRow",
            Self::MutateRows => "MutateRows",
            Self::CheckAndMutateRow => "CheckAndMutateRow",
            Self::ReadModifyWriteRow => "ReadModifyWriteRow",
            Self::PingAndWarm => "PingAndWarm",
            Self::Admin(rpc) => rpc,
        }
    }

    fn settings(self, settings: &Settings) -> &CallSettings {
        match self {
            Self::ReadRow => &settings.read_row,
            Self::ReadRows => &settings.read_rows,
            Self::SampleRowKeys => &settings.sample_row_keys,
            Self::MutateRow => &settings.mutate_row,
            Self::MutateRows => &settings.mutate_rows,
            Self::CheckAndMutateRow => &settings.check_and_mutate_row,
            Self::ReadModifyWriteRow => &settings.read_modify_write_row,
            Self::PingAndWarm => &settings.ping_and_warm,
            Self::Admin(_) => &settings.admin,
        }
    }
}

impl Operation {
    pub(super) fn settings<'a>(&self, client: &'a Client) -> &'a CallSettings {
        self.kind.settings(client.settings())
    }

    /// Fails where the service knows no such name of a table, by its rule
    /// `[_a-zA-Z0-9][-_.a-zA-Z0-9]*`, 1 to 50 characters.
    pub(super) fn check_table(&self) -> Result<(), Error> {
        if matches!(self.kind, Kind::PingAndWarm | Kind::Admin("ListTables")) {
            return Ok(());
        }
        let name = self.table.as_bytes();
        let first = name.first().is_some_and(|first| first.is_ascii_alphanumeric() || *first == b'_');
        let all = name.iter().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(byte));
        match first && all && name.len() <= MAX_TABLE_BYTES {
            true => Ok(()),
            false => Err(Error::definition(
                &self.table,
                "no table has this name; write its short id, of 1 to 50 characters from `a-z`, `A-Z`, `0-9`, `_`, \
                 `-` and `.`, which begins with none of the last two",
            )),
        }
    }

    /// Whether it is for the admin service, which in the cloud is somewhere else.
    pub(super) fn is_admin(&self) -> bool {
        matches!(self.kind, Kind::Admin(_))
    }

    /// Whether it changes what is stored.
    pub(super) fn is_write(&self) -> bool {
        match self.kind {
            Kind::ReadRow | Kind::ReadRows | Kind::SampleRowKeys | Kind::PingAndWarm => false,
            Kind::MutateRow | Kind::MutateRows | Kind::CheckAndMutateRow | Kind::ReadModifyWriteRow => true,
            Kind::Admin(rpc) => {
                !matches!(rpc, "GetTable" | "ListTables" | "GenerateConsistencyToken" | "CheckConsistency")
            }
        }
    }

    /// How many rows it sends, where that is always the same.
    pub(super) fn rows_sent(&self) -> usize {
        match self.kind {
            Kind::MutateRow | Kind::CheckAndMutateRow | Kind::ReadModifyWriteRow => 1,
            _ => 0,
        }
    }

    pub(super) fn replay(&self) -> Replay {
        self.replay
    }

    /// The same operation, which may be sent again only as `replay` says.
    pub(super) fn replayed(self, replay: Replay) -> Self {
        Self { replay, ..self }
    }

    /// The same operation, which reads this bucket.
    pub(super) fn in_bucket(self, bucket: Option<i32>) -> Self {
        Self { bucket, ..self }
    }

    /// The same operation, as one of many streams of a scan, or not.
    pub(super) fn high_fan_out(self, high_fan_out: bool) -> Self {
        Self { high_fan_out, ..self }
    }

    pub(super) fn is_high_fan_out(&self) -> bool {
        self.high_fan_out
    }

    /// The headers of the attempt with this number.
    pub(super) fn insert_headers(&self, metadata: &mut MetadataMap, client: &Client, attempt: u32) {
        let routing = self.routing.clone();
        match self.kind {
            Kind::Admin(_) => headers::insert_admin(metadata, routing),
            _ => headers::insert_data(metadata, routing, client.features().clone(), attempt),
        }
    }

    #[cfg(test)]
    pub(super) fn for_test(kind: Kind, table: &str) -> Self {
        Self {
            rpc: kind.rpc(),
            table: table.into(),
            bucket: None,
            target: Target::for_test(),
            kind,
            replay: Replay::Always,
            high_fan_out: false,
            routing: headers::routing(&[]),
        }
    }
}

impl Client {
    /// An RPC of the data service on a table.
    pub(super) fn data_operation(&self, kind: Kind, table: &str) -> Operation {
        let name = self.table_name(table);
        self.operation(kind, table, &[("table_name", name.as_str()), ("app_profile_id", self.app_profile())])
    }

    /// An RPC of the data service on the whole instance.
    pub(super) fn instance_operation(&self, kind: Kind) -> Operation {
        self.operation(kind, "", &[("name", self.instance_name()), ("app_profile_id", self.app_profile())])
    }

    /// An RPC of the admin service about a table, routed by `parameter`.
    pub(super) fn admin_operation(
        &self,
        rpc: &'static str,
        table: &str,
        parameter: (&'static str, &str),
    ) -> Operation {
        self.operation(Kind::Admin(rpc), table, &[parameter])
    }

    fn operation(&self, kind: Kind, table: &str, routing: &[(&str, &str)]) -> Operation {
        Operation {
            rpc: kind.rpc(),
            table: table.into(),
            bucket: None,
            target: self.target().clone(),
            kind,
            replay: Replay::Always,
            high_fan_out: false,
            routing: headers::routing(routing),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(table: &str) -> Result<(), Error> {
        Operation::for_test(Kind::ReadRows, table).check_table()
    }

    #[test]
    fn names_of_tables_are_those_of_the_service() {
        for name in ["a", "_", "0-x", "Events.2024_01-02", &"x".repeat(50)] {
            check(name).unwrap();
        }
        for name in ["", "-a", ".a", "a/b", "a b", "é", "projects/p/instances/i/tables/t", &"x".repeat(51)] {
            let error = check(name).unwrap_err();
            assert!(error.is_invalid_argument(), "{error}");
            assert!(
                error.to_string().starts_with(&format!("table `{name}`: no table has this name;")),
                "{error}"
            );
        }
        assert!(Operation::for_test(Kind::PingAndWarm, "").check_table().is_ok());
        assert!(Operation::for_test(Kind::Admin("ListTables"), "").check_table().is_ok());
        assert!(Operation::for_test(Kind::Admin("GetTable"), "").check_table().is_err());
    }
}
