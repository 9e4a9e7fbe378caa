"""A scan or bulk writes for the benchmark of clients: `hot_paths/clients.rs` there says what it prints."""

import struct
import sys
import time

from google.cloud.bigtable.data import BigtableDataClient, ReadRowsQuery, RowMutationEntry, SetCell

ROWS_A_REQUEST = 5000


def scan(table, _):
    rows = size = 0
    for row in table.read_rows_stream(ReadRowsQuery()):
        rows += 1
        size += len(row.row_key) + sum(len(cell.value) for cell in row)
    return rows, size


def write(table, count):
    micros = int(time.time() * 1000) * 1000
    size = 0
    for first in range(0, count, ROWS_A_REQUEST):
        entries = []
        for number in range(first, min(first + ROWS_A_REQUEST, count)):
            station = b"S-%04d" % (number % 10_000)
            key = b"%s#%012d" % (station, number)
            cells = [
                SetCell("cf", "celsius", struct.pack(">d", number % 600 / 10 - 20), micros),
                SetCell("cf", "humidity", struct.pack(">q", number % 101), micros),
                SetCell("cf", "station", station, micros),
            ]
            entries.append(RowMutationEntry(key, cells))
            size += len(key) + 8 + 8 + len(station)
        table.bulk_mutate_rows(entries)
    return count, size


def main():
    work, count, runs = {"scan": scan, "write": write}[sys.argv[1]], int(sys.argv[2]), int(sys.argv[3])
    with BigtableDataClient(project="keyderive") as client, client.get_table("local", "readings") as table:
        for run in range(runs + 1):
            begun = time.process_time_ns()
            rows, size = work(table, count)
            taken = time.process_time_ns() - begun
            if run > 0:
                print(taken, rows, size, flush=True)


main()
