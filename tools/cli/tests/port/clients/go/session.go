package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"cloud.google.com/go/bigtable"
	"google.golang.org/genproto/googleapis/rpc/code"
	"google.golang.org/grpc/status"
)

// session tells every step in the words of session.txt.
func session(ctx context.Context) {
	admin := must(bigtable.NewAdminClient(ctx, "p", "i"))
	defer admin.Close()
	client := must(bigtable.NewClient(ctx, "p", "i"))
	defer client.Close()
	table := client.Open("session")
	administrate(ctx, admin)
	write(ctx, table)
	scan(ctx, table)
	scanBackwards(ctx, table)
	filterRows(ctx, table)
	change(ctx, table)
	aggregate(ctx, table)
	drop(ctx, admin, table)
}

// at is a time in milliseconds.
func at(milliseconds int64) bigtable.Timestamp {
	return bigtable.Timestamp(milliseconds * 1000)
}

func tell(what string, answers []string) {
	fmt.Printf("%s: %s\n", what, orNone(strings.Join(answers, ", ")))
}

func orNone(text string) string {
	if text == "" {
		return "none"
	}
	return text
}

func tellRefusal(what string, err error) {
	fmt.Printf("%s: %s\n", what, refused(err))
}

func refused(err error) string {
	if err == nil {
		return "done"
	}
	status := status.Convert(err)
	return fmt.Sprintf("%s: %s", code.Code(status.Code()), status.Message())
}

func tellRows(ctx context.Context, table *bigtable.Table, what string, set bigtable.RowSet, options ...bigtable.ReadOption) {
	var rows []string
	check(table.ReadRows(ctx, set, func(row bigtable.Row) bool {
		rows = append(rows, row.Key()+" "+shown(row))
		return true
	}, options...))
	fmt.Printf("%s: %s\n", what, orNone(strings.Join(rows, " | ")))
}

// shown has each column with the values of its versions.
func shown(row bigtable.Row) string {
	var columns []string
	for _, family := range slices.Sorted(maps.Keys(row)) {
		last := ""
		for _, cell := range row[family] {
			if cell.Column == last {
				columns[len(columns)-1] += "," + text(cell.Value)
			} else {
				columns = append(columns, cell.Column+"="+text(cell.Value))
			}
			last = cell.Column
		}
	}
	return strings.Join(columns, " ")
}

// text shows values of 8 bytes as integers.
func text(value []byte) string {
	if len(value) == 8 {
		return strconv.FormatInt(int64(binary.BigEndian.Uint64(value)), 10)
	}
	return string(value)
}

func tellTables(ctx context.Context, admin *bigtable.AdminClient, what string) {
	tell(what, must(admin.Tables(ctx)))
}

func tellFamilies(ctx context.Context, admin *bigtable.AdminClient, what string) {
	var families []string
	for _, family := range must(admin.TableInfo(ctx, "session")).FamilyInfos {
		families = append(families, familyText(family))
	}
	slices.Sort(families)
	tell(what, families)
}

func familyText(family bigtable.FamilyInfo) string {
	words := []string{family.Name}
	switch rule := family.FullGCPolicy.(type) {
	case bigtable.MaxVersionsGCPolicy:
		words = append(words, fmt.Sprintf("versions=%d", rule))
	case bigtable.MaxAgeGCPolicy:
		words = append(words, fmt.Sprintf("seconds=%.0f", time.Duration(rule).Seconds()))
	}
	switch family.ValueType.(type) {
	case bigtable.Int64Type:
		words = append(words, "int64")
	case bigtable.AggregateType:
		words = append(words, "aggregate")
	}
	return strings.Join(words, " ")
}

