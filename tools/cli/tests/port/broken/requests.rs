//! Requests as bytes: valid, broken, and too expensive.

use bytes::{BufMut as _, Bytes};
use fastrand::Rng;
use keyderive_proto::data::mutation::{self, DeleteFromRow, SetCell};
use keyderive_proto::data::read_modify_write_rule::Rule;
use keyderive_proto::data::row_filter::{Chain, Condition, Filter, Interleave};
use keyderive_proto::data::{
    CheckAndMutateRowRequest, MutateRowRequest, MutateRowsRequest, Mutation, ReadModifyWriteRowRequest,
    ReadModifyWriteRule, ReadRowsRequest, RowFilter, RowRange, RowSet, SampleRowKeysRequest,
    mutate_rows_request,
};
use prost::Message;

pub(super) const READ_ROWS: &str = "/google.bigtable.v2.Bigtable/ReadRows";
pub(super) const MUTATE_ROW: &str = "/google.bigtable.v2.Bigtable/MutateRow";

const TABLE: &str = "projects/p/instances/i/tables/t";

fn filter(filter: Filter) -> RowFilter {
    RowFilter { filter: Some(filter) }
}

fn pass_all() -> RowFilter {
    filter(Filter::PassAllFilter(true))
}

fn interleave(count: usize) -> RowFilter {
    filter(Filter::Interleave(Interleave { filters: vec![pass_all(); count] }))
}

fn mutations(rng: &mut Rng) -> Vec<Mutation> {
    let set = SetCell {
        family_name: "f".to_owned(),
        column_qualifier: "q".into(),
        timestamp_micros: rng.i64(-1..10) * 1000,
        value: vec![rng.u8(..); rng.usize(..100)].into(),
    };
    let mutation = match rng.u8(..4) {
        0 => mutation::Mutation::DeleteFromRow(DeleteFromRow {}),
        _ => mutation::Mutation::SetCell(set),
    };
    vec![Mutation { mutation: Some(mutation), ..Mutation::default() }]
}

fn read(rng: &mut Rng) -> ReadRowsRequest {
    let filters = [
        Filter::Chain(Chain { filters: vec![interleave(2), pass_all()] }),
        Filter::Condition(Box::new(Condition {
            predicate_filter: Some(Box::new(filter(Filter::ValueRegexFilter("a|b".into())))),
            true_filter: Some(Box::new(pass_all())),
            false_filter: Some(Box::new(filter(Filter::StripValueTransformer(true)))),
        })),
        Filter::RowKeyRegexFilter("(a|b)*.{1,3}".into()),
        Filter::CellsPerRowLimitFilter(rng.i32(1..)),
    ];
    let rows = RowSet { row_keys: vec!["a".into(), "wide".into()], row_ranges: vec![RowRange::default()] };
    ReadRowsRequest {
        table_name: TABLE.to_owned(),
        rows: rng.bool().then_some(rows),
        filter: rng.choice(filters).map(filter),
        rows_limit: rng.i64(0..10),
        ..ReadRowsRequest::default()
    }
}

/// A valid request with its method.
pub(super) fn random(rng: &mut Rng) -> (&'static str, Vec<u8>) {
    let (table_name, row_key) = (TABLE.to_owned(), Bytes::from(vec![rng.u8(b'a'..b'e')]));
    match rng.u8(..6) {
        0 | 1 => (READ_ROWS, read(rng).encode_to_vec()),
        2 => {
            let mutations = mutations(rng);
            let request = MutateRowRequest { table_name, row_key, mutations, ..MutateRowRequest::default() };
            (MUTATE_ROW, request.encode_to_vec())
        }
        3 => {
            let entry =
                mutate_rows_request::Entry { row_key, mutations: mutations(rng), ..Default::default() };
            let request = MutateRowsRequest { table_name, entries: vec![entry; 3], ..Default::default() };
            ("/google.bigtable.v2.Bigtable/MutateRows", request.encode_to_vec())
        }
        4 if rng.bool() => {
            let request = SampleRowKeysRequest { table_name, ..SampleRowKeysRequest::default() };
            ("/google.bigtable.v2.Bigtable/SampleRowKeys", request.encode_to_vec())
        }
        4 => {
            let request = CheckAndMutateRowRequest {
                table_name,
                row_key,
                predicate_filter: Some(interleave(3)),
                true_mutations: mutations(rng),
                ..CheckAndMutateRowRequest::default()
            };
            ("/google.bigtable.v2.Bigtable/CheckAndMutateRow", request.encode_to_vec())
        }
        _ => {
            let rule = ReadModifyWriteRule {
                family_name: "f".to_owned(),
                column_qualifier: "n".into(),
                rule: Some(Rule::IncrementAmount(rng.i64(..))),
            };
            let request = ReadModifyWriteRowRequest {
                table_name,
                row_key,
                rules: vec![rule],
                ..ReadModifyWriteRowRequest::default()
            };
            ("/google.bigtable.v2.Bigtable/ReadModifyWriteRow", request.encode_to_vec())
        }
    }
}

/// The request with some bits flipped, some bytes made as large as they can be, or its end cut off.
pub(super) fn broken(rng: &mut Rng, mut request: Vec<u8>) -> Bytes {
    for _ in 0..rng.usize(1..4) {
        let place = rng.usize(..request.len());
        match rng.u8(..8) {
            // Turns a length, if there is one, into a huge one.
            0 => drop(request.splice(place..=place, [0xff; 9])),
            1 => request.truncate(place.max(1)),
            _ => request[place] ^= 1 << rng.u8(..8),
        }
    }
    request.into()
}

/// A read with nested filters, encoded by hand: encoding or dropping such a message would overflow the stack.
pub(super) fn deep(depth: usize) -> Bytes {
    // Field 1 of a filter is a chain, and field 1 of a chain is a filter.
    const FIELD_1: u8 = 1 << 3 | 2;
    let mut filter = pass_all().encode_to_vec();
    for _ in 0..depth {
        for _ in 0..2 {
            let mut outer = vec![FIELD_1];
            prost::encoding::encode_varint(filter.len() as u64, &mut outer);
            outer.put(&filter[..]);
            filter = outer;
        }
    }
    const FILTER_OF_A_READ: u8 = 3 << 3 | 2;
    let mut request =
        ReadRowsRequest { table_name: TABLE.to_owned(), ..ReadRowsRequest::default() }.encode_to_vec();
    request.push(FILTER_OF_A_READ);
    prost::encoding::encode_varint(filter.len() as u64, &mut request);
    request.put(&filter[..]);
    request.into()
}

/// A read that copies each cell `ways`⁴ times.
pub(super) fn copies(ways: usize) -> Bytes {
    let chain = Chain { filters: vec![interleave(ways); 4] };
    let request = ReadRowsRequest {
        table_name: TABLE.to_owned(),
        filter: Some(filter(Filter::Chain(chain))),
        ..ReadRowsRequest::default()
    };
    request.encode_to_vec().into()
}

/// A write under a key of 64 MiB.
pub(super) fn long_key() -> Bytes {
    let request = MutateRowRequest {
        table_name: TABLE.to_owned(),
        row_key: vec![b'k'; 64 << 20].into(),
        mutations: mutations(&mut Rng::with_seed(0)),
        ..MutateRowRequest::default()
    };
    request.encode_to_vec().into()
}
