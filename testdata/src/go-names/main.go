// Goroutines that wait for channels which only members of structures and closures have.
package main

import (
	"syscall"
	"time"
)

type stage struct{ in, out chan int }

func (s *stage) run() {
	for v := range s.in {
		s.out <- v + 1
	}
}

func main() {
	a, b, jobs := make(chan int), make(chan int), make(chan int)
	go (&stage{a, b}).run()
	go func() {
		<-jobs
		jobs = nil
	}()
	a <- 1
	time.Sleep(50 * time.Millisecond)
	syscall.Kill(syscall.Getpid(), syscall.SIGABRT)
	time.Sleep(time.Second)
	jobs <- 1
}
