//! Plans as bytes: each reads the same rows after it was decoded, by another client, and bytes that cannot be read are refused.

use std::sync::Arc;

use datafusion::arrow::array::RecordBatch;
use datafusion::common::tree_node::{TreeNode as _, TreeNodeRecursion};
use datafusion::datasource::MemTable;
use datafusion::execution::TaskContext;
use datafusion::physical_plan::{ExecutionPlan, collect, displayable, replace_children_if_necessary};
use datafusion::prelude::{SessionConfig, SessionContext};
use datafusion_proto::bytes::{
    logical_plan_from_bytes_with_extension_codec, logical_plan_to_bytes_with_extension_codec,
    physical_plan_from_bytes_with_proto_converter, physical_plan_to_bytes_with_proto_converter,
};
use datafusion_proto::physical_plan::{DeduplicatingProtoConverter, PhysicalExtensionCodec};
use fastrand::Rng;
use keyderive::dynamic::TableLayout;
use keyderive::{Client, Row};
use keyderive_datafusion::{BigtableTable, KeyderiveCodec, ScanWindows};

use crate::shared::{EventKey, context, events, lines, provider, query, rows};
use crate::statements::statement;

type Plan = Arc<dyn ExecutionPlan>;

/// A codec of a process that has the table of events.
fn codec(client: &Client) -> KeyderiveCodec {
    KeyderiveCodec::new().with(&provider(client))
}

fn to_bytes(plan: &Plan, codec: &KeyderiveCodec) -> Vec<u8> {
    let converter = DeduplicatingProtoConverter {};
    physical_plan_to_bytes_with_proto_converter(Arc::clone(plan), codec, &converter).unwrap().to_vec()
}

fn from_bytes(
    bytes: &[u8],
    codec: &KeyderiveCodec,
    context: &TaskContext,
) -> datafusion::error::Result<Plan> {
    let converter = DeduplicatingProtoConverter {};
    physical_plan_from_bytes_with_proto_converter(bytes, context, codec, &converter)
}

async fn run(plan: &Plan, context: &SessionContext) -> Vec<RecordBatch> {
    collect(Arc::clone(plan), context.task_ctx()).await.unwrap()
}

async fn physical(context: &SessionContext, sql: &str) -> Plan {
    context.sql(sql).await.unwrap().create_physical_plan().await.unwrap()
}

