package systemtest

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/format/minidump/dumpbuild"
)

// A browserDump is a Windows dump of many modules, each with a Breakpad symbol file,
// and of threads whose stacks go through some of them.
type browserDump struct {
	modules, threads, depth int
	funcs                   int // of each module
}

const (
	browserBase   = 0x7ff600000000
	browserModule = 0x1000000 // bytes from one module to the next
	browserFunc   = 0x40      // bytes of code of a function
	browserFrame  = 0x30      // bytes of stack of a function
)

func (d browserDump) id(i int) string {
	return fmt.Sprintf("%08X0000000000000000000000001", 0xabc00000+i)
}

func (d browserDump) name(i int) string { return fmt.Sprintf("module%d.dll", i) }

// symbols writes the symbol file of module i into a symbol tree.
func (d browserDump) symbols(t testing.TB, tree string, i int) int64 {
	stem := fmt.Sprintf("module%d", i)
	dir := filepath.Join(tree, stem+".pdb", d.id(i))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(filepath.Join(dir, stem+".sym"))
	if err != nil {
		t.Fatal(err)
	}
	w := bufio.NewWriterSize(f, 1<<20)
	fmt.Fprintf(w, "MODULE windows x86_64 %s %s.pdb\n", d.id(i), stem)
	for k := range 200 {
		fmt.Fprintf(w, "FILE %d c:\\build\\source\\directory%d\\file%d.cpp\n", k, k%10, k)
	}
	for k := range d.funcs {
		at := 0x1000 + k*browserFunc
		fmt.Fprintf(w, "FUNC %x %x 0 browser::component%d::Class%d::Method%d(std::string const&, int)\n", at, browserFunc, i, k%50, k)
		for line := range 4 {
			fmt.Fprintf(w, "%x %x %d %d\n", at+line*0x10, 0x10, 100+line, k%200)
		}
	}
	for k := range d.funcs {
		at := 0x1000 + k*browserFunc
		fmt.Fprintf(w, "STACK CFI INIT %x %x .cfa: $rsp 8 + .ra: .cfa -8 + ^\n", at, browserFunc)
		fmt.Fprintf(w, "STACK CFI %x .cfa: $rsp %d +\n", at+4, browserFrame)
	}
	size := int64(0)
	if st, err := f.Stat(); err == nil {
		size = st.Size()
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	if st, err := f.Stat(); err == nil {
		size = st.Size()
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return size
}

// pc is in frame number n of a thread.
func (d browserDump) pc(thread, n int) uint64 {
	module := (thread + n*7) % d.modules
	return browserBase + uint64(module)*browserModule + 0x1000 + uint64((thread*31+n*17)%d.funcs)*browserFunc + 0x20
}

func (d browserDump) write(t testing.TB, path string) {
	b := dumpbuild.New(false)
	b.System(9, 2, 10, 0, 22631, "")
	var mods []dumpbuild.Module
	for i := range d.modules {
		cv := b.PDB70(uint32(0xabc00000+i), 0, 0, [8]byte{}, 1, fmt.Sprintf(`c:\build\module%d.pdb`, i))
		mods = append(mods, dumpbuild.Module{Base: browserBase + uint64(i)*browserModule, Size: browserModule, Name: `C:\Program Files\Browser\` + d.name(i), CodeView: cv})
	}
	b.Modules(mods...)
	var threads []dumpbuild.Thread
	for i := range d.threads {
		stack := make([]byte, (d.depth+4)*browserFrame)
		start := uint64(0x10000000 + i*0x100000)
		for n := 1; n < d.depth; n++ {
			binary.LittleEndian.PutUint64(stack[n*browserFrame-8:], d.pc(i, n))
		}
		ctx := b.Blob(b.AMD64(0x10000b, d.pc(i, 0), start, 0))
		threads = append(threads, dumpbuild.Thread{ID: uint32(i + 1), StackStart: start, Stack: b.Blob(stack), Context: ctx})
	}
	b.Threads(false, threads...)
	b.Exception(dumpbuild.Exception{Thread: 1, Code: 0xc0000005, Address: d.pc(0, 0), Params: []uint64{0, 8}, Context: threads[0].Context})
	if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

// make writes the dump and the symbol tree, and answers how large the tree is.
func (d browserDump) make(t testing.TB) (dump, tree string, size int64) {
	dir := t.TempDir()
	dump, tree = filepath.Join(dir, "browser.dmp"), filepath.Join(dir, "symbols")
	for i := range d.modules {
		size += d.symbols(t, tree, i)
	}
	d.write(t, dump)
	return dump, tree, size
}

func (d browserDump) analyze(t testing.TB, dump, tree string) (frames int) {
	target, err := corewalk.Open(context.Background(), dump, corewalk.WithSearch(tree))
	if err != nil {
		t.Fatal(err)
	}
	defer target.Close()
	r, err := target.Analyze(context.Background(), corewalk.AnalyzeOptions{Locals: corewalk.LocalsArgs})
	if err != nil {
		t.Fatal(err)
	}
	for _, th := range r.Threads {
		for _, f := range th.Frames {
			if f.Source.File != "" {
				frames++
			}
		}
	}
	return frames
}

func TestManyModules(t *testing.T) {
	d := browserDump{modules: 20, threads: 6, depth: 12, funcs: 50}
	dump, tree, _ := d.make(t)
	if got := d.analyze(t, dump, tree); got != d.threads*d.depth {
		t.Errorf("%d frames with lines, want %d", got, d.threads*d.depth)
	}
}

// BenchmarkManyModules opens and walks a dump of 200 modules and 60 threads with
// 100 MB of symbol files, all of which are in stacks.
func BenchmarkManyModules(b *testing.B) {
	d := browserDump{modules: 200, threads: 60, depth: 20, funcs: 2100}
	dump, tree, size := d.make(b)
	for b.Loop() {
		if got := d.analyze(b, dump, tree); got != d.threads*d.depth {
			b.Fatalf("%d frames", got)
		}
	}
	b.ReportMetric(float64(size)/1e6, "MB-of-symbols")
}
