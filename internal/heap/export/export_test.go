package export

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/corewalk/corewalk/internal/heap/graph"
	"github.com/corewalk/corewalk/internal/procmem"
	"github.com/corewalk/corewalk/internal/stranger"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/unwind/arch"
)

const base = 0x7f0000000000

// memory is a process's from base on.
type memory struct{ data []byte }

func (m *memory) ReadMem(addr uint64, b []byte) (int, error) {
	if addr < base || addr-base >= uint64(len(m.data)) {
		return 0, arch.ErrUnreadable
	}
	return copy(b, m.data[addr-base:]), nil
}

func (m *memory) ReadWord(addr uint64) (uint64, error) {
	if addr < base || addr-base+8 > uint64(len(m.data)) {
		return 0, arch.ErrUnreadable
	}
	return binary.LittleEndian.Uint64(m.data[addr-base:]), nil
}

func (m *memory) Arch() *arch.Arch { return arch.AMD64 }

// An object of a test points at others by their numbers, from its first word on.
type object struct {
	size uint64
	kind graph.Kind
	to   []int
}

// kinds of tests.
const (
	none graph.Kind = iota
	order
	item
	chars
	list
	longs
)

var kindNames = []string{"", "Order", "std::vector<Item, std::allocator<Item> >", "char[]", "Node", "std::vector<long>"}

// heap makes a heap of objects; roots are what the words behind it point at.
func heap(t testing.TB, objects []object, roots ...int) *Heap {
	h, _ := remembered(t, objects, roots...)
	return h
}

// remembered is heap, and the memory that it is in.
func remembered(t testing.TB, objects []object, roots ...int) (*Heap, *memory) {
	at := uint64(base)
	var starts []uint64
	for _, o := range objects {
		starts = append(starts, at)
		at += (o.size + 7) &^ 7
	}
	m := &memory{make([]byte, min(at-base, 64<<20)+uint64(8*len(roots)))}
	put := func(at, v uint64) { binary.LittleEndian.PutUint64(m.data[at-base:], v) }
	for i, o := range objects {
		for j, to := range o.to {
			put(starts[i]+uint64(8*j), starts[to])
		}
	}
	b := graph.NewBuilder(procmem.Of(m), 1<<30)
	b.Range(base, at)
	for again := true; again; again = b.Counted() {
		for j, o := range objects {
			b.Add(starts[j], o.size)
		}
	}
	g := b.Graph()
	for i, o := range objects {
		g.Kinds[i] = o.kind
	}
	for i, r := range roots {
		g.Roots = append(g.Roots, graph.Root{At: uint64(i), To: graph.Node(r)})
	}
	ctx := context.Background()
	if err := errors.Join(g.Edges(ctx), g.Reach(ctx)); err != nil {
		t.Fatal(err)
	}
	h := &Heap{Graph: g, Program: "server", Title: "core.4242 of server", Time: time.Date(2026, 11, 20, 17, 2, 11, 0, time.UTC),
		Type:    func(k graph.Kind) string { return kindNames[k] },
		Root:    func(r graph.Root) string { return []string{"g_cache", "stack of thread 12", ""}[r.At%3] },
		Field:   func(n graph.Node, off uint64) string { return fmt.Sprintf("field%d", off/8) },
		Summary: [][2]string{{"Heap", "1.2 MB in 7 objects"}, {"Allocator", "glibc 2.36"}},
		Clean:   report.Clean}
	var err error
	if h.Retained, h.By, err = g.Retained(ctx); err != nil {
		t.Fatal(err)
	}
	return h, m
}

// shop is a cache with two orders that share a text, a list of three nodes, and a leak that points at another.
func shop(t testing.TB) *Heap {
	return heap(t, []object{
		{64, item, []int{1, 2}},   // 0: g_cache
		{48, order, []int{3, 6}},  // 1
		{48, order, []int{4, 6}},  // 2
		{100, none, nil},          // 3
		{5000, chars, nil},        // 4
		{32, list, []int{7}},      // 5: stack
		{24, chars, nil},          // 6: of both orders
		{32, list, []int{8}},      // 7
		{32, list, nil},           // 8
		{4096, longs, []int{10}},  // 9: leaks
		{3000, none, []int{9, 0}}, // 10
		{9000, none, nil},         // 11: the third root's
	}, 0, 5, 11)
}

// shopBytes is the size of all objects of it.
const shopBytes = 64 + 48 + 48 + 100 + 5000 + 32 + 24 + 32 + 32 + 4096 + 3000 + 9000

// many is a heap with a tree of orders, and lists of nodes.
func many(t testing.TB, n int) *Heap {
	objects := []object{{8, item, nil}}
	for i := 1; i < n; i++ {
		switch {
		case i%2 == 1:
			objects = append(objects, object{32, order, nil})
		default:
			objects = append(objects, object{uint64(16 + i%7*8), list, nil})
		}
		p := &objects[(i-1)/2]
		p.to = append(p.to, i)
		p.size = max(p.size, uint64(8*len(p.to)))
	}
	return heap(t, objects, 0)
}

var writers = map[string]func(context.Context, io.Writer, *Heap) error{
	"pprof": WritePprof, "heapsnapshot": WriteHeapSnapshot, "hprof": WriteHprof, "html": WriteHTML,
}

func write(t testing.TB, f func(context.Context, io.Writer, *Heap) error, h *Heap) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := f(t.Context(), &b, h); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// stopper is a context that is cancelled when its error is asked for once more than it allows.
type stopper struct {
	context.Context
	left int
	why  error
}

