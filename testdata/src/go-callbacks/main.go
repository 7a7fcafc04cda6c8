// C that Go called dies ("c"), or aborts ("a"), also when Go that C called did so ("b"), or that Go dies itself ("g").
package main

/*
#include <stdlib.h>
extern void goBack(int);
static int *volatile zero;
__attribute__((noinline)) static void inC(int n)
{
	if (n == 8)
		abort();
	if (n == 7)
		*zero = 1;
	goBack(n);
	__asm__ volatile(""); // the call is no jump
}
*/
import "C"
import "os"

//export goBack
func goBack(n C.int) {
	if n == 5 {
		C.inC(7)
	}
	var p *int
	*p = 3
}

func main() {
	switch os.Args[1] {
	case "c":
		C.inC(7)
	case "a":
		C.inC(8)
	case "b":
		C.inC(5)
	case "g":
		C.inC(6)
	}
}
