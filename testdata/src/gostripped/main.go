// A Go program built with -ldflags="-s -w", which leaves neither symbols nor debug
// information, run with GOTRACEBACK=crash. Its argument says how it dies.
//
// "panic": a goroutine panics with an error, in a closure that a generic function calls.
// Expected: frames of the runtime, then
//
//	main.(*ledger).check (inlined into the next), main.(*book).add.func1, main.each[...],
//	main.(*book).add, main.work, runtime.goexit
//
// "throw": it unlocks a mutex that is not locked, which the runtime reports on the
// thread's own stack. Expected: runtime.systemstack, runtime.fatalthrow, runtime.fatal,
// functions of package sync, main.(*book).close, main.main, runtime.main, runtime.goexit
package main

import (
	"os"
	"sync"
)

type overdrawn struct {
	name   string
	amount int
}

func (o *overdrawn) Error() string { return o.name + " is overdrawn" }

type ledger struct {
	mu    sync.Mutex
	total int
}

func (l *ledger) check(name string, n int) {
	if l.total += n; l.total < 0 {
		panic(&overdrawn{name, l.total})
	}
}

type book struct {
	ledger
	names []string
}

//go:noinline
func each[T any](list []T, do func(int, T)) {
	for i, x := range list {
		do(i, x)
	}
}

//go:noinline
func (b *book) add(amounts ...int) {
	each(b.names, func(i int, name string) { b.check(name, amounts[i]) })
}

//go:noinline
func (b *book) close() { b.mu.Unlock() }

//go:noinline
func work(b *book, done chan<- bool) {
	b.add(10, -25)
	done <- true
}

func main() {
	b := &book{names: []string{"rent", "food"}}
	if len(os.Args) > 1 && os.Args[1] == "throw" {
		b.close()
	}
	done := make(chan bool)
	go work(b, done)
	<-done
}
