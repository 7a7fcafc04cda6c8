package export

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/internal/heap/graph"
	"github.com/corewalk/corewalk/internal/procmem"
	"github.com/corewalk/corewalk/internal/stranger"
)

// An hprofReader reads a file, and fails if anything is out of place.
type hprofReader struct {
	t       testing.TB
	b       []byte
	word    int
	strings map[uint64]string
	classes map[uint64]*hprofSeen
	seen    map[uint64]bool // objects
	roots   map[uint64]bool
	refs    []uint64
	lines   []string // as testdata/ReadHprof.java prints them
}

type hprofSeen struct {
	name   string
	dumped bool
	fields []string
	count  int
}

func (r *hprofReader) take(n int) []byte {
	if n > len(r.b) {
		r.t.Fatalf("%d bytes of %d", len(r.b), n)
	}
	b := r.b[:n]
	r.b = r.b[n:]
	return b
}

func (r *hprofReader) u1() byte   { return r.take(1)[0] }
func (r *hprofReader) u2() uint16 { return binary.BigEndian.Uint16(r.take(2)) }
func (r *hprofReader) u4() uint32 { return binary.BigEndian.Uint32(r.take(4)) }
func (r *hprofReader) id() uint64 {
	if r.word == 4 {
		return uint64(r.u4())
	}
	return binary.BigEndian.Uint64(r.take(8))
}

func readHprof(t testing.TB, b []byte) *hprofReader {
	t.Helper()
	r := &hprofReader{t: t, b: b, strings: map[uint64]string{}, classes: map[uint64]*hprofSeen{}, seen: map[uint64]bool{}, roots: map[uint64]bool{}}
	const head = "JAVA PROFILE 1.0.2\x00"
	if string(r.take(len(head))) != head {
		t.Fatal("no head")
	}
	r.word = int(r.u4())
	r.take(8)
	for {
		tag := r.u1()
		r.u4()
		rest := r.b
		n := int(r.u4())
		body := r.take(n)
		after := r.b
		r.b = body
		switch tag {
		case hprofUTF8:
			r.strings[r.id()] = string(r.b)
		case hprofClass:
			r.u4()
			id := r.id()
			r.u4()
			name, ok := r.strings[r.id()]
			if !ok || r.classes[id] != nil {
				t.Fatal("a class without a name, or there twice")
			}
			r.classes[id] = &hprofSeen{name: name}
		case hprofSegment:
			for len(r.b) > 0 {
				r.part()
			}
		case hprofTrace:
		case hprofEnd:
			r.end()
			return r
		default:
			t.Fatalf("record %#x, %d bytes before the end", tag, len(rest))
		}
		r.b = after
	}
}

func (r *hprofReader) object() uint64 {
	id := r.id()
	if id == 0 || r.seen[id] || r.classes[id] != nil {
		r.t.Fatalf("%#x is there twice", id)
	}
	r.seen[id] = true
	return id
}

func (r *hprofReader) class(id uint64) *hprofSeen {
	c := r.classes[id]
	if c == nil || !c.dumped {
		r.t.Fatalf("class %#x is not there", id)
	}
	c.count++
	return c
}

func (r *hprofReader) line(id uint64, text string) {
	if r.roots[id] {
		text += " root"
	}
	r.lines = append(r.lines, fmt.Sprintf("0x%x %s", id, text))
}

