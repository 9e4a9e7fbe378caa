//! The queries of Google's pages, over the data of these pages.

use keyderive_proto::admin::Type;
use keyderive_proto::admin::r#type::r#struct::encoding::{DelimitedBytes, Encoding};
use keyderive_proto::admin::r#type::r#struct::{self, Field};
use keyderive_proto::admin::r#type::{self as types, Kind, Struct};

use super::Database;

fn int(number: i64) -> Vec<u8> {
    number.to_be_bytes().to_vec()
}

/// The phones of "Data for examples".
async fn analytics() -> Database {
    let database = Database::new();
    database.create("analytics", &["stats_summary", "cell_plan"], None).await;
    for (key, plans, cell, wifi, build) in [
        ("phone#4c410523#20190501", &["data_plan_01gb", "data_plan_05gb"][..], 1, 1, "PQ2A.190405.003"),
        ("phone#4c410523#20190502", &["data_plan_05gb"], 1, 1, "PQ2A.190405.004"),
        ("phone#4c410523#20190505", &[], 0, 1, "PQ2A.190406.000"),
        ("phone#5c10102#20190501", &["data_plan_10gb"], 1, 1, "PQ2A.190401.002"),
        ("phone#5c10102#20190502", &["data_plan_10gb"], 1, 0, "PQ2A.190406.000"),
    ] {
        database.set("analytics", key, "stats_summary:connected_cell", 100, int(cell)).await;
        database.set("analytics", key, "stats_summary:connected_wifi", 100, int(wifi)).await;
        database.set("analytics", key, "stats_summary:os_build", 100, build).await;
        for plan in plans {
            database.set("analytics", key, &format!("cell_plan:{plan}"), 100, "true").await;
        }
    }
    // A plan has changed.
    database.set("analytics", "phone#4c410523#20190501", "cell_plan:data_plan_01gb", 200, "false").await;
    database
}

const ONE: &str = "phone#4c410523#20190501";
const TWO: &str = "phone#4c410523#20190502";
const THREE: &str = "phone#4c410523#20190505";
const FOUR: &str = "phone#5c10102#20190501";
const FIVE: &str = "phone#5c10102#20190502";