func administrate(ctx context.Context, admin *bigtable.AdminClient) {
	int64s := bigtable.Int64Type{Encoding: bigtable.BigEndianBytesEncoding{}}
	create := func() error {
		return admin.CreateTableFromConf(ctx, &bigtable.TableConf{
			TableID:   "session",
			SplitKeys: []string{"m"},
			ColumnFamilies: map[string]bigtable.Family{
				"f":   {GCPolicy: bigtable.MaxVersionsPolicy(2)},
				"g":   {},
				"sum": {ValueType: bigtable.AggregateType{Input: int64s, Aggregator: bigtable.SumAggregator{}}},
			},
		})
	}
	retype := func(family string) error {
		return admin.UpdateFamily(ctx, "session", family, bigtable.Family{ValueType: int64s})
	}
	tellTables(ctx, admin, "tables before")
	check(create())
	tellTables(ctx, admin, "tables")
	tellFamilies(ctx, admin, "families")
	tellRefusal("create again", create())
	day := bigtable.Family{GCPolicy: bigtable.MaxAgePolicy(24 * time.Hour)}
	check(admin.CreateColumnFamilyWithConfig(ctx, "session", "h", day))
	tellFamilies(ctx, admin, "family added")
	check(admin.SetGCPolicy(ctx, "session", "h", bigtable.MaxVersionsPolicy(3)))
	tellFamilies(ctx, admin, "rule changed")
	check(retype("h"))
	tellFamilies(ctx, admin, "type changed")
	tellRefusal("aggregate changed", retype("sum"))
	check(admin.DeleteColumnFamily(ctx, "session", "h"))
	tellFamilies(ctx, admin, "family dropped")
	tellRefusal("absent family dropped", admin.DeleteColumnFamily(ctx, "session", "h"))
	_, err := admin.TableInfo(ctx, "absent")
	tellRefusal("absent table", err)
}

func set(family, column string, milliseconds int64, value string) *bigtable.Mutation {
	mutation := bigtable.NewMutation()
	mutation.Set(family, column, at(milliseconds), []byte(value))
	return mutation
}

func write(ctx context.Context, table *bigtable.Table) {
	row := set("f", "q", 1, "1")
	row.Set("f", "q", at(2), []byte("2"))
	row.Set("g", "r", at(1), []byte("x"))
	check(table.Apply(ctx, "a", row))
	read := must(table.ReadRow(ctx, "a"))
	fmt.Printf("row: %s %s\n", read.Key(), shown(read))
	fmt.Printf("absent row: %s\n", orNone(shown(must(table.ReadRow(ctx, "absent")))))
	tellRefusal("write refused", table.Apply(ctx, "a", set("absent", "q", 1, "v")))

	keys := []string{"b", "bad", "c", "n", "o"}
	var mutations []*bigtable.Mutation
	for _, key := range keys {
		family := "f"
		if key == "bad" {
			family = "absent"
		}
		mutations = append(mutations, set(family, "q", 1, strings.Repeat(key, 3)))
	}
	var failures []string
	for index, err := range must(table.ApplyBulk(ctx, keys, mutations)) {
		if err != nil {
			failures = append(failures, fmt.Sprintf("%d: %s", index, refused(err)))
		}
	}
	tell("bulk write refused", failures)

	keys, mutations = nil, nil
	for number := range uint64(1000) {
		value := binary.BigEndian.AppendUint64(nil, number)
		keys = append(keys, fmt.Sprintf("z%04d", number))
		mutations = append(mutations, set("g", "number", 1, string(value)))
	}
	for _, err := range must(table.ApplyBulk(ctx, keys, mutations)) {
		check(err)
	}
	all := 0
	check(table.ReadRows(ctx, bigtable.InfiniteRange(""), func(bigtable.Row) bool { all++; return true }))
	fmt.Printf("all: %d\n", all)
}

func scan(ctx context.Context, table *bigtable.Table) {
	tellRows(ctx, table, "range", bigtable.NewClosedRange("b", "n"))
	tellRows(ctx, table, "open range", bigtable.NewOpenRange("b", "n"))
	ranges := bigtable.RowRangeList{bigtable.NewRange("a", "b"), bigtable.NewRange("o", "z")}
	tellRows(ctx, table, "ranges", ranges)
	tellRows(ctx, table, "prefix and limit", bigtable.PrefixRange("z000"), bigtable.LimitRows(2))
	tellRows(ctx, table, "keys", bigtable.RowList{"o", "a", "absent"})
	tell("samples", must(table.SampleRowKeys(ctx)))
}

