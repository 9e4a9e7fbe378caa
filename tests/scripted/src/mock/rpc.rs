//! The RPCs of the data service.

/// One of the RPCs that a [`Mock`](super::Mock) answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Rpc {
    ReadRows,
    SampleRowKeys,
    MutateRow,
    MutateRows,
    CheckAndMutateRow,
    ReadModifyWriteRow,
    PingAndWarm,
}

impl Rpc {
    const ALL: [(&'static str, Self); 7] = [
        ("ReadRows", Self::ReadRows),
        ("SampleRowKeys", Self::SampleRowKeys),
        ("MutateRow", Self::MutateRow),
        ("MutateRows", Self::MutateRows),
        ("CheckAndMutateRow", Self::CheckAndMutateRow),
        ("ReadModifyWriteRow", Self::ReadModifyWriteRow),
        ("PingAndWarm", Self::PingAndWarm),
    ];

    /// The RPC of a request's path.
    pub(super) fn of(path: &str) -> Option<Self> {
        let name = path.strip_prefix("/google.bigtable.v2.Bigtable/")?;
        Self::ALL.into_iter().find_map(|(known, rpc)| (known == name).then_some(rpc))
    }
}