#[tokio::test]
async fn examples_of_common_queries() {
    let database = analytics().await;
    let stats = |cell: &str, wifi: &str, build: &str| {
        format!(
            r"{{connected_cell: \x00\x00\x00\x00\x00\x00\x00\x0{cell}, connected_wifi: \x00\x00\x00\x00\x00\x00\x00\x0{wifi}, os_build: {build}}}"
        )
    };
    let answer =
        database.run("SELECT * FROM analytics WHERE _key = 'phone#4c410523#20190501'", &[]).await.unwrap();
    assert_eq!(
        answer.columns,
        ["_key BYTES", "cell_plan MAP<BYTES, BYTES>", "stats_summary MAP<BYTES, BYTES>"]
    );
    let one = stats("1", "1", "PQ2A.190405.003");
    assert_eq!(answer.rows, [format!("{ONE}, {{data_plan_01gb: false, data_plan_05gb: true}}, {one}")]);

    let text = "SELECT * FROM analytics(with_history => TRUE) WHERE _key = 'phone#4c410523#20190501'";
    let answer = database.run(text, &[]).await.unwrap();
    assert_eq!(answer.columns[1], "cell_plan MAP<BYTES, ARRAY<STRUCT<timestamp TIMESTAMP, value BYTES>>>");
    let plans = "{data_plan_01gb: [(@200, false), (@100, true)], data_plan_05gb: [(@100, true)]}";
    assert!(answer.rows[0].contains(plans), "{answer:?}");

    let answer = database
        .run(
            "SELECT stats_summary['os_build'] AS os FROM analytics WHERE _key = 'phone#4c410523#20190501'",
            &[],
        )
        .await
        .unwrap();
    assert_eq!(
        (&answer.columns[..], &answer.rows[..]),
        (&["os BYTES".to_owned()][..], &["PQ2A.190405.003".to_owned()][..])
    );

    let three = [
        format!("{ONE}, PQ2A.190405.003, NULL"),
        format!("{TWO}, PQ2A.190405.004, NULL"),
        format!("{THREE}, PQ2A.190406.000, NULL"),
    ];
    let range =
        "SELECT _key, stats_summary['os_build'] AS os, stats_summary['user_agent'] AS agent FROM analytics
        WHERE _key >= 'phone#4c410523#20190501' AND _key < 'phone#4c410523#201906201'";
    assert_eq!(database.rows(range).await, three);

    let keys = async |condition: &str| {
        database
            .rows(&format!("SELECT _key FROM analytics(with_history => TRUE) WHERE {condition} LIMIT 10"))
            .await
    };
    let ranges = "(_key >= 'phone#4c410523#20190501' AND _key < 'phone#4c410523#201906201')
        OR (_key >= 'phone#5c10102#20190501' AND _key < 'phone#5c10102#20190601')";
    assert_eq!(keys(ranges).await, [ONE, TWO, THREE, FOUR, FIVE]);
    assert_eq!(
        keys("_key = 'phone#4c410523#20190501' OR _key = 'phone#4c410523#20190502'").await,
        [ONE, TWO]
    );
    assert_eq!(keys("_key IS IN ('phone#4c410523#20190502', 'phone#4c410523#20190501')").await, [ONE, TWO]);
    assert_eq!(keys("_key LIKE 'phone#%'").await.len(), 5);
    assert_eq!(keys("REGEXP_CONTAINS(_key, '.*#20190501$')").await, [ONE, FOUR]);

    database
        .expect(&[
            (
                "SELECT cell_plan FROM analytics WHERE _key LIKE 'phone#5c%'",
                &["{data_plan_10gb: true}", "{data_plan_10gb: true}"],
            ),
            (
                "SELECT _key, cell_plan FROM analytics(with_history => TRUE, latest_n => 1) LIMIT 1",
                &["phone#4c410523#20190501, {data_plan_01gb: [(@200, false)], data_plan_05gb: [(@100, true)]}"],
            ),
            (
                "SELECT _key FROM analytics WHERE _key LIKE 'phone#4c%' AND TO_INT64(stats_summary['connected_cell']) > 0",
                &[ONE, TWO],
            ),
            ("SELECT _key FROM analytics WHERE _key LIKE 'phone#%' AND stats_summary['os_build'] = 'PQ2A.190406.000'", &[THREE, FIVE]),
            (
                "SELECT _key, CASE cell_plan['data_plan_10gb'] WHEN 'true' THEN 'passed-test' ELSE 'failed-test' END AS test FROM analytics
                 WHERE _key LIKE '%#20190501'",
                &["phone#4c410523#20190501, \"failed-test\"", "phone#5c10102#20190501, \"passed-test\""],
            ),
            (
                "SELECT _key, MAP_KEYS(cell_plan) AS keys FROM analytics
                 WHERE _key >= 'phone#4c410523#20190501' AND _key < 'phone#4c410523#201906201'",
                &[
                    "phone#4c410523#20190501, [data_plan_01gb, data_plan_05gb]",
                    "phone#4c410523#20190502, [data_plan_05gb]",
                    "phone#4c410523#20190505, []",
                ],
            ),
        ])
        .await;
}

#[tokio::test]
async fn functions_of_maps() {
    let database = analytics().await;
    database
        .expect(&[
            // The page shows this result.
            (
                "SELECT MAP_CONTAINS_KEY(cell_plan, b'data_plan_05gb') AS results FROM analytics",
                &["true", "true", "false", "false", "false"],
            ),
            ("SELECT MAP_EMPTY(cell_plan) AS results FROM analytics", &["false", "false", "true", "false", "false"]),
            ("SELECT MAP_VALUES(cell_plan) FROM analytics LIMIT 1", &["[false, true]"]),
            ("SELECT MAP_ENTRIES(cell_plan) FROM analytics LIMIT 1", &["[(data_plan_01gb, false), (data_plan_05gb, true)]"]),
            (
                "SELECT u.key, u.value FROM analytics, UNNEST(MAP_ENTRIES(cell_plan)) u WHERE _key < 'phone#4c410523#20190502'",
                &["data_plan_01gb, false", "data_plan_05gb, true"],
            ),
            (
                "SELECT u.value AS indexed_value, u.key AS indexed_qualifier, ARRAY_AGG(_key) AS user_keys
                 FROM analytics, UNNEST(MAP_ENTRIES(cell_plan)) u GROUP BY 1, 2",
                &[
                    "false, data_plan_01gb, [phone#4c410523#20190501]",
                    "true, data_plan_05gb, [phone#4c410523#20190501, phone#4c410523#20190502]",
                    "true, data_plan_10gb, [phone#5c10102#20190501, phone#5c10102#20190502]",
                ],
            ),
        ])
        .await;
}

