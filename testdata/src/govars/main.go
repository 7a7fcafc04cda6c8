// Variables of the kinds that Go has.
//
// Dies in stop, called by library, called by values, called by main.
package main

type stringer interface{ String() string }

type failure struct{ why string }

func (f *failure) Error() string { return f.why }

type colour uint8

const (
	red colour = iota
	blue
)

type point struct{ x, y int }

func (p point) String() string { return string(rune(p.x + p.y)) }

type node struct {
	next *node
	name string
	at   point
}

type tree[T any] struct {
	left, right *tree[T]
	value       T
}

//go:noinline
func stop(p *int, why string) {
	*p = len(why)
}

//go:noinline
func keep(v ...any) int { return len(v) }

//go:noinline
func library(names []string, extra ...int) int {
	small := map[string]int{"ann": 31}
	large := map[int]string{}
	for i := range 40 {
		large[i] = string(rune('a' + i%26))
	}
	var none map[string]bool
	queue := make(chan int, 4)
	queue <- 7
	queue <- 8
	var closed chan string
	var any1 any = 42
	var any2 any = point{1, 2}
	var any3 any = &point{3, 4}
	var err error = &failure{"went wrong"}
	var nothing error
	var shown stringer = point{5, 6}
	grow := make([]int, 2, 8)
	var empty []byte
	raw := []byte("bytes")
	points := []point{{1, 2}, {3, 4}}
	if showing {
		var null *int
		show("stop", "p", &null, "why", &names[0])
		show("library", "names", &names, "extra", &extra, "small", &small, "large", &large, "none", &none,
			"queue", &queue, "closed", &closed, "any1", &any1, "any2", &any2, "any3", &any3, "err", &err,
			"nothing", &nothing, "shown", &shown, "grow", &grow, "empty", &empty, "raw", &raw, "points", &points)
	}
	stop(nil, names[0])
	return len(small) + len(large) + len(none) + len(queue) + len(closed) + len(names) + len(extra) + len(grow) + len(empty) +
		len(raw) + len(points) + keep(any1, any2, any3, err, nothing, shown)
}

//go:noinline
func values(n int, who *node, text string) int {
	yes := true
	var tiny int8 = -5
	var byt byte = 'b'
	letter := 'é'
	real := 0.25
	single := float32(0.1)
	cmplx := complex(1.5, -2)
	col := blue
	list := [3]int16{1, 2, 3}
	grid := [2][2]int{{1, 2}, {3, 4}}
	at := point{n, -n}
	here := node{who, "here", at}
	ptr := &here
	call := func(i int) int { return i + n }
	plain := stop
	var null *point
	branch := &tree[string]{value: "leaf"}
	anon := struct {
		a int
		b string
	}{1, "x"}
	var any any

	if showing {
		show("values", "n", &n, "who", &who, "text", &text, "yes", &yes, "tiny", &tiny, "byt", &byt, "letter", &letter,
			"real", &real, "single", &single, "cmplx", &cmplx, "col", &col, "list", &list, "grid", &grid, "at", &at,
			"here", &here, "ptr", &ptr, "call", &call, "plain", &plain, "null", &null, "branch", &branch,
			"anon", &anon, "any", &any)
	}
	got := library([]string{"one", "two"}, 1, 2, 3)
	if yes {
		got += int(tiny) + int(byt) + int(letter) + int(real) + int(single) + int(imag(cmplx)) + int(col) + int(list[n%3]) +
			grid[n%2][0] + ptr.at.x + call(1) + len(branch.value) + anon.a + len(anon.b) + len(text)
	}
	if plain == nil || null != nil || any != nil {
		got++
	}
	return got
}

func main() {
	tail := &node{nil, "tail", point{9, 9}}
	if showing {
		show("main", "tail", &tail)
	}
	println(values(1, tail, "given"))
}
