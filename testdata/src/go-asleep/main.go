// Command go-asleep lets Go's runtime find that all goroutines are asleep, with a circle among them or none; or says the same of
// itself, which proves nothing.
package main

import (
	"fmt"
	"os"
	"sync"
)

type job struct {
	done    chan int
	mu      sync.Mutex
	wg      sync.WaitGroup
	a, b    sync.Mutex
	ab, ba  chan bool
	waiting []chan int
}

//go:noinline
func (j *job) collect() int { return <-j.done }

//go:noinline
func (j *job) north() {
	j.a.Lock()
	j.ab <- true
	<-j.ba
	j.b.Lock()
	j.b.Unlock()
	j.a.Unlock()
}

//go:noinline
func (j *job) south() {
	j.b.Lock()
	j.ba <- true
	<-j.ab
	j.a.Lock()
	j.a.Unlock()
	j.b.Unlock()
}

func main() {
	j := &job{done: make(chan int), ab: make(chan bool, 1), ba: make(chan bool, 1)}
	j.wg.Add(1)
	switch os.Args[1] {
	case "wait":
		go j.collect()
		j.wg.Wait()
	case "cycle":
		go j.collect()
		go j.north()
		go j.south()
		select {}
	case "says":
		go j.collect()
		panic("all goroutines are asleep - deadlock!")
	}
	fmt.Println(j.waiting)
}
