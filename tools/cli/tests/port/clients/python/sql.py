"""What Google's Python client reads by SQL: the columns and rows of each query of a file, in the words of `answers.txt`.

The address is in BIGTABLE_EMULATOR_HOST. Queries are separated by empty lines; a line `-- @name TYPE value` binds a parameter.
"""

import datetime
import sys

from google.api_core.exceptions import GoogleAPICallError
from google.cloud.bigtable.data import BigtableDataClient
from google.cloud.bigtable.data.execute_query import SqlType, Struct
from google.rpc.code_pb2 import Code

EPOCH = datetime.datetime.fromtimestamp(0, datetime.timezone.utc)
TYPES = {
    "BYTES": (SqlType.Bytes(), str.encode),
    "STRING": (SqlType.String(), str),
    "INT64": (SqlType.Int64(), int),
}


def shown(value):
    match value:
        case None:
            return "NULL"
        case bool():
            return str(value).lower()
        case bytes():
            return value.decode().encode("unicode_escape").decode()
        case float():
            return f"{value:.3f}"
        case datetime.datetime():
            return f"@{(value - EPOCH) // datetime.timedelta(microseconds=1)}"
        case Struct():
            return f"({', '.join(shown(field) for _, field in value.fields)})"
        case list():
            return f"[{', '.join(map(shown, value))}]"
        case dict():
            entries = sorted((shown(key), shown(entry)) for key, entry in value.items())
            return f"{{{', '.join(f'{key}: {entry}' for key, entry in entries)}}}"
        case _ if hasattr(value, "year"):
            return f"{value.year}-{value.month}-{value.day}"
        case _:
            return str(value)


with BigtableDataClient(project="keyderive") as client, open(sys.argv[1], encoding="utf-8") as file:
    for query in file.read().split("\n\n"):
        parameters, types = {}, {}
        for line in query.splitlines():
            if line.startswith("-- @"):
                name, of, value = line.removeprefix("-- @").split(" ", 2)
                types[name], convert = TYPES[of]
                parameters[name] = convert(value)
        try:
            rows = client.execute_query(query, "local", parameters=parameters, parameter_types=types)
            # The columns are known once the rows have come.
            answer = [" | ".join(shown(value) for _, value in row.fields) for row in rows]
            print("columns:", ", ".join(column.column_name or "-" for column in rows.metadata.columns))
            print(*answer, sep="\n")
        except GoogleAPICallError as error:
            print(f"{Code.Name(error.grpc_status_code.value[0])}: {error.message}")
        print()
