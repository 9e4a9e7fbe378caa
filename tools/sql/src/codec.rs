//! Scans and tables as bytes, for engines that send plans to other processes.
//!
//! The bytes are a magic, a version, and JSON. A scan or a table is named by its instance, its name, and the fingerprints of its layouts; a
//! field and a column by its name. So a process that decodes them reads by a client and a layout of its own, and nothing else.

use std::ops::Bound;
use std::sync::Arc;

use datafusion::arrow::datatypes::SchemaRef;
use datafusion::catalog::TableProvider;
use datafusion::common::{Result, TableReference, plan_datafusion_err, plan_err};
use datafusion::datasource::file_format::FileFormatFactory;
use datafusion::execution::TaskContext;
use datafusion::logical_expr::{AggregateUDF, Extension, HigherOrderUDF, LogicalPlan, ScalarUDF, WindowUDF};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr_common::physical_expr::proto_decode::PhysicalExprDecodeCtx;
use datafusion::physical_expr_common::physical_expr::proto_encode::PhysicalExprEncodeCtx;
use datafusion::physical_plan::ExecutionPlan;
use datafusion_proto::logical_plan::{DefaultLogicalExtensionCodec, LogicalExtensionCodec};
use datafusion_proto::physical_plan::{
    DefaultPhysicalExtensionCodec, PhysicalExtensionCodec, PhysicalPlanDecodeContext,
    PhysicalProtoConverterExtension,
};
use datafusion_proto::protobuf::PhysicalExprNode;
use keyderive::dynamic::Value;
use prost::Message as _;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::constraints::{Predicate, Test};
use crate::exec::{BigtableExec, ScanSpec, Source, external};
use crate::provider::BigtableTable;

const MAGIC: &[u8] = b"keyderive";
/// Of what follows it.
const VERSION: u8 = 1;

/// Encodes scans and tables of keyderive, for engines that send plans to other processes.
///
/// Every process has a codec with the same tables:
///
/// ```
/// use datafusion::prelude::SessionContext;
/// use datafusion_proto::bytes::{
///     physical_plan_from_bytes_with_extension_codec, physical_plan_to_bytes_with_extension_codec,
/// };
/// use keyderive::dynamic::TableLayout;
/// use keyderive::{Client, Row, RowKey};
/// use keyderive_datafusion::{BigtableTable, KeyderiveCodec};
/// # #[derive(RowKey)] struct EventKey { user: String, at: u64 }
/// # #[derive(Row)] struct Event { kind: String }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let client = Client::embedded();
/// # client.table::<EventKey, Event>("events").create_if_absent().await?;
/// // let client = Client::connect("bigtable://my-project/my-instance").await?;
/// let events = BigtableTable::new(&client, &TableLayout::of::<EventKey, Event>("events"))?;
/// let codec = KeyderiveCodec::new().with(&events);
///
/// let context = SessionContext::new();
/// let plan = context.read_table(std::sync::Arc::new(events))?.create_physical_plan().await?;
/// let bytes = physical_plan_to_bytes_with_extension_codec(plan, &codec)?;
/// let plan = physical_plan_from_bytes_with_extension_codec(&bytes, &context.task_ctx(), &codec)?;
/// # assert_eq!(plan.schema().fields().len(), 3);
/// # Ok(())
/// # }
/// ```
///
/// As a [`PhysicalExtensionCodec`] it encodes scans, for the workers of datafusion-distributed and the executors of Ballista. As a
/// [`LogicalExtensionCodec`] it encodes tables, for Ballista's scheduler, which plans for its clients.
///
/// datafusion-distributed also needs [`SortAfterShuffle`](crate::SortAfterShuffle) and [`ScanWindows`](crate::ScanWindows). Ballista needs
/// neither: its scheduler accepts no optimizer rule, so a decoded table declares no order of its rows, and Ballista sorts.
///
/// The bytes name the instance, the table and the fingerprints of its layouts, and hold the values that a query constrains the key to. They
/// hold no address and no credentials: each process reads by the clients that its own tables were made with, so it connects to no other
/// Bigtable than those, whatever bytes it gets. Two emulators with one project and instance cannot be told apart.
///
/// # Errors
/// Decoding fails, and names what it misses, if this process lacks the table, has it with another layout, or runs a release that writes
/// other bytes. Bytes that no codec wrote are an error too.
#[derive(Clone, Debug)]
pub struct KeyderiveCodec {
    sources: Vec<Arc<Source>>,
    physical: Arc<dyn PhysicalExtensionCodec>,
    logical: Arc<dyn LogicalExtensionCodec>,
}

