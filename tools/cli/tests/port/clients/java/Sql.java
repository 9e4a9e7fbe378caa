import com.google.api.gax.rpc.ApiException;
import com.google.cloud.Date;
import com.google.cloud.bigtable.data.v2.BigtableDataClient;
import com.google.cloud.bigtable.data.v2.models.sql.ColumnMetadata;
import com.google.cloud.bigtable.data.v2.models.sql.ResultSet;
import com.google.cloud.bigtable.data.v2.models.sql.SqlType;
import com.google.cloud.bigtable.data.v2.models.sql.Struct;
import com.google.cloud.bigtable.data.v2.models.sql.StructReader;
import com.google.protobuf.ByteString;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/**
 * What Google's Java client reads by SQL: the columns and rows of each query of a file, in the words of {@code answers.txt}. The
 * address is in BIGTABLE_EMULATOR_HOST. Queries are separated by empty lines; a line {@code -- @name TYPE value} binds a parameter.
 */
final class Sql {
  public static void main(String[] arguments) throws Exception {
    try (var client = BigtableDataClient.create("keyderive", "local")) {
      for (String query : Files.readString(Path.of(arguments[0])).split("\n\n")) {
        try {
          answer(client, query);
        } catch (ApiException error) {
          String message = error.getCause().getMessage();
          System.out.println(message);
        }
        System.out.println();
      }
    }
  }

  private static void answer(BigtableDataClient client, String query) {
    Map<String, SqlType<?>> types = new HashMap<>();
    Map<String, String> values = new HashMap<>();
    for (String line : query.split("\n")) {
      if (line.startsWith("-- @")) {
        String[] parts = line.substring(4).split(" ", 3);
        values.put(parts[0], parts[2]);
        types.put(
            parts[0],
            switch (parts[1]) {
              case "BYTES" -> SqlType.bytes();
              case "STRING" -> SqlType.string();
              default -> SqlType.int64();
            });
      }
    }
    var bound = client.prepareStatement(query, types).bind();
    values.forEach(
        (name, value) -> {
          switch (types.get(name).getCode()) {
            case BYTES -> bound.setBytesParam(name, ByteString.copyFromUtf8(value));
            case STRING -> bound.setStringParam(name, value);
            default -> bound.setLongParam(name, Long.valueOf(value));
          }
        });
    try (ResultSet rows = client.executeQuery(bound.build())) {
      List<ColumnMetadata> columns = null;
      while (rows.next()) {
        if (columns == null) {
          columns = rows.getMetadata().getColumns();
          var names = columns.stream().map(column -> column.name().isEmpty() ? "-" : column.name()).toList();
          System.out.println("columns: " + String.join(", ", names));
        }
        List<String> shown = new ArrayList<>();
        for (int place = 0; place < columns.size(); place++) {
          shown.add(field(rows, place, columns.get(place).type()));
        }
        System.out.println(String.join(" | ", shown));
      }
    }
  }

  /** The field at a place of a row or of a struct. */
  private static String field(StructReader fields, int place, SqlType<?> type) {
    if (fields.isNull(place)) {
      return "NULL";
    }
    return show(
        switch (type.getCode()) {
          case BYTES -> fields.getBytes(place);
          case STRING -> fields.getString(place);
          case INT64 -> fields.getLong(place);
          case FLOAT64 -> fields.getDouble(place);
          case FLOAT32 -> fields.getFloat(place);
          case BOOL -> fields.getBoolean(place);
          case TIMESTAMP -> fields.getTimestamp(place);
          case DATE -> fields.getDate(place);
          case STRUCT -> fields.getStruct(place);
          case ARRAY -> fields.getList(place, (SqlType.Array<?>) type);
          case MAP -> fields.getMap(place, (SqlType.Map<?, ?>) type);
          default -> throw new IllegalArgumentException(type.toString());
        },
        type);
  }

  private static String show(Object value, SqlType<?> type) {
    if (value == null) {
      return "NULL";
    }
    if (value instanceof ByteString bytes) {
      var text = new StringBuilder();
      for (byte each : bytes.toByteArray()) {
        text.append(each < ' ' ? String.format("\\x%02x", each) : String.valueOf((char) each));
      }
      return text.toString();
    }
    if (value instanceof Double || value instanceof Float) {
      return String.format(Locale.ROOT, "%.3f", ((Number) value).doubleValue());
    }
    if (value instanceof Instant time) {
      return "@" + ChronoUnit.MICROS.between(Instant.EPOCH, time);
    }
    if (value instanceof Date date) {
      return date.getYear() + "-" + date.getMonth() + "-" + date.getDayOfMonth();
    }
    if (value instanceof List<?> list) {
      var element = ((SqlType.Array<?>) type).getElementType();
      return "[" + String.join(", ", list.stream().map(each -> show(each, element)).toList()) + "]";
    }
    if (value instanceof Map<?, ?> map) {
      var of = (SqlType.Map<?, ?>) type;
      var entries = map.entrySet().stream();
      var shown = entries.map(entry -> show(entry.getKey(), of.getKeyType()) + ": " + show(entry.getValue(), of.getValueType()));
      return "{" + String.join(", ", shown.sorted().toList()) + "}";
    }
    if (value instanceof Struct struct) {
      List<String> shown = new ArrayList<>();
      int place = 0;
      for (SqlType.Struct.Field of : ((SqlType.Struct) type).getFields()) {
        shown.add(field(struct, place++, of.type()));
      }
      return "(" + String.join(", ", shown) + ")";
    }
    return value.toString();
  }
}
