package steppers_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/files/image"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/internal/format/pefile"
	"github.com/corewalk/corewalk/internal/format/winunwind"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/steppers"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// A steppedCall is a call that has not returned: where it does, and what the callee
// must leave as it was.
type steppedCall struct {
	ret, cfa uint64
	regs     arch.RegSet
	xmm      [16][2]uint64
}

// A recording plays a record of testdata/src/windows/stepper.c.
type recording struct {
	*proc
	image *pefile.File
	table *winunwind.Table
	calls []steppedCall
	xmm   [16][2]uint64
	memo  []word // stack words that come before the stack's place is known
}

type word struct{ at, v uint64 }

func openRecording(t *testing.T, name string) (*recording, []string) {
	t.Helper()
	dir := fixture.Images(t, "steps")
	data := must(os.ReadFile(filepath.Join(dir, name+".exe")))
	f := must(pefile.Parse(data))
	r := &recording{proc: &proc{}, image: f, table: must(winunwind.New(arch.AMD64, f.Pdata(), f))}
	lib := &libstate.Library{Path: name + ".exe", Kind: libstate.Executable, Start: f.ImageBase, HeaderAddr: f.ImageBase, End: f.ImageBase + uint64(f.SizeOfImage)}
	for i := range f.Sections {
		s := &f.Sections[i]
		perm := libstate.Read
		if s.Name == ".text" {
			perm |= libstate.Exec
		}
		b := must(f.SectionData(s))
		r.add(f.ImageBase+uint64(s.RVA), perm, b)
		lib.Mappings = append(lib.Mappings, r.segs[len(r.segs)-1].m)
	}
	r.libs = libstate.NewTable([]*libstate.Library{lib}, 0)
	return r, strings.Split(strings.TrimSpace(string(must(os.ReadFile(filepath.Join(dir, name+".steps"))))), "\n")
}

// play takes one line in, and reports whether an instruction is about to be executed.
func (r *recording) play(t *testing.T, line string) bool {
	t.Helper()
	f := strings.Fields(line)
	n := make([]uint64, len(f))
	for i := range f[1:] {
		n[i+1], _ = strconv.ParseUint(f[i+1], 16, 64)
	}
	switch f[0] {
	case "r":
		reg, ok := arch.AMD64.RegByName(f[1])
		if !ok {
			t.Fatal(line)
		}
		r.regs.Set(reg, n[2])
	case "x":
		r.xmm[must(strconv.Atoi(strings.TrimPrefix(f[1], "xmm")))] = [2]uint64{n[2], n[3]}
	case "m":
		r.memo = append(r.memo, word{n[1], n[2]})
	case "c":
		if len(r.calls) == 0 {
			const size = 1 << 16
			top := n[2] + 64
			r.add(top-size, libstate.Read|libstate.Write, make([]byte, size))
		}
		r.calls = append(r.calls, steppedCall{n[1], n[2], r.regs, r.xmm})
	case "t":
		r.calls = r.calls[:len(r.calls)-1]
	case "i":
		for _, w := range r.memo {
			r.put(w.at, w.v)
		}
		r.memo = r.memo[:0]
		r.regs.Set(arch.RIP, n[1])
		return true
	}
	return false
}

// At every instruction of programs that were stepped through, prologues and epilogues
// included, the whole stack is what the calls made it, with all registers that calls
// preserve. ___chkstk_ms of libgcc is assembly that no table describes, and that pushes:
// its code is followed, and what of it is not known afterwards is left open.
func TestPEUnwindAtEveryInstruction(t *testing.T) {
	for _, name := range []string{"gcc-O0", "gcc-O2", "gcc-Os", "clang-O0", "clang-O2"} {
		t.Run(name, func(t *testing.T) {
			r, lines := openRecording(t, name)
			tables := partsOf(image.Parts{PEUnwind: r.table})
			group := must(steppers.DefaultGroup(arch.AMD64, tables))
			w := must(unwind.NewWalker(mapper{r.proc}, unwind.WithGroup(group)))
			steps, failed := 0, 0
			for i, line := range lines {
				if !r.play(t, line) {
					continue
				}
				steps++
				err := r.check(w)
				if err == nil {
					err = r.checkVectors()
				}
				if err != nil {
					t.Errorf("line %d: %s: %v", i+1, line, err)
					if failed++; failed == 10 {
						t.FailNow()
					}
				}
			}
			if steps < 1000 {
				t.Errorf("%d instructions", steps)
			}
		})
	}
}

// check compares the walked stack with the calls. The frame of the first call's
// caller has its return address in the record, but not its own caller.
func (r *recording) check(w *unwind.Walker) error {
	s, err := w.WalkStack(1)
	if err != nil {
		return err
	}
	if len(s.Frames) < len(r.calls)+1 {
		return fmt.Errorf("%d frames of %d", len(s.Frames), len(r.calls)+1)
	}
	for depth := range r.calls {
		call, f := &r.calls[len(r.calls)-1-depth], s.Frames[depth+1]
		pc, _ := r.regs.Get(arch.RIP)
		_, described := r.table.Find(uint32(pc - r.image.ImageBase))
		if want := unwind.TrustPEUnwind; f.Trust() != want && (described || depth > 0) {
			return fmt.Errorf("frame %d: %v", depth+1, f.Trust())
		}
		if f.RA() != call.ret || f.SP() != call.cfa {
			return fmt.Errorf("frame %d at %#x with stack pointer %#x, want %#x with %#x", depth+1, f.RA(), f.SP(), call.ret, call.cfa)
		}
		for m := winunwind.Nonvolatile(arch.AMD64) &^ arch.Mask(arch.RSP, arch.RIP); m != 0; m &= m - 1 {
			want, _ := call.regs.Get(m.First())
			if got, _, ok := f.Reg(m.First()); ok && got != want || !ok && described {
				return fmt.Errorf("frame %d: %s is %#x %t, want %#x", depth+1, arch.AMD64.RegName(m.First()), got, ok, want)
			}
		}
	}
	return nil
}

// checkVectors asks where the youngest frame saved its caller's vector registers.
func (r *recording) checkVectors() error {
	call := &r.calls[len(r.calls)-1]
	f := winunwind.Frame{Regs: r.regs}
	if err := r.table.Step(&f, r, r.image.ImageBase, true); err != nil {
		return err
	}
	for i := 6; i < 16; i++ {
		got := r.xmm[i]
		if f.SavedXMM>>i&1 != 0 {
			var err error
			for half := range got {
				if got[half], err = r.ReadWord(f.XMMAt[i] + uint64(8*half)); err != nil {
					return err
				}
			}
		}
		if got != call.xmm[i] {
			return fmt.Errorf("xmm%d is %#x, want %#x", i, got, call.xmm[i])
		}
	}
	return nil
}
