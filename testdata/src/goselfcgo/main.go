// A Go program that walks its own stack in a function that C called, which Go called.
// Expected: callback, the runtime's way from C, twice and once (C), the runtime's way
// to C, ask, main.
package main

/*
#cgo CFLAGS: -O1 -g

extern void callback(int);

static int __attribute__((noinline)) twice(int n)
{
	callback(n + 1);
	return n * 2;
}

static int __attribute__((noinline)) once(int n)
{
	return twice(n + 1) + 1;
}
*/
import "C"

import (
	"context"
	"fmt"
	"os"

	"github.com/corewalk/corewalk"
)

//export callback
func callback(n C.int) {
	target, err := corewalk.Self(context.Background())
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	defer target.Close()
	r, err := target.Analyze(context.Background(), corewalk.AnalyzeOptions{})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	for _, f := range r.Threads[0].Frames {
		fmt.Println(f.Function)
	}
	fmt.Println("end", r.Threads[0].End)
}

//go:noinline
func ask(n int) int {
	return int(C.once(C.int(n)))
}

func main() {
	fmt.Println(ask(3))
}
