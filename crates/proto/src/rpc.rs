//! The RPCs of Bigtable's services.

/// Declares [`Rpc`] from each service with its RPCs, and whether each changes stored data.
macro_rules! rpcs {
    ($($service:literal { $($rpc:ident: $is_write:literal,)* })*) => {
        /// An RPC of Bigtable's services.
        ///
        /// Reads of single rows are `ReadRows` too, and a scan sends one for each bucket.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[expect(missing_docs, reason = "the protocol documents them")]
        pub enum Rpc {
            $($($rpc,)*)*
        }

        impl Rpc {
            /// All RPCs, by service.
            pub const ALL: &[Self] = &[$($(Self::$rpc,)*)*];

            /// The name in the protocol, such as `ReadRows`.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $($(Self::$rpc => stringify!($rpc),)*)*
                }
            }

            /// The service with its package, such as `google.bigtable.v2.Bigtable`.
            #[must_use]
            pub const fn service(self) -> &'static str {
                match self {
                    $($(Self::$rpc => $service,)*)*
                }
            }

            /// The path of its requests: `/service/name`.
            #[must_use]
            pub const fn path(self) -> &'static str {
                match self {
                    $($(Self::$rpc => concat!("/", $service, "/", stringify!($rpc)),)*)*
                }
            }

            /// Whether it changes stored data.
            #[must_use]
            pub const fn is_write(self) -> bool {
                match self {
                    $($(Self::$rpc => $is_write,)*)*
                }
            }
        }
    };
}

rpcs! {
    "google.bigtable.v2.Bigtable" {
        ReadRows: false,
        SampleRowKeys: false,
        MutateRow: true,
        MutateRows: true,
        CheckAndMutateRow: true,
        ReadModifyWriteRow: true,
        PingAndWarm: false,
        PrepareQuery: false,
        ExecuteQuery: false,
    }
    "google.bigtable.admin.v2.BigtableTableAdmin" {
        CreateTable: true,
        ListTables: false,
        GetTable: false,
        DeleteTable: true,
        UpdateTable: true,
        ModifyColumnFamilies: true,
        DropRowRange: true,
        GenerateConsistencyToken: false,
        CheckConsistency: false,
    }
    "google.bigtable.admin.v2.BigtableInstanceAdmin" {
        ListClusters: false,
        ListHotTablets: false,
    }
}

impl Rpc {
    /// The RPC of a request's path.
    #[must_use]
    pub fn of_path(path: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|rpc| rpc.path() == path)
    }

    /// Whether it belongs to an admin service, which has another address in the cloud.
    #[must_use]
    pub fn is_admin(self) -> bool {
        self.service().starts_with("google.bigtable.admin.")
    }
}
