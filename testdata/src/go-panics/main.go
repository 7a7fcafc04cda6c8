// Dies of the panic, or the fatal error of the runtime, that its argument names.
package main

import (
	"errors"
	"fmt"
	"math"
	"os"
	"runtime"
	"sync"
)

type (
	code   int16
	name   string
	ratio  float32
	flag   bool
	wide   uint64
	pair   complex64
	point  struct{ x, y int }
	teller struct{ n int }
	fault  struct{ where string }
)

func (t teller) String() string { return fmt.Sprint("teller ", t.n) }
func (f *fault) Error() string  { return "fault at " + f.where }

func again() {
	if r := recover(); r != nil {
		panic(fmt.Sprint("after ", r))
	}
}

func twice() { panic("second") }

var locked sync.Mutex

func value(way string) any {
	switch way {
	case "string":
		return "text of " + way
	case "name":
		return name("named")
	case "int":
		return -5
	case "code":
		return code(-7)
	case "uint8":
		return uint8(200)
	case "wide":
		return wide(1 << 60)
	case "int64":
		return int64(-1 << 40)
	case "uintptr":
		return uintptr(77)
	case "ratio":
		return ratio(0.25)
	case "float":
		return 1e100
	case "tiny":
		return float32(-1e-40)
	case "infinite":
		return math.Inf(-1)
	case "complex":
		return complex(1.5, -2)
	case "pair":
		return pair(complex(0, 3))
	case "flag":
		return flag(true)
	case "error":
		return errors.New("an error")
	case "wrapped":
		return fmt.Errorf("outer: %w", os.ErrNotExist)
	case "pointer":
		return &fault{"here"}
	case "teller":
		return teller{3}
	case "point":
		return point{1, 2}
	}
	return nil
}

func main() {
	way := os.Args[1]
	switch way {
	case "index":
		_ = os.Args[len(os.Args)+5]
	case "slice":
		_ = os.Args[len(os.Args)+1:]
	case "convert":
		_ = value("string").(fmt.Stringer)
	case "divide":
		fmt.Println(1 / (len(os.Args) - 2))
	case "nilmap":
		var m map[string]int
		m[way] = 1
	case "nested":
		defer again()
		panic("first")
	case "deferred":
		defer twice()
		panic("first")
	case "goexit":
		defer twice()
		runtime.Goexit()
	case "goroutine":
		go panic(value("error"))
		select {}
	case "unlock":
		locked.Unlock()
	case "asleep":
		locked.Lock()
		locked.Lock()
	}
	panic(value(way))
}