impl Default for KeyderiveCodec {
    fn default() -> Self {
        Self::new()
    }
}

impl KeyderiveCodec {
    /// A codec without tables.
    #[must_use]
    pub fn new() -> Self {
        Self {
            sources: Vec::new(),
            physical: Arc::new(DefaultPhysicalExtensionCodec {}),
            logical: Arc::new(DefaultLogicalExtensionCodec {}),
        }
    }

    /// Adds a table. It replaces a table with the same instance, name and layouts.
    #[must_use]
    pub fn with(mut self, table: &BigtableTable) -> Self {
        let id = TableId::of(&table.source);
        self.sources.retain(|source| TableId::of(source) != id);
        self.sources.push(Arc::clone(&table.source));
        self
    }

    /// Delegates all other nodes of physical plans to `codec`. Use it if the engine accepts one codec and has its own.
    #[must_use]
    pub fn over_physical(self, codec: Arc<dyn PhysicalExtensionCodec>) -> Self {
        Self { physical: codec, ..self }
    }

    /// Delegates all other tables and nodes of logical plans to `codec`. Use it if the engine accepts one codec and has its own.
    #[must_use]
    pub fn over_logical(self, codec: Arc<dyn LogicalExtensionCodec>) -> Self {
        Self { logical: codec, ..self }
    }

    fn source(&self, id: &TableId) -> Result<&Arc<Source>> {
        if let Some(source) = self.sources.iter().find(|source| TableId::of(source) == *id) {
            return Ok(source);
        }
        let known = self.sources.iter().map(|source| TableId::of(source));
        let (same, others): (Vec<_>, Vec<_>) =
            known.partition(|known| (&known.instance, &known.table) == (&id.instance, &id.table));
        let names = |ids: &[TableId], name: fn(&TableId) -> String| {
            let names: Vec<_> = ids.iter().map(name).collect();
            if names.is_empty() { "none".to_owned() } else { names.join(", ") }
        };
        let TableId { instance, table, .. } = id;
        if same.is_empty() {
            return plan_err!(
                "a plan reads the table `{table}` of `{instance}`, which this process does not know; add it to the `KeyderiveCodec` of every \
                 process. The tables here: {}",
                names(&others, |of| format!("`{}` of `{}`", of.table, of.instance))
            );
        }
        plan_err!(
            "a plan reads the table `{table}` of `{instance}` by {}, and this process has it by {}; give every process the same layouts",
            id.layouts(),
            names(&same, TableId::layouts)
        )
    }
}

/// What all processes call a table.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct TableId {
    instance: String,
    table: String,
    /// The fingerprints of its layouts.
    key: String,
    row: Option<String>,
}

impl TableId {
    fn of(source: &Source) -> Self {
        Self {
            instance: source.instance.clone(),
            table: source.table.name().to_owned(),
            key: source.table.key().schema().fingerprint().to_string(),
            row: source.table.row_type().map(|row| row.fingerprint().to_string()),
        }
    }