func scanBackwards(ctx context.Context, table *bigtable.Table) {
	tellKeys := func(what string, set bigtable.RowSet, options ...bigtable.ReadOption) {
		var keys []string
		collect := func(row bigtable.Row) bool { keys = append(keys, row.Key()); return true }
		check(table.ReadRows(ctx, set, collect, append(options, bigtable.ReverseScan())...))
		tell(what, keys)
	}
	tellKeys("backwards", bigtable.NewClosedRange("b", "n"))
	tellKeys("backwards with a limit", bigtable.NewRange("", "z"), bigtable.LimitRows(3))
}

func filterRows(ctx context.Context, table *bigtable.Table) {
	tellFiltered := func(what string, filter bigtable.Filter) {
		tellRows(ctx, table, what, bigtable.NewRange("", "z"), bigtable.RowFilter(filter))
	}
	newest, key := bigtable.LatestNFilter(1), bigtable.RowKeyFilter("a|b")
	tellFiltered("chain", bigtable.ChainFilters(key, bigtable.FamilyFilter("f"), newest))
	values := bigtable.ValueRangeFilter([]byte("bb"), []byte("c"))
	tellFiltered("interleave", bigtable.InterleaveFilters(values, bigtable.ValueFilter("ccc")))
	tellFiltered("condition", bigtable.ConditionFilter(
		bigtable.ColumnFilter("r"), bigtable.StripValueFilter(), bigtable.ColumnRangeFilter("f", "q", "r")))
	tellFiltered("times", bigtable.TimestampRangeFilterMicros(at(2), 0))
	var labels []string
	for _, cell := range must(table.ReadRow(ctx, "a", bigtable.RowFilter(bigtable.LabelFilter("l"))))["f"] {
		labels = append(labels, cell.Labels...)
	}
	tell("labels", labels)
}

func change(ctx context.Context, table *bigtable.Table) {
	for _, key := range []string{"a", "b"} {
		then, otherwise := set("g", "matched", 1, "yes"), set("g", "matched", 1, "no")
		mutation := bigtable.NewCondMutation(bigtable.ValueFilter("2"), then, otherwise)
		var holds bool
		check(table.Apply(ctx, key, mutation, bigtable.GetCondMutationResult(&holds)))
		fmt.Printf("condition on %s: %t\n", key, holds)
	}
	modify := bigtable.NewReadModifyWrite()
	modify.Increment("g", "count", 41)
	modify.AppendValue("g", "r", []byte("yz"))
	fmt.Printf("modified: %s\n", shown(must(table.ApplyReadModifyWrite(ctx, "a", modify))))
	modify = bigtable.NewReadModifyWrite()
	modify.Increment("g", "count", 1)
	fmt.Printf("modified: %s\n", shown(must(table.ApplyReadModifyWrite(ctx, "a", modify))))
	newest := bigtable.RowFilter(bigtable.LatestNFilter(1))
	tellRows(ctx, table, "changed", bigtable.NewRange("", "c"), newest)

	row := bigtable.NewMutation()
	row.DeleteRow()
	check(table.Apply(ctx, "b", row))
	cells := bigtable.NewMutation()
	cells.DeleteCellsInColumn("g", "count")
	cells.DeleteCellsInFamily("f")
	check(table.Apply(ctx, "a", cells))
	tellRows(ctx, table, "left", bigtable.NewRange("", "d"))
}

func aggregate(ctx context.Context, table *bigtable.Table) {
	for _, input := range []int64{50, -8} {
		add := bigtable.NewMutation()
		add.AddIntToCell("sum", "n", at(1), input)
		check(table.Apply(ctx, "sums", add))
	}
	tellRows(ctx, table, "sum", bigtable.SingleRow("sums"))
	tellRefusal("sum set", table.Apply(ctx, "sums", set("sum", "n", 1, "v")))
}

func drop(ctx context.Context, admin *bigtable.AdminClient, table *bigtable.Table) {
	check(admin.DropRowRange(ctx, "session", "z"))
	tellRows(ctx, table, "without z", bigtable.InfiniteRange(""))
	check(admin.DropAllRows(ctx, "session"))
	tellRows(ctx, table, "truncated", bigtable.InfiniteRange(""))
	check(admin.DeleteTable(ctx, "session"))
	tellTables(ctx, admin, "tables left")
}
