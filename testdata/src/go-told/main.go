// A program whose main goroutine waits for ever, and that another process tells to abort.
package main

import (
	"fmt"
	"os"
	"os/exec"
	"sync"
	"time"
)

type pool struct {
	mu   sync.Mutex
	cond *sync.Cond
}

//go:noinline
func (p *pool) acquire() {
	p.mu.Lock()
	p.cond.Wait()
}

func main() {
	p := &pool{}
	p.cond = sync.NewCond(&p.mu)
	if err := exec.Command("sh", "-c", fmt.Sprintf("sleep 0.2; kill -ABRT %d", os.Getpid())).Start(); err != nil {
		panic(err)
	}
	go func() { // or the runtime finds that all goroutines sleep
		for {
			time.Sleep(time.Hour)
		}
	}()
	p.acquire()
}
