// Command go-deadlock plants one deadlock, named by its argument, beside goroutines that are
// healthy, and waits to be killed.
package main

import (
	"fmt"
	"os"
	"sync"
	"time"
)

type account struct {
	owner   string
	balance int
	mu      sync.Mutex
}

// meet makes two goroutines go on together.
type meet struct{ a, b chan bool }

func newMeet() *meet { return &meet{make(chan bool, 1), make(chan bool, 1)} }

//go:noinline
func (m *meet) first() { m.a <- true; <-m.b }

//go:noinline
func (m *meet) second() { m.b <- true; <-m.a }

//go:noinline
func transfer(from, to *account, n int, at func()) {
	from.mu.Lock()
	at()
	to.mu.Lock()
	from.balance -= n
	to.balance += n
	to.mu.Unlock()
	from.mu.Unlock()
}

//go:noinline
func transferDeferred(from, to *account, n int, at func()) {
	from.mu.Lock()
	defer from.mu.Unlock()
	at()
	to.mu.Lock()
	defer to.mu.Unlock()
	from.balance -= n
	to.balance += n
}

var (
	north, south sync.Mutex
	shared       int
)

//go:noinline
func lockNorth(at func()) {
	north.Lock()
	at()
	south.Lock()
	shared++
	south.Unlock()
	north.Unlock()
}

//go:noinline
func lockSouth(at func()) {
	south.Lock()
	at()
	north.Lock()
	shared++
	north.Unlock()
	south.Unlock()
}

type cache struct {
	name string
	rw   sync.RWMutex
	data map[string]int
}

//go:noinline
func (c *cache) readTwice(at func()) int {
	c.rw.RLock()
	defer c.rw.RUnlock()
	at()
	return c.get("x")
}

//go:noinline
func (c *cache) get(key string) int {
	c.rw.RLock()
	defer c.rw.RUnlock()
	return c.data[key]
}

//go:noinline
func (c *cache) set(key string, v int) {
	c.rw.Lock()
	c.data[key] = v
	c.rw.Unlock()
}

//go:noinline
func (a *account) twice() int {
	a.mu.Lock()
	n := a.sum()
	a.mu.Unlock()
	return n
}

//go:noinline
func (a *account) sum() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.balance
}

// publish holds the lock while it sends; subscriber wants the lock before it receives.
//
//go:noinline
func publish(a *account, events chan int, at func()) {
	a.mu.Lock()
	at()
	events <- a.balance
	a.mu.Unlock()
}

//go:noinline
func subscribe(a *account, events chan int, at func()) {
	at()
	a.mu.Lock()
	a.balance += <-events
	a.mu.Unlock()
}

//go:noinline
func relay(in, out chan int) {
	v := <-in
	out <- v
}

// A vault is locked and unlocked by functions that do nothing else.
type vault struct {
	owner string
	mu    sync.Mutex
	gold  int
}

//go:noinline
func (v *vault) open() { v.mu.Lock() }

//go:noinline
func (v *vault) shut() { v.mu.Unlock() }

//go:noinline
func moveAll(from, to *vault, at func()) {
	from.open()
	at()
	to.open()
	to.gold, from.gold = to.gold+from.gold, 0
	to.shut()
	from.shut()
}

//go:noinline
func count(v, other *vault) int {
	v.mu.Lock()
	n := v.gold
	v.shut()
	other.open()
	n += other.gold
	other.shut()
	return n + len(v.owner)
}

// openIn locks in a way that nothing in its code tells.
//
//go:noinline
func openIn(lock func()) {
	lock()
	time.Sleep(time.Hour)
}

