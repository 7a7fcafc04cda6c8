package symlookup_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/corewalk/corewalk/internal/code/disasm"
	"github.com/corewalk/corewalk/internal/files/find"
	"github.com/corewalk/corewalk/internal/files/image"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/modules"
	"github.com/corewalk/corewalk/symlookup"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// A loaded file is a library without a process.
type loaded struct {
	*image.Image
	lib *libstate.Library
}

// addr is the process's address of a symbol.
func (l loaded) addr(t *testing.T, symbol string) uint64 {
	t.Helper()
	s, ok := l.SymbolByName(symbol)
	if !ok {
		t.Fatalf("%s has no %s", l.Path(), symbol)
	}
	return s.Value + l.lib.LoadBias
}

// afterCall is the return address of the first direct call in one function that
// goes to another.
func (l loaded) afterCall(t *testing.T, in, to string) uint64 {
	t.Helper()
	pc, target := l.addr(t, in)-l.lib.LoadBias, uint64(0)
	if to != "" {
		target = l.addr(t, to) - l.lib.LoadBias
	}
	for range 200 {
		inst, err := disasm.Decode(arch.AMD64, l.ELF().DataFrom(pc), pc)
		if err != nil {
			t.Fatal(err)
		}
		pc = inst.Next()
		if inst.Kind == disasm.Call && (to == "" || inst.Target == target) {
			return pc + l.lib.LoadBias
		}
	}
	t.Fatalf("%s does not call %s", in, to)
	return 0
}

// imagesOf are the files of libraries.
type imagesOf map[*libstate.Library]*image.Image

func (s imagesOf) Image(lib *libstate.Library) *modules.Image { return (*modules.Image)(s[lib]) }

// load makes a lookup over files, each at its own place.
func load(t *testing.T, paths ...string) (*symlookup.Lookup, []loaded) {
	t.Helper()
	cache := image.NewCache(find.New(context.Background(), find.Options{DebugDirs: []string{t.TempDir()}}))
	t.Cleanup(func() { cache.Close() })
	var libs []*libstate.Library
	var files []loaded
	images := imagesOf{}
	for i, path := range paths {
		im, err := cache.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		start := uint64(i+1) << 32
		lib := &libstate.Library{Path: path, LoadBias: start, Start: start, End: start + 1<<24,
			Mappings: []libstate.Mapping{{Start: start, End: start + 1<<24, Path: path, Perm: libstate.Read | libstate.Exec}}}
		libs = append(libs, lib)
		images[lib] = im
		files = append(files, loaded{im, lib})
	}
	lost := &libstate.Library{Path: "/lost", Start: 1 << 16, End: 1 << 17, Mappings: []libstate.Mapping{{Start: 1 << 16, End: 1 << 17, Path: "/lost"}}}
	return symlookup.New(libstate.NewTable(append(libs, lost), 0), images), files
}

func names(calls []unwind.Call) string {
	var out []string
	for _, c := range calls {
		name := c.Name
		if c.Inlined {
			name += " inlined"
		}
		out = append(out, name)
	}
	return strings.Join(out, ", ")
}

func TestLookup(t *testing.T) {
	lookup, files := load(t, fixture.Get(t, "amd64-inline-tail-O2").Binary(t))
	bin := files[0]
	third := bin.addr(t, "third")
	calls, err := lookup.LookupCalls(third, nil)
	if err != nil || len(calls) == 0 || calls[len(calls)-1].Name != "third" || calls[len(calls)-1].Entry != third || filepath.Base(calls[0].File) != "inline_tail.c" {
		t.Fatalf("%+v, %v", calls, err)
	}
	name, value, err := lookup.LookupAtAddr(third)
	f, ok := value.(*symlookup.Function)
	if err != nil || name != "third" || !ok || f.Library != bin.lib || len(f.Calls) != len(calls) {
		t.Errorf("%q, %+v, %v", name, value, err)
	}
	if s, ok := lookup.SymbolAt(bin.lib, third+1); !ok || s.Name != "third" || s.Addr != third || s.Size == 0 {
		t.Errorf("symbol %+v, %v", s, ok)
	}
	if s, ok := lookup.SymbolByName(bin.lib, "third"); !ok || s.Addr != third {
		t.Errorf("symbol %+v, %v", s, ok)
	}
	if _, ok := lookup.SymbolByName(bin.lib, "nothing"); ok {
		t.Error("there is a symbol called nothing")
	}
	// A caller that changes its answer does not change the next one's.
	calls[0].Name = "changed"
	if again, _ := lookup.LookupCalls(third, nil); again[0].Name == "changed" {
		t.Error("callers share the answers")
	}
	buf := []unwind.Call{{Name: "before"}}
	if got, _ := lookup.LookupCalls(third, buf); got[0].Name != "before" || len(got) != len(calls)+1 {
		t.Errorf("appended: %s", names(got))
	}
}

