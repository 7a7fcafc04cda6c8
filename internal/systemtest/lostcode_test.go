package systemtest

import (
	"context"
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/internal/format/elffile"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/steppers"
	"github.com/corewalk/corewalk/unwind"
)

// withoutCode removes from a core of x86-64 the segments that are in files, as if nothing had been mapped there, and the
// list of files.
func withoutCode(t *testing.T, core []byte) []byte {
	t.Helper()
	le := binary.LittleEndian
	phoff, n := le.Uint64(core[32:]), int(le.Uint16(core[56:]))
	for i := range n {
		p := core[phoff+uint64(56*i):]
		switch typ, flags := le.Uint32(p), le.Uint32(p[4:]); {
		case typ == elffile.PT_LOAD && flags&elffile.PF_W == 0 && le.Uint64(p[32:]) < le.Uint64(p[40:]): // not all of its memory is in the core
			le.PutUint32(p, 0)
		case typ == elffile.PT_NOTE:
			notes := core[le.Uint64(p[8:]):][:le.Uint64(p[32:])]
			for len(notes) >= 12 {
				const ntFile = 0x46494c45
				if le.Uint32(notes[8:]) == ntFile {
					le.PutUint32(notes[8:], 0x7fff0000)
				}
				notes = notes[min(uint32(len(notes)), 12+(le.Uint32(notes)+3)&^3+(le.Uint32(notes[4:])+3)&^3):]
			}
		}
	}
	return core
}

// A core without a list of files, and without segments for what its process could not write, has the stacks of the
// whole one: the dynamic linker's list and the files say where the code was.
func TestLostCode(t *testing.T) {
	ctx := context.Background()
	c := fixture.Get(t, "amd64-threads")
	data, err := os.ReadFile(c.Core(t))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "core")
	if err := os.WriteFile(path, withoutCode(t, data), 0o600); err != nil {
		t.Fatal(err)
	}
	open := func(path string) *corewalk.Target {
		target, err := corewalk.Open(ctx, path, corewalk.WithSysroot(c.Sysroot(t)), corewalk.WithDebugDir(c.Dir), corewalk.WithSearch(c.Dir), corewalk.WithExecutable(c.Binary(t)))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { target.Close() })
		return target
	}
	lost := open(path)
	threads, frames, err := corewalk.SameStacks(open(c.Core(t)), lost)
	if err != nil || threads < 2 || frames < 2*threads {
		t.Errorf("%d threads, %d frames: %v", threads, frames, err)
	}
	w, err := lost.NewWalker()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	stack, _ := w.WalkStack(unwind.NullThread)
	for _, f := range stack.Frames {
		m, ok := w.ProcessState().(steppers.Mapper).MappingAt(f.LookupAddr())
		if !ok || m.Perm&libstate.Exec == 0 {
			t.Errorf("%#x is in no code: %+v", f.LookupAddr(), m)
		}
	}
}
