package types

import (
	"archive/zip"
	"bytes"
	"debug/elf"
	"encoding/binary"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/internal/format/dwarf"
	"github.com/corewalk/corewalk/unwind/arch"
)

// The sources of a program whose types are declared here and defined there.
var indexedSources = map[string]string{
	"uses.cpp": `
namespace shop { struct Order; struct Lost; enum class Kind : int; template<class T> struct Box; inline namespace v2 { struct Item; } }
struct Plain; class Klass; union Either; struct node;
struct Outer { struct Inner; Inner *inner; struct Whole { int w; } whole; };
namespace other { struct Order { char c; } held; }
namespace { struct Hidden { int h; } hidden; }
namespace std { class condition_variable; }
extern shop::Order *order; extern shop::Lost *lost; extern shop::Kind *kind; extern shop::Box<shop::Box<long>> *box; extern shop::Item *item;
extern Plain *plain; extern Klass *klass; extern Either *either; extern "C" node *list; extern Outer outer; extern std::condition_variable *cv;
int local(int n) { struct Plain { int elsewhere; } p{n}; struct Lost { int l; } l{n}; return p.elsewhere + l.l; }
void *all[] = {order, lost, kind, box, item, plain, klass, either, list, &outer, cv, &hidden, &other::held};
int use(shop::Order *o, shop::Lost *l, shop::Kind *k, shop::Box<shop::Box<long>> *b, shop::Item *i, Plain *p, Klass *c, Either *e, node *n, std::condition_variable *v) {
	return local((o != 0) + (l != 0) + (k != 0) + (b != 0) + (i != 0) + (p != 0) + (c != 0) + (e != 0) + (n != 0) + (v != 0) + hidden.h); }
`,
	"has.cpp": `
namespace shop { struct Order { long number; struct Line { int n; } line; }; enum class Kind : int { Small, Large }; template<class T> struct Box { T value; }; template<> struct Box<long> { long l; };
 inline namespace v2 { struct Item { int price; }; } }
struct Plain { int a, b; }; class Klass { public: int x; virtual int f() { return x; } }; union Either { int i; float f; };
struct Outer { struct Inner { int deep; }; Inner *inner; struct Whole { int w; } whole; };
namespace { struct Hidden { long other; } hidden; }
shop::Order o; shop::Kind k; shop::Box<shop::Box<long>> b; shop::Item i; Plain p; Klass c; Either e; Outer outer; Outer::Inner in;
shop::Order *order = &o; shop::Kind *kind = &k; shop::Box<shop::Box<long>> *box = &b; shop::Item *item = &i; Plain *plain = &p; Klass *klass = &c; Either *either = &e;
namespace shop { struct Lost; } shop::Lost *lost; namespace std { class condition_variable; } std::condition_variable *cv;
static int counter = 3; namespace shop { int total = 4; } int more() { return counter + hidden.other + in.deep; }
`,
	"again.cpp": `
namespace shop { struct Order { long number; struct Line { int n; } line; }; struct Last { int z; } last; }
struct Plain { int a, b; }; Plain second; shop::Order third; typedef struct { int q; } Klass2; Klass2 k2;
int again() { return second.a + third.number; }
`,
	"list.c":  "struct node { struct node *next; struct tail *end; int n; } first; struct node *list = &first; typedef struct tail *tail_t; tail_t t;\n",
	"tail.c":  "struct tail { int length; struct node *n; } tail; typedef int node; node number;\n",
	"tail2.c": "struct tail { char name[8]; long length; } tail2;\n",
	"main.cpp": `
namespace shop { struct Order; struct Lost; enum class Kind : int; template<class T> struct Box; inline namespace v2 { struct Item; } }
struct Plain; class Klass; union Either; struct node; namespace std { class condition_variable; } int more(); int again();
int use(shop::Order *, shop::Lost *, shop::Kind *, shop::Box<shop::Box<long>> *, shop::Item *, Plain *, Klass *, Either *, node *, std::condition_variable *);
int main() { return use(0, 0, 0, 0, 0, 0, 0, 0, 0, 0) + more() + again(); }
`,
}

// indexed is a way to make the program with an index.
type indexed struct {
	name    string
	clang   bool
	flags   []string
	plain   []string // sources that are compiled without flags
	link    []string
	lld     bool
	after   []string // a command for the program
	section string
	helps   bool   // the index must save searches
	record  string // under this name the sections are kept in testdata
}

