"""What Google's Python client does to a Bigtable, told line by line, in the words of `session.txt`.

The address is in BIGTABLE_EMULATOR_HOST. This is the older client of the package `google-cloud-bigtable`. What it has no call
for goes through the generated clients below it, or through the newer client.
"""

import base64
import datetime

from google.api_core.exceptions import GoogleAPICallError
from google.cloud import bigtable
from google.cloud.bigtable import column_family, row_filters
from google.cloud.bigtable.data import AddToCell, BigtableDataClient
from google.cloud.bigtable.row_set import RowSet
from google.cloud.bigtable_v2.types import FeatureFlags
from google.rpc.code_pb2 import Code

INT64 = {"int64_type": {"encoding": {"big_endian_bytes": {}}}}
SUM = {"aggregate_type": {"input_type": INT64, "sum": {}}}


def at(milliseconds):
    return datetime.datetime.fromtimestamp(0, datetime.timezone.utc) + datetime.timedelta(milliseconds=milliseconds)


def tell(what, answers):
    print(f"{what}:", ", ".join(answers) or "none")


def tell_rows(what, rows):
    print(f"{what}:", " | ".join(shown(row.row_key, row.cells) for row in rows) or "none")


def shown(key, families):
    """A key, and each column with the values of its versions."""
    columns = [
        f"{family}:{qualifier.decode()}={','.join(text(cell.value) for cell in cells)}"
        for family, columns in sorted(families.items())
        for qualifier, cells in sorted(columns.items())
    ]
    return " ".join([key.decode(), *columns])


def text(value):
    """Values of 8 bytes are integers here."""
    return str(int.from_bytes(value, "big", signed=True)) if len(value) == 8 else value.decode()


def tell_refusal(what, call):
    try:
        call()
    except GoogleAPICallError as error:
        print(f"{what}: {error.grpc_status_code.name}: {error.message}")
    else:
        print(f"{what}: done")


def refused(status):
    return f"{Code.Name(status.code)}: {status.message}"


def family_text(name, family):
    rule, value_type = family.gc_rule, family.value_type
    words = [name]
    if rule.max_num_versions:
        words.append(f"versions={rule.max_num_versions}")
    if rule.max_age:
        words.append(f"seconds={int(rule.max_age.total_seconds())}")
    for kind in ["int64_type", "aggregate_type"]:
        if kind in value_type:
            words.append(kind.removesuffix("_type"))
    return " ".join(words)


def administrate(client, instance):
    admin = client.table_admin_client
    table = instance.table("session")

    def tell_tables(what):
        tell(what, [table.table_id for table in instance.list_tables()])

    def tell_families(what):
        families = admin.get_table(name=table.name).column_families
        tell(what, [family_text(name, family) for name, family in sorted(families.items())])

    def modify(name, change):
        admin.modify_column_families(name=table.name, modifications=[{"id": name, **change}])

    def create():
        table.create(
            initial_split_keys=[b"m"], column_families={"f": column_family.MaxVersionsGCRule(2), "g": None}
        )

    def retype(name):
        modify(name, {"update": {"value_type": INT64}, "update_mask": {"paths": ["value_type"]}})

    tell_tables("tables before")
    create()
    modify("sum", {"create": {"value_type": SUM}})
    tell_tables("tables")
    tell_families("families")
    tell_refusal("create again", create)
    table.column_family("h", column_family.MaxAgeGCRule(datetime.timedelta(days=1))).create()
    tell_families("family added")
    table.column_family("h", column_family.MaxVersionsGCRule(3)).update()
    tell_families("rule changed")
    retype("h")
    tell_families("type changed")
    tell_refusal("aggregate changed", lambda: retype("sum"))
    table.column_family("h").delete()
    tell_families("family dropped")
    tell_refusal("absent family dropped", table.column_family("h").delete)
    tell_refusal("absent table", lambda: admin.get_table(name=instance.table("absent").name))
    return table


def write(table):
    row = table.direct_row("a")
    row.set_cell("f", "q", "1", timestamp=at(1))
    row.set_cell("f", "q", "2", timestamp=at(2))
    row.set_cell("g", "r", "x", timestamp=at(1))
    row.commit()
    tell_rows("row", [table.read_row("a")])
    tell("absent row", filter(None, [table.read_row("absent")]))
    row.set_cell("absent", "q", "v")
    print("write refused:", refused(row.commit()))
    rows = []
    for name, family in [("b", "f"), ("bad", "absent"), ("c", "f"), ("n", "f"), ("o", "f")]:
        row = table.direct_row(name)
        row.set_cell(family, "q", name * 3, timestamp=at(1))
        rows.append(row)
    statuses = enumerate(table.mutate_rows(rows))
    tell("bulk write refused", [f"{index}: {refused(status)}" for index, status in statuses if status.code])
    with table.mutations_batcher() as batcher:
        for number in range(1000):
            row = table.direct_row(f"z{number:04}")
            row.set_cell("g", "number", number, timestamp=at(1))
            batcher.mutate(row)
    print("all:", sum(1 for _ in table.read_rows()))


