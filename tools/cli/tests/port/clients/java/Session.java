import static com.google.cloud.bigtable.admin.v2.models.GCRules.GCRULES;
import static com.google.cloud.bigtable.data.v2.models.Filters.FILTERS;

import com.google.api.gax.batching.Batcher;
import com.google.api.gax.rpc.ApiException;
import com.google.bigtable.admin.v2.ModifyColumnFamiliesRequest.Modification;
import com.google.cloud.bigtable.admin.v2.BigtableTableAdminClient;
import com.google.cloud.bigtable.admin.v2.models.ColumnFamily;
import com.google.cloud.bigtable.admin.v2.models.CreateTableRequest;
import com.google.cloud.bigtable.admin.v2.models.GCRules.DurationRule;
import com.google.cloud.bigtable.admin.v2.models.GCRules.VersionRule;
import com.google.cloud.bigtable.admin.v2.models.ModifyColumnFamiliesRequest;
import com.google.cloud.bigtable.admin.v2.models.Type;
import com.google.cloud.bigtable.data.v2.BigtableDataClient;
import com.google.cloud.bigtable.data.v2.models.BulkMutation;
import com.google.cloud.bigtable.data.v2.models.ConditionalRowMutation;
import com.google.cloud.bigtable.data.v2.models.Filters.Filter;
import com.google.cloud.bigtable.data.v2.models.MutateRowsException;
import com.google.cloud.bigtable.data.v2.models.Mutation;
import com.google.cloud.bigtable.data.v2.models.Query;
import com.google.cloud.bigtable.data.v2.models.Range.ByteStringRange;
import com.google.cloud.bigtable.data.v2.models.ReadModifyWriteRow;
import com.google.cloud.bigtable.data.v2.models.Row;
import com.google.cloud.bigtable.data.v2.models.RowCell;
import com.google.cloud.bigtable.data.v2.models.RowMutation;
import com.google.cloud.bigtable.data.v2.models.RowMutationEntry;
import com.google.cloud.bigtable.data.v2.models.TableId;
import com.google.cloud.bigtable.data.v2.models.Value;
import com.google.protobuf.ByteString;
import com.google.protobuf.FieldMask;
import io.grpc.Status;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * What Google's Java client does to a Bigtable, told line by line, in the words of {@code session.txt}. The address is in
 * BIGTABLE_EMULATOR_HOST.
 */
final class Session {
  private static final TableId TABLE = TableId.of("session");

  private final BigtableTableAdminClient admin;
  private final BigtableDataClient data;

  private Session(BigtableTableAdminClient admin, BigtableDataClient data) {
    this.admin = admin;
    this.data = data;
  }

  public static void main(String[] arguments) throws Exception {
    try (var admin = BigtableTableAdminClient.create("p", "i");
        var data = BigtableDataClient.create("p", "i")) {
      var session = new Session(admin, data);
      session.administrate();
      session.write();
      session.scan();
      session.scanBackwards();
      session.filterRows();
      session.change();
      session.aggregate();
      session.drop();
    }
  }

  /** A time in milliseconds. */
  private static long at(long milliseconds) {
    return milliseconds * 1000;
  }

  private static void tell(String what, String answer) {
    System.out.println(what + ": " + (answer.isEmpty() ? "none" : answer));
  }

  private static void tell(String what, List<String> answers) {
    tell(what, String.join(", ", answers));
  }

  private static void tellRefusal(String what, Runnable call) {
    try {
      call.run();
      tell(what, "done");
    } catch (ApiException error) {
      tell(what, refused(error));
    }
  }

  private static String refused(ApiException error) {
    return error.getStatusCode().getCode() + ": " + Status.fromThrowable(error).getDescription();
  }

  private void tellRows(String what, Query query) {
    tell(what, data.readRows(query).stream().map(Session::shown).collect(Collectors.joining(" | ")));
  }

  private static String shown(Row row) {
    return row.getKey().toStringUtf8() + " " + columns(row);
  }

  /** Each column with the values of its versions. */
  private static String columns(Row row) {
    Map<String, String> columns = new LinkedHashMap<>();
    for (RowCell cell : row.getCells()) {
      String column = cell.getFamily() + ":" + cell.getQualifier().toStringUtf8();
      columns.merge(column, text(cell.getValue()), (versions, value) -> versions + "," + value);
    }
    return columns.entrySet().stream().map(Object::toString).collect(Collectors.joining(" "));
  }

