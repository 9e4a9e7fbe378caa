"""What Google's Python client does to a Bigtable, told line by line.

The address is in BIGTABLE_EMULATOR_HOST; both clients of the package `google-cloud-bigtable` are used.
"""

import base64
import datetime

from google.api_core.exceptions import GoogleAPICallError
from google.cloud import bigtable
from google.cloud.bigtable import column_family, row_filters
from google.cloud.bigtable.data import (
    BigtableDataClient,
    DeleteAllFromRow,
    ReadRowsQuery,
    RowMutationEntry,
    RowRange,
    SetCell,
)
from google.cloud.bigtable.data.read_modify_write_rules import AppendValueRule, IncrementRule
from google.cloud.bigtable.data.row_filters import CellsColumnLimitFilter, ValueRegexFilter
from google.cloud.bigtable.row_set import RowSet
from google.cloud.bigtable_v2.types import FeatureFlags

AT = datetime.datetime(2020, 1, 1, tzinfo=datetime.timezone.utc)


def tell(what, *answer):
    print(what, *answer, sep=": ")


def shown(row):
    """A row of the older client: its key, and each column with the values of its versions."""
    columns = [
        f"{family}:{qualifier.decode()}={[cell.value.decode(errors='backslashreplace') for cell in cells]}"
        for family, columns in sorted(row.cells.items())
        for qualifier, cells in sorted(columns.items())
    ]
    return " ".join([row.row_key.decode(), *columns])


def tell_rows(what, rows):
    tell(what, " | ".join(map(shown, rows)))


def administrate(instance):
    table = instance.table("py")
    tell("exists before", table.exists())
    table.create(
        initial_split_keys=[b"m"],
        column_families={"f": column_family.MaxVersionsGCRule(2), "g": None},
    )
    tell("exists", table.exists())
    tell("tables", [table.table_id for table in instance.list_tables()])
    table.column_family("h", column_family.MaxAgeGCRule(datetime.timedelta(days=1))).create()
    families = table.list_column_families()
    tell("families", sorted((name, str(family.to_pb()).split()) for name, family in families.items()))
    table.column_family("h").delete()
    tell("families left", sorted(table.list_column_families()))
    return table


def write(table):
    row = table.direct_row("a")
    row.set_cell("f", "q", "1", timestamp=AT)
    row.set_cell("f", "q", "2", timestamp=AT + datetime.timedelta(seconds=1))
    row.set_cell("g", "r", b"x", timestamp=AT)
    tell("write", row.commit().code)
    rows = []
    for name in ["b", "c", "n", "o"]:
        row = table.direct_row(name)
        row.set_cell("f", "q", name * 3, timestamp=AT)
        rows.append(row)
    bad = table.direct_row("bad")
    bad.set_cell("absent", "q", "v")
    tell("bulk write", [status.code for status in table.mutate_rows([*rows, bad])])
    with table.mutations_batcher() as batcher:
        for number in range(1000):
            row = table.direct_row(f"z{number:04}")
            row.set_cell("g", "number", number, timestamp=AT)
            batcher.mutate(row)


def read(table):
    tell("row", shown(table.read_row("a")))
    tell("no row", table.read_row("absent"))
    tell("all", sum(1 for _ in table.read_rows()))
    tell_rows("range", table.read_rows(start_key=b"b", end_key=b"n", end_inclusive=True))
    rows = RowSet()
    for key in ["o", "a", "absent"]:
        rows.add_row_key(key)
    rows.add_row_range_with_prefix("z000")
    tell_rows("keys and a prefix", table.read_rows(row_set=rows, limit=3))
    newest = row_filters.CellsColumnLimitFilter(1)
    tell_rows("newest", table.read_rows(end_key=b"c", filter_=newest))
    chain = row_filters.RowFilterChain(
        [row_filters.RowKeyRegexFilter("a|b"), row_filters.FamilyNameRegexFilter("f")]
    )
    tell_rows("chain", table.read_rows(filter_=chain))
    union = row_filters.RowFilterUnion(
        [row_filters.ValueRangeFilter(start_value=b"bb", end_value=b"c"), row_filters.ExactValueFilter(b"ccc")]
    )
    tell_rows("union", table.read_rows(end_key=b"z", filter_=union))
    condition = row_filters.ConditionalRowFilter(
        row_filters.ColumnQualifierRegexFilter("r"),
        true_filter=row_filters.StripValueTransformerFilter(True),
        false_filter=row_filters.ColumnRangeFilter("f", b"q", b"q"),
    )
    tell_rows("condition", table.read_rows(end_key=b"c", filter_=condition))
    times = row_filters.TimestampRangeFilter(row_filters.TimestampRange(start=AT + datetime.timedelta(seconds=1)))
    tell_rows("times", table.read_rows(end_key=b"z", filter_=times))
    labelled = table.read_rows(end_key=b"b", filter_=row_filters.ApplyLabelFilter("l"))
    tell("labels", [cell.labels for row in labelled for cell in row.cells["f"][b"q"]])
    tell("samples", [sample.row_key for sample in table.sample_row_keys()])