var indexedBy = []indexed{
	{name: "clang, an index of each unit", record: "names-units", clang: true, flags: []string{"-gdwarf-5", "-gpubnames"}, lld: true, section: ".debug_names", helps: true},
	{name: "clang, one index", record: "names", clang: true, flags: []string{"-gdwarf-5", "-gpubnames"}, lld: true, link: []string{"-Wl,--debug-names"}, section: ".debug_names", helps: true},
	{name: "clang -O2, 64-bit DWARF", clang: true, flags: []string{"-gdwarf-5", "-gdwarf64", "-gpubnames", "-O2"}, lld: true, section: ".debug_names", helps: true},
	{name: "clang, one index, some units without names", record: "names-partly", clang: true, flags: []string{"-gdwarf-5", "-gpubnames"}, plain: []string{"has.cpp", "tail.c"}, lld: true, link: []string{"-Wl,--debug-names"}, section: ".debug_names", helps: true},
	{name: "clang, type units", clang: true, flags: []string{"-gdwarf-5", "-gpubnames", "-fdebug-types-section"}, lld: true, section: ".debug_names"},
	{name: "clang, lld --gdb-index", record: "gdb-lld", clang: true, flags: []string{"-gdwarf-5", "-ggnu-pubnames"}, lld: true, link: []string{"-Wl,--gdb-index"}, section: ".gdb_index", helps: true},
	{name: "clang, DWARF 4, lld --gdb-index", clang: true, flags: []string{"-gdwarf-4", "-ggnu-pubnames"}, lld: true, link: []string{"-Wl,--gdb-index"}, section: ".gdb_index", helps: true},
	{name: "clang, lld --gdb-index, some units without names", clang: true, flags: []string{"-gdwarf-5", "-ggnu-pubnames"}, plain: []string{"has.cpp", "tail.c"}, lld: true, link: []string{"-Wl,--gdb-index"}, section: ".gdb_index", helps: true},
	{name: "clang -gpubnames, DWARF 4, lld --gdb-index", clang: true, flags: []string{"-gdwarf-4", "-gpubnames"}, lld: true, link: []string{"-Wl,--gdb-index"}, section: ".gdb_index"},
	{name: "clang, gdb-add-index", clang: true, flags: []string{"-gdwarf-5"}, lld: true, after: []string{"gdb-add-index"}, section: ".gdb_index", helps: true},
	{name: "gcc, lld --gdb-index", flags: []string{"-ggnu-pubnames"}, lld: true, link: []string{"-Wl,--gdb-index"}, section: ".gdb_index", helps: true},
	{name: "gcc, type units, lld --gdb-index", flags: []string{"-ggnu-pubnames", "-fdebug-types-section"}, lld: true, link: []string{"-Wl,--gdb-index"}, section: ".gdb_index"},
	{name: "gcc, gold --gdb-index", flags: []string{"-ggnu-pubnames"}, link: []string{"-fuse-ld=gold", "-Wl,--gdb-index"}, section: ".gdb_index", helps: true},
	{name: "gcc, gdb-add-index", record: "gdb-added", after: []string{"gdb-add-index"}, section: ".gdb_index", helps: true},
	{name: "gcc, gdb-add-index -dwarf-5", after: []string{"gdb-add-index", "-dwarf-5"}, section: ".debug_names"},
}