  /** Values of 8 bytes are integers here. */
  private static String text(ByteString value) {
    return value.size() == 8 ? String.valueOf(value.asReadOnlyByteBuffer().getLong()) : value.toStringUtf8();
  }

  private void tellFamilies(String what) {
    var families = admin.getTable("session").getColumnFamilies().stream();
    tell(what, families.sorted(Comparator.comparing(ColumnFamily::getId)).map(Session::familyText).toList());
  }

  private static String familyText(ColumnFamily family) {
    List<String> words = new ArrayList<>(List.of(family.getId()));
    if (family.getGCRule() instanceof VersionRule rule) {
      words.add("versions=" + rule.getMaxVersions());
    } else if (family.getGCRule() instanceof DurationRule rule) {
      words.add("seconds=" + rule.getMaxAge().getSeconds());
    }
    if (family.getValueType() instanceof Type.Int64) {
      words.add("int64");
    } else if (family.getValueType() instanceof Type.Aggregate) {
      words.add("aggregate");
    }
    return String.join(" ", words);
  }

  private void administrate() {
    var table =
        CreateTableRequest.of("session")
            .addFamily("f", GCRULES.maxVersions(2))
            .addFamily("g")
            .addFamily("sum", Type.int64Sum())
            .addSplit(ByteString.copyFromUtf8("m"));
    tell("tables before", admin.listTables());
    admin.createTable(table);
    tell("tables", admin.listTables());
    tellFamilies("families");
    tellRefusal("create again", () -> admin.createTable(table));
    admin.modifyFamilies(families().addFamily("h", GCRULES.maxAge(1, TimeUnit.DAYS)));
    tellFamilies("family added");
    admin.modifyFamilies(families().updateFamily("h", GCRULES.maxVersions(3)));
    tellFamilies("rule changed");
    retype("h");
    tellFamilies("type changed");
    tellRefusal("aggregate changed", () -> retype("sum"));
    admin.modifyFamilies(families().dropFamily("h"));
    tellFamilies("family dropped");
    tellRefusal("absent family dropped", () -> admin.modifyFamilies(families().dropFamily("h")));
    tellRefusal("absent table", () -> admin.getTable("absent"));
  }

  private static ModifyColumnFamiliesRequest families() {
    return ModifyColumnFamiliesRequest.of("session");
  }

  /** The client has no call for it, so this uses the generated client below it. */
  private void retype(String family) {
    var int64 = com.google.bigtable.admin.v2.ColumnFamily.newBuilder().setValueType(Type.bigEndianInt64().toProto());
    var mask = FieldMask.newBuilder().addPaths("value_type");
    var update = Modification.newBuilder().setId(family).setUpdate(int64).setUpdateMask(mask).build();
    admin.getBaseClient().modifyColumnFamilies(TABLE.toResourceName("p", "i"), List.of(update));
  }

  private void write() throws InterruptedException {
    data.mutateRow(
        RowMutation.create(TABLE, "a")
            .setCell("f", "q", at(1), "1")
            .setCell("f", "q", at(2), "2")
            .setCell("g", "r", at(1), "x"));
    tell("row", shown(data.readRow(TABLE, "a")));
    tell("absent row", Stream.ofNullable(data.readRow(TABLE, "absent")).map(Session::shown).toList());
    tellRefusal("write refused", () -> data.mutateRow(RowMutation.create(TABLE, "a").setCell("absent", "q", "v")));
    BulkMutation rows = BulkMutation.create(TABLE);
    for (String key : List.of("b", "bad", "c", "n", "o")) {
      String family = key.equals("bad") ? "absent" : "f";
      rows.add(key, Mutation.create().setCell(family, "q", at(1), key.repeat(3)));
    }
    try {
      data.bulkMutateRows(rows);
    } catch (MutateRowsException error) {
      var failures = error.getFailedMutations().stream();
      tell("bulk write refused", failures.map(one -> one.getIndex() + ": " + refused(one.getError())).toList());
    }
    try (Batcher<RowMutationEntry, Void> batcher = data.newBulkMutationBatcher(TABLE)) {
      for (int number = 0; number < 1000; number++) {
        String key = String.format("z%04d", number);
        batcher.add(RowMutationEntry.create(key).setCell("g", "number", at(1), number));
      }
    }
    tell("all", String.valueOf(data.readRows(query()).stream().count()));
  }

  private static Query query() {
    return Query.create(TABLE);
  }

