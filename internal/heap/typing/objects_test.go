package typing

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/corewalk/corewalk/internal/heap"
	"github.com/corewalk/corewalk/internal/heap/graph"
	"github.com/corewalk/corewalk/internal/procmem"
	"github.com/corewalk/corewalk/unwind/arch"
)

type zeros struct{}

func (zeros) ReadMem(_ arch.Address, b []byte) (int, error) { clear(b); return len(b), nil }
func (zeros) ReadWord(arch.Address) (uint64, error)         { return 0, nil }

// runtime knows what is in blocks by where they begin.
type runtime map[uint64]heap.Object

func (r runtime) ObjectIn(start, _ uint64, _ []byte) (heap.Object, bool) {
	o, ok := r[start]
	return o, ok
}
func (runtime) Variables(func(string, uint64) bool) {}
func (runtime) Unknown() string                     { return "" }

// typer has blocks of 64 bytes, one after the other from 0x1000 on.
func typer(blocks int) *Typer {
	mem := procmem.Reader{Memory: zeros{}, Arch: arch.AMD64}
	b := graph.NewBuilder(mem, 1<<30)
	b.Range(0x1000, 0x1000+uint64(blocks)*64)
	for again := true; again; again = b.Counted() {
		for i := range uint64(blocks) {
			b.Add(0x1000+i*64, 64)
		}
	}
	return New(b.Graph(), mem, nil)
}

func TestObjects(t *testing.T) {
	x := typer(8)
	r := runtime{
		0x1000: {Type: "looks like one"}, // but is a list's
		0x1040: {Type: "list", Head: 16, Owns: []heap.Owned{{At: 0x1000, What: "list items"}, {At: 0x1080, What: "text", Weak: true}, {At: 0x1040, What: "itself"}, {At: 0x9000, What: "nothing"}}},
		0x1080: {Type: "is the list's, too"},
		0x10c0: {Type: "str", Owns: []heap.Owned{{At: 0x1048, What: "middle of a list"}}},
		0x1100: {Type: "list", Freed: true},
		0x1140: {Type: "wide", Head: 256}, // more than a head has
		0x1180: {Type: "list", Head: 16},
		0x11c0: {Type: "list", Head: 16, Links: 1 << 6},
	}
	if err := x.Objects(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"list items", "list", "text", "str", "list", "", "list", "list"} {
		k := x.g.Kinds[i]
		if x.Kinds[k].Name != want || x.Kinds[k].ByObject != (want != "") || x.Kinds[k].Freed != (i == 4) {
			t.Errorf("%d is %+v, want %s", i, x.Kinds[k], want)
		}
		if k != Unknown && (x.g.Blind[k] != (i == 2 || i == 4) || x.g.Skips[k] != r[0x1000+uint64(i)*64].Links || x.g.Heads[k] != uint8(r[0x1000+uint64(i)*64].Head)) {
			t.Errorf("%d: head of %d, blind %v", i, x.g.Heads[k], x.g.Blind[k])
		}
	}
	if x.g.Kinds[1] != x.g.Kinds[6] || x.g.Kinds[1] == x.g.Kinds[4] || x.g.Kinds[1] == x.g.Kinds[7] {
		t.Errorf("kinds %v", x.g.Kinds)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := typer(8).Objects(ctx, r); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestManyTypes: of more types than can be counted some are not known.
func TestManyTypes(t *testing.T) {
	x := typer(maxKinds + 10)
	r := runtime{}
	for i := range maxKinds + 10 {
		r[0x1000+uint64(i)*64] = heap.Object{Type: fmt.Sprint(i)}
	}
	if err := x.Objects(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	if len(x.Kinds) != maxKinds || x.g.Kinds[maxKinds+5] != Unknown || x.Kinds[x.g.Kinds[5]].Name != "5" {
		t.Errorf("%d kinds, %d", len(x.Kinds), x.g.Kinds[maxKinds+5])
	}
}

// TestIdle: what a container has for nothing is not more than its object has, and damaged numbers are none.
func TestIdle(t *testing.T) {
	ty := typer(1)
	k := ty.kind("int[]", false, nil)
	for _, c := range []struct{ at, whole, used, element, want uint64 }{
		{0x1000, 0x1040, 0x1010, 0, 0x30},
		{0x1000, 16, 4, 4, 48},
		{0x1000, 0x1010, 0x1040, 0, 0}, // less than is used
		{0x1000, 0x2000, 0x1010, 0, 0}, // more than the object
		{0x1000, 1 << 62, 4, 4, 0},     // as many elements would go round
		{0x2000, 0x2040, 0x2010, 0, 0}, // no object
	} {
		ty.Kinds[k].Idle = 0
		if ty.idle(k, c.at, c.whole, c.used, c.element); ty.Kinds[k].Idle != c.want {
			t.Errorf("%+v: %d bytes", c, ty.Kinds[k].Idle)
		}
	}
	if ty.idle(Unknown, 0x1000, 0x1040, 0x1010, 0); ty.Kinds[Unknown].Idle != 0 {
		t.Error("what is of no type is idle")
	}
}
