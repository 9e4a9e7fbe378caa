"""The `GROUP BY` of `speed.rs` by Google's client and pandas, over the first rows of the table.

Prints its CPU time and its time in nanoseconds, and the rows.
"""

import struct
import sys
import time

import pandas
from google.cloud.bigtable.data import BigtableDataClient, ReadRowsQuery

count = int(sys.argv[1])
with BigtableDataClient(project="keyderive") as client, client.get_table("local", "events") as table:
    begun, cpu = time.perf_counter_ns(), time.process_time_ns()
    rows = []
    for row in table.read_rows_stream(ReadRowsQuery(limit=count)):
        site = row.row_key.split(b"#")[2].decode()
        cells = {cell.qualifier: cell.value for cell in row}
        clicks = cells.get(b"clicks")
        clicks = None if clicks is None else struct.unpack(">q", clicks)[0]
        rows.append((site, struct.unpack(">d", cells[b"amount"])[0], clicks))
    frame = pandas.DataFrame(rows, columns=["site", "amount", "clicks"])
    groups = frame.groupby("site").agg({"site": "count", "clicks": "sum", "amount": "mean"})
    print(time.process_time_ns() - cpu, time.perf_counter_ns() - begun, int(groups["site"].sum()))
