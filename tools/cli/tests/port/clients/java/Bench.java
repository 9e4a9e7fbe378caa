import com.google.cloud.bigtable.data.v2.BigtableDataClient;
import com.google.cloud.bigtable.data.v2.models.BulkMutation;
import com.google.cloud.bigtable.data.v2.models.Mutation;
import com.google.cloud.bigtable.data.v2.models.Query;
import com.google.cloud.bigtable.data.v2.models.Row;
import com.google.cloud.bigtable.data.v2.models.RowCell;
import com.google.cloud.bigtable.data.v2.models.TableId;
import com.google.protobuf.ByteString;
import com.sun.management.OperatingSystemMXBean;
import java.lang.management.ManagementFactory;
import java.nio.ByteBuffer;

/** A scan or bulk writes for the benchmark of clients: hot_paths/clients.rs there says what it prints. */
final class Bench {
  private static final TableId TABLE = TableId.of("readings");
  private static final int ROWS_A_REQUEST = 5000;
  private static final ByteString CELSIUS = ByteString.copyFromUtf8("celsius");
  private static final ByteString HUMIDITY = ByteString.copyFromUtf8("humidity");
  private static final ByteString STATION = ByteString.copyFromUtf8("station");

  private long rows;
  private long bytes;

  public static void main(String[] arguments) throws Exception {
    long count = Long.parseLong(arguments[1]);
    int runs = Integer.parseInt(arguments[2]);
    var system = (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
    try (var data = BigtableDataClient.create("keyderive", "local")) {
      for (int run = 0; run <= runs; run++) {
        long begun = system.getProcessCpuTime();
        var bench = new Bench();
        if (arguments[0].equals("scan")) {
          bench.scan(data);
        } else {
          bench.write(data, count);
        }
        long taken = system.getProcessCpuTime() - begun;
        if (run > 0) {
          System.out.println(taken + " " + bench.rows + " " + bench.bytes);
        }
      }
    }
  }

  private void scan(BigtableDataClient data) {
    for (Row row : data.readRows(Query.create(TABLE))) {
      rows++;
      bytes += row.getKey().size();
      for (RowCell cell : row.getCells()) {
        bytes += cell.getValue().size();
      }
    }
  }

  private void write(BigtableDataClient data, long count) {
    long micros = 1000 * System.currentTimeMillis();
    while (rows < count) {
      var batch = BulkMutation.create(TABLE);
      for (int filled = 0; filled < ROWS_A_REQUEST && rows < count; filled++, rows++) {
        String station = "S-" + padded(rows % 10_000, 4);
        String key = station + "#" + padded(rows, 12);
        var mutation =
            Mutation.create()
                .setCell("cf", CELSIUS, micros, bytes(Double.doubleToLongBits(rows % 600 / 10.0 - 20)))
                .setCell("cf", HUMIDITY, micros, bytes(rows % 101))
                .setCell("cf", STATION, micros, ByteString.copyFromUtf8(station));
        batch.add(key, mutation);
        bytes += key.length() + 8 + 8 + station.length();
      }
      data.bulkMutateRows(batch);
    }
  }

  private static String padded(long number, int width) {
    String digits = Long.toString(number);
    return "0".repeat(width - digits.length()) + digits;
  }

  private static ByteString bytes(long number) {
    return ByteString.copyFrom(ByteBuffer.allocate(8).putLong(0, number));
  }
}