def scan(table):
    tell_rows("range", table.read_rows(start_key=b"b", end_key=b"n", end_inclusive=True))
    open_range = RowSet()
    open_range.add_row_range_from_keys(start_key=b"b", end_key=b"n", start_inclusive=False)
    tell_rows("open range", table.read_rows(row_set=open_range))
    ranges = RowSet()
    ranges.add_row_range_from_keys(start_key=b"a", end_key=b"b")
    ranges.add_row_range_from_keys(start_key=b"o", end_key=b"z")
    tell_rows("ranges", table.read_rows(row_set=ranges))
    prefix = RowSet()
    prefix.add_row_range_with_prefix("z000")
    tell_rows("prefix and limit", table.read_rows(row_set=prefix, limit=2))
    keys = RowSet()
    for key in ["o", "a", "absent"]:
        keys.add_row_key(key)
    tell_rows("keys", table.read_rows(row_set=keys))
    # The last sample is the end of the table, which Go's client leaves out.
    tell("samples", [sample.row_key.decode() for sample in table.sample_row_keys() if sample.row_key])


def scan_backwards(client, table):
    features = base64.urlsafe_b64encode(FeatureFlags.serialize(FeatureFlags(reverse_scans=True))).decode()

    def keys(row_range, limit=0):
        responses = client.table_data_client.read_rows(
            {"table_name": table.name, "reversed": True, "rows_limit": limit, "rows": {"row_ranges": [row_range]}},
            metadata=[("bigtable-features", features)],
        )
        chunks = [chunk for response in responses for chunk in response.chunks]
        return [chunk.row_key.decode() for chunk in chunks if chunk.row_key]

    tell("backwards", keys({"start_key_closed": b"b", "end_key_closed": b"n"}))
    tell("backwards with a limit", keys({"end_key_open": b"z"}, 3))


def filter_rows(table):
    def tell_filtered(what, row_filter):
        tell_rows(what, table.read_rows(end_key=b"z", filter_=row_filter))

    newest = row_filters.CellsColumnLimitFilter(1)
    key = row_filters.RowKeyRegexFilter("a|b")
    tell_filtered("chain", row_filters.RowFilterChain([key, row_filters.FamilyNameRegexFilter("f"), newest]))
    values = row_filters.ValueRangeFilter(start_value=b"bb", end_value=b"c")
    tell_filtered("interleave", row_filters.RowFilterUnion([values, row_filters.ExactValueFilter(b"ccc")]))
    condition = row_filters.ConditionalRowFilter(
        row_filters.ColumnQualifierRegexFilter("r"),
        true_filter=row_filters.StripValueTransformerFilter(True),
        false_filter=row_filters.ColumnRangeFilter("f", b"q", b"q"),
    )
    tell_filtered("condition", condition)
    tell_filtered("times", row_filters.TimestampRangeFilter(row_filters.TimestampRange(start=at(2))))
    labelled = table.read_row("a", filter_=row_filters.ApplyLabelFilter("l"))
    tell("labels", [label for cell in labelled.cells["f"][b"q"] for label in cell.labels])


def change(table):
    for key in ["a", "b"]:
        row = table.conditional_row(key, row_filters.ExactValueFilter(b"2"))
        row.set_cell("g", "matched", "yes", timestamp=at(1), state=True)
        row.set_cell("g", "matched", "no", timestamp=at(1), state=False)
        print(f"condition on {key}:", str(row.commit()).lower())
    row = table.append_row("a")
    row.increment_cell_value("g", "count", 41)
    row.append_cell_value("g", "r", b"yz")
    tell("modified", [modified(row.commit())])
    row.increment_cell_value("g", "count", 1)
    tell("modified", [modified(row.commit())])
    newest = row_filters.CellsColumnLimitFilter(1)
    tell_rows("changed", table.read_rows(end_key=b"c", filter_=newest))
    row = table.direct_row("b")
    row.delete()
    row.commit()
    row = table.direct_row("a")
    row.delete_cell("g", "count")
    row.delete_cells("f", row.ALL_COLUMNS)
    row.commit()
    tell_rows("left", table.read_rows(end_key=b"d"))


def modified(families):
    columns = [
        f"{family}:{qualifier.decode()}={text(cells[0][0])}"
        for family, columns in sorted(families.items())
        for qualifier, cells in sorted(columns.items())
    ]
    return " ".join(columns)


def aggregate(table):
    with BigtableDataClient(project="p") as client, client.get_table("i", "session") as sums:
        sums.mutate_row("sums", AddToCell("sum", "n", 50, timestamp_micros=1000))
        sums.mutate_row("sums", AddToCell("sum", "n", -8, timestamp_micros=1000))
    tell_rows("sum", [table.read_row("sums")])
    row = table.direct_row("sums")
    row.set_cell("sum", "n", "v", timestamp=at(1))
    print("sum set:", refused(row.commit()))


def drop(instance, table):
    table.drop_by_prefix("z")
    tell_rows("without z", table.read_rows())
    table.truncate()
    tell_rows("truncated", table.read_rows())
    table.delete()
    tell("tables left", [table.table_id for table in instance.list_tables()])


def main():
    client = bigtable.Client(project="p", admin=True)
    instance = client.instance("i")
    table = administrate(client, instance)
    write(table)
    scan(table)
    scan_backwards(client, table)
    filter_rows(table)
    change(table)
    aggregate(table)
    drop(instance, table)


main()
