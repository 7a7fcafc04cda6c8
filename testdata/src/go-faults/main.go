// Dies of the fault that its argument names: nil pointers, wild ones, functions and maps that are nil, a file that was cut.
package main

import (
	"os"
	"reflect"
	"runtime/debug"
	"strconv"
	"syscall"
	"time"
	"unsafe"
)

type inner struct {
	pad  [5]int
	City string
	List []int
}
type outer struct {
	Name string
	In   *inner
	Far  [1000]int
	Last *inner
}
type shape interface{ Area() int }
type store struct {
	ByName map[string]*inner
	ByID   map[int]*inner
	Counts map[string]int
	Flat   map[string]inner
	Shape  shape
	Done   func() int
	Last   [4]*inner
}

var global *outer
var zero int

//go:noinline
func deep(n int) int {
	if n < 0 {
		return 0
	}
	return deep(n+1) + 1
}

//go:noinline
func field(o *outer) string { return o.In.City }

//go:noinline
func slicelen(o *outer) int { return len(o.In.List) }

//go:noinline
func far(o *outer) *inner { return o.Last }

//go:noinline
func write(o *outer, n int) { o.In.pad[2] = n }

//go:noinline
func index(o *outer, n int) int { return o.In.pad[n] }

//go:noinline
func call(f func(int) int) int { x := 1; return f(x) + 1 }

//go:noinline
func method(s shape) int { return s.Area() }

//go:noinline
func wild(p *int) int { return *p }

//go:noinline
func wildcall(f func() int) int { return f() }

//go:noinline
func fromGlobal() string { return global.Name }

//go:noinline
func mapped() byte {
	f, _ := os.CreateTemp("", "x")
	os.Remove(f.Name())
	f.Truncate(8192)
	data, err := syscall.Mmap(int(f.Fd()), 0, 8192, syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		panic(err)
	}
	f.Truncate(0)
	return data[5000]
}

//go:noinline
func nilmap(m map[string]int, k string) { m[k] = 1 }

//go:noinline
func (s *store) use(how int, name string) int {
	switch how {
	case 0:
		return len(s.ByName[name].City)
	case 1:
		return len(s.ByID[how+41].City)
	case 2:
		return len(s.ByName["none"].City)
	case 3:
		s.Counts[name] = how
		return 0
	case 4:
		return s.Shape.Area()
	case 5:
		return s.Done()
	case 6:
		return len(s.Last[2].City)
	case 7:
		return len(s.pick(s.Flat, name).City)
	case 8:
		reflect.ValueOf(s.Counts).SetMapIndex(reflect.ValueOf(name), reflect.ValueOf(how))
	case 9:
		return len(s.ByName["a key that is longer than what a line of a report has room for"].City)
	case 10:
		return s.pair(pair{"a", name})
	}
	return how
}

type pair struct{ first, second string }

//go:noinline
func (s *store) pick(in map[string]inner, name string) *inner { return s.Last[len(in)] }

//go:noinline
func (s *store) pair(p pair) int { return len(s.ByName[p.second].City) }

//go:noinline
func deferred(o *outer) (s string) {
	defer func() {
		var m map[int]int
		m[3] = 4
	}()
	return o.In.City
}

// another panics while it divides: that is what ended the program.
//
//go:noinline
func another(a int) int {
	defer func() { panic("another") }()
	return 1 / a
}

type sums struct{ sum, count int }

//go:noinline
func (s *sums) mean() int { return s.sum / s.count }

//go:noinline
func share(a, b int) int { return a % b }

//go:noinline
func each(list []int, k int) int { return k / len(list) }

// either divides by one of two: which it was is in no register any more.
//
//go:noinline
func either(a, b, c int) int {
	if a > 3 {
		return c / a
	}
	return a / b
}

//go:noinline
func readonly() { s := "constant"; *(*byte)(unsafe.Pointer(unsafe.StringData(s))) = 1 }

func receive(s syscall.Signal) {
	syscall.Kill(os.Getpid(), s)
	time.Sleep(time.Second)
}

func main() {
	o := &outer{Name: "o"}
	switch os.Args[1] {
	case "field":
		println(field(o))
	case "slicelen":
		println(slicelen(o))
	case "far":
		println(far(nil))
	case "write":
		write(o, 3)
	case "index":
		println(index(o, 3))
	case "call":
		println(call(nil))
	case "method":
		println(method(nil))
	case "wild":
		println(wild((*int)(unsafe.Pointer(uintptr(0x123456789000)))))
	case "noncanon":
		println(wild((*int)(unsafe.Pointer(uintptr(0xdeadbeefdeadbeef)))))
	case "wildcall":
		v := uintptr(0x123456789000)
		p := &v
		println(wildcall(*(*func() int)(unsafe.Pointer(&p))))
	case "global":
		println(fromGlobal())
	case "mapped":
		println(mapped())
	case "nilmap":
		nilmap(nil, "key")
	case "use":
		how, _ := strconv.Atoi(os.Args[2])
		println(new(store).use(how, "x"))
	case "deferred":
		println(deferred(o))
	case "readonly":
		readonly()
	case "abrt":
		receive(syscall.SIGABRT)
	case "trap":
		receive(syscall.SIGTRAP)
	case "quit":
		receive(syscall.SIGQUIT)
	case "deep":
		debug.SetMaxStack(1 << 20)
		println(deep(0))
	case "div":
		println(5 / zero)
	case "mean":
		println((&sums{sum: 4}).mean())
	case "share":
		println(share(len(os.Args), zero))
	case "each":
		println(each(nil, 3))
	case "another":
		println(another(zero))
	case "either":
		println(either(2, zero, 7))
	}
}