func (r *hprofReader) part() {
	switch tag := r.u1(); tag {
	case partRoot:
		r.roots[r.id()] = true
	case partClass:
		c := r.classes[r.id()]
		if c == nil || c.dumped {
			r.t.Fatal("a class is not loaded, or there twice")
		}
		c.dumped = true
		r.u4()
		r.take(6 * r.word)
		size := int(r.u4())
		r.take(4)
		n := int(r.u2())
		for range n {
			name, ok := r.strings[r.id()]
			if typ := r.u1(); typ != typeObject || !ok {
				r.t.Fatalf("%s: a field of type %d", c.name, typ)
			}
			c.fields = append(c.fields, name)
		}
		if size != n*r.word {
			r.t.Fatalf("%s has %d fields in %d bytes", c.name, n, size)
		}
	case partInstance:
		id := r.object()
		r.u4()
		c := r.class(r.id())
		n := int(r.u4())
		if n != len(c.fields)*r.word {
			r.t.Fatalf("%s: %d bytes of %d fields", c.name, n, len(c.fields))
		}
		s := c.name
		for _, f := range c.fields {
			v := "null"
			if to := r.id(); to != 0 {
				r.refs = append(r.refs, to)
				v = fmt.Sprintf("0x%x", to)
			}
			s += " " + f + "=" + v
		}
		r.line(id, s)
	case partObjects:
		id := r.object()
		r.u4()
		n := int(r.u4())
		c := r.class(r.id())
		name, ok := strings.CutPrefix(c.name, "[L")
		if !ok {
			r.t.Fatalf("an array of class %s", c.name)
		}
		s := fmt.Sprintf("%s[][%d]", strings.TrimSuffix(name, ";"), n)
		for i := range n {
			if to := r.id(); to != 0 {
				r.refs = append(r.refs, to)
				s += fmt.Sprintf(" %d=0x%x", i, to)
			}
		}
		r.line(id, s)
	case partNumbers:
		id := r.object()
		r.u4()
		n := int(r.u4())
		if typ := r.u1(); typ != typeByte {
			r.t.Fatalf("an array of type %d", typ)
		}
		if len(bytes.Trim(r.take(n), "\x00")) > 0 {
			r.t.Fatal("contents are in the file")
		}
		for _, c := range r.classes {
			if c.name == "[B" {
				c.count++
			}
		}
		r.line(id, fmt.Sprintf("byte[][%d]", n))
	default:
		r.t.Fatalf("part %#x", tag)
	}
}

func (r *hprofReader) end() {
	for _, to := range r.refs {
		if !r.seen[to] {
			r.t.Fatalf("%#x is not there", to)
		}
	}
	for id := range r.roots {
		if !r.seen[id] {
			r.t.Fatalf("root %#x is not there", id)
		}
	}
	for _, c := range r.classes {
		if !c.dumped {
			r.t.Fatalf("class %s has no description", c.name)
		}
		if c.count > 0 {
			name := c.name
			if name == "[B" {
				name = "byte[]"
			} else if s, ok := strings.CutPrefix(name, "[L"); ok {
				name = strings.TrimSuffix(s, ";") + "[]"
			}
			r.lines = append(r.lines, fmt.Sprintf("class %s %d", name, c.count))
		}
	}
	slices.Sort(r.lines)
}

func TestHprof(t *testing.T) {
	r := readHprof(t, write(t, WriteHprof, shop(t)))
	want := []string{
		"class java.lang.Object[] 4", "class root g_cache 1", "class (unreached) 1", "class Order 2", "class Node 3", "class char[] 2", "class byte[] 1", "class untyped, 100 bytes 1", "class untyped, more than 2 KiB[] 1",
		"0x7f0000000000 std::vector<Item, std::allocator<Item> > field0=0x7f0000000040 field1=0x7f0000000070 field2=null field3=null field4=null field5=null field6=null field7=null",
		"0x7f0000000040 Order field0=0x7f00000000a0 field1=0x7f00000014b0 field2=null field3=null field4=null field5=null",
		"0x7f00000030c0 byte[][9000]",
		"0x7f0000000108 char[][625]",
		"0x7f0000001490 Node field0=0x7f00000014c8 field1=null field2=null field3=null",
	}
	all := strings.Join(r.lines, "\n") + "\n"
	for _, w := range want {
		if !strings.Contains(all, w+"\n") {
			t.Errorf("not there: %s", w)
		}
	}
	if len(r.seen) != 12+4*2 || len(r.roots) != 4 {
		t.Errorf("%d objects, %d roots", len(r.seen), len(r.roots))
	}
	if t.Failed() {
		t.Log(all)
	}
}