// healthy parks goroutines in ways that are no deadlock, and looks as if some were.
func healthy() {
	a := &account{owner: "healthy"}
	jobs, results := make(chan int), make(chan int)
	for i := 0; i < 3; i++ {
		go func() { // waits for work
			for j := range jobs {
				results <- j
			}
		}()
	}
	go func() { // waits for results
		for r := range results {
			fmt.Println(r)
			jobs <- r
		}
	}()
	go func() { // releases the lock before it waits
		a.mu.Lock()
		a.balance++
		a.mu.Unlock()
		<-jobs
	}()
	go func() { // holds a lock for which nobody waits
		a.mu.Lock()
		defer a.mu.Unlock()
		<-jobs
	}()
	b := &account{owner: "slow"}
	go func() { // holds a lock for a while
		b.mu.Lock()
		time.Sleep(time.Hour)
		b.mu.Unlock()
	}()
	time.Sleep(5 * time.Millisecond)
	for i := 0; i < 2; i++ {
		go b.sum()
	}
	go func() { time.Sleep(time.Hour); jobs <- 1 }()
	x, y := &vault{owner: "x"}, &vault{owner: "y"}
	locked := make(chan bool)
	go moveAll(y, x, func() { <-locked }) // has y, and waits for x, which somebody has of whom that is not seen
	time.Sleep(5 * time.Millisecond)
	go count(x, y) // has unlocked x, by a function that does it for others, and waits for y
	time.Sleep(5 * time.Millisecond)
	go openIn(x.mu.Lock)
	time.Sleep(5 * time.Millisecond)
	close(locked)
}

func main() {
	m := newMeet()
	switch os.Args[1] {
	case "mutexes":
		x, y := &account{owner: "x"}, &account{owner: "y"}
		go transfer(x, y, 1, m.first)
		go transfer(y, x, 1, m.second)
	case "deferred":
		x, y := &account{owner: "x"}, &account{owner: "y"}
		go transferDeferred(x, y, 1, m.first)
		go transferDeferred(y, x, 1, m.second)
	case "helpers":
		x, y := &vault{owner: "x"}, &vault{owner: "y"}
		go moveAll(x, y, m.first)
		go moveAll(y, x, m.second)
	case "three":
		x, y, z := &account{owner: "x"}, &account{owner: "y"}, &account{owner: "z"}
		wait := func() { time.Sleep(50 * time.Millisecond) }
		go transfer(x, y, 1, wait)
		go transfer(y, z, 1, wait)
		go transferDeferred(z, x, 1, wait)
	case "five":
		all := make([]*account, 5)
		for i := range all {
			all[i] = &account{owner: fmt.Sprint(i)}
		}
		for i := range all {
			go transfer(all[i], all[(i+1)%len(all)], 1, func() { time.Sleep(50 * time.Millisecond) })
		}
	case "globals":
		go lockNorth(m.first)
		go lockSouth(m.second)
	case "itself":
		a := &account{}
		go a.twice()
	case "readers":
		c := &cache{data: map[string]int{}}
		started, writing := make(chan bool), make(chan bool)
		go c.readTwice(func() { close(started); <-writing })
		<-started
		go c.set("x", 1)
		time.Sleep(20 * time.Millisecond)
		close(writing)
	case "mixed":
		a := &account{}
		events := make(chan int)
		go publish(a, events, m.first)
		go subscribe(a, events, func() { m.second(); time.Sleep(20 * time.Millisecond) })
	case "channels": // nothing else: Go itself says that all are asleep
		a, b := make(chan int), make(chan int)
		go relay(a, b)
		var wg sync.WaitGroup
		wg.Add(1)
		go func() { defer wg.Done(); relay(b, a) }()
		wg.Wait()
	case "five-channels":
		var c [5]chan int
		for i := range c {
			c[i] = make(chan int)
		}
		var wg sync.WaitGroup
		for i := range c {
			wg.Add(1)
			go func(i int) { defer wg.Done(); relay(c[i], c[(i+1)%len(c)]) }(i)
		}
		wg.Wait()
	case "healthy":
	}
	if os.Args[1] != "healthy" || len(os.Args) > 2 {
		time.Sleep(100 * time.Millisecond)
	}
	healthy()
	time.Sleep(100 * time.Millisecond)
	fmt.Println("ready")
	time.Sleep(time.Hour)
}