func (s *stopper) Err() error {
	if s.left--; s.left < 0 {
		return s.why
	}
	return nil
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

// TestEnds: a writer ends when its context does, wherever it is, and tells of what its file cannot take.
func TestEnds(t *testing.T) {
	h := many(t, 3*perCheck)
	for name, f := range writers {
		t.Run(name, func(t *testing.T) {
			looks := 0
			for left := 0; ; left++ {
				ctx := &stopper{t.Context(), left, context.Canceled}
				if f(ctx, io.Discard, h) == nil {
					looks = left
					break
				}
			}
			if looks < 4 {
				t.Errorf("it looks at the context %d times", looks)
			}
			if err := f(t.Context(), brokenWriter{}, h); !errors.Is(err, io.ErrClosedPipe) {
				t.Errorf("a broken file: %v", err)
			}
		})
	}
}

// TestNothing: an empty heap, and one of which nothing is known.
func TestNothing(t *testing.T) {
	none := heap(t, nil)
	bare := shop(t)
	bare.Type, bare.Root, bare.Field, bare.Retained, bare.By, bare.Clean = nil, nil, nil, nil, nil, nil
	for name, f := range writers {
		for _, h := range []*Heap{none, bare, {Graph: none.Graph}} {
			if len(write(t, f, h)) < 100 {
				t.Errorf("%s writes nothing", name)
			}
		}
	}
}

func TestShort(t *testing.T) {
	for _, c := range []struct{ s, want string }{
		{"0123456789", "0123456789"}, {"0123456789abcdef", "01234…def"}, {strings.Repeat("ä", 10), "ää…ä"},
	} {
		if got := short(c.s, 11); got != c.want {
			t.Errorf("%s: %s, want %s", c.s, got, c.want)
		}
	}
}

// TestNames: what cleans is not needed to be safe, and names are cut before they are cleaned.
func TestNames(t *testing.T) {
	if got, want := (&Heap{}).text("a\"b\x1b[31m\u202e"), `a"b\x1b[31m\u202e`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	h := Heap{Clean: func(s string) string {
		if len(s) > 4*maxName {
			t.Errorf("%d bytes are cleaned", len(s))
		}
		return strings.Repeat(s, 9)
	}}
	if n := len(h.text(strings.Repeat("x", 1<<20))); n > maxName {
		t.Errorf("a name of %d bytes", n)
	}
}

func TestSizeNames(t *testing.T) {
	for size, want := range map[uint64]string{0: "untyped, 0 bytes", 1024: "untyped, 1024 bytes", 1025: "untyped, more than 1 KiB", 2048: "untyped, more than 1 KiB", 2049: "untyped, more than 2 KiB",
		1 << 20: "untyped, more than 512 KiB", 1<<20 + 1: "untyped, more than 1 MiB", 1 << 40: "untyped, more than 512 GiB", 1<<64 - 1: "untyped, more than 8 EiB"} {
		if _, name := sizeName(size); name() != want {
			t.Errorf("%d: %s, want %s", size, name(), want)
		}
	}
}

func TestString(t *testing.T) {
	for s, want := range map[string]string{"a": `"a"`, `"\`: `"\"\\"`, "</script>&": `"\u003c/script\u003e\u0026"`, "é\u2028😀\n": `"\u00e9\u2028\ud83d\ude00\u000a"`, "\xff": `"?"`} {
		if got := string(appendString(nil, s)); got != want {
			t.Errorf("%q: %s, want %s", s, got, want)
		}
	}
}

// hostile has names that attack whoever shows them.
func hostile(t testing.TB) *Heap {
	h := shop(t)
	long := strings.Repeat(stranger.Text, 1<<20/len(stranger.Text))
	h.Program, h.Title = stranger.Text, stranger.Text
	h.Type = func(k graph.Kind) string {
		if k == chars {
			return long
		}
		return fmt.Sprint(stranger.Text, k)
	}
	h.Root = func(r graph.Root) string { return stranger.Text }
	h.Field = func(n graph.Node, off uint64) string { return stranger.Text }
	h.Summary = [][2]string{{stranger.Text, stranger.Text}, {"long", long}}
	return h
}

// TestQuestionsBounded: names of roots and pointers are asked only so often, however many there are, and of different ones few are kept.
func TestQuestionsBounded(t *testing.T) {
	h := diverse(t, 10_000)
	fields, names := 0, 0
	h.Field = func(graph.Node, uint64) string {
		fields++
		return "f"
	}
	h.Root = func(r graph.Root) string {
		names++
		return fmt.Sprint("root", r.At)
	}
	one := h.Graph.Roots[0]
	for i := range 2 * maxRootNames {
		h.Graph.Roots = append(h.Graph.Roots, graph.Root{At: uint64(100 + i), To: one.To})
	}
	for name, most := range map[string]int{"pprof": 0, "heapsnapshot": maxFieldNames, "hprof": maxFieldAsks, "html": maxAsked} {
		fields, names = 0, 0
		out := write(t, writers[name], h)
		if fields > most || fields < most-maxSteps/1000 || names > 2*maxRootNames {
			t.Errorf("%s: asked %d times for fields, of %d, and %d for roots", name, fields, most, names)
		}
		if strings.HasPrefix(name, "h") && name != "html" && (!bytes.Contains(out, []byte(otherRoots)) || names != maxRootNames) {
			t.Errorf("%s: %d names of roots", name, names)
		}
	}
}

// TestManyRootsAsked: of roots that have one name the name is asked for only so many.
func TestManyRootsAsked(t *testing.T) {
	c := newClasses(&Heap{Root: func(graph.Root) string { return "x" }})
	for range maxRoots + 10 {
		c.ofRoot(graph.Root{})
	}
	if c.asked != maxRoots || c.roots != 2 {
		t.Errorf("asked %d times, %d names", c.asked, c.roots)
	}
}
