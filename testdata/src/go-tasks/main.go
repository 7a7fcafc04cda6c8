// Command go-tasks parks goroutines in every way that a program can reach, and waits to be
// killed by SIGQUIT. An argument says how many more goroutines wait for one channel, a second one how many reasons to
// wait the runtime has.
package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"runtime"
	"runtime/pprof"
	"runtime/trace"
	"strconv"
	"sync"
	"time"
)

type depot struct {
	in   chan parcel
	mu   sync.Mutex
	rw   sync.RWMutex
	wg   sync.WaitGroup
	cond *sync.Cond
	once sync.Once
}

type parcel struct{ id int }

//go:noinline
func (d *depot) fetch(n int) parcel { return <-d.in }

//go:noinline
func (d *depot) store(n int) { d.in <- parcel{n} }

//go:noinline
func (d *depot) lock() { d.mu.Lock(); defer d.mu.Unlock() }

//go:noinline
func (d *depot) read() { d.rw.RLock(); defer d.rw.RUnlock() }

//go:noinline
func (d *depot) write() { d.rw.Lock(); defer d.rw.Unlock() }

//go:noinline
func (d *depot) wait() { d.cond.L.Lock(); d.cond.Wait() }

//go:noinline
func spin(stop *bool) {
	n := 0
	for !*stop {
		n++
	}
	fmt.Println(n)
}

func main() {
	many := 10
	if len(os.Args) > 1 {
		many, _ = strconv.Atoi(os.Args[1])
	}
	d := &depot{in: make(chan parcel)}
	d.cond = sync.NewCond(&sync.Mutex{})
	for i := 0; i < many; i++ {
		go d.fetch(i)
	}
	full := make(chan string, 2)
	full <- "a"
	full <- "b"
	go func() { full <- "c" }()
	var never chan int
	go func() { <-never }()
	go func() { never <- 1 }()
	go func() { select {} }()
	other := &depot{in: make(chan parcel)}
	go func() {
		select {
		case p := <-other.in:
			fmt.Println(p)
		case full <- "d":
		case <-never:
		}
	}()
	go func() {
		select {
		case p := <-other.in:
			fmt.Println(p)
		case <-time.After(time.Hour):
		}
	}()
	go other.store(1)
	go func() { time.Sleep(time.Hour) }()
	go func() { <-time.NewTimer(time.Hour).C }()
	d.mu.Lock()
	go d.lock()
	go d.lock()
	d.rw.Lock()
	go d.read()
	go d.write()
	other.rw.RLock()
	go other.write()
	time.Sleep(10 * time.Millisecond)
	go other.read()
	d.wg.Add(1)
	go d.wg.Wait()
	go d.wait()
	go d.once.Do(func() { <-d.in })
	time.Sleep(10 * time.Millisecond)
	go d.once.Do(func() {})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err == nil {
		go l.Accept()
		c, err := net.Dial("tcp", l.Addr().String())
		if err == nil {
			go c.Read(make([]byte, 1))
		}
	}
	r, w, _ := os.Pipe()
	go r.Read(make([]byte, 1))
	fds := make([]int, 2)
	if pipe(fds) == nil {
		go rawRead(fds[0])
	}
	go func() {
		runtime.LockOSThread()
		<-never
	}()
	go pprof.Do(context.Background(), pprof.Labels("request", "42", "user", "anna"), func(context.Context) { <-d.in })
	more(d)
	if len(os.Args) > 2 {
		reasons, _ := strconv.Atoi(os.Args[2])
		parkAll(reasons)
	}
	if _, to, err := os.Pipe(); err == nil {
		trace.Start(to) // its reader blocks when the pipe is full, or waits for more
	}
	stop := false
	go spin(&stop)
	go spin(&stop)
	runtime.SetFinalizer(&[]int{1}[0], func(*int) {})
	runtime.GC()
	time.Sleep(50 * time.Millisecond)
	fmt.Println("ready")
	<-d.in
	runtime.KeepAlive(w) // else its end is closed when it is collected, and nobody waits for input
}
