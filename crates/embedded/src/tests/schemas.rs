//! Row key schemas: returned as given, and checked by the rules of the service.

use keyderive_proto::admin::bigtable_table_admin_server::BigtableTableAdmin as _;
use keyderive_proto::admin::modify_column_families_request::modification::Mod;
use keyderive_proto::admin::r#type::r#struct::encoding::{self, DelimitedBytes, OrderedCodeBytes, Singleton};
use keyderive_proto::admin::r#type::r#struct::{Encoding, Field};
use keyderive_proto::admin::r#type::{
    Array, Bool, Bytes as RawBytes, Int64, Kind, String as Text, Struct, Timestamp,
};
use keyderive_proto::admin::r#type::{bytes, int64, string, timestamp};
use keyderive_proto::admin::{
    self, ColumnFamily, CreateTableRequest, GetTableRequest, Type, UpdateTableRequest,
};
use keyderive_proto::values::FieldMask;
use tonic::{Code, Request, Status};

use super::raw::{INSTANCE, NAME, Servers, code};

fn text() -> Kind {
    let encoding = string::encoding::Encoding::Utf8Bytes(string::encoding::Utf8Bytes {});
    Kind::StringType(Text { encoding: Some(string::Encoding { encoding: Some(encoding) }) })
}

fn ordered_code() -> Option<int64::Encoding> {
    let encoding = int64::encoding::Encoding::OrderedCodeBytes(int64::encoding::OrderedCodeBytes {});
    Some(int64::Encoding { encoding: Some(encoding) })
}

