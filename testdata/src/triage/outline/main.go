// set: unseen
// Outlines of documents: generic trees, cursors over bytes, and stages that run in goroutines.
package main

import (
	"encoding/binary"
	"fmt"
	"os"
	"runtime/debug"
	"strconv"
	"sync"
	"unsafe"
)

type tree[T any] struct {
	value T
	kids  []*tree[T]
	up    *tree[T]
}

func (t *tree[T]) add(v T) *tree[T] {
	k := &tree[T]{value: v, up: t}
	t.kids = append(t.kids, k)
	return k
}

// bug: walk-hole 2 (kids that were removed are nil; walk does not ask)
func (t *tree[T]) walk(f func(T)) {
	f(t.value)
	for _, k := range t.kids {
		k.walk(f)
	}
}

func (t *tree[T]) remove(i int) { t.kids[i] = nil }

func count[T any](t *tree[T]) int {
	n := 0
	t.walk(func(T) { n++ })
	return n
}

func collect[T any](t *tree[T]) (out []T) {
	t.walk(func(v T) { out = append(out, v) })
	return out
}

// bug: next-of-last 2 (there is no next sibling)
func (t *tree[T]) next() *tree[T] {
	for i, k := range t.up.kids {
		if k == t {
			return t.up.kids[i+1]
		}
	}
	return nil
}

func swap[T any](t *tree[T]) {
	n := t.next()
	t.value, n.value = n.value, t.value
}

type cursor struct {
	data []byte
	at   int
}

// bug: short-input 3 (take trusts lengths in the input)
func (c *cursor) take(n int) []byte {
	b := c.data[c.at : c.at+n]
	c.at += n
	return b
}

func (c *cursor) u16() int { return int(binary.LittleEndian.Uint16(c.take(2))) }

func (c *cursor) text() string { return string(c.take(c.u16())) }

func decode(data []byte) *tree[string] {
	c := &cursor{data: data}
	t := &tree[string]{value: c.text()}
	for n := c.u16(); n > 0; n-- {
		t.add(c.text())
	}
	return t
}

// bug: huge-count 2 (makes as much as the input says)
func (c *cursor) list() []int {
	n := int(int32(binary.LittleEndian.Uint32(c.take(4))))
	return make([]int, n)
}

func lengths(data []byte) int {
	c := &cursor{data: data}
	return len(c.list()) + c.at
}

// bug: level-text 2 (levels that are no numbers)
func level(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		panic(err)
	}
	return n
}

func levels(list ...string) (sum int) {
	for _, s := range list {
		sum += level(s)
	}
	return sum
}

// bug: numbering 2 (endless: the step may be zero)
func number(from, to, step int) int {
	if from >= to {
		return 0
	}
	return number(from+step, to, step) + 1
}

func numberAll(t *tree[string], step int) int {
	sum := 0
	t.walk(func(s string) { sum += number(0, len(s), step) })
	return sum
}

type stage interface{ run(in string) string }
type upper struct{ prefix string }
type chainOf struct{ list []stage }

func (u *upper) run(in string) string { return u.prefix + in }

// bug: empty-stage 2 (a stage of the chain is missing)
func (c chainOf) run(in string) string {
	for _, s := range c.list {
		in = s.run(in)
	}
	return in
}

func pipeline(s stage, in ...string) []string {
	out := make([]string, len(in))
	var wg sync.WaitGroup
	for i := range in {
		wg.Add(1)
		go func() {
			defer wg.Done()
			out[i] = s.run(in[i])
		}()
	}
	wg.Wait()
	return out
}

// bug: group-negative 2 (Done more often than Add)
type tracker struct{ wg sync.WaitGroup }

func (t *tracker) finish() { t.wg.Done() }

func (t *tracker) finishAll(n int) {
	for range n {
		t.finish()
	}
}

// bug: unlock-unlocked 2 (release without acquire)
type guard struct{ mu sync.Mutex }

func (g *guard) release() { g.mu.Unlock() }

func (g *guard) with(f func()) {
	g.mu.Lock()
	defer g.release()
	f()
}

// bug: raw-offset 2 (an unsafe read at an offset of the input)
func peek(data []byte, off uintptr) byte {
	return *(*byte)(unsafe.Pointer(uintptr(unsafe.Pointer(&data[0])) + off))
}

func peekAll(data []byte, offs []uintptr) (sum int) {
	for _, o := range offs {
		sum += int(peek(data, o))
	}
	return sum
}

type shape interface{ area() float64 }
type square struct{ side float64 }

func (s square) area() float64 { return s.side * s.side }

// bug: not-a-shape 1 (a conversion between interfaces)
func area(v any) float64 { return v.(shape).area() }

func main() {
	debug.SetMaxStack(1 << 17)
	bug, path := "", "a"
	if len(os.Args) > 1 {
		bug = os.Args[1]
	}
	if len(os.Args) > 2 {
		path = os.Args[2]
	}
	n := len(os.Args)
	t := &tree[string]{value: "book"}
	one := t.add("one")
	two := t.add("two")
	switch bug + " " + path {
	case "walk-hole a":
		t.remove(n - 2)
		fmt.Println(count(t))
	case "walk-hole b":
		one.add("sub")
		one.remove(0)
		fmt.Println(collect(t))
	case "next-of-last a":
		fmt.Println(two.next())
	case "next-of-last b":
		swap(two)
	case "short-input a":
		fmt.Println(decode([]byte{1, 0, 'x', 2, 0, 9, 0}))
	case "short-input b":
		c := &cursor{data: []byte{byte(n)}}
		fmt.Println(c.u16())
	case "short-input c":
		c := &cursor{data: []byte{200, 0, 'y'}}
		fmt.Println(c.text())
	case "huge-count a":
		fmt.Println(lengths([]byte{0, 0, 0, 0x80}))
	case "huge-count b":
		c := &cursor{data: []byte{1, 2, 3, 0xff}}
		fmt.Println(c.list())
	case "level-text a":
		fmt.Println(level("one"))
	case "level-text b":
		fmt.Println(levels("1", "2", "3x"))
	case "numbering a":
		fmt.Println(number(0, 9, n-3))
	case "numbering b":
		fmt.Println(numberAll(t, n-3))
	case "empty-stage a":
		c := chainOf{[]stage{&upper{"x"}, nil}}
		fmt.Println(c.run("in"))
	case "empty-stage b":
		fmt.Println(pipeline(chainOf{make([]stage, n)}, "a", "b"))
	case "group-negative a":
		new(tracker).finish()
	case "group-negative b":
		k := &tracker{}
		k.wg.Add(1)
		k.finishAll(n)
	case "unlock-unlocked a":
		new(guard).release()
	case "unlock-unlocked b":
		g := &guard{}
		g.with(g.release)
	case "raw-offset a":
		fmt.Println(peek([]byte(os.Args[0]), 1<<(40+n)))
	case "raw-offset b":
		fmt.Println(peekAll([]byte(os.Args[0]), []uintptr{1, 1 << 44}))
	case "not-a-shape a":
		fmt.Println(area(struct{ n int }{n}), area(square{2}))
	}
}
