package session

import (
	"context"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/unwind"
)

// Names for completion begin as is asked, are sorted, and are those of the first symbols and entries only.
func TestProposed(t *testing.T) {
	ctx := context.Background()
	c := fixture.Get(t, "amd64-vars-c-O0")
	target, err := corewalk.Open(ctx, c.Core(t), corewalk.WithSysroot(c.Sysroot(t)), corewalk.WithExecutable(c.Binary(t)))
	if err != nil {
		t.Fatal(err)
	}
	defer target.Close()
	s := New(target, Options{})
	libs, err := target.ProcessState().LibraryTracker().Libraries(false)
	if err != nil {
		t.Fatal(err)
	}
	module := libs[0].Path
	for _, x := range []struct {
		variables bool
		begin     string
		want      []string
	}{
		{false, "rec", []string{"records"}},
		{false, "records.", nil},
		{true, "nam", []string{"names"}},
		{true, "rec", nil},
	} {
		got, err := s.Proposed(ctx, module, x.variables, x.begin, 50)
		if err != nil {
			t.Fatal(err)
		}
		if x.begin == "rec" && !x.variables { // and those of libraries
			got = slices.DeleteFunc(got, func(n string) bool { return n != "records" })
		}
		if !slices.Equal(got, x.want) {
			t.Errorf("%v %s: %q, want %q", x.variables, x.begin, got, x.want)
		}
	}
	s.proposed, s.proposedOf = []string{"nasal", "nave"}, module // what was found once is not looked for again
	if got, _ := s.Proposed(ctx, module, true, "na", 50); !slices.Equal(got, []string{"nasal", "nave"}) {
		t.Errorf("%q", got)
	}
	s.proposed = nil
	lookup := target.SymbolLookup().(interface {
		Variables(*libstate.Library) iter.Seq[unwind.Symbol]
	})
	found := false
	for v := range lookup.Variables(libs[0]) {
		found = found || v.Name == "names"
	}
	if !found {
		t.Error("the symbol table has no variable names")
	}
	if got, _ := s.Proposed(ctx, "/another", true, "nam", 50); len(got) > 0 {
		t.Errorf("of a module that is not there: %q", got)
	}
	if got, _ := s.Proposed(ctx, module, false, "m", 3); len(got) > 3 || !slices.IsSorted(got) {
		t.Errorf("%q", got)
	}
	few, _, _ := s.functions(ctx, "", 0, 100, 5, "")
	all, _, _ := s.functions(ctx, "", 0, 100, 100, "")
	if len(few) > 5 || len(all) <= 5 {
		t.Errorf("%d of 5 symbols, %d of 100", len(few), len(all))
	}
	none, _, _ := s.names(ctx, &module, true, "", 0, 100, 1)
	names, _, _ := s.names(ctx, &module, true, "", 0, 100, 10_000)
	if len(none) > 1 || len(names) <= 1 {
		t.Errorf("%d of an entry, %d of many", len(none), len(names))
	}
}

// Which functions begin so is told by their mangled names before these are demangled: no other one is left out.
func TestWithin(t *testing.T) {
	ctx := context.Background()
	for _, name := range []string{"amd64-vars-cxx-O0", "amd64-vars-rust-O0", "amd64-cxx-wrappers", "amd64-words-libcxx"} {
		c := fixture.Get(t, name)
		target, err := corewalk.Open(ctx, c.Core(t), corewalk.WithSysroot(c.Sysroot(t)), corewalk.WithExecutable(c.Binary(t)))
		if err != nil {
			t.Fatal(err)
		}
		defer target.Close()
		s := New(target, Options{})
		all, _, err := s.Functions(ctx, "", 0, 100_000)
		if err != nil {
			t.Fatal(err)
		}
		skipped := 0
		for i := range all {
			f := &all[i]
			for n := 2; n <= min(len(f.Name), 24); n++ {
				switch w := within(f.Name[:n]); {
				case w == "":
				case f.Linkage != "" && (strings.HasPrefix(f.Linkage, "_Z") || strings.HasPrefix(f.Linkage, "_R")) && !hasName(f.Linkage, w):
					t.Fatalf("%s, %s does not have %q", f.Name, f.Linkage, w)
				default:
					skipped++
				}
			}
		}
		if skipped < 100 {
			t.Errorf("%s: %d beginnings tell", name, skipped)
		}
	}
	for begin, want := range map[string]string{"ma": "ma", "main.x": "main", "st": "", "std::v": "", "operator ": "", "vec<int": "vec", "(anon": "", "<T as": "", "in": "", "x": "x"} {
		if got := within(begin); got != want {
			t.Errorf("%s: %q, want %q", begin, got, want)
		}
	}
}
