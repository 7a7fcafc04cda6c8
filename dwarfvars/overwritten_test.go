package dwarfvars_test

import (
	"encoding/binary"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/dwarfvars"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// An overwritten process has one word of memory that another value was written to.
type overwritten struct {
	unwind.ProcessState
	at   arch.Address
	word [8]byte
}

func (o *overwritten) ReadMem(addr arch.Address, b []byte) (int, error) {
	n, err := o.ProcessState.ReadMem(addr, b)
	for i, w := range o.word {
		if off := o.at + uint64(i) - addr; off < uint64(n) {
			b[off] = w
		}
	}
	return n, err
}

func (o *overwritten) ReadWord(addr arch.Address) (uint64, error) {
	b := make([]byte, 8)
	if _, err := o.ReadMem(addr, b); err != nil {
		return 0, err
	}
	return binary.LittleEndian.Uint64(b), nil
}

// TestOverwrittenObjects overwrites the words of containers and other objects of libraries, and
// of what they point to, one at a time. What is shown of them then is in testdata/overwritten.
func TestOverwrittenObjects(t *testing.T) {
	for name, functions := range map[string][]string{
		"amd64-vars-cxx-O0":    {"containers<int>", "owners"},
		"amd64-vars-libcxx":    {"containers<int>", "owners"},
		"amd64-absl":           {"main"},
		"amd64-boost":          {"main"},
		"amd64-cxx-errors":     {"main"},
		"amd64-glib":           {"main"},
		"amd64-glib-described": {"main"},
		"amd64-qt5":            {"main"},
		"amd64-qt6":            {"main"},
		"amd64-unbounded":      {"unbounded__look", "unbounded__work"},
		"amd64-vars-rust-O0":   {"library"},
		"amd64-vars-go-O0":     {"main.library"},
		"amd64-msvc-O0-vars":   {"containers"},
		"amd64-crystal":        {"crash"},
		"amd64-nim":            {"crash__shop_52"},
		"amd64-nim-values":     {"crash__values_34"},
		"amd64-zig":            {"crash"},
	} {
		t.Run(name, func(t *testing.T) {
			s := scene{}
			if !strings.HasPrefix(name, "amd64-msvc-") {
				s = newScene(t, name)
			} else {
				target, frames := openMinidump(t, minidump(t, name))
				s = scene{target.Variables(), frames}
			}
			var b strings.Builder
			for _, function := range functions {
				s.overwrite(t, &b, s.frame(t, function))
			}
			compareGolden(t, filepath.Join("testdata", "overwritten", name+".txt"), b.String())
		})
	}
}

// overwrite lists what the variables of a frame look like after each change.
func (s scene) overwrite(t *testing.T, b *strings.Builder, frame int) {
	t.Helper()
	o := &overwritten{ProcessState: s.Process()}
	r := s.With(o)
	a, err := r.At(s.frames, frame)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	show := func(v *dwarfvars.LocalVar) string {
		return a.Read(v, dwarfvars.Options{MaxElements: 3, MaxString: 5, MaxDepth: 3}).String()
	}
	for _, scope := range a.Live() {
		for _, v := range slices.Concat(scope.Params, scope.Locals) {
			o.at = 0
			val := a.Read(v, dwarfvars.Options{})
			if val.Addr() == 0 {
				continue
			}
			was := show(v)
			fmt.Fprintf(b, "%s: %s\n", v.Name, was)
			size, _, _ := r.GetLocalVariableValue(v, s.frames, frame, nil)
			for off := 0; off+8 <= min(size, 48); off += 8 {
				at := val.Addr() + uint64(off)
				to := s.change(b, o, fmt.Sprint(off), at, func() string { return show(v) }, was)
				for in := 0; to != 0 && in < 32; in += 8 {
					s.change(b, o, fmt.Sprint(off, "->", in), to+uint64(in), func() string { return show(v) }, was)
				}
			}
		}
	}
}

// change writes values to an address. It returns the address that is there, if it is one.
func (s scene) change(b *strings.Builder, o *overwritten, name string, at arch.Address, show func() string, was string) arch.Address {
	o.at = 0
	old, err := o.ReadWord(at)
	if err != nil {
		return 0
	}
	for _, v := range []uint64{0, 1, old + 8, 1<<40 + 1, 1<<64 - 1} {
		o.at = at
		binary.LittleEndian.PutUint64(o.word[:], v)
		if now := show(); now != was {
			text := fmt.Sprintf("%#x", v)
			if v == old+8 {
				text = "+8"
			}
			fmt.Fprintf(b, "  %s = %s: %s\n", name, text, now)
		}
	}
	o.at = 0
	if _, err := o.ReadWord(old); err != nil {
		return 0
	}
	return old
}