// TestSharedFile: what a file says of an address is read once for all processes that have it, each at its own place.
func TestSharedFile(t *testing.T) {
	bin := fixture.Get(t, "amd64-inline-tail-O2").Binary(t)
	lookup, files := load(t, bin, bin)
	if files[0].Image != files[1].Image {
		t.Fatal("two images of one file")
	}
	apart := files[1].lib.LoadBias - files[0].lib.LoadBias
	third := files[0].addr(t, "third")
	first, err := lookup.LookupCalls(third, nil)
	if err != nil {
		t.Fatal(err)
	}
	work := lookup.Work()
	second, err := lookup.LookupCalls(third+apart, nil)
	if err != nil || work == 0 || lookup.Work() != work {
		t.Errorf("%v, read %d, then %d", err, work, lookup.Work()-work)
	}
	for i := range second {
		second[i].Entry -= apart
	}
	if !slices.Equal(first, second) {
		t.Errorf("%+v\nand at another place %+v", first, second)
	}
	ra := files[0].afterCall(t, "main", "first")
	one := lookup.LookupTailCalls(ra, 0, files[0].addr(t, "third")+1, nil)
	two := lookup.LookupTailCalls(ra+apart, 0, files[1].addr(t, "third")+1, nil)
	if len(one) == 0 || names(one) != names(two) || one[0].Entry+apart != two[0].Entry {
		t.Errorf("%+v\nand at another place %+v", one, two)
	}
}

// Code in a procedure linkage stub has the name of what the stub leads to.
func TestLookupStub(t *testing.T) {
	lookup, files := load(t, fixture.Get(t, "amd64-cxx-uncaught").Binary(t))
	got := map[string]string{}
	s := files[0].ELF().Section(".plt")
	for at := s.Addr; at < s.Addr+s.Size; at += 16 {
		calls, err := lookup.LookupCalls(at+6+files[0].lib.LoadBias, nil)
		if at == s.Addr { // which binds the others
			if err == nil {
				t.Errorf("the first stub is %+v", calls)
			}
			continue
		}
		if err != nil || len(calls) != 1 || calls[0].Entry != at+files[0].lib.LoadBias {
			t.Fatalf("%#x: %+v, %v", at, calls, err)
		}
		got[calls[0].Name] = calls[0].LinkageName
	}
	for name, linkage := range map[string]string{"__cxa_throw@plt": "", "std::__throw_logic_error@plt": "_ZSt19__throw_logic_errorPKc@plt"} {
		if l, ok := got[name]; !ok || l != linkage {
			t.Errorf("no %s (%s) among %q", name, linkage, got)
		}
	}
}

func TestLookupNothing(t *testing.T) {
	lookup, files := load(t, fixture.Get(t, "amd64-pie").Binary(t))
	for _, addr := range []uint64{0, 1, 1<<16 + 8, files[0].lib.Start + 1<<23, ^uint64(0)} {
		for range 2 { // found and remembered
			calls, err := lookup.LookupCalls(addr, nil)
			if !errors.Is(err, unwind.ErrNoSymbol) || len(calls) != 0 {
				t.Errorf("%#x: %s, %v", addr, names(calls), err)
			}
			if name, value, err := lookup.LookupAtAddr(addr); !errors.Is(err, unwind.ErrNoSymbol) || name != "" || value != nil {
				t.Errorf("%#x: %q, %v, %v", addr, name, value, err)
			}
		}
		if calls := lookup.LookupTailCalls(addr, 0, files[0].lib.Start, nil); len(calls) != 0 {
			t.Errorf("tail calls from %#x: %s", addr, names(calls))
		}
		if calls := lookup.LookupTailCalls(files[0].lib.Start, 0, addr, nil); len(calls) != 0 {
			t.Errorf("tail calls to %#x: %s", addr, names(calls))
		}
	}
}

// Assembly has lines and no functions in DWARF; a lambda's class has no name.
func TestNamesFromSymbols(t *testing.T) {
	lookup, files := load(t, fixture.Get(t, "amd64-cxx-virtual").Binary(t), fixture.Get(t, "amd64-stripped").Binary(t))
	const lambda = "_ZZ4mainENKUlRKSt10shared_ptrIN6shapes5ShapeEEE_clES4_"
	calls, err := lookup.LookupCalls(files[0].addr(t, lambda), nil)
	if want := "main::{lambda(std::shared_ptr<shapes::Shape> const&)#1}::operator()"; err != nil || len(calls) != 1 || calls[0].Name != want || calls[0].LinkageName != lambda {
		t.Errorf("%+v, %v; want %s", calls, err, want)
	}
	if calls, err := lookup.LookupCalls(files[1].lib.Start+files[1].ELF().Entry, nil); err == nil {
		t.Errorf("a stripped program has names: %s", names(calls))
	}
}

