//! Answers that are bytes already.

use bytes::{BufMut as _, Bytes};
use prost::Message as _;
use tonic::Status;
use tonic::codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder};

use crate::wire::data::ReadRowsRequest;

/// Requests are messages; answers are sent as they are.
pub(crate) struct Encoded;

impl Codec for Encoded {
    type Encode = Bytes;
    type Decode = ReadRowsRequest;
    type Encoder = Self;
    type Decoder = Self;

    fn encoder(&mut self) -> Self {
        Self
    }

    fn decoder(&mut self) -> Self {
        Self
    }
}

impl Encoder for Encoded {
    type Item = Bytes;
    type Error = Status;

    fn encode(&mut self, answer: Bytes, out: &mut EncodeBuf<'_>) -> Result<(), Status> {
        out.put(answer);
        Ok(())
    }
}

impl Decoder for Encoded {
    type Item = ReadRowsRequest;
    type Error = Status;

    fn decode(&mut self, message: &mut DecodeBuf<'_>) -> Result<Option<ReadRowsRequest>, Status> {
        let request = ReadRowsRequest::decode(message);
        request.map(Some).map_err(|error| Status::internal(error.to_string()))
    }
}
