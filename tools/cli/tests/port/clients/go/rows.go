package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"strings"

	"cloud.google.com/go/bigtable"
)

const key = "0000000007"

// rows reads a row that keyderive wrote, tells it in the words of rows.txt, and changes it for keyderive to read.
func rows(ctx context.Context) {
	client := must(bigtable.NewClient(ctx, "keyderive", "local"))
	defer client.Close()
	table := client.Open("sensors")

	row := must(table.ReadRow(ctx, key))
	for _, family := range []string{"cf", "meters", "place"} {
		for _, cell := range row[family] {
			at := ""
			if cell.Column == "cf:level" || cell.Column == "cf:state" {
				at = fmt.Sprintf(" @%d", cell.Timestamp)
			}
			fmt.Printf("%s%s = %v\n", cell.Column, at, value(cell))
		}
	}

	increment := bigtable.NewReadModifyWrite()
	increment.Increment("cf", "readings", 42)
	increment.Increment("meters", "METER:0001", 5)
	answer := must(table.ApplyReadModifyWrite(ctx, key, increment))
	fmt.Printf("incremented: %v, %v\n", value(answer["cf"][0]), value(answer["meters"][0]))

	change := bigtable.NewMutation()
	change.Set("place", "city", bigtable.ServerTime, []byte("Bern"))
	change.Set("place", "floor", bigtable.ServerTime, binary.BigEndian.AppendUint64(nil, 3))
	change.Set("cf", "note", bigtable.ServerTime, []byte("seen"))
	check(table.Apply(ctx, key, change))
}

func value(cell bigtable.ReadItem) any {
	switch cell.Column {
	case "cf:temperature":
		return math.Float64frombits(binary.BigEndian.Uint64(cell.Value))
	case "cf:level":
		return math.Float32frombits(binary.BigEndian.Uint32(cell.Value))
	case "cf:on":
		return integer(cell) != 0
	case "cf:readings", "cf:offset", "place:floor":
		return integer(cell)
	}
	if strings.HasPrefix(cell.Column, "meters:") {
		return integer(cell)
	}
	return string(cell.Value)
}

func integer(cell bigtable.ReadItem) int64 {
	return int64(binary.BigEndian.Uint64(cell.Value))
}
