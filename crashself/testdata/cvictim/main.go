// Command cvictim dies in C code, and keeps its crash.
package main

/*
#cgo LDFLAGS: -lpthread
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

static int store(int *where, int what) { *where = what; return what; }

static void *aborts(void *arg) { abort(); return arg; }

static void *stores(void *arg) { store((int *)16, 7); return arg; }

static void thread(void *(*f)(void *)) {
	pthread_t t;
	pthread_create(&t, 0, f, 0);
	pthread_join(t, 0);
}
static void abort_on_thread(void) { thread(aborts); }
static void store_on_thread(void) { thread(stores); }

static int deep(int n) { volatile char pad[4096]; pad[n & 4095] = n; return deep(n + 1) + pad[n & 4095]; }

static int forks(void) {
	if (fork() == 0) abort(); // the copy of a process with Go's handlers
	sleep(1);
	return store((int *)16, 7);
}
*/
import "C"

import (
	"os"
	"unsafe"

	"github.com/corewalk/corewalk/crashself"
)

func main() {
	switch os.Args[1] {
	case "segv":
		C.store((*C.int)(unsafe.Pointer(uintptr(16))), 7)
	case "abort":
		C.abort()
	case "abortthread":
		C.abort_on_thread()
	case "segvthread":
		C.store_on_thread()
	case "deepsmall": // not all of the memory is kept
		_ = crashself.Start(crashself.Options{Memory: 4 << 20})
		C.deep(0)
	case "deep":
		C.deep(0)
	case "fork":
		C.forks()
	case "panic":
		panic("in Go")
	}
}
