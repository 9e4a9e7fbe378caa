"""What the newer Python client, `google.cloud.bigtable.data`, does to a Bigtable, told line by line.

The address is in BIGTABLE_EMULATOR_HOST.
"""

from google.api_core.exceptions import GoogleAPICallError
from google.cloud import bigtable
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


def tell(what, *answer):
    print(what, *answer, sep=": ")


def create():
    table = bigtable.Client(project="p", admin=True).instance("i").table("newer")
    tell("exists before", table.exists())
    table.create(initial_split_keys=[b"k50"], column_families={"f": None, "g": None})
    tell("exists", table.exists())


def write(table):
    table.mutate_row("k", [SetCell("f", "q", "1", timestamp_micros=1000), SetCell("f", "n", 7)])
    with table.mutations_batcher() as batcher:
        for number in range(100):
            batcher.append(RowMutationEntry(f"k{number:02}", [SetCell("g", "q", "v", timestamp_micros=1000)]))
    try:
        table.mutate_row("k", SetCell("absent", "q", "v"))
    except GoogleAPICallError as error:
        tell("refused", error.grpc_status_code.name, error.message)


def read(table):
    row = table.read_row("k", row_filter=CellsColumnLimitFilter(1))
    tell("row", [(cell.qualifier, cell.value) for cell in row])
    query = ReadRowsQuery(row_keys=["k", "k90"], row_ranges=[RowRange("k10", "k13")], row_filter=ValueRegexFilter("v"))
    tell("rows", [row.row_key for row in table.read_rows(query)])
    sharded = ReadRowsQuery(row_ranges=[RowRange("k10", "k20"), RowRange("k60", "k70")])
    shards = sharded.shard(table.sample_row_keys())
    tell("sharded", len(shards), len(table.read_rows_sharded(shards)))


def change(table):
    then = [SetCell("g", "seen", "yes", timestamp_micros=1000)]
    tell("condition holds", table.check_and_mutate_row("k", ValueRegexFilter("1"), true_case_mutations=then))
    row = table.read_modify_write_row("k", [IncrementRule("f", "n", 35), AppendValueRule("g", "seen", "!")])
    tell("modified", [(cell.qualifier, cell.value) for cell in row])
    table.mutate_row("k", DeleteAllFromRow())
    tell("exists", table.row_exists("k"))


def main():
    create()
    with BigtableDataClient(project="p") as client, client.get_table("i", "newer") as table:
        write(table)
        read(table)
        change(table)


main()
