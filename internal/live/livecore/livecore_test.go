//go:build linux

package livecore

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/internal/format/elffile"
	"github.com/corewalk/corewalk/livestate"
)

// A note of a core, without the parts that always differ.
type note struct {
	owner  string
	typ    uint32
	desc   []byte
	thread uint32
}

func (n note) String() string {
	return fmt.Sprintf("%s %#x, thread %d, %d bytes: %x", n.owner, n.typ, n.thread, len(n.desc), n.desc[:min(len(n.desc), 400)])
}

// notesOf lists a core's notes, without those that ptrace does not provide, and without times and the state of
// the process while it was dumped. They are in the order of the threads' numbers: the kernel's order varies.
func notesOf(t *testing.T, f *elffile.File) (out []note) {
	t.Helper()
	thread := uint32(0)
	for i := range f.Progs {
		if f.Progs[i].Type != elffile.PT_NOTE {
			continue
		}
		for n := range elffile.Notes(f.SegmentData(&f.Progs[i]), f.Order, 4) {
			o := note{string(n.Name), n.Type, bytes.Clone(n.Desc), 0}
			switch {
			case o.owner == "LINUX" && slices.Contains([]uint32{0x200, 0x204, 0x205}, o.typ):
				continue
			case o.owner == "CORE" && o.typ == 1:
				word := f.Class / 8
				clear(o.desc[:12]) // pr_info: the kernel's is from the signal
				pid := 16 + 2*word
				thread = f.Order.Uint32(o.desc[pid:])
				clear(o.desc[pid+4 : pid+8])          // the parent, which the kernel reports per thread
				clear(o.desc[pid+16 : pid+16+8*word]) // times
			case o.owner == "CORE" && o.typ == 3:
				clear(o.desc[:16]) // state and flags
				parent := len(o.desc) - 96 - 12
				clear(o.desc[parent : parent+4])
			}
			o.thread = thread
			out = append(out, o)
		}
	}
	slices.SortStableFunc(out, func(a, b note) int { return cmp.Compare(a.thread, b.thread) })
	return out
}

// The core that the kernel writes when a process dies, and ours just before that: the same notes and the same
// memory. The programs have one thread, because other threads run on until they die.
func TestAsTheKernel(t *testing.T) {
	pattern, err := os.ReadFile("/proc/sys/kernel/core_pattern")
	if err != nil || strings.ContainsAny(string(pattern), "|/%") {
		t.Skipf("not compared: this machine's cores go to %q", strings.TrimSpace(string(pattern)))
	}
	if runtime.GOARCH != "amd64" {
		t.Skip("not compared: the fixtures' programs do not run here")
	}
	was := unix.Rlimit{}
	if err := unix.Getrlimit(unix.RLIMIT_CORE, &was); err != nil || was.Max == 0 {
		t.Skip("not compared: no cores are allowed")
	}
	if err := unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{Cur: was.Max, Max: was.Max}); err != nil {
		t.Fatal(err)
	}
	defer unix.Setrlimit(unix.RLIMIT_CORE, &was)
	for _, name := range []string{"amd64-so-linked", "amd64-handler-crash", "amd64-musl-static", "amd64-vars-cxx-O0", "i386-crash-O1", "i386-notables"} {
		t.Run(name, func(t *testing.T) { compareWithKernel(t, fixture.Get(t, name)) })
	}
}

