// Dies in the call of stop that its argument numbers, in the middle of the declarations of function declare. What an earlier call left on
// the stack are numbers from 0x5151515151 on.
package main

import (
	"os"
	"strconv"
)

type pair struct {
	A, B int
	Text string
}

type builder struct{ parts []int }

func (b *builder) add(n int) *builder { b.parts = append(b.parts, n); return b }

var (
	limit int
	kept  []any
)

//go:noinline
func dirty(n int) (sum int) {
	var a [200]int
	for i := range a {
		a[i] = 0x5151515151 + i + n
	}
	for _, v := range a {
		sum += v
	}
	return sum
}

//go:noinline
func stop(n int) int {
	if n == limit {
		var p *int
		*p = n
	}
	return n + 1
}

//go:noinline
func two(n int) (int, string) { return stop(n), "two" }

//go:noinline
func use(v ...any) int { kept = v; return len(v) }

//go:noinline
func declare() int {
	before := 11
	stop(0)
	first := stop(1)
	whole := pair{
		A:    7,
		B:    stop(2),
		Text: "whole",
	}
	n, s := two(3)
	heap := stop(4)
	link := &heap
	if in := stop(5); in > 0 {
		inner := stop(6)
		use(inner, stop(7))
	}
	for i := 0; i < 2; i += stop(8+i) - 8 - i {
		turn := i * 3
		use(turn)
		after := stop(20 + i)
		use(after)
	}
	one, other := stop(29), stop(10)
	call := func() int {
		late := before + stop(11)
		return late + heap
	}
	got := call()
	chain := (&builder{}).
		add(stop(12)).
		add(1)
	var zeros [4]int
	stop(13)
	for key, value := range map[string]int{"a": stop(14)} {
		stop(15)
		use(key, value)
	}
	var empty pair
	grow := &empty
	stop(16)
	var later pair
	stop(17)
	use(&later)
	held := pair{
		A: stop(18),
	}
	nothing, ignored := struct{}{}, &held
	stop(19)
	return use(before, first, whole, n, s, link, one, other, got, chain, zeros, grow, nothing, ignored)
}

func main() {
	limit, _ = strconv.Atoi(os.Args[1])
	dirty(limit)
	println(declare())
}