#[tokio::test]
async fn versions_of_values() {
    let database = Database::new();
    database.create("sensorReadings", &["metrics"], None).await;
    database.create("users", &["address"], None).await;
    // 2023-01-14T23:30:00Z and two hours after it.
    for (seconds, temperature) in [(1_673_739_000, 10.0f64), (1_673_740_000, 20.0), (1_673_746_200, 40.0)] {
        let bytes = temperature.to_be_bytes().to_vec();
        database.set("sensorReadings", "sensorA#1", "metrics:temperature", seconds, bytes).await;
    }
    database
        .set("sensorReadings", "sensorB#1", "metrics:temperature", 1_673_740_000, 1f64.to_be_bytes().to_vec())
        .await;
    for (seconds, street) in [(1_641_000_000, "Old Road"), (1_642_000_000, "New Road")] {
        database.set("users", "user1", "address:street", seconds, street).await;
    }
    database
        .expect(&[
            (
                "SELECT TIMESTAMP_TRUNC(_timestamp, HOUR) AS hourly, AVG(TO_FLOAT64(temp_versioned)) AS average_temperature
                 FROM UNPACK((SELECT metrics['temperature'] AS temp_versioned
                     FROM sensorReadings(with_history => true, after => TIMESTAMP('2023-01-14T23:00:00.000Z'), before => TIMESTAMP('2023-01-21T01:00:00.000Z'))
                     WHERE _key LIKE 'sensorA%'))
                 GROUP BY 1 ORDER BY 1",
                &["@1673737200, 15.0", "@1673744400, 40.0"],
            ),
            (
                "SELECT address['street'][0].value AS moved_to, address['street'][1].value AS moved_from,
                     FORMAT_TIMESTAMP('%Y-%m-%d', address['street'][0].timestamp) AS moved_on
                 FROM users(with_history => TRUE)",
                &["New Road, Old Road, \"2022-01-12\""],
            ),
            ("SELECT address FROM users(as_of => TIMESTAMP('2022-01-10 13:14:00.234-07:00')) WHERE _key = 'user1'", &["{street: Old Road}"]),
            ("SELECT address['street'] FROM users(as_of => TIMESTAMP(\"2022-01-12 15:06:40-0000\"))", &["New Road"]),
            // A row without a version that old is left out.
            ("SELECT _key FROM users(as_of => TIMESTAMP('2022-01-01 00:00:00Z'))", &[]),
            ("SELECT address['street'][0].value FROM users(with_history => TRUE, latest_n => 1)", &["New Road"]),
            ("SELECT ARRAY_LENGTH(address['street']) FROM users(with_history => TRUE, after => TIMESTAMP_SECONDS(1641000000))", &["1"]),
            ("SELECT ARRAY_LENGTH(address['street']) FROM users(with_history => TRUE, after_or_equal => TIMESTAMP_SECONDS(1641000000))", &["2"]),
            ("SELECT ARRAY_LENGTH(address['street']) FROM users(with_history => TRUE, before => TIMESTAMP_SECONDS(1642000000))", &["1"]),
            ("SELECT ARRAY_LENGTH(address['street']) FROM users(with_history => TRUE, before_or_equal => TIMESTAMP_SECONDS(1642000000))", &["2"]),
            ("SELECT * FROM UNPACK((SELECT _key, address FROM users(WITH_HISTORY=>TRUE)))", &[
                "user1, {street: New Road}, @1642000000",
                "user1, {street: Old Road}, @1641000000",
            ]),
            (
                "SELECT SPLIT(_key, '#')[0] AS sensor, TIMESTAMP_TRUNC(_timestamp, DAY) AS day, COUNT(_key) AS readings
                 FROM UNPACK((SELECT * FROM sensorReadings(WITH_HISTORY=>TRUE))) GROUP BY 1, 2 ORDER BY sensor, day",
                &["sensorA, @1673654400, 2", "sensorA, @1673740800, 1", "sensorB, @1673654400, 1"],
            ),
        ])
        .await;
}