  private void scan() {
    tellRows("range", query().range(ByteStringRange.unbounded().startClosed("b").endClosed("n")));
    tellRows("open range", query().range(ByteStringRange.unbounded().startOpen("b").endOpen("n")));
    tellRows("ranges", query().range("a", "b").range("o", "z"));
    tellRows("prefix and limit", query().prefix("z000").limit(2));
    tellRows("keys", query().rowKey("o").rowKey("a").rowKey("absent"));
    // The last sample is the end of the table, which Go's client leaves out.
    var samples = data.sampleRowKeys(TABLE).stream().map(sample -> sample.getKey().toStringUtf8());
    tell("samples", samples.filter(key -> !key.isEmpty()).toList());
  }

  private void scanBackwards() {
    tellKeys("backwards", query().range(ByteStringRange.unbounded().startClosed("b").endClosed("n")));
    tellKeys("backwards with a limit", query().range(ByteStringRange.unbounded().endOpen("z")).limit(3));
  }

  private void tellKeys(String what, Query query) {
    tell(what, data.readRows(query.reversed(true)).stream().map(row -> row.getKey().toStringUtf8()).toList());
  }

  private void filterRows() {
    Filter newest = FILTERS.limit().cellsPerColumn(1);
    Filter key = FILTERS.key().regex("a|b");
    tellFiltered("chain", FILTERS.chain().filter(key).filter(FILTERS.family().regex("f")).filter(newest));
    Filter values = FILTERS.value().range().startClosed("bb").endOpen("c");
    tellFiltered("interleave", FILTERS.interleave().filter(values).filter(FILTERS.value().exactMatch("ccc")));
    tellFiltered(
        "condition",
        FILTERS
            .condition(FILTERS.qualifier().regex("r"))
            .then(FILTERS.value().strip())
            .otherwise(FILTERS.qualifier().rangeWithinFamily("f").startClosed("q").endClosed("q")));
    tellFiltered("times", FILTERS.timestamp().range().startClosed(at(2)));
    var labelled = data.readRow(TABLE, "a", FILTERS.label("l")).getCells("f", "q").stream();
    tell("labels", labelled.flatMap(cell -> cell.getLabels().stream()).toList());
  }

  private void tellFiltered(String what, Filter filter) {
    tellRows(what, query().range(ByteStringRange.unbounded().endOpen("z")).filter(filter));
  }

  private void change() {
    for (String key : List.of("a", "b")) {
      var mutation =
          ConditionalRowMutation.create(TABLE, key)
              .condition(FILTERS.value().exactMatch("2"))
              .then(Mutation.create().setCell("g", "matched", at(1), "yes"))
              .otherwise(Mutation.create().setCell("g", "matched", at(1), "no"));
      tell("condition on " + key, data.checkAndMutateRow(mutation).toString());
    }
    var modify = ReadModifyWriteRow.create(TABLE, "a").increment("g", "count", 41).append("g", "r", "yz");
    tell("modified", columns(data.readModifyWriteRow(modify)));
    modify = ReadModifyWriteRow.create(TABLE, "a").increment("g", "count", 1);
    tell("modified", columns(data.readModifyWriteRow(modify)));
    Filter newest = FILTERS.limit().cellsPerColumn(1);
    tellRows("changed", query().range(ByteStringRange.unbounded().endOpen("c")).filter(newest));
    data.mutateRow(RowMutation.create(TABLE, "b").deleteRow());
    data.mutateRow(RowMutation.create(TABLE, "a").deleteCells("g", "count").deleteFamily("f"));
    tellRows("left", query().range(ByteStringRange.unbounded().endOpen("d")));
  }

  private void aggregate() {
    Value column = Value.rawValue(ByteString.copyFromUtf8("n"));
    for (long input : List.of(50L, -8L)) {
      var add = RowMutation.create(TABLE, "sums");
      data.mutateRow(add.addToCell("sum", column, Value.rawTimestamp(at(1)), Value.intValue(input)));
    }
    tell("sum", shown(data.readRow(TABLE, "sums")));
    tellRefusal("sum set", () -> data.mutateRow(RowMutation.create(TABLE, "sums").setCell("sum", "n", at(1), "v")));
  }

  private void drop() {
    admin.dropRowRange("session", "z");
    tellRows("without z", query());
    admin.dropAllRows("session");
    tellRows("truncated", query());
    admin.deleteTable("session");
    tell("tables left", admin.listTables());
  }
}
