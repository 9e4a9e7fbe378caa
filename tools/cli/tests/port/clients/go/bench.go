package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"strconv"
	"syscall"
	"time"

	"cloud.google.com/go/bigtable"
)

const rowsARequest = 5000

// scanRows and writeRows run for the benchmark of clients: hot_paths/clients.rs there says what they print.
func scanRows(ctx context.Context) {
	table := benchTable(ctx)
	measure(func(int) (rows, bytes int) {
		check(table.ReadRows(ctx, bigtable.InfiniteRange(""), func(row bigtable.Row) bool {
			rows++
			bytes += len(row.Key())
			for _, cells := range row {
				for _, cell := range cells {
					bytes += len(cell.Value)
				}
			}
			return true
		}))
		return rows, bytes
	})
}

func writeRows(ctx context.Context) {
	table := benchTable(ctx)
	measure(func(count int) (rows, bytes int) {
		now := bigtable.Now()
		for rows < count {
			var keys []string
			var mutations []*bigtable.Mutation
			for ; len(keys) < rowsARequest && rows < count; rows++ {
				station := fmt.Sprintf("S-%04d", rows%10_000)
				key := fmt.Sprintf("%s#%012d", station, rows)
				celsius := float64(rows%600)/10 - 20
				mutation := bigtable.NewMutation()
				mutation.Set("cf", "celsius", now, binary.BigEndian.AppendUint64(nil, math.Float64bits(celsius)))
				mutation.Set("cf", "humidity", now, binary.BigEndian.AppendUint64(nil, uint64(rows%101)))
				mutation.Set("cf", "station", now, []byte(station))
				keys, mutations = append(keys, key), append(mutations, mutation)
				bytes += len(key) + 8 + 8 + len(station)
			}
			failures := must(table.ApplyBulk(ctx, keys, mutations))
			for _, failure := range failures {
				check(failure)
			}
		}
		return rows, bytes
	})
}

func benchTable(ctx context.Context) *bigtable.Table {
	return must(bigtable.NewClient(ctx, "keyderive", "local")).Open("readings")
}

func measure(run func(count int) (rows, bytes int)) {
	count, runs := must(strconv.Atoi(os.Args[2])), must(strconv.Atoi(os.Args[3]))
	for number := range runs + 1 {
		begun := processTime()
		rows, bytes := run(count)
		if taken := processTime() - begun; number > 0 {
			fmt.Println(taken.Nanoseconds(), rows, bytes)
		}
	}
}

// processTime returns the processor time of this process so far.
func processTime() time.Duration {
	var usage syscall.Rusage
	check(syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