// TestVisualVM: VisualVM's library finds the same.
func TestVisualVM(t *testing.T) {
	fixture.Long(t)
	const jar = "/usr/share/visualvm/visualvm/modules/org-graalvm-visualvm-lib-jfluid-heap.jar"
	if _, err := os.Stat(jar); err != nil {
		t.Skip("not compared: VisualVM is not installed (Debian: visualvm)")
	}
	java, err := exec.LookPath("java")
	if err != nil {
		t.Skip("not compared: Java is not installed (Debian: openjdk-17-jdk)")
	}
	for name, h := range map[string]*Heap{"shop": shop(t), "many": many(t, 5000), "strangers": hostile(t)} {
		t.Run(name, func(t *testing.T) {
			b := write(t, WriteHprof, h)
			file := filepath.Join(t.TempDir(), "heap.hprof")
			if err := os.WriteFile(file, b, 0o600); err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command(java, "-Dfile.encoding=UTF-8", "-Dstdout.encoding=UTF-8", "-cp", jar, "testdata/ReadHprof.java", file)
			cmd.Env = append(os.Environ(), "LC_ALL=C.UTF-8")
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%.2000s", err, out)
			}
			got := strings.Split(strings.TrimSpace(string(out)), "\n")
			want := readHprof(t, b).lines
			for _, list := range [][]string{got, want} { // VisualVM has dots in the names of classes
				for i := range list {
					list[i] = strings.ReplaceAll(list[i], "/", ".")
				}
				slices.Sort(list)
			}
			if !slices.Equal(got, want) {
				for i := range min(len(got), len(want)) {
					if got[i] != want[i] {
						t.Fatalf("line %d of %d: %.300s\nwant (%d): %.300s", i, len(got), got[i], len(want), want[i])
					}
				}
				t.Fatalf("%d lines, want %d", len(got), len(want))
			}
		})
	}
}

// TestHprofBounded: the file says how many objects are larger than shown, and large ones are passed on as they are made.
func TestHprofBounded(t *testing.T) {
	h := heap(t, []object{{48, order, []int{1}}, {1 << 20, chars, []int{0}}, {1 << 20, none, slices.Repeat([]int{0}, 600)}, {5 << 30, none, nil}}, 0)
	b := write(t, func(ctx context.Context, w io.Writer, h *Heap) error { return writeHprof(ctx, w, h, 1<<20+100) }, h)
	r := readHprof(t, b)
	all := strings.Join(r.lines, "\n")
	if len(b) > 1<<20+20_000 || !strings.Contains(all, "(2 objects are larger than shown)") || !strings.Contains(all, "char[][131072] 0=0x7f") || strings.Count(all, "byte[][4096]") != 1 || !strings.Contains(all, "untyped, more than 512 KiB[][512] 0=0x7f") {
		t.Errorf("%d bytes: %s", len(b), all)
	}
}

// TestHprofIdentifiers: what has no address is behind the objects if nothing is free before them.
func TestHprofIdentifiers(t *testing.T) {
	h := shop(t)
	x := &hprof{g: h.Graph, word: 8}
	if err := x.free(1 << 44); err != nil || x.ids <= h.Graph.Start(11) || x.ids > h.Graph.Start(11)+1000 {
		t.Errorf("%#x, %v", x.ids, err)
	}
	if err := x.free(1000); err != nil || x.ids != idStep {
		t.Errorf("%#x, %v", x.ids, err)
	}
	if x.word = 4; x.free(1<<44) == nil {
		t.Error("identifiers of 4 bytes are left behind an address of 6")
	}
}

// TestHprofOdd: an object at address 0, objects without bytes, and what is too large for an array.
func TestHprofOdd(t *testing.T) {
	b := graph.NewBuilder(procmem.Of(&memory{}), 1<<20)
	b.Range(0, 64)
	for again := true; again; again = b.Counted() {
		b.Add(0, 0)
		b.Add(16, 0)
		b.Add(24, 0)
		b.Add(32, 0)
	}
	if r := readHprof(t, write(t, WriteHprof, &Heap{Graph: b.Graph(), Type: func(graph.Kind) string { return "T" }})); len(r.seen) != 4+2 {
		t.Errorf("%d objects", len(r.seen))
	}
	x := &hprof{g: heap(t, []object{{size: 5 << 30}}).Graph, word: 8, left: 1 << 50}
	if n := x.shown(0); n != cutArray {
		t.Errorf("%d bytes are shown", n)
	}
	if x.objectArray(1, 1, 1<<29, nil) == nil {
		t.Error("an array of 4 GiB is written")
	}
}

func TestHprofOfStrangers(t *testing.T) {
	r := readHprof(t, write(t, WriteHprof, hostile(t)))
	for _, s := range r.strings {
		if err := stranger.Lines(s, false); err != nil || len(s) > maxName+10 {
			t.Errorf("%.50s: %d bytes, %v", s, len(s), err)
		}
	}
}
