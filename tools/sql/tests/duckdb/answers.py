"""Runs the queries of a file in DuckDB, over the CSV files of departures and weather, and prints the rows of each as a line of JSON.

Times are microseconds since 1970; dates are days.
"""

import datetime
import decimal
import json
import sys

import duckdb

EPOCH = datetime.datetime(1970, 1, 1)


def plain(value):
    if isinstance(value, datetime.datetime):
        return (value.replace(tzinfo=None) - EPOCH) // datetime.timedelta(microseconds=1)
    if isinstance(value, datetime.date):
        return (value - EPOCH.date()).days
    if isinstance(value, decimal.Decimal):
        return float(value)
    return value


def main(queries, flights, weather):
    db = duckdb.connect()
    csv = "read_csv(?, header = true, all_varchar = true, nullstr = ['NA', ''])"
    db.execute(
        f"""CREATE TABLE flights AS SELECT carrier, flight::INT AS flight, origin, dest, tailnum,
            make_timestamp(year::INT, month::INT, day::INT, sched_dep_time::INT // 100, sched_dep_time::INT % 100, 0) AS sched,
            dep_delay::INT AS dep_delay, arr_delay::INT AS arr_delay, air_time::INT AS air_time, distance::INT AS distance
            FROM {csv}""",
        [flights],
    )
    db.execute(
        f"""CREATE TABLE weather AS SELECT origin, strptime(time_hour, '%Y-%m-%dT%H:%M:%SZ') AS sched, temp::DOUBLE AS temp,
            humid::DOUBLE AS humid, wind_speed::DOUBLE AS wind_speed, precip::DOUBLE AS precip, visib::DOUBLE AS visib
            FROM {csv}""",
        [weather],
    )
    text = "".join(line for line in open(queries) if not line.startswith("--"))
    for query in text.split(";\n"):
        if query.strip():
            rows = db.execute(query).fetchall()
            print(json.dumps([[plain(value) for value in row] for row in rows]))


if __name__ == "__main__":
    main(*sys.argv[1:])
