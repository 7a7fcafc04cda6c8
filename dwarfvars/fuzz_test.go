package dwarfvars_test

import (
	"bytes"
	"context"
	"debug/elf"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/dwarfvars"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/unwind"
)

// FuzzValues reads all variables of a program whose debugging information was
// damaged: edits are pairs of a place in a section and a byte to put there.
func FuzzValues(f *testing.F) {
	c := fixture.Get(f, "amd64-vars-c-O2")
	whole, err := os.ReadFile(c.Binary(f))
	if err != nil {
		f.Fatal(err)
	}
	core, sysroot, nothing := c.Core(f), c.Sysroot(f), f.TempDir()
	e, err := elf.NewFile(bytes.NewReader(whole))
	if err != nil {
		f.Fatal(err)
	}
	sections := []string{".debug_info", ".debug_abbrev", ".debug_loclists", ".debug_rnglists"}
	f.Add(uint8(0), []byte{0, 100, 0x13, 1, 7, 2})
	f.Add(uint8(1), []byte{0, 20, 0x49, 0, 40, 0x13})
	f.Add(uint8(2), []byte{0, 20, 0xfd, 0, 40, 0x9f})
	f.Add(uint8(3), []byte{0, 9, 0xff})
	f.Fuzz(func(t *testing.T, which uint8, edits []byte) {
		s := e.Section(sections[int(which)%len(sections)])
		if s == nil || s.FileSize == 0 {
			t.Skip()
		}
		data := bytes.Clone(whole)
		for ; len(edits) >= 3; edits = edits[3:] {
			at := uint64(edits[0])<<8 | uint64(edits[1])
			data[s.Offset+at%s.FileSize] = edits[2]
		}
		exe := filepath.Join(t.TempDir(), "vars")
		if err := os.WriteFile(exe, data, 0o700); err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		readDamaged(t, core, exe, sysroot, nothing)
		if d := time.Since(start); d > 5*time.Second {
			t.Errorf("took %v", d)
		}
	})
}

func readDamaged(t *testing.T, core, exe, sysroot, nothing string) {
	target, err := corewalk.Open(context.Background(), core, corewalk.WithExecutable(exe), corewalk.WithSysroot(sysroot), corewalk.WithDebugDir(nothing))
	if err != nil {
		t.Fatal(err)
	}
	defer target.Close()
	w, err := target.NewWalker()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	stack, _ := w.WalkStack(unwind.NullThread)
	r := target.Variables()
	allValues(r, stack.Frames)
	for i, fr := range stack.Frames {
		fn, err := r.FunctionForFrame(fr)
		if err != nil {
			continue
		}
		for _, s := range fn.Scopes() {
			for _, v := range slices.Concat(s.Params, s.Locals) {
				buf := make([]byte, 64)
				if n, code, err := r.GetLocalVariableValue(v, stack.Frames, i, buf); (code == dwarfvars.GlvvSuccess) != (err == nil) || n < 0 {
					t.Errorf("%s: %d, %v, %v", v.Name, n, code, err)
				}
			}
		}
	}
}
