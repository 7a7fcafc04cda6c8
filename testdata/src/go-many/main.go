// Command go-many parks a hundred thousand goroutines, or as many as its argument says, in
// several shapes of stacks, and waits to be killed by SIGQUIT.
package main

import (
	"fmt"
	"os"
	"strconv"
	"sync"
	"time"
)

type office struct {
	mail  chan int
	other chan string
	mu    sync.Mutex
	wg    sync.WaitGroup
	ready sync.WaitGroup
}

//go:noinline
func (o *office) read(n int) int { o.ready.Done(); return <-o.mail + n }

//go:noinline
func (o *office) deep(n int) int {
	if n == 0 {
		return o.read(n)
	}
	return o.deep(n-1) + 1
}

//go:noinline
func (o *office) choose(own chan int) string {
	o.ready.Done()
	select {
	case s := <-o.other:
		return s
	case n := <-own:
		return strconv.Itoa(n)
	}
}

//go:noinline
func (o *office) lock() { o.ready.Done(); o.mu.Lock(); defer o.mu.Unlock() }

//go:noinline
func (o *office) wait() { o.ready.Done(); o.wg.Wait() }

//go:noinline
func (o *office) alone(own chan int) { o.ready.Done(); own <- 1 }

//go:noinline
func (o *office) sleep() { o.ready.Done(); time.Sleep(24 * time.Hour) }

func main() {
	many := 100000
	if len(os.Args) > 1 {
		many, _ = strconv.Atoi(os.Args[1])
	}
	o := &office{mail: make(chan int), other: make(chan string)}
	o.mu.Lock()
	o.wg.Add(1)
	o.ready.Add(many)
	for i := 0; i < many; i++ {
		switch i % 8 {
		case 0, 1:
			go o.read(i)
		case 2:
			go o.deep(i / 8 % 8)
		case 3:
			go o.choose(make(chan int))
		case 4:
			go o.lock()
		case 5:
			go o.wait()
		case 6:
			go o.alone(make(chan int))
		case 7:
			go o.sleep()
		}
	}
	o.ready.Wait()
	time.Sleep(200 * time.Millisecond)
	fmt.Println("ready")
	select {}
}