/// The scans of a plan.
fn scans(plan: &Plan) -> Vec<Plan> {
    let mut scans = Vec::new();
    plan.apply(|node| {
        if node.name() == "BigtableExec" {
            scans.push(Arc::clone(node));
        }
        Ok(TreeNodeRecursion::Continue)
    })
    .unwrap();
    scans
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn decoded_plans_have_the_same_rows() {
    let client = events(&rows(600)).await;
    let codec = codec(&client);
    let table = provider(&client);
    let mut random = Rng::with_seed(2);
    let mut nonempty = 0;
    for _ in 0..200 {
        let config = SessionConfig::new()
            .with_target_partitions(random.usize(1..6))
            .with_batch_size([2, 64, 8192][random.usize(0..3)]);
        let context = context(table.clone(), config);
        let (is_sorted, sql) = statement(&mut random);
        let Ok(logical) = context.sql(&sql).await else { continue };
        let Ok(plan) = logical.clone().create_physical_plan().await else { continue };
        let Ok(expected) = collect(Arc::clone(&plan), context.task_ctx()).await else { continue };
        let expected = lines(&expected, is_sorted);
        nonempty += usize::from(!expected.is_empty());

        // A plan that has run holds what its filters knew at its end.
        let plan = logical.clone().create_physical_plan().await.unwrap();
        let decoded = from_bytes(&to_bytes(&plan, &codec), &codec, &context.task_ctx()).unwrap();
        assert_eq!(scans(&decoded).len(), scans(&plan).len(), "{sql}");
        assert_eq!(lines(&run(&decoded, &context).await, is_sorted), expected, "physical: {sql}");

        let bytes = logical_plan_to_bytes_with_extension_codec(logical.logical_plan(), &codec).unwrap();
        let decoded =
            logical_plan_from_bytes_with_extension_codec(&bytes, &context.task_ctx(), &codec).unwrap();
        let decoded = context.execute_logical_plan(decoded).await.unwrap();
        let plan = decoded.clone().create_physical_plan().await.unwrap();
        let shown = displayable(plan.as_ref()).indent(false).to_string();
        assert!(
            !shown.lines().any(|line| line.contains("BigtableExec") && line.contains("order=")),
            "{shown}"
        );
        let decoded = decoded.collect().await.unwrap();
        assert_eq!(lines(&decoded, is_sorted), expected, "logical: {sql}");
    }
    assert!(nonempty > 80, "{nonempty}");
}

/// A scan that was decoded is narrowed by the join that was decoded with it.
#[tokio::test]
async fn dynamic_filters_travel() {
    let client = events(&rows(800)).await;
    let codec = codec(&client);
    let context = context(provider(&client), SessionConfig::new().with_target_partitions(4));
    query(&context, "CREATE TABLE vips AS VALUES ('a', 'gold'), ('nobody', 'x')").await.unwrap();
    let plan = physical(&context, "SELECT count(*) FROM events JOIN vips ON user_id = column1").await;
    let decoded = from_bytes(&to_bytes(&plan, &codec), &codec, &context.task_ctx()).unwrap();
    assert_eq!(lines(&run(&decoded, &context).await, true), ["|100|"]);
    let seen = scans(&decoded)[0].metrics().unwrap().sum_by_name("rows_seen").unwrap().as_usize();
    assert_eq!(seen, 100);
}

/// The codec of a process that has other tables.
fn refused(bytes: &[u8], codec: &KeyderiveCodec) -> String {
    from_bytes(bytes, codec, &TaskContext::default()).unwrap_err().to_string()
}

#[tokio::test]
async fn a_table_that_a_process_lacks_is_named() {
    #[derive(Row)]
    struct OtherEvent {
        kind: i64,
    }
    let client = events(&rows(10)).await;
    let context = context(provider(&client), SessionConfig::new());
    let bytes = to_bytes(&physical(&context, "SELECT kind FROM events").await, &codec(&client));

    let text = refused(&bytes, &KeyderiveCodec::new());
    assert!(text.contains("the table `events` of `projects/keyderive/instances/local`"), "{text}");
    assert!(
        text.contains("add it to the `KeyderiveCodec` of every process. The tables here: none"),
        "{text}"
    );

    let other = Client::builder().instance("shop", "orders").embedded();
    let text = refused(&bytes, &codec(&other));
    assert!(text.contains("The tables here: `events` of `projects/shop/instances/orders`"), "{text}");

    let layout = TableLayout::of::<EventKey, OtherEvent>("events");
    let text = refused(&bytes, &KeyderiveCodec::new().with(&BigtableTable::new(&client, &layout).unwrap()));
    let fingerprint = layout.row_type().unwrap().fingerprint().to_string();
    assert!(
        text.contains(&format!(
            "and this process has it by the key layout `{}` and the row layout `{fingerprint}`",
            layout.key().schema().fingerprint()
        )),
        "{text}"
    );
    assert!(text.contains("give every process the same layouts"), "{text}");
}

/// What another release, a broken network or an attacker may send: an error, and no panic.
#[tokio::test]
async fn bytes_that_cannot_be_read_are_refused() {
    let client = events(&rows(10)).await;
    let codec = codec(&client);
    let context = context(provider(&client), SessionConfig::new());
    let sql = "SELECT kind FROM events WHERE user_id IN ('a', 'v') AND site = 'home' AND at >= 5";
    let scan = scans(&physical(&context, sql).await).remove(0);
    let inputs: Vec<Plan> = scan.children().into_iter().cloned().collect();
    let converter = DeduplicatingProtoConverter {};
    let mut bytes = Vec::new();
    PhysicalExtensionCodec::try_encode(&codec, Arc::clone(&scan), &mut bytes, &converter).unwrap();
    let task = context.task_ctx();
    let decode = |bytes: &[u8], inputs: &[Plan]| {
        PhysicalExtensionCodec::try_decode(&codec, bytes, inputs, &task, &converter)
    };
    let refused = |bytes: &[u8]| decode(bytes, &inputs).unwrap_err().to_string();
    let replaced = |from: &str, to: &str| {
        let text = String::from_utf8(bytes.clone()).unwrap();
        assert!(text.contains(from), "no {from} in {text}");
        refused(text.replacen(from, to, 1).as_bytes())
    };

    for (text, part) in [
        (
            replaced("keyderive\u{1}", "keyderive\u{2}"),
            "run one release of keyderive-datafusion in every process",
        ),
        (replaced(r#"["kind"]"#, r#"["sort"]"#), "sort"),
        (replaced(r#"["user_id""#, r#"["nobody""#), "the key has no field `nobody`"),
        (replaced(r#"["user_id""#, r#"["seq""#), "predicates that its key cannot meet"),
        (replaced(r#"{"Integer":5}"#, r#"{"Text":"x"}"#), "predicates that its key cannot meet"),
        (replaced(r#""limit":null"#, r#""limit":-1"#), "cannot be decoded"),
        (replaced(r#""dynamic":[]"#, r#""dynamic":[[255]]"#), "failed to decode"),
        (replaced("{", "["), "cannot be decoded"),
        (refused(b"keyderive"), "is not provided"),
        (refused(b""), "is not provided"),
        (decode(&bytes, &[]).unwrap_err().to_string(), "a scan has 0 children"),
        (decode(&bytes, &[Arc::clone(&scan)]).unwrap_err().to_string(), "the child of a scan has windows"),
    ] {
        assert!(text.contains(part), "no {part:?} in {text}");
    }
    let mut random = Rng::with_seed(3);
    for _ in 0..20_000 {
        let mut bytes = bytes.clone();
        for _ in 0..random.usize(1..4) {
            let at = random.usize(0..bytes.len());
            bytes[at] = if random.bool() { random.u8(..) } else { bytes[random.usize(0..bytes.len())] };
        }
        bytes.truncate(random.usize(0..2 * bytes.len()));
        if let Ok(scan) = decode(&bytes, &inputs) {
            let _ = displayable(scan.as_ref()).one_line().to_string();
        }
    }
}

/// An engine with several codecs tries one after the other, and keeps what a failed one wrote.
#[tokio::test]
async fn other_nodes_are_left_to_the_codec_below() {
    let client = events(&rows(10)).await;
    let context = context(provider(&client), SessionConfig::new());
    query(&context, "CREATE TABLE vips AS VALUES ('a', 'gold')").await.unwrap();
    let codec = codec(&client);
    let table = context.table_provider("vips").await.unwrap();
    assert!(table.is::<MemTable>());
    let mut buf = Vec::new();
    let encoded = datafusion_proto::logical_plan::LogicalExtensionCodec::try_encode_table_provider(
        &codec,
        &"vips".into(),
        table,
        &mut buf,
    );
    assert!(encoded.unwrap_err().to_string().contains("is not provided") && buf.is_empty());
}

#[tokio::test]
async fn windows_are_split_among_tasks() {
    let client = events(&rows(600)).await;
    let context = context(provider(&client), SessionConfig::new().with_target_partitions(3));
    let scan = scans(&physical(&context, "SELECT seq FROM events").await).remove(0);
    let leaf = Arc::clone(scan.children()[0]);
    assert!(ScanWindows::of(&scan).is_none());
    let windows = ScanWindows::of(&leaf).unwrap();
    assert!(windows.count() >= 4 && windows.split(0).is_err());
    for tasks in 1..7 {
        let (mut seqs, mut ranges) = (Vec::new(), Vec::new());
        for leaf in windows.split(tasks).unwrap() {
            assert_eq!(leaf.properties().output_partitioning().partition_count(), 3);
            ranges.push(ScanWindows::of(&leaf).unwrap().count());
            let part = replace_children_if_necessary(Arc::clone(&scan), vec![leaf]).unwrap();
            seqs.extend(lines(&run(&part, &context).await, true));
        }
        seqs.sort_unstable();
        let count = seqs.len();
        seqs.dedup();
        assert_eq!((count, seqs.len()), (600, 600), "{tasks} tasks");
        assert_eq!(ranges.iter().sum::<usize>(), windows.count());
    }
}
