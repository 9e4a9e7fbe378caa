"""Runs statements in DuckDB, and prints the rows of each as a line of JSON; null for one that fails."""

import json
import sys

import duckdb
from answers import plain

lines = [json.loads(line) for line in open(sys.argv[1])]
db = duckdb.connect()
for name in "x", "y":
    db.execute(
        f"""CREATE TABLE {name} (k VARCHAR, n BIGINT, t TIMESTAMP, b BOOLEAN, v BIGINT, s VARCHAR, d DOUBLE, u BOOLEAN,
            PRIMARY KEY (k, n, t, b))"""
    )
db.execute(lines[0])
for steps in lines[1:]:
    try:
        for step in steps:
            db.execute(step)
        print(json.dumps([[plain(value) for value in row] for row in db.fetchall()]))
    except duckdb.Error as error:
        print(error, steps, file=sys.stderr)
        print("null")
