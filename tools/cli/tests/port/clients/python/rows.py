"""What Google's Python client reads of a row that keyderive wrote, and what it writes there for keyderive to read.

The address is in BIGTABLE_EMULATOR_HOST. What it tells is in `rows.txt`.
"""

import struct

from google.cloud.bigtable.data import BigtableDataClient, SetCell
from google.cloud.bigtable.data.read_modify_write_rules import IncrementRule

KEY = b"0000000007"


def integer(value):
    return struct.unpack(">q", value)[0]


FORMS = {
    "cf:readings": integer,
    "cf:temperature": lambda value: struct.unpack(">d", value)[0],
    "cf:on": lambda value: "true" if integer(value) else "false",
    "cf:offset": integer,
    "cf:level": lambda value: struct.unpack(">f", value)[0],
    "place:floor": integer,
}


def column(cell):
    return f"{cell.family}:{cell.qualifier.decode()}"


def value(cell):
    form = integer if cell.family == "meters" else FORMS.get(column(cell), bytes.decode)
    return str(form(cell.value))


def tell_row(table):
    for cell in table.read_row(KEY):
        has_own_time = column(cell) in ("cf:level", "cf:state")
        at = f" @{cell.timestamp_micros}" if has_own_time else ""
        print(f"{column(cell)}{at} = {value(cell)}")


def change(table):
    answer = table.read_modify_write_row(
        KEY, [IncrementRule("cf", "readings", 42), IncrementRule("meters", "METER:0001", 5)]
    )
    print("incremented:", ", ".join(value(cell) for cell in answer))
    table.mutate_row(KEY, [SetCell("place", "city", "Bern"), SetCell("place", "floor", 3), SetCell("cf", "note", "seen")])


def main():
    with BigtableDataClient(project="keyderive") as client, client.get_table("local", "sensors") as table:
        tell_row(table)
        change(table)


main()