    fn layouts(&self) -> String {
        let row =
            self.row.as_deref().map_or("no row type".to_owned(), |row| format!("the row layout `{row}`"));
        format!("the key layout `{}` and {row}", self.key)
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct EncodedTable {
    table: TableId,
    pushdown: bool,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct EncodedScan {
    table: TableId,
    columns: Vec<String>,
    /// Each with its field.
    predicates: Vec<(String, EncodedTest)>,
    bytes: u64,
    ordered: bool,
    reversed: bool,
    limit: Option<u64>,
    /// Messages of datafusion-proto.
    dynamic: Vec<Vec<u8>>,
}

#[derive(Serialize, Deserialize)]
enum EncodedTest {
    In(Vec<EncodedValue>),
    Range(Bound<EncodedValue>, Bound<EncodedValue>),
    Prefix(String),
}

/// Floats by their bits: JSON has no NaN and no infinity.
#[derive(Serialize, Deserialize)]
enum EncodedValue {
    Integer(i128),
    Unsigned(u128),
    Bool(bool),
    F32(u32),
    F64(u64),
    Text(String),
    Bytes(Vec<u8>),
    Time(i128),
    Date(i64),
    Uuid(u128),
}

impl EncodedValue {
    fn of(value: &Value) -> Result<Self> {
        Ok(match value {
            Value::Integer(value) => Self::Integer(*value),
            Value::Unsigned(value) => Self::Unsigned(*value),
            Value::Bool(value) => Self::Bool(*value),
            Value::F32(value) => Self::F32(value.to_bits()),
            Value::F64(value) => Self::F64(value.to_bits()),
            Value::Text(value) => Self::Text(value.clone()),
            Value::Bytes(value) => Self::Bytes(value.clone()),
            Value::Time(nanos) => Self::Time(*nanos),
            Value::Date(days) => Self::Date(*days),
            Value::Uuid(value) => Self::Uuid(*value),
            other => return plan_err!("no plan can be sent with the value {other:?}"),
        })
    }

    fn into_value(self) -> Value {
        match self {
            Self::Integer(value) => Value::Integer(value),
            Self::Unsigned(value) => Value::Unsigned(value),
            Self::Bool(value) => Value::Bool(value),
            Self::F32(bits) => Value::F32(f32::from_bits(bits)),
            Self::F64(bits) => Value::F64(f64::from_bits(bits)),
            Self::Text(value) => Value::Text(value),
            Self::Bytes(value) => Value::Bytes(value),
            Self::Time(nanos) => Value::Time(nanos),
            Self::Date(days) => Value::Date(days),
            Self::Uuid(value) => Value::Uuid(value),
        }
    }
}

impl EncodedTest {
    fn of(test: &Test) -> Result<Self> {
        let bound = |bound: &Bound<Value>| {
            Ok::<_, datafusion::error::DataFusionError>(match bound {
                Bound::Included(value) => Bound::Included(EncodedValue::of(value)?),
                Bound::Excluded(value) => Bound::Excluded(EncodedValue::of(value)?),
                Bound::Unbounded => Bound::Unbounded,
            })
        };
        Ok(match test {
            Test::In(values) => Self::In(values.iter().map(EncodedValue::of).collect::<Result<_>>()?),
            Test::Range(lower, upper) => Self::Range(bound(lower)?, bound(upper)?),
            Test::Prefix(prefix) => Self::Prefix(prefix.clone()),
        })
    }

    fn into_test(self) -> Test {
        let bound = |bound: Bound<EncodedValue>| bound.map(EncodedValue::into_value);
        match self {
            Self::In(values) => Test::In(values.into_iter().map(EncodedValue::into_value).collect()),
            Self::Range(lower, upper) => Test::Range(bound(lower), bound(upper)),
            Self::Prefix(prefix) => Test::Prefix(prefix),
        }
    }
}

/// Writes nothing on failure: an engine with several codecs tries the next one.
fn encode(of: &impl Serialize, buf: &mut Vec<u8>) -> Result<()> {
    let json = serde_json::to_vec(of).map_err(external)?;
    buf.extend_from_slice(MAGIC);
    buf.push(VERSION);
    buf.extend(json);
    Ok(())
}

/// None if no codec of keyderive wrote it.
fn decode<T: DeserializeOwned>(buf: &[u8]) -> Option<Result<T>> {
    let (version, json) = buf.strip_prefix(MAGIC)?.split_first()?;
    Some(if *version == VERSION {
        serde_json::from_slice(json)
            .map_err(|error| plan_datafusion_err!("a scan or a table cannot be decoded: {error}"))
    } else {
        plan_err!(
            "a plan has a scan or a table in version {version} of its form, and this process reads version {VERSION}; run one release of \
             keyderive-datafusion in every process"
        )
    })
}

impl EncodedScan {
    fn of(
        scan: &BigtableExec,
        codec: &KeyderiveCodec,
        converter: &dyn PhysicalProtoConverterExtension,
    ) -> Result<Self> {
        let BigtableExec { source, spec, dynamic, .. } = scan;
        let fields = source.table.key().schema().fields();
        let predicate = |of: &Predicate| Ok((fields[of.field].name().to_owned(), EncodedTest::of(&of.test)?));
        let dynamic =
            dynamic.iter().map(|filter| Ok(converter.physical_expr_to_proto(filter, codec)?.encode_to_vec()));
        Ok(Self {
            table: TableId::of(source),
            columns: spec
                .projection
                .iter()
                .map(|at| source.columns.schema.field(*at).name().clone())
                .collect(),
            predicates: spec.predicates.iter().map(predicate).collect::<Result<_>>()?,
            bytes: spec.bytes,
            ordered: spec.ordered,
            reversed: spec.reversed,
            limit: spec.limit.map(|limit| limit as u64),
            dynamic: dynamic.collect::<Result<_>>()?,
        })
    }

    fn into_scan(
        self,
        inputs: &[Arc<dyn ExecutionPlan>],
        context: &TaskContext,
        codec: &KeyderiveCodec,
        converter: &dyn PhysicalProtoConverterExtension,
    ) -> Result<BigtableExec> {
        let source = codec.source(&self.table)?;
        let [windows] = inputs else { return plan_err!("a scan has {} children and not one", inputs.len()) };
        let columns = &source.columns.schema;
        let projection = self.columns.iter().map(|name| Ok(columns.index_of(name)?));
        let projection = projection.collect::<Result<Vec<_>>>()?;
        let fields = source.table.key().schema().fields();
        let predicates = self.predicates.into_iter().map(|(name, test)| {
            let field = fields.iter().position(|field| field.name() == name);
            let field = field.ok_or_else(|| plan_datafusion_err!("the key has no field `{name}`"))?;
            Ok(Predicate { field, test: test.into_test() })
        });
        let predicates = predicates.collect::<Result<Vec<_>>>()?;
        let schema = columns.project(&projection)?;
        let decoding = PhysicalPlanDecodeContext::new(context, codec);
        let dynamic = self.dynamic.iter().map(|filter| {
            let filter = PhysicalExprNode::decode(&filter[..]).map_err(external)?;
            converter.proto_to_physical_expr(&filter, &schema, &decoding)
        });
        let dynamic = dynamic.collect::<Result<Vec<_>>>()?;
        let spec = ScanSpec {
            predicates,
            projection,
            bytes: self.bytes,
            ordered: self.ordered,
            reversed: self.reversed,
            limit: self.limit.map(|limit| usize::try_from(limit).unwrap_or(usize::MAX)),
        };
        let scan = BigtableExec::over(Arc::clone(source), spec, Arc::clone(windows), dynamic)?;
        // No filter after the scan applies them.
        if !scan.key_scan.used.iter().all(|used| *used) {
            return plan_err!(
                "a scan of the table `{}` has predicates that its key cannot meet",
                source.table.name()
            );
        }
        Ok(scan)
    }
}

impl PhysicalExtensionCodec for KeyderiveCodec {
    fn try_decode(
        &self,
        buf: &[u8],
        inputs: &[Arc<dyn ExecutionPlan>],
        context: &TaskContext,
        converter: &dyn PhysicalProtoConverterExtension,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        match decode::<EncodedScan>(buf) {
            Some(scan) => Ok(Arc::new(scan?.into_scan(inputs, context, self, converter)?)),
            None => self.physical.try_decode(buf, inputs, context, converter),
        }
    }

    fn try_encode(
        &self,
        node: Arc<dyn ExecutionPlan>,
        buf: &mut Vec<u8>,
        converter: &dyn PhysicalProtoConverterExtension,
    ) -> Result<()> {
        match node.downcast_ref::<BigtableExec>() {
            Some(scan) => encode(&EncodedScan::of(scan, self, converter)?, buf),
            None => self.physical.try_encode(node, buf, converter),
        }
    }

    fn try_decode_udf(&self, name: &str, buf: &[u8]) -> Result<Arc<ScalarUDF>> {
        self.physical.try_decode_udf(name, buf)
    }

    fn try_encode_udf(&self, node: &ScalarUDF, buf: &mut Vec<u8>) -> Result<()> {
        self.physical.try_encode_udf(node, buf)
    }

    fn try_decode_higher_order_function(&self, name: &str, buf: &[u8]) -> Result<Arc<HigherOrderUDF>> {
        self.physical.try_decode_higher_order_function(name, buf)
    }

    fn try_encode_higher_order_function(&self, node: &HigherOrderUDF, buf: &mut Vec<u8>) -> Result<()> {
        self.physical.try_encode_higher_order_function(node, buf)
    }

    fn try_decode_expr(
        &self,
        buf: &[u8],
        inputs: &[Arc<dyn PhysicalExpr>],
        context: &PhysicalExprDecodeCtx<'_>,
    ) -> Result<Arc<dyn PhysicalExpr>> {
        self.physical.try_decode_expr(buf, inputs, context)
    }

    fn try_encode_expr(
        &self,
        node: &Arc<dyn PhysicalExpr>,
        buf: &mut Vec<u8>,
        context: &PhysicalExprEncodeCtx<'_>,
    ) -> Result<()> {
        self.physical.try_encode_expr(node, buf, context)
    }

    fn try_decode_udaf(&self, name: &str, buf: &[u8]) -> Result<Arc<AggregateUDF>> {
        self.physical.try_decode_udaf(name, buf)
    }

    fn try_encode_udaf(&self, node: &AggregateUDF, buf: &mut Vec<u8>) -> Result<()> {
        self.physical.try_encode_udaf(node, buf)
    }

    fn try_decode_udwf(&self, name: &str, buf: &[u8]) -> Result<Arc<WindowUDF>> {
        self.physical.try_decode_udwf(name, buf)
    }

    fn try_encode_udwf(&self, node: &WindowUDF, buf: &mut Vec<u8>) -> Result<()> {
        self.physical.try_encode_udwf(node, buf)
    }
}

impl LogicalExtensionCodec for KeyderiveCodec {
    fn try_decode(&self, buf: &[u8], inputs: &[LogicalPlan], context: &TaskContext) -> Result<Extension> {
        self.logical.try_decode(buf, inputs, context)
    }

    fn try_encode(&self, node: &Extension, buf: &mut Vec<u8>) -> Result<()> {
        self.logical.try_encode(node, buf)
    }

    fn try_decode_table_provider(
        &self,
        buf: &[u8],
        name: &TableReference,
        schema: SchemaRef,
        context: &TaskContext,
    ) -> Result<Arc<dyn TableProvider>> {
        match decode::<EncodedTable>(buf) {
            Some(of) => {
                let EncodedTable { table, pushdown } = of?;
                let source = Arc::clone(self.source(&table)?);
                // The fingerprint of a map does not cover the name of its family.
                let names =
                    |of: &SchemaRef| of.fields().iter().map(|field| field.name().clone()).collect::<Vec<_>>();
                if names(&schema) != names(&source.columns.schema) {
                    return plan_err!(
                        "a plan reads the table `{}` with the columns {:?}, and this process has it with {:?}; give every process the same \
                         layouts",
                        table.table,
                        names(&schema),
                        names(&source.columns.schema)
                    );
                }
                // Ballista's scheduler plans by rules of its own, among which there is no place for `SortAfterShuffle`.
                Ok(Arc::new(BigtableTable { source, pushdown, ordered: false }))
            }
            None => self.logical.try_decode_table_provider(buf, name, schema, context),
        }
    }

    fn try_encode_table_provider(
        &self,
        name: &TableReference,
        node: Arc<dyn TableProvider>,
        buf: &mut Vec<u8>,
    ) -> Result<()> {
        match node.downcast_ref::<BigtableTable>() {
            Some(BigtableTable { source, pushdown, .. }) => {
                encode(&EncodedTable { table: TableId::of(source), pushdown: *pushdown }, buf)
            }
            None => self.logical.try_encode_table_provider(name, node, buf),
        }
    }

    fn try_decode_file_format(
        &self,
        buf: &[u8],
        context: &TaskContext,
    ) -> Result<Arc<dyn FileFormatFactory>> {
        self.logical.try_decode_file_format(buf, context)
    }

    fn try_encode_file_format(&self, buf: &mut Vec<u8>, node: Arc<dyn FileFormatFactory>) -> Result<()> {
        self.logical.try_encode_file_format(buf, node)
    }

    fn try_decode_udf(&self, name: &str, buf: &[u8]) -> Result<Arc<ScalarUDF>> {
        self.logical.try_decode_udf(name, buf)
    }

    fn try_encode_udf(&self, node: &ScalarUDF, buf: &mut Vec<u8>) -> Result<()> {
        self.logical.try_encode_udf(node, buf)
    }

    fn try_decode_higher_order_function(&self, name: &str, buf: &[u8]) -> Result<Arc<HigherOrderUDF>> {
        self.logical.try_decode_higher_order_function(name, buf)
    }

    fn try_encode_higher_order_function(&self, node: &HigherOrderUDF, buf: &mut Vec<u8>) -> Result<()> {
        self.logical.try_encode_higher_order_function(node, buf)
    }

    fn try_decode_udaf(&self, name: &str, buf: &[u8]) -> Result<Arc<AggregateUDF>> {
        self.logical.try_decode_udaf(name, buf)
    }

    fn try_encode_udaf(&self, node: &AggregateUDF, buf: &mut Vec<u8>) -> Result<()> {
        self.logical.try_encode_udaf(node, buf)
    }

    fn try_decode_udwf(&self, name: &str, buf: &[u8]) -> Result<Arc<WindowUDF>> {
        self.logical.try_decode_udwf(name, buf)
    }

    fn try_encode_udwf(&self, node: &WindowUDF, buf: &mut Vec<u8>) -> Result<()> {
        self.logical.try_encode_udwf(node, buf)
    }
}
