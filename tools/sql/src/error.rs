//! Errors of keyderive as errors of DataFusion.

use datafusion::common::DataFusionError;

pub(crate) fn external(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> DataFusionError {
    DataFusionError::External(error.into())
}

/// An error of the closure of a read.
pub(crate) struct ReadError(pub(crate) DataFusionError);

impl From<keyderive::Error> for ReadError {
    fn from(error: keyderive::Error) -> Self {
        Self(external(error))
    }
}
