//! A key type of another crate, for the compiler's messages about it.

/// Key types.
pub mod events {
    use keyderive::RowKey;

    /// The key of an event.
    #[derive(RowKey)]
    pub struct EventKey {
        /// Who.
        pub user: String,
        /// Where.
        pub site: String,
        /// When.
        #[reverse_ts]
        pub at: u64,
    }

    /// The key of a reading.
    #[derive(RowKey)]
    #[row_key(allow(point_reads))]
    pub struct ReadingKey {
        /// Of which meter.
        #[row_key(hash(md5))]
        pub meter: u64,
        /// How often.
        pub count: u32,
        /// In which order.
        pub seq: u32,
    }
}