// build makes the program; it skips the test where a tool is missing.
func (x *indexed) build(t *testing.T) string {
	t.Helper()
	cc, cxx := "gcc", "g++"
	if x.clang {
		cc, cxx = fixture.LLVM(t, "clang"), fixture.LLVM(t, "clang++")
	}
	needed := []string{cc, cxx}
	link := slices.Clone(x.link)
	if x.lld {
		link = append(link, "-fuse-ld=lld")
		needed = append(needed, "ld.lld")
	}
	if slices.Contains(link, "-fuse-ld=gold") {
		needed = append(needed, "ld.gold")
	}
	if x.after != nil {
		needed = append(needed, x.after[0], "gdb")
	}
	var tools []string
	for _, name := range needed {
		fixture.Tools(t)
		path, err := exec.LookPath(name)
		if tools = append(tools, path); err != nil {
			t.Skipf("%s is not installed: Debian's gcc, g++, clang-19, lld, binutils, gdb", name)
		}
	}
	key := slices.Concat([]string{"indexed", x.name}, x.flags, []string{"plain"}, x.plain, []string{"link"}, link, []string{"after"}, x.after)
	for _, source := range slices.Sorted(maps.Keys(indexedSources)) {
		key = append(key, source, indexedSources[source])
	}
	dir := fixture.Made(t, key, tools, func(dir string) {
		run := func(name string, args ...string) {
			cmd := exec.Command(name, args...)
			cmd.Dir = dir
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Skipf("%s %v: %v: %.500s", name, args, err, out)
			}
		}
		var objects []string
		for _, source := range []string{"uses.cpp", "list.c", "has.cpp", "tail.c", "again.cpp", "tail2.c", "main.cpp"} {
			if err := os.WriteFile(filepath.Join(dir, source), []byte(indexedSources[source]), 0o600); err != nil {
				t.Fatal(err)
			}
			compiler, args := cxx, []string{"-g", "-c", "-o", source + ".o", source}
			if strings.HasSuffix(source, ".c") {
				compiler = cc
			}
			if !slices.Contains(x.plain, source) {
				args = append(slices.Clone(x.flags), args...)
			}
			run(compiler, args...)
			objects = append(objects, source+".o")
		}
		run(cxx, append(append(objects, "-o", "program"), link...)...)
		if x.after != nil {
			run(x.after[0], append(slices.Clone(x.after[1:]), "program")...)
		}
	})
	return filepath.Join(dir, "program")
}

// sectionsOf reads all debug information of a program.
func sectionsOf(t *testing.T, path string) map[string][]byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	f, err := elf.NewFile(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string][]byte{}
	for _, s := range f.Sections {
		if s.Type != elf.SHT_NOBITS && (strings.HasPrefix(s.Name, ".debug_") || s.Name == ".gdb_index") {
			if all[s.Name], err = s.Data(); err != nil {
				t.Fatal(err)
			}
		}
	}
	return all
}

// withIndex returns the debug information with index as the section; without any index if that is nil.
func withIndex(all map[string][]byte, section string, index []byte) *dwarf.Data {
	return dwarf.New(dwarf.SourceFunc(func(name string) ([]byte, error) {
		switch name {
		case section:
			return index, nil
		case ".debug_names", ".gdb_index":
			return nil, nil
		}
		return all[name], nil
	}), binary.LittleEndian)
}

// An answer is the entry of a type, and what a report says of it.
type answer struct {
	off  uint64
	says string
}

func answerOf(t *Type) answer {
	var b strings.Builder
	fmt.Fprint(&b, t.Name(), " ", t.ByteSize)
	m := t.Members()
	for i := range m.Fields {
		f := &m.Fields[i]
		fmt.Fprint(&b, ", ", f.Name, " ", f.Off)
	}
	fmt.Fprint(&b, m.Enums)
	return answer{t.Ref.Off, b.String()}
}

// answers completes all declared types of a file and looks up all names in it, and some that are not. It returns
// the entries, and how many units were searched.
func answers(d *dwarf.Data) (found map[string]answer, searches int) {
	found = map[string]answer{}
	set := NewSet(arch.AMD64, noLibraries{})
	var first *dwarf.Unit
	names := map[string]bool{"shop::Nothing": true, "nothing": true, "Plain::Order": true, "struct tail": true, "std::condition_variable": true}
	d.Units(func(u *dwarf.Unit) bool {
		if first == nil {
			first = u
		}
		var e dwarf.Entry
		for c := u.Cursor(u.Root()); c.Next(&e) && c.Level() > 0; {
			if !structural(e.Tag) {
				continue
			}
			at := dwarf.DIE{Unit: u, Off: e.Off}
			typ := set.At(at)
			if !typ.Declared {
				continue
			}
			def, ok := set.Complete(typ)
			if ok {
				found["declared "+at.Unit.String()+" "+typ.FullName()] = answerOf(def)
			} else {
				found["declared "+at.Unit.String()+" "+typ.FullName()] = answer{}
			}
		}
		for name := range nameable(u) {
			names[name] = true
		}
		return true
	})
	set.names.Range(func(_, v any) bool {
		searches += int(v.(*unitTypes).asked.Load())
		return true
	})
	for name := range names {
		if typ, ok := set.Lookup(first, name, 8); ok {
			found["named "+name] = answerOf(typ)
		}
	}
	return found, searches
}