#[tokio::test]
async fn structured_row_keys() {
    let text = || Type { kind: Some(Kind::StringType(types::String::default())) };
    let field = |name: &str, of: Type| Field { field_name: name.to_owned(), r#type: Some(of) };
    let bytes = Type { kind: Some(Kind::BytesType(types::Bytes::default())) };
    let schema = Struct {
        fields: vec![field("user_id", bytes), field("purchase_date", text()), field("order_number", text())],
        encoding: Some(r#struct::Encoding {
            encoding: Some(Encoding::DelimitedBytes(DelimitedBytes { delimiter: "#".into() })),
        }),
    };
    let database = Database::new();
    database.create("sales", &["product"], Some(with_encodings(schema))).await;
    for (key, kind, name) in [
        ("user1#2025-05-20#abcd1233", "phone", "iPhone16_pro_max"),
        ("user1#2025-05-20#abcd1235", "shoes", "nike_hyperdunk"),
        ("user2#2025-05-24#defg456", "headphones", "sony_wh_1000mx5"),
    ] {
        database.set("sales", key, "product:product_type", 1, kind).await;
        database.set("sales", key, "product:product_name", 1, name).await;
    }
    let answer = database.run("SELECT * FROM sales", &[]).await.unwrap();
    let columns =
        ["user_id BYTES", "purchase_date STRING", "order_number STRING", "product MAP<BYTES, BYTES>"];
    assert_eq!(answer.columns, columns);
    assert_eq!(
        answer.rows[0],
        "user1, \"2025-05-20\", \"abcd1233\", {product_name: iPhone16_pro_max, product_type: phone}"
    );
    database
        .expect(&[
            ("SELECT _key FROM sales LIMIT 1", &["user1#2025-05-20#abcd1233"]),
            ("SELECT _key, order_number FROM sales WHERE user_id = b'user1'", &[
                "user1#2025-05-20#abcd1233, \"abcd1233\"",
                "user1#2025-05-20#abcd1235, \"abcd1235\"",
            ]),
            ("SELECT user_id, product['product_name'] AS product_name FROM sales WHERE purchase_date = '2025-05-24'", &["user2, sony_wh_1000mx5"]),
            ("SELECT order_number FROM sales WHERE user_id = 'user1' AND purchase_date > '2025-05-01' AND order_number LIKE 'abcd%5'", &["\"abcd1235\""]),
            ("SELECT user_id, COUNT(*) AS orders FROM sales GROUP BY user_id", &["user1, 2", "user2, 1"]),
        ])
        .await;
    // Only queries that read the fields fail on a key that has others.
    database.set("sales", "broken", "product:product_type", 1, "none").await;
    database
        .expect(&[
            ("SELECT COUNT(*) FROM sales", &["4"]),
            ("SELECT _key FROM sales WHERE _key < 'c'", &["broken"]),
        ])
        .await;
    let status = database.run("SELECT user_id FROM sales", &[]).await.unwrap_err();
    assert_eq!(status.code(), tonic::Code::FailedPrecondition);
    assert!(status.message().contains("the row key `broken` does not fit"), "{status}");
}

/// A schema whose fields have the encodings that the service asks for.
fn with_encodings(mut schema: Struct) -> Struct {
    for field in &mut schema.fields {
        match field.r#type.as_mut().and_then(|of| of.kind.as_mut()) {
            Some(Kind::StringType(text)) => {
                let utf8 =
                    types::string::encoding::Encoding::Utf8Bytes(types::string::encoding::Utf8Bytes {});
                text.encoding = Some(types::string::Encoding { encoding: Some(utf8) });
            }
            Some(Kind::BytesType(bytes)) => {
                let raw = types::bytes::encoding::Encoding::Raw(types::bytes::encoding::Raw {});
                bytes.encoding = Some(types::bytes::Encoding { encoding: Some(raw) });
            }
            _ => {}
        }
    }
    schema
}

