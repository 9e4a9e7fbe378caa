//! Where the changes to a row go.

/// Takes the changes to one row.
///
/// Whatever order they come in, what is deleted is deleted before anything is set.
pub(crate) trait Sink {
    /// Sets the version of a column that has this timestamp.
    fn set(&mut self, family: &str, qualifier: &[u8], timestamp_micros: i64, value: &[u8]);

    /// Deletes every version of a column.
    fn delete_column(&mut self, family: &str, qualifier: &[u8]);

    /// Deletes every column of a family.
    fn delete_family(&mut self, family: &str);
}