func TestTailCalls(t *testing.T) {
	lookup, files := load(t, fixture.Get(t, "amd64-inline-tail-O2").Binary(t), fixture.Get(t, "amd64-tail-ambiguous-O2").Binary(t))
	for _, c := range []struct {
		file         int
		in, to, last string
		want         string
	}{
		{0, "main", "first", "third", "second, first"},
		{0, "main", "first", "second", "first"},
		{0, "main", "first", "first", ""},
		{1, "main", "start", "sink", "start"}, // what the possible ways have in common
	} {
		f := files[c.file]
		ra := f.afterCall(t, c.in, c.to)
		for range 2 {
			if got := names(lookup.LookupTailCalls(ra, 0, f.addr(t, c.last)+1, nil)); got != c.want {
				t.Errorf("%s calls %s, %s runs: %q, want %q", c.in, c.to, c.last, got, c.want)
			}
		}
	}
}

// A tail call may have been made in the file of the call or in that of the
// function that runs.
func TestTailCallsAcrossFiles(t *testing.T) {
	fixture.Tools(t)
	gcc, err := exec.LookPath("gcc")
	if err != nil {
		t.Skip("gcc is not installed (Debian: gcc)")
	}
	dir := t.TempDir()
	build := func(out, source string, flags ...string) string {
		src, path := filepath.Join(dir, out+".c"), filepath.Join(dir, out)
		if err := os.WriteFile(src, []byte(source), 0o644); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(gcc, append([]string{"-O2", "-g", "-fno-inline", "-fno-ipa-icf", "-o", path, src}, flags...)...)
		if text, err := cmd.CombinedOutput(); err != nil {
			t.Skipf("gcc cannot build it: %v\n%s", err, text)
		}
		return path
	}
	lib := build("libtail.so", `
int leaf(int *p) { return *p; }
static int inner(int *p) { return p[1]; }
int outer(int *p) { return inner(p + 1); }
`, "-shared", "-fPIC")
	bin := build("prog", `
int leaf(int *); int outer(int *);
int left_here(int *p) { return leaf(p + 1); }
int main(int n, char **v) { return left_here(&n) + 1; }
int other(int *p) { return outer(p) + 1; }
`, lib)
	lookup, files := load(t, bin, lib)
	prog, so := files[0], files[1]
	if got := names(lookup.LookupTailCalls(prog.afterCall(t, "main", "left_here"), 0, so.addr(t, "leaf")+1, nil)); got != "left_here" {
		t.Errorf("left in the caller's file: %q", got)
	}
	if got := names(lookup.LookupTailCalls(prog.afterCall(t, "other", ""), 0, so.addr(t, "inner")+1, nil)); got != "outer" {
		t.Errorf("left in the callee's file: %q", got)
	}
	if got := names(lookup.LookupTailCalls(prog.afterCall(t, "other", ""), 0, so.addr(t, "outer")+1, nil)); got != "" {
		t.Errorf("called directly: %q", got)
	}
}

func TestConcurrentLookups(t *testing.T) {
	lookup, files := load(t, fixture.Get(t, "amd64-cxx-sort").Binary(t))
	start := files[0].addr(t, "main")
	var wg sync.WaitGroup
	var got [4][]string
	for g := range got {
		wg.Go(func() {
			for i := range uint64(64) {
				calls, _ := lookup.LookupCalls(start+i, nil)
				got[g] = append(got[g], names(calls))
			}
		})
	}
	wg.Wait()
	for g := range got {
		for i := range got[g] {
			if got[g][i] != got[0][i] {
				t.Fatalf("main+%d: %q and %q", i, got[g][i], got[0][i])
			}
		}
	}
}

func BenchmarkLookupCalls(b *testing.B) {
	cache := image.NewCache(find.New(context.Background(), find.Options{}))
	defer cache.Close()
	im, err := cache.Open(fixture.Get(b, "amd64-cxx-sort").Binary(b))
	if err != nil {
		b.Fatal(err)
	}
	s, _ := im.SymbolByName("main")
	lib := &libstate.Library{Start: 1 << 32, End: 2 << 32, LoadBias: 1 << 32, Mappings: []libstate.Mapping{{Start: 1 << 32, End: 2 << 32, Perm: libstate.Exec}}}
	libs := libstate.NewTable([]*libstate.Library{lib}, 0)
	images := imagesOf{lib: im}
	b.Run("first", func(b *testing.B) {
		for b.Loop() {
			symlookup.New(libs, images).LookupCalls(s.Value+1<<32+20, nil)
		}
	})
	b.Run("again", func(b *testing.B) {
		l := symlookup.New(libs, images)
		var buf []unwind.Call
		for b.Loop() {
			buf, _ = l.LookupCalls(s.Value+1<<32+20, buf[:0])
		}
	})
}