func compareWithKernel(t *testing.T, c fixture.Case) {
	dir := t.TempDir()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	p, err := livestate.Launch(c.Binary(t), nil, livestate.HoldFatal(), livestate.Dir(dir), livestate.Files(null, null, null),
		livestate.Env([]string{"GOTRACEBACK=crash", "LD_LIBRARY_PATH=" + c.Dir}))
	if errors.Is(err, livestate.ErrPermission) && os.Getenv("CI_NEEDS_PTRACE") == "" {
		t.Skipf("this machine forbids ptrace: %v", err)
	}
	if err != nil {
		t.Skipf("not compared: %v", err)
	}
	defer p.Close()
	if err := errors.Join(p.WatchEvents(), p.ResumeAll()); err != nil {
		t.Fatal(err)
	}
	for fatal := false; !fatal; {
		events, err := p.HandleDebugEvent(true)
		if err != nil {
			t.Fatal(err)
		}
		for _, ev := range events {
			fatal = fatal || ev.Fatal
			if ev.Kind == livestate.EventExit {
				t.Skipf("not compared: it ended with status %d", ev.Status)
			}
		}
	}
	if err := errors.Join(p.StopEvents(), p.StopAll()); err != nil { // leaves no breakpoint in memory
		t.Fatal(err)
	}
	ours, err := os.Create(filepath.Join(dir, "ours"))
	if err != nil {
		t.Fatal(err)
	}
	defer ours.Close()
	if _, err := Write(ours, p, Options{}); err != nil {
		t.Fatal(err)
	}
	areas, err := readAreas(p.ProcessID())
	if err != nil {
		t.Fatal(err)
	}
	hidden := map[uint64]bool{}
	for _, a := range areas {
		hidden[a.start] = a.name == "[vvar]" || a.name == "[vvar_vclock]" || a.name == "[vsyscall]"
	}
	if err := errors.Join(p.ResumeAll(), p.ResumeAll()); err != nil {
		t.Fatal(err)
	}
	for ended := false; !ended; _, _, ended = p.Exited() {
		time.Sleep(time.Millisecond)
	}
	cores, _ := filepath.Glob(filepath.Join(dir, "core*"))
	if len(cores) != 1 {
		t.Fatalf("the kernel wrote %q", cores)
	}
	compareCores(t, ours.Name(), cores[0], hidden)
}