// compareAnswers reports where two sets of answers differ, in the entries or, if said, in what a report says.
func compareAnswers(t *testing.T, what string, got, want map[string]answer, said bool) {
	t.Helper()
	for name, w := range want {
		if g := got[name]; g.says != w.says || !said && g.off != w.off {
			t.Errorf("%s: %s at %#x, %s; want %#x, %s", what, name, g.off, g.says, w.off, w.says)
		}
	}
	for name, g := range got {
		if _, ok := want[name]; !ok {
			t.Errorf("%s: %s at %#x, want none", what, name, g.off)
		}
	}
}

var update = flag.Bool("update", false, "record the sections of the programs with an index")

// recordPath is where sections are kept.
func recordPath(name string) string { return filepath.Join("testdata", "indexed-"+name+".zip") }

// record keeps sections.
func record(t *testing.T, name string, all map[string][]byte) {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, section := range slices.Sorted(maps.Keys(all)) {
		if section == ".debug_line" || section == ".debug_gnu_pubnames" || section == ".debug_gnu_pubtypes" || section == ".debug_aranges" {
			continue
		}
		w, err := z.Create(section)
		if err == nil {
			_, err = w.Write(all[section])
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(recordPath(name), b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

// recorded reads sections that were kept.
func recorded(t testing.TB, name string) map[string][]byte {
	t.Helper()
	z, err := zip.OpenReader(recordPath(name))
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	all := map[string][]byte{}
	for _, f := range z.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		if all[f.Name], err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// Types are the same with an index and without.
func TestIndexed(t *testing.T) {
	for _, x := range indexedBy {
		t.Run(x.name, func(t *testing.T) {
			// TestIndexedRecorded has the others' shapes at every change.
			if sample := []string{"clang -O2, 64-bit DWARF", "gcc, type units, lld --gdb-index", "gcc, gold --gdb-index"}; !*update && !slices.Contains(sample, x.name) {
				fixture.Long(t)
			}
			all := sectionsOf(t, x.build(t))
			if len(all[x.section]) == 0 {
				t.Skipf("the tools wrote no %s", x.section)
			}
			if *update && x.record != "" {
				record(t, x.record, all)
			}
			sameAnswers(t, &x, all)
		})
	}
}

// The same of programs that were recorded.
func TestIndexedRecorded(t *testing.T) {
	for _, x := range indexedBy {
		if x.record != "" {
			t.Run(x.record, func(t *testing.T) { sameAnswers(t, &x, recorded(t, x.record)) })
		}
	}
}

// sameAnswers compares what is found with the index and without.
func sameAnswers(t *testing.T, x *indexed, all map[string][]byte) {
	t.Helper()
	want, without := answers(withIndex(all, "", nil))
	got, with := answers(withIndex(all, x.section, all[x.section]))
	compareAnswers(t, x.name, got, want, false)
	found := 0
	for name, w := range want {
		if strings.HasPrefix(name, "declared ") && w.off != 0 {
			found++
		}
	}
	if found < 8 && !slices.Contains(x.flags, "-fdebug-types-section") {
		t.Errorf("%d declared types found", found)
	}
	t.Logf("%d declared types found, %d searches of units, without the index %d", found, with, without)
	if x.helps && with > without*2/3 {
		t.Errorf("%d searches of units, without the index %d", with, without)
	}
}

// What is wrong with an index changes nothing that a report says, and costs no more searches: each word of it becomes another
// one, and it ends anywhere. (An index that leaves out one of several definitions of a type leads to another.)
func TestIndexLies(t *testing.T) {
	for _, x := range indexedBy {
		if x.record == "" {
			continue
		}
		t.Run(x.record, func(t *testing.T) {
			all := recorded(t, x.record)
			index := all[x.section]
			want, without := answers(withIndex(all, "", nil))
			try := func(what string, changed []byte) {
				got, with := answers(withIndex(all, x.section, changed))
				compareAnswers(t, what, got, want, true)
				if with > without {
					t.Errorf("%s: %d searches of units, %d without the index", what, with, without)
				}
			}
			// All words and values take a minute: without COREWALK_LONG every second word gets one value, and of a large table every fifth.
			long := os.Getenv("COREWALK_LONG") != ""
			step := 4
			if !long {
				step = map[bool]int{true: 20, false: 8}[x.section == ".gdb_index"]
			}
			for at := 0; at+4 <= len(index); at += step {
				old := binary.LittleEndian.Uint32(index[at:])
				values := []uint32{0, old + 1, old + 4, ^uint32(0)}
				if old == 0 { // most words of a hash table
					values = []uint32{1 << 4}
				}
				if n := at / step % len(values); !long {
					values = values[n : n+1]
				}
				for _, v := range values {
					changed := slices.Clone(index)
					binary.LittleEndian.PutUint32(changed[at:], v)
					try(fmt.Sprintf("word %#x of %#x is %#x", at, len(index), v), changed)
				}
			}
			for n := 0; n < len(index); n += 1 + len(index)/50 {
				try(fmt.Sprintf("%#x of %#x bytes", n, len(index)), index[:n])
			}
		})
	}
}

// What a long search found is remembered, whether it is something or nothing; what is remembered of another name, or is damaged, does no harm.
func TestRemembered(t *testing.T) {
	own := rawUnit{root: dwarf.TagCompileUnit, lang: dwarf.LangC99}
	long, has := own, own
	long.fill, has.name = minRemembered, 'a'
	sections := rawSections(own, long, has)
	kept := map[dwarf.Question][]byte{}
	asked, made := 0, 0
	open := func() *dwarf.Data {
		return dwarf.New(dwarf.SourceFunc(func(name string) ([]byte, error) { return sections[name], nil }), binary.LittleEndian,
			dwarf.WithAnswers(func(q dwarf.Question, find func() []byte) []byte {
				if q.Kind != dwarf.AskedName {
					return find()
				}
				asked++
				if a, ok := kept[q]; ok {
					return a
				}
				made++
				a := find()
				if a != nil {
					kept[q] = a
				}
				return a
			}))
	}
	look := func(bare string) (*Type, bool) {
		d := open()
		u, err := d.UnitAt(dwarf.SecInfo, 0)
		if err != nil {
			t.Fatal(err)
		}
		set := NewSet(arch.AMD64, noLibraries{})
		return set.Complete(&Type{set: set, Tag: dwarf.TagStructureType, BareName: bare, Language: dwarf.LangC99, Ref: Ref{DIE: dwarf.DIE{Unit: u, Off: u.Root()}}})
	}
	check := func(what string) {
		t.Helper()
		if got, ok := look("a"); !ok || got.BareName != "a" || got.Tag != dwarf.TagStructureType {
			t.Errorf("%s: a: %+v, %v", what, got, ok)
		}
		if got, ok := look("b"); ok {
			t.Errorf("%s: b: %+v", what, got)
		}
	}
	check("first")
	check("again")
	if asked != 4 || made != 2 || len(kept) != 2 {
		t.Errorf("asked %d times, made %d, %d kept", asked, made, len(kept))
	}
	whole := maps.Clone(kept)
	for _, bad := range [][]byte{{}, {1}, packFound(dwarf.DIE{}, "c"), append([]byte{9, 0, 0, 0, 0, 0, 0, 0, 0}, 'a'), append([]byte{9, 0, 0, 0, 0, 0, 0, 0, 0}, "struct a"...),
		append([]byte{1, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0}, "struct a"...), append([]byte{9, 0, 0, 0, 0, 0, 0, 0, 0}, "struct b"...)} {
		for k := range kept {
			kept[k] = bad
		}
		check(fmt.Sprintf("%q", bad))
	}
	kept = whole
	long.fill = 100 // a short search is not remembered
	sections = rawSections(own, long, has)
	clear(kept)
	if check("short"); len(kept) != 0 {
		t.Errorf("%d kept", len(kept))
	}
}

// rawNames writes an index of units, of which one has a struct with a name of one letter at an offset.
func rawNames(units []uint64, unit int, name byte, off uint32) (index, text []byte) {
	le := binary.LittleEndian
	abbrevs := []byte{1, byte(dwarf.TagStructureType), 1, byte(dwarf.FormData1), 3, byte(dwarf.FormRef4), 4, byte(dwarf.FormFlagPresent), 0, 0, 0}
	b := []byte{5, 0, 0, 0}
	for _, n := range []int{len(units), 0, 0, 0, 1, len(abbrevs), 0} {
		b = le.AppendUint32(b, uint32(n))
	}
	for _, u := range units {
		b = le.AppendUint32(b, uint32(u))
	}
	b = le.AppendUint32(le.AppendUint32(b, 0), 0) // the name, and its entries
	b = append(b, abbrevs...)
	b = append(le.AppendUint32(append(b, 1, byte(unit)), off), 0)
	return append(le.AppendUint32(nil, uint32(len(b))), b...), []byte{name, 0}
}

// A definition behind the limit is found where an index says that it is, as far as the limit on other files allows.
func TestIndexedBehindLimit(t *testing.T) {
	own := rawUnit{root: dwarf.TagCompileUnit, lang: dwarf.LangC99}
	filler, has := own, own
	filler.fill, has.name = MaxSearch, 'a'
	last := uint64(own.size() + filler.size())
	sections := rawSections(own, filler, has)
	index, text := rawNames([]uint64{0, uint64(own.size()), last}, 2, 'a', uint32(has.size()-4))
	for _, c := range []struct {
		name  string
		index []byte
		used  int64 // of the limit on other files
		want  bool
	}{
		{"without an index", nil, 0, false},
		{"with one", index, 0, true},
		{"up to the limit", index, maxForeign - int64(has.size()), true},
		{"beyond the limit", index, maxForeign - int64(has.size()) + 1, false},
	} {
		d := dwarf.New(dwarf.SourceFunc(func(name string) ([]byte, error) {
			switch name {
			case ".debug_names":
				return c.index, nil
			case ".debug_str":
				return text, nil
			}
			return sections[name], nil
		}), binary.LittleEndian)
		u, err := d.UnitAt(dwarf.SecInfo, 0)
		if err != nil {
			t.Fatal(err)
		}
		set := NewSet(arch.AMD64, noLibraries{})
		set.foreign.Store(c.used)
		typ := &Type{set: set, Tag: dwarf.TagStructureType, BareName: "a", Language: dwarf.LangC99, Ref: Ref{DIE: dwarf.DIE{Unit: u, Off: u.Root()}}}
		got, ok := set.Complete(typ)
		if ok != c.want || ok && got.Ref.Unit.Off != last {
			t.Errorf("%s: %+v, %v", c.name, got, ok)
		}
	}
}

// An index that leads to a declaration, to a type of a function or to another name is not followed.
func TestIndexedElsewhere(t *testing.T) {
	sections := map[string][]byte{".debug_abbrev": {1, byte(dwarf.TagCompileUnit), 1, byte(dwarf.AttrLanguage), byte(dwarf.FormData1), 0, 0,
		2, byte(dwarf.TagStructureType), 0, byte(dwarf.AttrName), byte(dwarf.FormString), 0, 0,
		3, byte(dwarf.TagStructureType), 0, byte(dwarf.AttrName), byte(dwarf.FormString), byte(dwarf.AttrDeclaration), byte(dwarf.FormFlag), 0, 0,
		4, byte(dwarf.TagSubprogram), 1, 0, 0, 0}}
	var info []byte
	var units []uint64
	for _, body := range [][]byte{
		{1, byte(dwarf.LangC99), 0},
		{1, byte(dwarf.LangC99), 4, 2, 'a', 0, 0, 3, 'a', 0, 1, 2, 'b', 0, 0}, // void f() { struct a; } struct a; declared; struct b
		{1, byte(dwarf.LangC99), 2, 'a', 0, 0},
	} {
		units = append(units, uint64(len(info)))
		info = binary.LittleEndian.AppendUint32(info, uint32(len(body)+7))
		info = append(append(info, 4, 0, 0, 0, 0, 0, 8), body...)
	}
	sections[".debug_info"] = info
	for what, c := range map[string]struct {
		unit int
		off  uint32
	}{"a type of a function": {1, 14}, "a declaration": {1, 18}, "another name": {1, 22}, "no entry": {1, 15}, "another unit": {2, 18}, "the definition": {2, 13}, "no unit": {9, 13}} {
		index, text := rawNames(units, c.unit, 'a', c.off)
		sections[".debug_names"], sections[".debug_str"] = index, text
		d := dwarf.New(dwarf.SourceFunc(func(name string) ([]byte, error) { return sections[name], nil }), binary.LittleEndian)
		u, err := d.UnitAt(dwarf.SecInfo, 0)
		if err != nil {
			t.Fatal(err)
		}
		set := NewSet(arch.AMD64, noLibraries{})
		typ := &Type{set: set, Tag: dwarf.TagStructureType, BareName: "a", Language: dwarf.LangC99, Ref: Ref{DIE: dwarf.DIE{Unit: u, Off: u.Root()}}}
		if got, ok := set.Complete(typ); !ok || got.Ref.Off != units[2]+13 {
			t.Errorf("%s: %#x, %v; want %#x", what, got.Ref.Off, ok, units[2]+13)
		}
	}
}
