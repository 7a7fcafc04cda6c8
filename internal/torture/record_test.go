package main

import (
	"context"
	"flag"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/corestate"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/internal/heap"
	"github.com/corewalk/corewalk/internal/heap/heaptest"
	"github.com/corewalk/corewalk/internal/procmem"
	"github.com/corewalk/corewalk/unwind"
)

func TestMain(m *testing.M) { os.Exit(fixture.Main(m)) }

var recordInto = flag.String("record", "", "record heaps of allocators and runtimes into this directory: testdata/heaps")

// TestRecordHeaps makes the recordings of heaps, of which tests need no tools of the machine.
func TestRecordHeaps(t *testing.T) {
	if *recordInto == "" {
		t.Skip("-record says where to")
	}
	if err := os.MkdirAll(*recordInto, 0o755); err != nil {
		t.Fatal(err)
	}
	const guarded = "GWP_ASAN_SampleRate=20"
	blocks := func(t *testing.T, c heaptest.Program) unwind.ProcessState {
		c.Threads = 2
		c.Rounds = max(c.Rounds, 1000)
		p, _ := heaptest.Crash(t, c)
		return unnamed{p.(*corestate.ELFCore)}
	}
	preloaded := func(library string) func(*testing.T) (unwind.ProcessState, unwind.SymbolReader) {
		return func(t *testing.T) (unwind.ProcessState, unwind.SymbolReader) {
			return blocks(t, heaptest.Program{Env: heaptest.Preload(t, library, library)}), nil
		}
	}
	release := func(variable, version string) func(*testing.T) (unwind.ProcessState, unwind.SymbolReader) {
		return func(t *testing.T) (unwind.ProcessState, unwind.SymbolReader) {
			for path, env := range heaptest.Releases(t, variable) {
				if strings.Contains(path, version) {
					return blocks(t, heaptest.Program{Env: env, Flags: heaptest.FlagsFor(t, path)}), nil
				}
			}
			t.Skip("no release " + version)
			return nil, nil
		}
	}
	google := func(date string, env ...string) func(*testing.T) (unwind.ProcessState, unwind.SymbolReader) {
		return func(t *testing.T) (unwind.ProcessState, unwind.SymbolReader) {
			for _, dir := range heaptest.GoogleReleases() {
				if filepath.Base(dir) == date {
					core, _ := heaptest.Program{Source: "heap/sampled.c", Threads: 2, Rounds: 1000, Env: env, Flags: heaptest.Google(dir)}.Crash(t)
					d := heaptest.OpenDescribed(t, core)
					return unnamed{d.Process.(*corestate.ELFCore)}, d.Names
				}
			}
			t.Skip("no release " + date)
			return nil, nil
		}
	}
	died := func(t *testing.T, program string, args ...string) (unwind.ProcessState, unwind.SymbolReader) {
		path, err := exec.LookPath(program)
		if err != nil {
			t.Skip(err)
		}
		target, err := corewalk.Open(context.Background(), fixture.Crash(t, nil, "/usr/bin/env", append([]string{"-i", path}, args...)...)) // what is in the environment is nobody's business
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { target.Close() })
		return target.ProcessState(), target.SymbolLookup().(unwind.SymbolReader)
	}
	for name, open := range map[string]func(*testing.T) (unwind.ProcessState, unwind.SymbolReader){
		"glibc": func(t *testing.T) (unwind.ProcessState, unwind.SymbolReader) {
			return blocks(t, heaptest.Program{}), nil
		},
		"glibc243": func(t *testing.T) (unwind.ProcessState, unwind.SymbolReader) {
			dir := os.Getenv("COREWALK_GLIBC")
			if dir == "" {
				t.Skip("no C library of Debian's package libc6, 2.43 or later, in COREWALK_GLIBC")
			}
			return blocks(t, heaptest.Program{Rounds: 1000, Env: []string{"GLIBC_TUNABLES=glibc.malloc.mmap_threshold=4096"},
				Flags: []string{"-Wl,--dynamic-linker=" + filepath.Join(dir, "ld-linux-x86-64.so.2"), "-Wl,-rpath," + dir}}), nil
		},
		"mallocng": func(t *testing.T) (unwind.ProcessState, unwind.SymbolReader) {
			return blocks(t, heaptest.Program{Compiler: "musl-gcc"}), nil
		},
		"oldmalloc": func(t *testing.T) (unwind.ProcessState, unwind.SymbolReader) {
			return blocks(t, heaptest.OldMusl(t, "COREWALK_MUSL", heaptest.Program{})), nil
		},
		"oldmalloc32": func(t *testing.T) (unwind.ProcessState, unwind.SymbolReader) {
			return blocks(t, heaptest.OldMusl(t, "COREWALK_MUSL32", heaptest.Program{})), nil
		},
		"asan": func(t *testing.T) (unwind.ProcessState, unwind.SymbolReader) {
			return blocks(t, heaptest.Program{Flags: []string{"-fsanitize=address"}, Env: []string{"ASAN_OPTIONS=disable_coredump=0:abort_on_error=1"}}), nil
		},
		"asan32": func(t *testing.T) (unwind.ProcessState, unwind.SymbolReader) {
			return blocks(t, heaptest.Program{Flags: []string{"-m32", "-fsanitize=address"}, Env: []string{"ASAN_OPTIONS=disable_coredump=0:abort_on_error=1"}}), nil
		},
		"scudo": func(t *testing.T) (unwind.ProcessState, unwind.SymbolReader) {
			return blocks(t, heaptest.Program{Rounds: 8000, Env: heaptest.Scudo(t, "x86_64", guarded)}), nil
		},
		"scudo32": func(t *testing.T) (unwind.ProcessState, unwind.SymbolReader) {
			return blocks(t, heaptest.Program{Rounds: 8000, Flags: []string{"-m32"}, Env: heaptest.Scudo(t, "i386", guarded)}), nil
		},
		"gtcmalloc":     google("2026-08", "GLIBC_TUNABLES=glibc.pthread.rseq=0"), // so that processors have caches
		"gtcmalloc21":   google("2021-03"),
		"gtcmalloc22":   google("2022-06", "GLIBC_TUNABLES=glibc.pthread.rseq=0"),
		"jemalloc":      preloaded("libjemalloc.so.2"),
		"jemalloc32":    release("COREWALK_JEMALLOC", "5.3.0-m32"),
		"jemalloc32_52": release("COREWALK_JEMALLOC", "5.2.1-m32"),
		"jemalloc57":    release("COREWALK_JEMALLOC", "5.3.1-v57"), // --with-lg-vaddr=57
		"jemalloc64k":   release("COREWALK_JEMALLOC", "5.3.0-p16"), // --with-lg-page=16
		"tcmalloc32":    release("COREWALK_TCMALLOC", "2.17-m32"),
		"mimalloc32":    release("COREWALK_MIMALLOC", "2.1.2-m32"),
		"mimalloc32_34": release("COREWALK_MIMALLOC", "3.4.3-m32"),
		"tcmalloc":      preloaded("libtcmalloc_minimal.so.4"),
		"mimalloc":      preloaded("libmimalloc.so.2.0"),
		"mimalloc21":    release("COREWALK_MIMALLOC", "2.1"),
		"mimalloc24":    release("COREWALK_MIMALLOC", "2.4"),
		"mimalloc30":    release("COREWALK_MIMALLOC", "3.0"),
		"mimalloc34":    release("COREWALK_MIMALLOC", "3.4"),
		"mimalloc36":    release("COREWALK_MIMALLOC", "so.3.6"),
		"python": func(t *testing.T) (unwind.ProcessState, unwind.SymbolReader) {
			return died(t, "/usr/bin/python3", "-I", "-S", "-c", "import os\nclass Node: pass\nkept = [Node() for i in range(100)]\nd = {i: str(i) for i in range(300)}\nkept[0].next = d\nos.abort()")
		},
		"ruby": func(t *testing.T) (unwind.ProcessState, unwind.SymbolReader) {
			return died(t, "/usr/bin/ruby", "--disable-gems", "-e", "class Node; attr_accessor :next; end; $kept = (1..100).map { Node.new }; $table = {}; 30.times { |i| $table[\"the key with number #{i}\"] = [i] * 9 }; "+
				"def hold(many) Process.kill(:ABRT, $$); sleep 5 end; hold([Object.new, 1 << 200, 2.5, :name, /x+/, Struct.new(:a).new(1)])")
		},
		"php": func(t *testing.T) (unwind.ProcessState, unwind.SymbolReader) {
			return died(t, "/usr/bin/php", "-n", "-r", "class Node { public $next; public $text; } $kept = []; for ($i = 0; $i < 100; $i++) { $n = new Node; $n->text = \"the text of number $i\"; $kept[] = $n; } "+
				"$large = str_repeat('x', 3 << 20); $table = ['a' => [1, 2], 'b' => new ArrayObject([3])]; function hold($many) { exec('kill -ABRT ' . getmypid()); } hold([new DateTime('2020-01-01'), &$table]);")
		},
		"lua": func(t *testing.T) (unwind.ProcessState, unwind.SymbolReader) {
			return died(t, "/usr/bin/lua5.4", "-e", "kept = {}; for i = 1, 100 do local n = i; kept[i] = { text = 'the text of number ' .. i .. ', longer than forty letters', next = function() n = n + 1 return n end } end; "+
				"file = io.tmpfile(); other = coroutine.create(print); os.execute('kill -ABRT $PPID')")
		},
		"node": func(t *testing.T) (unwind.ProcessState, unwind.SymbolReader) {
			return died(t, "node", "--max-semi-space-size=1", "--jitless", "-e", "class Leak { constructor(x) { this.x = [x] } }; global.kept = []; for (let i = 0; i < 300; i++) kept.push(new Leak(i)); process.abort()")
		},
		"java": func(t *testing.T) (unwind.ProcessState, unwind.SymbolReader) {
			dir := t.TempDir()
			source := filepath.Join(dir, "Small.java")
			os.WriteFile(source, []byte("public class Small { Small next; static Small kept; public static void main(String[] a) throws Exception { for (int i = 0; i < 200; i++) { Small s = new Small(); s.next = kept; kept = s; } "+
				"new ProcessBuilder(\"kill\", \"-ABRT\", \"\" + ProcessHandle.current().pid()).start().waitFor(); Thread.sleep(100000); } }"), 0o644)
			home := os.Getenv("JAVA_HOME")
			if out, err := exec.Command(filepath.Join(home, "bin", "javac"), "-d", dir, source).CombinedOutput(); err != nil {
				t.Skipf("%v %s", err, out)
			}
			return died(t, filepath.Join(home, "bin", "java"), "-Xmx8m", "-XX:+UseSerialGC", "-Xint", "-XX:-CreateCoredumpOnCrash", "-cp", dir, "Small")
		},
	} {
		t.Run(name, func(t *testing.T) {
			p, names := open(t)
			r := heaptest.NewRecorder(p.(heaptest.State), names)
			most := 2500
			if name == "ruby" { // the program's objects come after Ruby's own
				most = 12_000
			}
			n := walkSome(r, r, most)
			q := r.Rec.Process()
			if got := walkSome(q, q, most); n == 0 || got != n {
				t.Fatalf("%d blocks, and in the recording %d", n, got)
			}
			rng := rand.New(rand.NewPCG(1, 1))
			if got := memoryOf(q, q, rng); got == 0 {
				t.Fatal("no blocks are in use")
			}
			path := filepath.Join(*recordInto, name+".zst")
			if err := r.Rec.Write(path); err != nil {
				t.Fatal(err)
			}
			st, _ := os.Stat(path)
			t.Logf("%d blocks, %d pages, %d bytes", n, len(r.Rec.Pages), st.Size())
		})
	}
}