#[tokio::test]
async fn counters_are_numbers() {
    let database = Database::new();
    database.create("t", &["views+", "cf"], None).await;
    database.add("t", "user12#a", "views:page", 0, 100).await;
    database.add("t", "user12#a", "views:page", 0, 42).await;
    database.add("t", "user12#b", "views:page", 0, 7).await;
    let answer =
        database.run("SELECT * FROM t WHERE _key LIKE 'user12%' AND views['page'] > 123", &[]).await.unwrap();
    assert_eq!(answer.columns, ["_key BYTES", "cf MAP<BYTES, BYTES>", "views MAP<BYTES, INT64>"]);
    assert_eq!(answer.rows, ["user12#a, {}, {page: 142}"]);
    database
        .expect(&[
            ("SELECT SUM(views['page']) FROM t", &["149"]),
            ("SELECT views FROM t(with_history => TRUE) LIMIT 1", &["{page: [(@0, 142)]}"]),
        ])
        .await;
}

#[tokio::test]
async fn casts_of_stored_values() {
    let database = Database::new();
    database.create("table_name", &["info"], None).await;
    for (column, value) in [
        ("info:address", &b"1 Main St"[..]),
        ("info:age", b"42"),
        ("info:checkin_date", b"2025-03-28"),
        ("info:is_booked", b"true"),
        ("info:count", &7i64.to_be_bytes()),
        ("info:raw", b"a\xff"),
        ("info:vector", &[1f32.to_be_bytes(), 2.5f32.to_be_bytes()].concat()),
    ] {
        database.set("table_name", "r", column, 1, value.to_vec()).await;
    }
    database
        .expect(&[
            ("SELECT CAST(info['address'] AS STRING) AS address FROM table_name", &["\"1 Main St\""]),
            ("SELECT CAST(CAST(info['age'] AS STRING) AS INT64) AS age FROM table_name", &["42"]),
            ("SELECT SAFE_CAST(info['raw'] AS STRING), SAFE_CONVERT_BYTES_TO_STRING(info['raw']) FROM table_name;", &["NULL, \"a\u{fffd}\""]),
            ("SELECT TO_INT64(info['count']) as n FROM table_name", &["7"]),
            ("SELECT CAST(CAST(info['checkin_date'] AS STRING) AS DATE) AS checkin_date FROM table_name", &["2025-3-28"]),
            ("SELECT TIMESTAMP(CAST(CAST(info['checkin_date'] AS STRING) AS DATE)) FROM table_name", &["@1743120000"]),
            ("SELECT CAST(CAST(info['is_booked'] AS STRING) AS BOOL) AS is_booked FROM table_name", &["true"]),
            ("SELECT CAST(TO_INT64(info['count']) AS BOOL) AS is_booked FROM table_name", &["true"]),
            ("SELECT CAST(SAFE_CONVERT_BYTES_TO_STRING(info['is_booked']) AS BOOL) from table_name", &["true"]),
            ("SELECT _key, TO_VECTOR32(info['vector']) AS embedding FROM table_name", &["r, [1.0, 2.5]"]),
            (
                "SELECT _key, COSINE_DISTANCE(TO_VECTOR32(info['vector']), [1.0, 2.5]) < 0.001 AS near FROM table_name",
                &["r, true"],
            ),
            ("SELECT TO_BASE64(info['address']) AS base64_payload FROM table_name", &["\"MSBNYWluIFN0\""]),
            ("SELECT NULLIF(info['address'], 'anonymous') as user, info['agent'] FROM table_name", &["1 Main St, NULL"]),
        ])
        .await;
    database
        .expect_values(&[
            ("CAST(TRUE AS STRING) AS str_bool", "\"true\""),
            ("CAST(123.45 AS STRING) AS str_num", "\"123.45\""),
            ("CAST(\"291\" AS INT64) AS int_val", "291"),
            ("CAST(\"true\" AS BOOL) AS bool_val", "true"),
            ("CAST(\"2020-06-02 17:00:53.110+00:00\" AS TIMESTAMP) AS ts_val", "@1591117253.11"),
            ("PARSE_TIMESTAMP(\"%a %b %e %T %Y\", \"Thu Dec 25 07:30:00 2008\") AS parsed_ts", "@1230190200"),
            ("PARSE_DATE(\"%Y%m%d\", \"20081225\") AS parsed_date", "2008-12-25"),
            ("FROM_BASE64('SGVsbG8=') AS decoded_bytes", "Hello"),
            (
                "ARRAY_TO_STRING([\"apple\", \"banana\", \"cherry\"], \", \") AS fruits",
                "\"apple, banana, cherry\"",
            ),
        ])
        .await;
}
