import com.google.cloud.bigtable.data.v2.BigtableDataClient;
import com.google.cloud.bigtable.data.v2.models.ReadModifyWriteRow;
import com.google.cloud.bigtable.data.v2.models.RowCell;
import com.google.cloud.bigtable.data.v2.models.RowMutation;
import com.google.cloud.bigtable.data.v2.models.TableId;
import java.util.stream.Collectors;

/**
 * What Google's Java client reads of a row that keyderive wrote, and what it writes there for keyderive to read. It tells the
 * row in the words of {@code rows.txt}. The address is in BIGTABLE_EMULATOR_HOST.
 */
final class Rows {
  private static final TableId TABLE = TableId.of("sensors");
  private static final String KEY = "0000000007";

  public static void main(String[] arguments) throws Exception {
    try (var data = BigtableDataClient.create("keyderive", "local")) {
      for (RowCell cell : data.readRow(TABLE, KEY).getCells()) {
        boolean hasOwnTime = column(cell).equals("cf:level") || column(cell).equals("cf:state");
        String at = hasOwnTime ? " @" + cell.getTimestamp() : "";
        System.out.println(column(cell) + at + " = " + value(cell));
      }
      var increment =
          ReadModifyWriteRow.create(TABLE, KEY).increment("cf", "readings", 42).increment("meters", "METER:0001", 5);
      var answer = data.readModifyWriteRow(increment).getCells().stream();
      System.out.println("incremented: " + answer.map(Rows::value).collect(Collectors.joining(", ")));
      data.mutateRow(
          RowMutation.create(TABLE, KEY)
              .setCell("place", "city", "Bern")
              .setCell("place", "floor", 3)
              .setCell("cf", "note", "seen"));
    }
  }

  private static String column(RowCell cell) {
    return cell.getFamily() + ":" + cell.getQualifier().toStringUtf8();
  }

  private static String value(RowCell cell) {
    var bytes = cell.getValue().asReadOnlyByteBuffer();
    Object value =
        switch (cell.getFamily().equals("meters") ? "meters" : column(cell)) {
          case "cf:temperature" -> bytes.getDouble();
          case "cf:level" -> bytes.getFloat();
          case "cf:on" -> bytes.getLong() != 0;
          case "cf:readings", "cf:offset", "place:floor", "meters" -> bytes.getLong();
          default -> cell.getValue().toStringUtf8();
        };
    return value.toString();
  }
}
