// Dies of what Go's runtime refuses, which its argument names: a shift, a length, a conversion, a closed channel, a nil map.
package main

import (
	"fmt"
	"io"
	"os"
	"strconv"
)

type job struct {
	name  string
	bits  int
	size  int
	input any
	next  fmt.Stringer
	seen  map[string]int
	out   chan string
	body  []byte
}

type label string

func (l label) String() string { return string(l) }

type other int

func (o other) String() string { return "other" }

type reader struct{ n int }

func (r *reader) Read(p []byte) (int, error) { return 0, io.EOF }

var seen map[int]string

//go:noinline
func shift(x, by int) int { return x << by }

//go:noinline
func twice(n int) int { return 2 * n }

//go:noinline
func shiftField(j *job) int { return 1 << j.bits }

//go:noinline
func shiftRight(x uint32, by int8) uint32 { return x >> by }

//go:noinline
func alloc(n int) []int { return make([]int, n) }

//go:noinline
func allocCap(n, most int) []byte { return make([]byte, n, most) }

//go:noinline
func allocField(j *job) []string { return make([]string, j.size) }

//go:noinline
func channel(n int) chan string { return make(chan string, n) }

//go:noinline
func convert(body []byte) [4]byte { return [4]byte(body) }

//go:noinline
func convertField(j *job) *[8]byte { return (*[8]byte)(j.body) }

//go:noinline
func concrete(v any) int { return v.(int) }

//go:noinline
func ofField(j *job) string { return j.input.(string) }

//go:noinline
func ofMethods(s fmt.Stringer) label { return s.(label) }

//go:noinline
func methods(v any) io.Reader { return v.(io.Reader) }

//go:noinline
func methodsField(j *job) io.Reader { return j.input.(io.Reader) }

//go:noinline
func narrower(s fmt.Stringer) io.Writer { return s.(io.Writer) }

//go:noinline
func element(list []any, i int) int { return list[i].(int) }

//go:noinline
func selects(j *job, other chan string) {
	select {
	case j.out <- "a":
	case other <- "b":
	}
}

//go:noinline
func tries(c chan string) bool {
	select {
	case c <- "a":
		return true
	default:
		return false
	}
}

//go:noinline
func closesTwice(j *job) { close(j.out) }

//go:noinline
func assign(j *job, k string) { j.seen[k]++ }

//go:noinline
func assignGlobal(k int) { seen[k] = "x" }

//go:noinline
func assignArgument(m map[string]bool, k string) { m[k] = true }

//go:noinline
func compares(a, b any) bool { return a == b }

//go:noinline
func key(m map[any]int, k any) int { return m[k] }

//go:noinline
func says(v any, by int) int {
	if by < 0 {
		panic("runtime error: negative shift amount")
	}
	n, ok := v.(int)
	if !ok {
		panic("interface conversion: interface {} is string, not int")
	}
	return n << by
}

//go:noinline
func numbers(way string, n int, j *job) int {
	switch way {
	case "shift":
		n += shift(1, n)
	case "shiftLost":
		n = shift(1, twice(n))
	case "shiftField":
		n += shiftField(j)
	case "shiftRight":
		n += int(shiftRight(7, int8(n)))
	case "alloc":
		n += len(alloc(n))
	case "allocCap":
		n += len(allocCap(8, n))
	case "allocField":
		n += len(allocField(j))
	case "channel":
		n += len(channel(n))
	}
	return n
}

// since changes what was refused before the program ends.
//
//go:noinline
func since(way string, j *job) {
	defer func() { j.bits, j.size, j.body = 3, 3, nil }()
	switch way {
	case "shiftSince":
		shiftField(j)
	case "allocSince":
		allocField(j)
	case "convertSince":
		convertField(j)
	}
}

func main() {
	n, _ := strconv.Atoi(os.Args[2])
	j := &job{name: "j", bits: n, size: n, input: 1.5, next: label("l"), out: make(chan string), body: []byte("abc")}
	n = numbers(os.Args[1], n, j)
	switch os.Args[1] {
	case "convert":
		n = int(convert(j.body)[0])
	case "convertField":
		n = int(convertField(j)[0])
	case "concrete":
		n = concrete(os.Args[1])
	case "nilConcrete":
		n = concrete(nil)
	case "ofField":
		n = len(ofField(j))
	case "ofMethods":
		n = len(ofMethods(other(n)))
	case "ofNil":
		n = len(ofMethods(nil))
	case "methods":
		methods(n)
	case "methodsField":
		methodsField(j)
	case "narrower":
		narrower(j.next)
	case "element":
		n = element([]any{1, "two"}, n)
	case "selects":
		close(j.out)
		selects(j, nil)
	case "selectsOther":
		c := make(chan string)
		close(c)
		selects(j, c)
	case "selectsBoth":
		close(j.out)
		selects(j, j.out)
	case "tries":
		close(j.out)
		tries(j.out)
	case "closesTwice":
		close(j.out)
		closesTwice(j)
	case "assign":
		assign(j, "k")
	case "assignGlobal":
		assignGlobal(n)
	case "assignArgument":
		assignArgument(nil, "k")
	case "compares":
		compares([]int{1}, []int{1})
	case "key":
		key(map[any]int{}, []int{n})
	case "shiftSince", "allocSince", "convertSince":
		since(os.Args[1], j)
	case "saysShift":
		says(n, n)
	case "saysConversion":
		says("s", 0)
	}
	os.Exit(n)
}