func parseCore(t *testing.T, path string) *elffile.File {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	f, err := elffile.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// compareCores expects two cores to be equal, except for mappings that the kernel hides from debuggers.
func compareCores(t *testing.T, ours, kernels string, hidden map[uint64]bool) {
	a, b := parseCore(t, ours), parseCore(t, kernels)
	na, nb := notesOf(t, a), notesOf(t, b)
	if len(na) != len(nb) {
		t.Errorf("%d notes, the kernel has %d", len(na), len(nb))
	}
	for i := range min(len(na), len(nb)) {
		if na[i].owner != nb[i].owner || na[i].typ != nb[i].typ || !bytes.Equal(na[i].desc, nb[i].desc) {
			t.Errorf("note %d: %s\nkernel: %s", i, na[i], nb[i])
		}
	}
	loads := func(f *elffile.File) (out []*elffile.Prog) {
		for i := range f.Progs {
			if f.Progs[i].Type == elffile.PT_LOAD {
				out = append(out, &f.Progs[i])
			}
		}
		return out
	}
	la, lb := loads(a), loads(b)
	if len(la) != len(lb) {
		t.Fatalf("%d segments, the kernel has %d", len(la), len(lb))
	}
	for i := range la {
		x, y := *la[i], *lb[i]
		x.Off, y.Off = 0, 0
		if hidden[x.Vaddr] && x.Filesz == 0 {
			continue
		}
		if fmt.Sprintf("%+v", x) != fmt.Sprintf("%+v", y) {
			t.Errorf("segment %d: %+v\nkernel:     %+v", i, x, y)
		} else if !bytes.Equal(a.SegmentData(la[i]), b.SegmentData(lb[i])) {
			t.Errorf("segment %d, at %#x: other bytes", i, x.Vaddr)
		}
	}
}

// A process's mappings in smaps, and how much of each the default filter includes.
func TestAreas(t *testing.T) {
	const text = `55aa00000000-55aa00002000 r--p 00000000 fe:00 1234                       /usr/bin/a\012b
Rss:                   8 kB
Anonymous:             0 kB
Swap:                  0 kB
VmFlags: rd mr mw me 
55aa00002000-55aa00004000 rw-p 00002000 fe:00 1234                       /usr/bin/a
Rss:                   8 kB
Anonymous:             4 kB
VmFlags: rd wr mr mw me ac 
7f0000000000-7f0000100000 rw-p 00000000 00:00 0 
Anonymous:             0 kB
VmFlags: rd wr mr mw me ac 
7f0000100000-7f0000200000 rw-p 00000000 00:00 0 
Rss:                  12 kB
Anonymous:            12 kB
VmFlags: rd wr mr mw me dd 
7f0000200000-7f0000300000 rw-s 00000000 00:01 77                         /dev/zero (deleted)
VmFlags: rd wr sh mr mw me ms 
7f0000300000-7f0000400000 rw-s 00000000 fe:00 78                         /var/db
VmFlags: rd wr sh mr mw me ms 
7f0000400000-7f0000500000 rw-p 00000000 00:00 0                          [heap]
Swap:                  8 kB
VmFlags: rd wr mr mw me ac 
7ffd00000000-7ffd00002000 r-xp 00000000 00:00 0                          [vdso]
VmFlags: rd ex mr mw me de 
nonsense
zz-yy rw-p 0 0 0
`
	areas, err := parseAreas(strings.NewReader(text))
	if err != nil || len(areas) != 8 {
		t.Fatalf("%d areas, %v", len(areas), err)
	}
	if a := areas[0]; a.name != "/usr/bin/a\nb" || a.inode != 1234 || a.resident != 8192 || !a.file() {
		t.Errorf("%+v", a)
	}
	const none, all = 0, 0x7f
	for i, want := range []struct{ none, usual, all portion }{
		{nothing, header, whole}, {nothing, whole, whole}, {nothing, nothing, nothing}, {nothing, nothing, nothing},
		{nothing, whole, whole}, {nothing, nothing, whole}, {nothing, whole, whole}, {whole, whole, whole},
	} {
		if a := &areas[i]; a.dumped(none) != want.none || a.dumped(defaultFilter) != want.usual || a.dumped(all) != want.all {
			t.Errorf("%s: %v, %v, %v", a.name, a.dumped(none), a.dumped(defaultFilter), a.dumped(all))
		}
	}
}

// If there is more memory than may be written, stacks come first, and the rest is reported as left out.
func TestLimit(t *testing.T) {
	areas := []area{
		{start: 0x10000, end: 0x20000, resident: 0x10000, perms: "rw-p"},
		{start: 0x100000000, end: 0x200000000, resident: 0x100000000, perms: "rw-p"},
		{start: 0x300000000, end: 0x300010000, resident: 0x10000, perms: "rw-p"},
	}
	w := &writer{out: &Result{}, sps: []uint64{0x180000123, 0x180004567, 0x300008000}}
	for i := range areas {
		w.segs = append(w.segs, segment{area: &areas[i], start: areas[i].start, end: areas[i].end, size: areas[i].end - areas[i].start})
	}
	w.limit(0x20000)
	var got []string
	for _, s := range w.segs {
		got = append(got, fmt.Sprintf("%x-%x:%x", s.start, s.end, s.size))
	}
	want := "10000-20000:10000 100000000-17fffc000:0 17fffc000-180100000:104000 180100000-180104000:4000 180104000-200000000:0 300000000-300010000:10000"
	if strings.Join(got, " ") != want || w.out.LeftOut != 0x100000000 {
		t.Errorf("%s, %#x left out; want %s", got, w.out.LeftOut, want)
	}
}

func TestPresence(t *testing.T) {
	p := presence{1<<3 | 1<<4, 0, 1 << 63}
	for _, c := range []struct{ at, page, run uint64 }{{0, 3, 2}, {4, 4, 1}, {5, 191, 1}, {192, 192, 0}} {
		if page, run := p.next(c.at, 192); page != c.page || run != c.run {
			t.Errorf("from %d: %d, %d; want %d, %d", c.at, page, run, c.page, c.run)
		}
	}
}

func FuzzAreas(f *testing.F) {
	f.Add("55aa00000000-55aa00002000 r--p 00000000 fe:00 1234 /a\nVmFlags: rd\nRss: 8 kB\n")
	f.Fuzz(func(t *testing.T, text string) {
		areas, _ := parseAreas(strings.NewReader(text))
		for i := range areas {
			a := &areas[i]
			if a.end <= a.start || len(a.perms) != 4 {
				t.Errorf("%+v", a)
			}
			a.dumped(defaultFilter)
		}
	})
}
