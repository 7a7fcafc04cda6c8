package pdb

import (
	"fmt"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/fixture"
)

// big is a program with many types and functions, of which one is looked up.
func big(size int) string {
	var b strings.Builder
	b.WriteString("extern \"C\" int _fltused = 0;\nvolatile int sink;\n")
	for i := range size {
		fmt.Fprintf(&b, "struct T%d { int a; T%d *next; short b[%d]; };\n", i, i, i%50+1)
		fmt.Fprintf(&b, "__attribute__((noinline)) int f%d(T%d *t, int n) { int local = n + t->a; sink = local; return local; }\n", i, i)
	}
	b.WriteString("extern \"C\" int start(void) { int sum = 0;\n")
	for i := range size {
		fmt.Fprintf(&b, "{ T%d t; t.a = sum; sum += f%d(&t, 3); }\n", i, i)
	}
	b.WriteString("return sum; }\n")
	return b.String()
}

// TestTouched reads the variables of one function of thousands: only the records of the
// types that it needs, and those beside them, may be read.
func TestTouched(t *testing.T) {
	size, least := 700, 80
	if fixture.IsLong(t) {
		size, least = 3000, 300
	}
	p := buildSources(t, map[string]string{"big.cpp": big(size)}, "x86_64-pc-windows-msvc", "-O0")
	f, err := Open(p.data)
	if err != nil {
		t.Fatal(err)
	}
	start, end := p.text(t)
	if _, _, err := f.FuncAt(start); err != nil { // the module's functions are listed once
		t.Fatal(err)
	}
	touched := map[uint32]bool{}
	f.c.touch = func(n uint32) { touched[n] = true }
	fn, ok, err := f.FuncAt(start + (end-start)/4)
	if err != nil || !ok || len(fn.Scope.Vars) != 3 {
		t.Fatalf("%+v, %v, %v", fn, ok, err)
	}
	pointer, _ := f.Type(fn.Scope.Vars[0].Type)
	def, ok := f.Definition(pointer.Elem)
	class, ok2 := f.Type(def)
	members, _ := f.Members(class.Fields)
	if !ok || !ok2 || len(members) != 3 || members[0].Name != "a" {
		t.Errorf("%+v, %v", class, members)
	}
	t.Logf("%d of %d blocks", len(touched), f.c.blocks)
	if len(touched) > 24 || f.c.blocks < least {
		t.Errorf("%d of %d blocks were read", len(touched), f.c.blocks)
	}
}
