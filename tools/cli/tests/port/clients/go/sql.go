package main

import (
	"context"
	"encoding/base64"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"cloud.google.com/go/bigtable"
	"google.golang.org/genproto/googleapis/rpc/code"
	"google.golang.org/grpc/status"
)

// queries tells the columns and rows of each query of a file, in the words of answers.txt. Queries are separated by empty lines; a
// line `-- @name TYPE value` binds a parameter.
func queries(ctx context.Context) {
	client := must(bigtable.NewClient(ctx, "keyderive", "local"))
	defer client.Close()
	for _, query := range strings.Split(string(must(os.ReadFile(os.Args[2]))), "\n\n") {
		if err := answer(ctx, client, query); err != nil {
			status := status.Convert(err)
			fmt.Printf("%s: %s\n", code.Code(status.Code()), status.Message())
		}
		fmt.Println()
	}
}

func answer(ctx context.Context, client *bigtable.Client, query string) error {
	types, values := map[string]bigtable.SQLType{}, map[string]any{}
	for _, line := range strings.Split(query, "\n") {
		parameter, isParameter := strings.CutPrefix(line, "-- @")
		if !isParameter {
			continue
		}
		parts := strings.SplitN(parameter, " ", 3)
		switch name, value := parts[0], parts[2]; parts[1] {
		case "BYTES":
			types[name], values[name] = bigtable.BytesSQLType{}, []byte(value)
		case "STRING":
			types[name], values[name] = bigtable.StringSQLType{}, value
		case "INT64":
			types[name], values[name] = bigtable.Int64SQLType{}, must(strconv.ParseInt(value, 10, 64))
		}
	}
	statement, err := client.PrepareStatement(ctx, query, types)
	if err != nil {
		return err
	}
	isFirst := true
	return must(statement.Bind(values)).Execute(ctx, func(row bigtable.ResultRow) bool {
		names, shown := []string{}, []string{}
		for i, column := range row.Metadata.Columns {
			name := column.Name
			if name == "" {
				name = "-"
			}
			names = append(names, name)
			var value any
			check(row.GetByIndex(i, &value))
			shown = append(shown, showSQL(value, column.SQLType))
		}
		if isFirst {
			fmt.Println("columns:", strings.Join(names, ", "))
		}
		isFirst = false
		fmt.Println(strings.Join(shown, " | "))
		return true
	})
}

// showSQL shows a value of a type. BYTES are keys of maps in base64.
func showSQL(value any, of bigtable.SQLType) string {
	found := reflect.ValueOf(value)
	for found.IsValid() && found.Kind() == reflect.Pointer && !found.IsNil() {
		found = found.Elem()
	}
	if !found.IsValid() || (found.Kind() == reflect.Pointer && found.IsNil()) || (found.Kind() == reflect.Slice && found.IsNil()) {
		return "NULL"
	}
	value = found.Interface()
	switch of := of.(type) {
	case bigtable.BytesSQLType:
		text := fmt.Sprintf("%+q", found.Bytes())
		return text[1 : len(text)-1]
	case bigtable.Float64SQLType, bigtable.Float32SQLType:
		return strconv.FormatFloat(found.Float(), 'f', 3, 64)
	case bigtable.TimestampSQLType:
		return fmt.Sprintf("@%d", value.(time.Time).UnixMicro())
	case bigtable.DateSQLType:
		return strings.ReplaceAll(fmt.Sprint(value), "-0", "-")
	case bigtable.ArraySQLType:
		shown := []string{}
		for i := range found.Len() {
			shown = append(shown, showSQL(found.Index(i).Interface(), of.ElemType))
		}
		return "[" + strings.Join(shown, ", ") + "]"
	case bigtable.StructSQLType:
		shown := []string{}
		for i, field := range of.Fields {
			var inner any
			check(value.(bigtable.Struct).GetByIndex(i, &inner))
			shown = append(shown, showSQL(inner, field.Type))
		}
		return "(" + strings.Join(shown, ", ") + ")"
	case bigtable.MapSQLType:
		shown := []string{}
		for entries := found.MapRange(); entries.Next(); {
			key := string(must(base64.StdEncoding.DecodeString(entries.Key().String())))
			shown = append(shown, key+": "+showSQL(entries.Value().Interface(), of.ValueType))
		}
		slices.Sort(shown)
		return "{" + strings.Join(shown, ", ") + "}"
	default:
		return fmt.Sprint(value)
	}
}
