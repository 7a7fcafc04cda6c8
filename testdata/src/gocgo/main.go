// A Go program that calls into C, which reads through a null pointer.
//
// The fault is in C, on the system stack of a thread that Go made; Go's own
// frames lie on another stack. Run with GOTRACEBACK=crash. Expected: frames of
// the runtime's handler, <signal>, follow, visit (C), then the C side of the
// cgo call: _cgo_..._Cfunc_visit, runtime.asmcgocall
package main

/*
struct item {
	struct item *next;
	int value;
};

static int __attribute__((noinline)) follow(volatile struct item *i)
{
	return i->next->value + 1;
}

static int __attribute__((noinline)) visit(int n)
{
	volatile struct item last = { 0, n };

	return follow(&last) * 2;
}
*/
import "C"

//go:noinline
func ask(n int) int {
	return int(C.visit(C.int(n)))
}

func main() {
	println(ask(3))
}
