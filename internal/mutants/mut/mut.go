// Package mut has the switches that internal/mutants writes into a package under test.
// All mutants are compiled into one test binary; the environment says which of them is
// on.
package mut

import (
	"cmp"
	"os"
	"strconv"
	"syscall"
)

// The environment of a test binary with mutants in it.
const (
	// EnvOn is the number of the mutant that is on.
	EnvOn = "COREWALK_MUTANT"
	// EnvTrace names a file with one byte per mutant. A mutant sets its byte at a point
	// where it would make a difference.
	EnvTrace = "COREWALK_MUTANT_TRACE"
)

// on is the number of the mutant that is on; 0 if none is, and then trace is written.
var on = start()

const tracing = -1

var trace []byte

func start() int {
	if name := os.Getenv(EnvTrace); name != "" {
		f, err := os.OpenFile(name, os.O_RDWR, 0)
		if err != nil {
			panic(err)
		}
		defer f.Close()
		info, err := f.Stat()
		if err != nil {
			panic(err)
		}
		// Shared, so that the file keeps what a crashed process wrote.
		trace, err = syscall.Mmap(int(f.Fd()), 0, int(info.Size()), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
		if err != nil {
			panic(err)
		}
		return tracing
	}
	n, _ := strconv.Atoi(os.Getenv(EnvOn))
	return n
}

// is reports whether mutant id is on. differs says whether that makes a difference
// here.
func is(id int, differs bool) bool {
	if on == tracing && differs {
		trace[id] = 1
	}
	return on == id
}

// Cond is a condition c, which mutant yes makes true and mutant no makes false. The
// number 0 stands for no mutant.
func Cond(yes, no int, c bool) bool {
	if on == 0 {
		return c
	}
	return cond(yes, no, c)
}

func cond(yes, no int, c bool) bool {
	if yes != 0 && is(yes, !c) {
		return true
	}
	if no != 0 && is(no, c) {
		return false
	}
	return c
}

// Less is a < b, or a <= b with mutant id.
func Less[T cmp.Ordered](id int, a, b T) bool { return a < b || on != 0 && edge(id, a == b, a < b) }

// LessEqual is a <= b, or a < b with mutant id.
func LessEqual[T cmp.Ordered](id int, a, b T) bool {
	return a <= b && (on == 0 || edge(id, a == b, a <= b))
}

// Greater is a > b, or a >= b with mutant id.
func Greater[T cmp.Ordered](id int, a, b T) bool { return a > b || on != 0 && edge(id, a == b, a > b) }

// GreaterEqual is a >= b, or a > b with mutant id.
func GreaterEqual[T cmp.Ordered](id int, a, b T) bool {
	return a >= b && (on == 0 || edge(id, a == b, a >= b))
}

// edge is the result of a comparison, which mutant id inverts if both sides are equal.
func edge(id int, equal, result bool) bool {
	return result != (is(id, equal) && equal)
}

// Number is a constant, one more with mutant id.
func Number[T ~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~uintptr | ~float32 | ~float64](id int, n T) T {
	if on != 0 && is(id, true) {
		n++
	}
	return n
}

// Keep reports whether a statement is executed; mutant id removes it.
func Keep(id int) bool { return on == 0 || !is(id, true) }