fn field(name: &str, kind: Kind) -> Field {
    Field { field_name: name.to_owned(), r#type: Some(Type { kind: Some(kind) }) }
}

fn schema(encoding: encoding::Encoding, fields: Vec<Field>) -> Struct {
    Struct { fields, encoding: Some(Encoding { encoding: Some(encoding) }) }
}

fn delimited(fields: Vec<Field>) -> Struct {
    schema(encoding::Encoding::DelimitedBytes(DelimitedBytes { delimiter: "#".into() }), fields)
}

/// Creates the table `s` with the family `f` and a schema.
async fn create(servers: &Servers, row_key_schema: Struct) -> Result<admin::Table, Status> {
    let request = CreateTableRequest {
        parent: INSTANCE.to_owned(),
        table_id: "s".to_owned(),
        table: Some(admin::Table {
            column_families: [("f".to_owned(), ColumnFamily::default())].into(),
            row_key_schema: Some(row_key_schema),
            ..admin::Table::default()
        }),
        ..CreateTableRequest::default()
    };
    servers.admin.create_table(Request::new(request)).await.map(tonic::Response::into_inner)
}

#[tokio::test]
async fn a_schema_is_echoed() {
    let timestamp = Kind::TimestampType(Timestamp {
        encoding: ordered_code().map(|encoding| timestamp::Encoding {
            encoding: Some(timestamp::encoding::Encoding::UnixMicrosInt64(encoding)),
        }),
    });
    let raw = bytes::encoding::Encoding::Raw(bytes::encoding::Raw {});
    let raw = RawBytes { encoding: Some(bytes::Encoding { encoding: Some(raw) }) };
    let fields = vec![
        field("user", text()),
        field("at", timestamp),
        field("seq", Kind::Int64Type(Int64 { encoding: ordered_code() })),
        field("raw", Kind::BytesType(raw)),
    ];
    for schema in [
        schema(encoding::Encoding::OrderedCodeBytes(OrderedCodeBytes {}), fields.clone()),
        schema(encoding::Encoding::Singleton(Singleton {}), fields[..1].to_vec()),
        delimited(fields),
    ] {
        let servers = Servers::without_tables();
        assert_eq!(create(&servers, schema.clone()).await.unwrap().row_key_schema.as_ref(), Some(&schema));
        let request = GetTableRequest { name: format!("{INSTANCE}/tables/s"), view: 0 };
        let table = servers.admin.get_table(Request::new(request)).await.unwrap().into_inner();
        assert_eq!(table.row_key_schema, Some(schema));
    }
}

#[tokio::test]
async fn a_schema_that_breaks_a_rule_is_refused() {
    let servers = Servers::without_tables();
    let delimiter = |bytes: usize| {
        let delimiter = vec![b'#'; bytes].into();
        schema(encoding::Encoding::DelimitedBytes(DelimitedBytes { delimiter }), vec![field("a", text())])
    };
    let element_type = Some(Box::new(Type { kind: Some(text()) }));
    let unencoded = Kind::TimestampType(Timestamp { encoding: None });
    for (wrong, what) in [
        (delimited(Vec::new()), "has no fields"),
        (Struct { encoding: None, ..delimited(vec![field("a", text())]) }, "has no encoding"),
        (delimiter(0), "has a delimiter of 0 bytes"),
        (delimiter(51), "has a delimiter of 51 bytes"),
        (
            schema(encoding::Encoding::Singleton(Singleton {}), vec![field("a", text()), field("b", text())]),
            "has 2 fields, and the encoding `singleton` is for one field",
        ),
        (delimited(vec![field("a", text()), field("", text())]), "has a field without a name, at index 1"),
        (delimited(vec![field("_key", text())]), "with the name `_key`, which SQL reserves"),
        (delimited(vec![field("_timestamp", text())]), "with the name `_timestamp`, which SQL reserves"),
        (delimited(vec![field("f", text())]), "the name of the column family `f`"),
        (delimited(vec![field("a", text()), field("a", text())]), "has two fields with the name `a`"),
        (delimited(vec![Field { field_name: "a".to_owned(), r#type: None }]), "the field `a` without a type"),
        (delimited(vec![field("a", Kind::ArrayType(Box::new(Array { element_type })))]), "is not a scalar"),
        (
            delimited(vec![field("a", Kind::StructType(delimited(vec![field("b", text())])))]),
            "is not a scalar",
        ),
        (delimited(vec![field("a", Kind::BoolType(Bool {}))]), "whose type has no encoding"),
        (
            delimited(vec![field("a", Kind::StringType(Text { encoding: None }))]),
            "whose type has no encoding",
        ),
        (delimited(vec![field("a", unencoded)]), "whose type has no encoding"),
    ] {
        let status = create(&servers, wrong).await.unwrap_err();
        assert_eq!(status.code(), Code::InvalidArgument);
        assert!(status.message().starts_with("the row key schema has "), "{status}");
        assert!(status.message().contains(what), "{status}");
    }
}

#[tokio::test]
async fn a_schema_is_added_and_removed_but_not_changed() {
    let servers = Servers::new().await;
    let update = async |row_key_schema: Option<Struct>, ignore_warnings| {
        let request = UpdateTableRequest {
            table: Some(admin::Table { name: NAME.to_owned(), row_key_schema, ..admin::Table::default() }),
            update_mask: Some(FieldMask { paths: vec!["row_key_schema".to_owned()] }),
            ignore_warnings,
        };
        code(servers.admin.update_table(Request::new(request)).await)
    };
    let one = || Some(delimited(vec![field("a", text())]));
    let other = || Some(delimited(vec![field("b", text())]));
    assert_eq!(update(Some(delimited(Vec::new())), true).await, Code::InvalidArgument);
    assert_eq!(update(None, false).await, Code::Ok);
    assert_eq!(update(one(), false).await, Code::Ok);
    assert_eq!(update(one(), false).await, Code::Ok);
    assert_eq!(update(other(), true).await, Code::InvalidArgument);
    assert_eq!(update(None, false).await, Code::InvalidArgument);

    let create = |name| [(name, Mod::Create(ColumnFamily::default()))];
    let status = servers.modify_families(create("a")).await.unwrap_err();
    assert_eq!(status.code(), Code::InvalidArgument);
    assert!(status.message().starts_with("the column family `a` has the name of a field"), "{status}");

    assert_eq!(update(None, true).await, Code::Ok);
    assert_eq!(update(other(), false).await, Code::Ok);
    servers.modify_families(create("a")).await.unwrap();
}