// unnamed is a process of whose threads the names do not matter.
type unnamed struct{ *corestate.ELFCore }

func (unnamed) ThreadName(unwind.ThreadID) string { return "" }

// walkSome walks the heaps, each for some blocks, so that recordings are small. It returns how many blocks there are.
func walkSome(p heaptest.State, names unwind.SymbolReader, most int) (n int) {
	see := func(h heap.Allocator, objects heap.Objects) {
		k := 0
		h.Blocks(func(b heap.Block) bool {
			mem := procmem.Of(p)
			if objects != nil {
				objects.ObjectIn(b.Start, b.Size, mem.Some(b.Start, int(min(b.Size, heap.ObjectBytes))))
			}
			if q, ok := h.(heap.Pointing); ok && !b.Free {
				q.References(b.Start, 0, mem.Some(b.Start, int(min(b.Size, 4096))), nil)
			} else if k%4 == 0 {
				mem.Some(b.Start, int(min(b.Size, 256)))
			}
			k++
			return k < most
		})
		n += k
		h.Records()
		h.Damages()
	}
	all, objects := heapEngine(p, names).Heaps()
	for _, h := range all {
		if len(objects) > 0 {
			see(h, objects[0])
		} else {
			see(h, nil)
		}
	}
	for _, o := range objects {
		o.Variables(func(string, uint64) bool { return true })
	}
	return n
}
