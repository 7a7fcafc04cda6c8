// Command go-mixed hangs over a mutex of Go and one of C: each goroutine has one and wants the other.
package main

/*
#include <pthread.h>
static pthread_mutex_t native = PTHREAD_MUTEX_INITIALIZER;
static void lock_native(void) { pthread_mutex_lock(&native); }
static void unlock_native(void) { pthread_mutex_unlock(&native); }
*/
import "C"

import (
	"fmt"
	"runtime"
	"sync"
	"time"
)

var (
	mu   sync.Mutex
	both = make(chan bool)
)

//go:noinline
func goFirst() {
	mu.Lock()
	both <- true
	C.lock_native()
	C.unlock_native()
	mu.Unlock()
}

//go:noinline
func nativeFirst() {
	runtime.LockOSThread()
	C.lock_native()
	<-both
	mu.Lock()
	mu.Unlock()
	C.unlock_native()
}

func main() {
	go goFirst()
	go nativeFirst()
	time.Sleep(100 * time.Millisecond)
	fmt.Println("ready")
	time.Sleep(time.Hour)
}
