//! The responses of `ReadRows` as encoded bytes, which are decoded in place.

use bytes::{Buf, BufMut, Bytes};
use prost::encoding::{DecodeContext, WireType, skip_field};
use prost::{DecodeError, Message};

use super::data::ReadRowsResponse;

/// A `ReadRowsResponse` in its encoded form.
///
/// Generated messages copy or share each key, qualifier and value separately, which is most of the cost of reading rows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RowsMessage(pub Bytes);

impl RowsMessage {
    /// Decodes the generated message.
    ///
    /// # Errors
    /// If the bytes are not a `ReadRowsResponse`.
    pub fn decoded(&self) -> Result<ReadRowsResponse, DecodeError> {
        ReadRowsResponse::decode(self.0.clone())
    }
}

impl From<&ReadRowsResponse> for RowsMessage {
    fn from(response: &ReadRowsResponse) -> Self {
        Self(response.encode_to_vec().into())
    }
}

impl Message for RowsMessage {
    fn encode_raw(&self, buf: &mut impl BufMut) {
        buf.put_slice(&self.0);
    }

    fn encoded_len(&self) -> usize {
        self.0.len()
    }

    fn decode(mut buf: impl Buf) -> Result<Self, DecodeError> {
        Ok(Self(buf.copy_to_bytes(buf.remaining())))
    }

    /// Concatenating encoded messages merges them.
    fn merge(&mut self, mut buf: impl Buf) -> Result<(), DecodeError> {
        let mut bytes = Vec::with_capacity(self.0.len() + buf.remaining());
        bytes.extend_from_slice(&self.0);
        bytes.put(&mut buf);
        self.0 = bytes.into();
        Ok(())
    }

    /// Unreachable: no message has a field of this type.
    fn merge_field(
        &mut self,
        tag: u32,
        wire_type: WireType,
        buf: &mut impl Buf,
        ctx: DecodeContext,
    ) -> Result<(), DecodeError> {
        skip_field(wire_type, tag, buf, ctx)
    }

    fn clear(&mut self) {
        self.0.clear();
    }
}
