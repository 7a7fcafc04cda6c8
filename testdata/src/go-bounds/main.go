// Dies of an index, a bound, a channel or a map that its argument names.
package main

import (
	"os"
	"strconv"
	"unsafe"
)

type row struct {
	cells []int
	name  string
	len   int
}

type grid struct {
	rows  []*row
	cache map[string][]int
	out   chan string
}

type table[T any] struct{ log []T }

var global = []string{"x", "y"}
var counts = map[string]int{}
var wild uint64 = 0x7111deadb000

//go:noinline
func index(list []int, i int) int { return list[i] }

//go:noinline
func next(g *grid, r, c int) int { return g.rows[r].cells[c+1] }

//go:noinline
func last(list []string) string { return list[len(list)-1] }

//go:noinline
func third(list []string) string { return list[3] }

//go:noinline
func ofGlobal(i int) string { return global[i] }

//go:noinline
func cached(g *grid, k string, i int) int { return g.cache[k][i] }

//go:noinline
func byField(r *row, b []byte) byte { return b[r.len] }

//go:noinline
func array(a *[8]int, i int) int { return a[i] }

//go:noinline
func cut(list []int, a, b int) []int { return list[a:b] }

//go:noinline
func tail(r *row, a int) string { return r.name[a:] }

//go:noinline
func (t *table[T]) nth(i int) T { return t.log[i] }

//go:noinline
func element(r *row, i int) int { return r.cells[i] }

//go:noinline
func send(g *grid) { g.out <- "s" }

//go:noinline
func closes(c chan string) { close(c) }

//go:noinline
func bump(k string) { counts[k]++ }

//go:noinline
func share(g *grid, i int) int { return 10 % len(g.rows[i].cells) }

//go:noinline
func byLength(g *grid, a *[2]int) int { n := len(g.rows); return a[n] }

//go:noinline
func byFirst(g *grid, path ...int) *row { return g.rows[path[0]] }

//go:noinline
func byKey(m map[int][]int) (sum int) {
	for k, v := range m {
		sum += v[k]
	}
	return sum
}

// says panics with the runtime's words, after another comparison.
//
//go:noinline
func says(list []int, i int) int {
	if i >= len(list) {
		panic("runtime error: index out of range [7] with length 3")
	}
	return list[i]
}

func main() {
	n, _ := strconv.Atoi(os.Args[2])
	g := &grid{rows: []*row{{cells: []int{1, 2, 3}, name: "bob", len: 9}, {}}, cache: map[string][]int{"a": {1}}}
	switch os.Args[1] {
	case "index":
		index(g.rows[0].cells, n)
	case "goroutine":
		done := make(chan int)
		go func() { done <- index(g.rows[0].cells, n) }()
		<-done
	case "next":
		next(g, 0, n)
	case "last":
		last(nil)
	case "third":
		third(global)
	case "global":
		ofGlobal(n)
	case "cached":
		cached(g, "a", n)
	case "byField":
		byField(g.rows[0], []byte("abc"))
	case "array":
		array(new([8]int), n)
	case "cut":
		cut(make([]int, 5, 6), 2, n)
	case "order":
		cut(make([]int, 5, 6), n, 2)
	case "tail":
		tail(g.rows[0], n)
	case "generic":
		(&table[string]{log: global}).nth(n)
	case "element":
		*(*uintptr)(unsafe.Pointer(&g.rows[0].cells)) = uintptr(wild)
		os.Exit(element(g.rows[0], n))
	case "send":
		g.out = make(chan string, 1)
		close(g.out)
		send(g)
	case "closes":
		closes(g.out)
	case "bump":
		for range [4]int{} {
			go func() {
				for {
					bump("k")
				}
			}()
		}
		select {}
	case "share":
		share(g, 1)
	case "byLength":
		byLength(g, new([2]int))
	case "byFirst":
		byFirst(g, n)
	case "byKey":
		byKey(map[int][]int{n: {1, 2}})
	case "says":
		says(g.rows[0].cells, n)
	}
}
