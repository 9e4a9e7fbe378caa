"""What Google's Python client reads of a row that keyderive wrote, and what it writes there for keyderive to read.

The address is in BIGTABLE_EMULATOR_HOST.
"""

import json
import struct

from google.cloud.bigtable.data import BigtableDataClient, SetCell
from google.cloud.bigtable.data.read_modify_write_rules import IncrementRule

KEY = b"0000000007"

FORMS = {
    ("cf", "readings"): lambda value: struct.unpack(">q", value)[0],
    ("cf", "temperature"): lambda value: struct.unpack(">d", value)[0],
    ("cf", "on"): lambda value: bool(struct.unpack(">q", value)[0]),
    ("cf", "offset"): lambda value: struct.unpack(">q", value)[0],
    ("cf", "level"): lambda value: struct.unpack(">f", value)[0],
    ("cf", "tags"): json.loads,
    ("place", "floor"): lambda value: struct.unpack(">q", value)[0],
}


def text(value):
    return value.decode()


def value(cell):
    family, qualifier = cell.family, cell.qualifier.decode()
    if family == "meters":
        return int.from_bytes(cell.value, "big", signed=True)
    return FORMS.get((family, qualifier), text)(cell.value)


def tell_rows(table):
    for cell in table.read_row(KEY):
        has_own_time = cell.family == "cf" and cell.qualifier in (b"level", b"state")
        at = f" @{cell.timestamp_micros}" if has_own_time else ""
        print(f"{cell.family}:{cell.qualifier.decode()}{at} = {value(cell)!r}")


def change(table):
    answer = table.read_modify_write_row(
        KEY, [IncrementRule("cf", "readings", 42), IncrementRule("meters", "METER:0001", 5)]
    )
    print("incremented:", [value(cell) for cell in answer])
    table.mutate_row(KEY, [SetCell("place", "city", "Bern"), SetCell("place", "floor", 3), SetCell("cf", "note", "seen")])


def main():
    with BigtableDataClient(project="keyderive") as client, client.get_table("local", "sensors") as table:
        tell_rows(table)
        change(table)


main()
