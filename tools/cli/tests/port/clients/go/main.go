// What Google's Go client does to a Bigtable whose address is in BIGTABLE_EMULATOR_HOST, told line by line.
package main

import (
	"context"
	"os"
)

func main() {
	sessions := map[string]func(context.Context){"session": session, "rows": rows, "scan": scanRows, "write": writeRows, "sql": queries}
	sessions[os.Args[1]](context.Background())
}

// must returns the answer of a call that does not fail.
func must[T any](answer T, err error) T {
	check(err)
	return answer
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