def reversed_rows(client, table):
    """Neither client has an argument for it, so this uses the generated client below them."""
    features = FeatureFlags.serialize(FeatureFlags(reverse_scans=True))
    responses = client.table_data_client.read_rows(
        {"table_name": table.name, "reversed": True, "rows_limit": 3, "rows": {"row_ranges": [{"end_key_open": b"z"}]}},
        metadata=[("bigtable-features", base64.urlsafe_b64encode(features).decode())],
    )
    tell("reversed", [chunk.row_key.decode() for response in responses for chunk in response.chunks])


def change(table):
    conditional = table.conditional_row("a", row_filters.ExactValueFilter(b"2"))
    conditional.set_cell("g", "matched", "yes", timestamp=AT, state=True)
    conditional.set_cell("g", "matched", "no", timestamp=AT, state=False)
    tell("condition holds", conditional.commit())
    increment = table.append_row("a")
    increment.increment_cell_value("g", "count", 41)
    increment.append_cell_value("g", "r", b"yz")
    increment.commit()
    increment.increment_cell_value("g", "count", 1)
    answer = increment.commit()
    tell("incremented", [int.from_bytes(cell[0], "big") for cell in answer["g"][b"count"]])
    tell_rows("changed", table.read_rows(end_key=b"b", filter_=row_filters.CellsColumnLimitFilter(1)))
    delete = table.direct_row("b")
    delete.delete()
    tell("delete", delete.commit().code)
    cell = table.direct_row("a")
    cell.delete_cell("g", "count")
    cell.delete_cells("f", cell.ALL_COLUMNS)
    tell("delete cells", cell.commit().code)
    tell_rows("left", table.read_rows(end_key=b"c"))


def newer_client():
    with BigtableDataClient(project="p") as client, client.get_table("i", "py") as table:
        table.mutate_row("k", [SetCell("f", "q", "1", timestamp_micros=1000), SetCell("f", "n", 7)])
        with table.mutations_batcher() as batcher:
            for number in range(100):
                batcher.append(RowMutationEntry(f"k{number:02}", [SetCell("g", "q", "v", timestamp_micros=1000)]))
        row = table.read_row("k", row_filter=CellsColumnLimitFilter(1))
        tell("newer: row", [(cell.qualifier, cell.value) for cell in row])
        query = ReadRowsQuery(row_ranges=[RowRange("k10", "k13")], row_filter=ValueRegexFilter("v"))
        tell("newer: rows", [row.row_key for row in table.read_rows(query)])
        sharded = ReadRowsQuery(row_ranges=[RowRange("c", "l"), RowRange("m", "o")])
        shards = sharded.shard(table.sample_row_keys())
        tell("newer: sharded", len(shards), len(table.read_rows_sharded(shards)))
        then = [SetCell("g", "seen", "yes", timestamp_micros=1000)]
        held = table.check_and_mutate_row("k", ValueRegexFilter("1"), true_case_mutations=then)
        tell("newer: condition holds", held)
        row = table.read_modify_write_row("k", [IncrementRule("f", "n", 35), AppendValueRule("g", "seen", "!")])
        tell("newer: modified", [(cell.qualifier, cell.value) for cell in row])
        table.mutate_row("k", DeleteAllFromRow())
        tell("newer: exists", table.row_exists("k"))
        try:
            table.mutate_row("k", SetCell("absent", "q", "v"))
        except GoogleAPICallError as error:
            tell("newer: refused", error.grpc_status_code, error.message)


def drop(instance, table):
    table.drop_by_prefix("z")
    tell("without z", sum(1 for _ in table.read_rows()))
    table.truncate()
    tell("truncated", sum(1 for _ in table.read_rows()))
    table.delete()
    tell("tables left", [table.table_id for table in instance.list_tables()])


def main():
    client = bigtable.Client(project="p", admin=True)
    instance = client.instance("i")
    table = administrate(instance)
    write(table)
    read(table)
    reversed_rows(client, table)
    change(table)
    newer_client()
    drop(instance, table)


main()
