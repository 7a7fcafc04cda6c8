package convert

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/corestate"
	"github.com/corewalk/corewalk/internal/format/minidump"
	"github.com/corewalk/corewalk/internal/format/minidump/dumpbuild"
)

// A minidump with little memory becomes a core with the same threads, registers, memory and signal, and with the mappings of
// which it had no memory.
func TestCoreOfSample(t *testing.T) {
	m, err := corestate.OpenMinidumpBytes("linux.dmp", dumpbuild.Linux())
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	var b bytes.Buffer
	w, err := Core(&b, m, Options{Name: m.ThreadName})
	if err != nil {
		t.Fatal(err)
	}
	if w.Size != uint64(b.Len()) {
		t.Errorf("%d bytes, not %d", b.Len(), w.Size)
	}
	if lost := strings.Join(w.Lost, "\n"); !strings.Contains(lost, "stream LinuxCpuInfo") {
		t.Errorf("lost:\n%s", lost)
	}
	c, err := corestate.OpenReader(context.Background(), &b)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ids, _ := m.ThreadIDs()
	for _, id := range ids {
		want, err := m.Registers(id)
		if err != nil {
			continue
		}
		got, err := c.Registers(id)
		if err != nil {
			t.Errorf("thread %d: %v", id, err)
		}
		for valid := want.Valid; valid != 0; valid &= valid - 1 {
			r := valid.First()
			x, _ := want.Get(r)
			if y, ok := got.Get(r); !ok || x != y {
				t.Errorf("thread %d: register %d was %#x, is %#x", id, r, x, y)
			}
		}
	}
	for _, s := range minidump.Of(m).Memory.Spans() {
		got := make([]byte, len(s.Data))
		if _, err := c.DumpMemory().ReadMem(s.Start, got); err != nil || !bytes.Equal(got, s.Data) {
			t.Errorf("memory at %#x: %v", s.Start, err)
		}
	}
	for _, want := range m.Mappings() {
		if got, ok := c.MappingAt(want.Start); !ok || got.Path != want.Path {
			t.Errorf("mapping at %#x %q: %t %q", want.Start, want.Path, ok, got.Path)
		}
	}
	x, y := m.Signal(), c.Signal()
	if x.Signo != y.Signo || x.Source == corestate.FullSigInfo && x != y {
		t.Errorf("signal %+v, was %+v", y, x)
	}
	a, _ := m.DefaultThread()
	if id, _ := c.DefaultThread(); id != a {
		t.Errorf("thread %d died, not %d", id, a)
	}
}

// Mappings of a damaged list overlap; the core has each byte once.
func TestOverlappingMappings(t *testing.T) {
	d := dumpbuild.Linux()
	d = bytes.ReplaceAll(d, []byte("7f0000000000-"), []byte("000000401000-"))
	m, err := corestate.OpenMinidumpBytes("linux.dmp", d)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	k := &builder{m: m, f: minidump.Of(m), out: &Written{}}
	parts, note := k.parts(k.spans())
	for i := 1; i < len(note.Ranges); i++ {
		if p := note.Ranges[i-1]; p.End > note.Ranges[i].Start {
			t.Errorf("ranges %#x to %#x and %#x overlap", p.Start, p.End, note.Ranges[i].Start)
		}
	}
	for i := 1; i < len(parts); i++ {
		if p := parts[i-1]; p.Start+p.size > parts[i].Start {
			t.Errorf("%#x to %#x and %#x overlap", p.Start, p.Start+p.size, parts[i].Start)
		}
	}
}

// Minidumps of other systems are refused with the reason.
func TestOthersRefused(t *testing.T) {
	for name, data := range dumpbuild.Samples() {
		if name == "linux.dmp" {
			continue
		}
		m, err := corestate.OpenMinidumpBytes(name, data)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Core(new(bytes.Buffer), m, Options{}); !errors.Is(err, ErrSystem) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := Core(new(bytes.Buffer), m, Options{To: ToMinidump}); !errors.Is(err, ErrSame) {
			t.Errorf("%s: %v", name, err)
		}
		m.Close()
	}
}

// FuzzCore: no minidump crashes the writer, or makes a core much larger than itself.
func FuzzCore(f *testing.F) {
	for _, data := range dumpbuild.Samples() {
		f.Add(data)
		f.Add(data[:len(data)*2/3])
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := corestate.OpenMinidumpBytes("dump.dmp", data)
		if m == nil {
			t.Skip(err)
		}
		defer m.Close()
		var b bytes.Buffer
		if w, err := Core(&b, m, Options{}); err == nil && w.Size != uint64(b.Len()) {
			t.Errorf("%d bytes, not %d", b.Len(), w.Size)
		} else if b.Len() > 1<<20+64*len(data) {
			t.Errorf("%d bytes became %d", len(data), b.Len())
		}
	})
}
