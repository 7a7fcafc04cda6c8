// Command go-busy runs goroutines that are busy and never wait for each other for ever; "go-busy list" prints the
// modes. It runs until it is killed.
package main

import (
	"fmt"
	"os"
	"runtime"
	"sync"
	"time"
)

var (
	mu, other  sync.Mutex
	rw         sync.RWMutex
	ping, pong = make(chan int), make(chan int)
	sink       int
	kept       [][]byte
	cond       = sync.NewCond(&mu)
	turn       int
)

func work(n int) {
	for i := range n {
		sink += i
	}
}

var names = []string{"mutex", "ordered", "trylock", "rwmutex", "pingpong", "select", "waitgroup", "cond", "once", "gc", "sleep", "threads"}

var modes = map[string]func(i int){
	"mutex":   func(int) { mu.Lock(); work(500); mu.Unlock() },
	"ordered": func(int) { mu.Lock(); other.Lock(); work(300); other.Unlock(); mu.Unlock() },
	"trylock": func(i int) {
		first, second := &mu, &other
		if i%2 == 0 {
			first, second = second, first
		}
		first.Lock()
		if second.TryLock() {
			second.Unlock()
		}
		first.Unlock()
	},
	"rwmutex": func(i int) {
		if i == 0 {
			rw.Lock()
			work(300)
			rw.Unlock()
			return
		}
		rw.RLock()
		work(300)
		rw.RUnlock()
	},
	"pingpong": func(i int) {
		if i%2 == 0 {
			ping <- i
			<-pong
		} else {
			<-ping
			pong <- i
		}
	},
	"select": func(i int) {
		select {
		case ping <- i:
		case <-ping:
		case <-time.After(time.Millisecond):
		}
	},
	"waitgroup": func(int) {
		var w sync.WaitGroup
		for range 4 {
			w.Add(1)
			go func() { defer w.Done(); mu.Lock(); work(200); mu.Unlock() }()
		}
		w.Wait()
	},
	"cond": func(i int) {
		mu.Lock()
		for turn != i {
			cond.Wait()
		}
		turn = (turn + 1) % 4
		cond.Broadcast()
		mu.Unlock()
	},
	"once": func(int) {
		var o sync.Once
		done := make(chan bool)
		go func() { o.Do(func() { mu.Lock(); work(300); mu.Unlock() }); close(done) }()
		o.Do(func() { mu.Lock(); work(300); mu.Unlock() })
		<-done
	},
	"gc": func(int) {
		b := make([]byte, 1<<16)
		mu.Lock()
		kept = append(kept[len(kept)/64:], b)
		mu.Unlock()
		work(100)
	},
	"sleep":   func(i int) { mu.Lock(); time.Sleep(time.Duration(i) * time.Millisecond); mu.Unlock() },
	"threads": func(int) { runtime.LockOSThread(); mu.Lock(); runtime.Gosched(); mu.Unlock(); runtime.UnlockOSThread() },
}

func main() {
	if len(os.Args) < 2 || os.Args[1] == "list" {
		for _, n := range names {
			fmt.Println(n)
		}
		return
	}
	for i := range 4 {
		go func() {
			for {
				modes[os.Args[1]](i)
			}
		}()
	}
	fmt.Println(0)
	time.Sleep(10 * time.Minute)
}
