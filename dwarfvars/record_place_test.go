package dwarfvars_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand"
	"os"
	"path/filepath"
	"testing"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/dwarfvars"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/internal/format/pdb"
	"github.com/corewalk/corewalk/unwind"
)

// Numbers of types and registers in PDBs of x86-64.
const (
	typeUInt8, typeInt, typeUInt, typeUInt64 = 0x69, 0x74, 0x75, 0x23

	regAH, regEAX, regECX, regXMM0, regSPL, regRAX, regRCX, regRSP = 5, 17, 18, 154, 327, 328, 330, 335
)

// TestRecordPlaces reads values in places of every kind.
func TestRecordPlaces(t *testing.T) {
	target, frames := openMinidump(t, minidump(t, "amd64-msvc-O0-vars"))
	types := map[string]pdb.TypeID{}
	live(target.Variables(), frames, func(_ *dwarfvars.Activation, s *dwarfvars.Scope, v *dwarfvars.LocalVar) {
		types[s.Function+"."+v.Name] = v.TypeID()
	})
	point, constant := types["records.p"], types["numbers.fixed"]
	a, err := target.Variables().At(frames, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	word := func(addr uint64) uint64 {
		v, err := target.ProcessState().ReadWord(addr)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	f := frames[0]
	reg := func(name string) uint64 {
		r, _ := target.ProcessState().Arch().RegByName(name)
		v, _, ok := f.Reg(r)
		if !ok {
			t.Fatal("no register ", name)
		}
		return v
	}
	sp, rax, rcx := f.SP(), reg("rax"), reg("rcx")
	var pointer int64 // where the frame has the address of something on the stack
	for off := int64(0); off < 0x200; off += 8 {
		if v := word(sp + uint64(off)); v > sp && v < sp+0x400 {
			pointer = off
		}
	}
	vector, ok := target.ProcessState().(interface {
		FPRegs(unwind.ThreadID) ([]byte, bool)
	})
	if !ok {
		t.Fatal("no floating-point registers")
	}
	fp, ok := vector.FPRegs(f.Thread())
	if !ok || len(fp) != 512 {
		t.Fatalf("%d bytes of floating-point registers", len(fp))
	}
	in := func(r pdb.Register) pdb.Place { return pdb.Place{Kind: pdb.InRegister, Reg: r, Whole: true} }
	part := func(r pdb.Register, at uint32) pdb.Place {
		return pdb.Place{Kind: pdb.InRegister, Reg: r, Whole: true, Part: true, At: at}
	}
	pc := uint32(f.LookupAddr() - a.Library.Start)
	for _, c := range []struct {
		name   string
		typ    pdb.TypeID
		places []pdb.Place
		want   string
	}{
		{"a register", typeUInt64, []pdb.Place{in(regRSP)}, fmt.Sprint(sp)},
		{"its low half", typeUInt, []pdb.Place{in(regEAX)}, fmt.Sprint(uint32(rax))},
		{"its low byte", typeUInt8, []pdb.Place{in(regSPL)}, fmt.Sprint(sp & 0xff)},
		{"its second byte", typeUInt8, []pdb.Place{in(regAH)}, fmt.Sprint(rax >> 8 & 0xff)},
		{"a vector register", typeUInt64, []pdb.Place{in(regXMM0)}, fmt.Sprint(binary.LittleEndian.Uint64(fp[160:]))},
		{"no register that is known", typeInt, []pdb.Place{in(999)}, "<CodeView's register 999 is not supported>"},
		{"the stack", typeUInt64, []pdb.Place{{Kind: pdb.AtRegister, Reg: regRSP, Off: pointer, Whole: true}}, fmt.Sprint(word(sp + uint64(pointer)))},
		{"behind a pointer", typeUInt64, []pdb.Place{{Kind: pdb.AtPointer, Reg: regRSP, Off: pointer, Inner: 8, Whole: true}},
			fmt.Sprint(word(word(sp+uint64(pointer)) + 8))},
		{"the module", typeInt, []pdb.Place{{Kind: pdb.AtAddress, RVA: 0x7ffffff0, Whole: true}}, "<memory not in the dump: 0x1bffffff0>"},
		{"a thread", typeInt, []pdb.Place{{Kind: pdb.InThread, Whole: true}}, "<thread-local storage not found: storage of Windows threads is not supported>"},
		{"a program", typeInt, []pdb.Place{{Kind: pdb.ByProgram, Whole: true}}, "<a program of Microsoft's debuggers is not supported>"},
		{"a constant", constant, []pdb.Place{{Kind: pdb.IsConstant, Value: 1<<64 - 7, Whole: true}}, "-7"},
		{"what was a constant once", typeInt, []pdb.Place{{Kind: pdb.IsConstant, Value: 1<<64 - 7, Whole: true}}, "<optimised out: -7 at times>"},
		{"a constant for a struct", point, []pdb.Place{{Kind: pdb.IsConstant, Value: 3, Whole: true}}, "<optimised out>"},
		{"nowhere", typeInt, nil, "<optimised out>"},
		{"nowhere at this address", typeInt, []pdb.Place{{Kind: pdb.InRegister, Reg: regEAX, Range: pdb.Range{Low: pc + 1, High: pc + 9}}}, "<optimised out>"},
		{"a gap", typeInt, []pdb.Place{{Kind: pdb.InRegister, Reg: regEAX, Range: pdb.Range{Low: pc - 4, High: pc + 9}, Gaps: []pdb.Range{{Low: pc, High: pc + 1}}}}, "<optimised out>"},
		{"beside a gap", typeUInt, []pdb.Place{{Kind: pdb.InRegister, Reg: regEAX, Range: pdb.Range{Low: pc - 4, High: pc + 9}, Gaps: []pdb.Range{{Low: pc + 1, High: pc + 3}}}}, fmt.Sprint(uint32(rax))},
		{"two parts", point, []pdb.Place{part(regECX, 4), part(regEAX, 0)}, fmt.Sprintf("{x = %d, y = %d}", int32(rax), int32(rcx))},
		{"one part", point, []pdb.Place{part(regECX, 4)}, fmt.Sprintf("{x = <optimised out>, y = %d}", int32(rcx))},
		{"both in one register", point, []pdb.Place{part(regRCX, 0)}, fmt.Sprintf("{x = %d, y = %d}", int32(rcx), int32(rcx>>32))},
		{"a number in two registers", typeUInt64, []pdb.Place{part(regEAX, 0), part(regECX, 4)}, fmt.Sprint(rax&0xffffffff | rcx<<32)},
	} {
		v := a.Placed(c.typ, c.places...)
		if got := a.Read(v, dwarfvars.Options{}).String(); got != c.want {
			t.Errorf("%s: %s, want %s (%s)", c.name, got, c.want, a.Expression(v))
		}
	}
	a.InPrologue(uint32(a.High - a.Low))
	v := a.Placed(typeInt, pdb.Place{Kind: pdb.AtRegister, Reg: regRSP, Whole: true})
	if val := a.Read(v, dwarfvars.Options{}); !errors.Is(val.Err(), dwarfvars.ErrNoFrame) {
		t.Errorf("before the frame is set up: %v", val)
	}
}

// TestRecordDamage changes bytes of a PDB: nothing may come of it but reasons and
// wrong values.
func TestRecordDamage(t *testing.T) {
	t.Parallel()
	c := minidump(t, "amd64-msvc-O0-vars")
	dirs := c.Search(t)
	whole, err := os.ReadFile(filepath.Join(dirs[0], "vars.pdb"))
	if err != nil {
		t.Fatal(err)
	}
	exe, err := os.ReadFile(filepath.Join(dirs[0], "vars.exe"))
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewSource(3))
	read := 0
	rounds := 60
	if !fixture.IsLong(t) {
		rounds /= 2
	}
	for range rounds {
		dir := t.TempDir()
		data := append([]byte(nil), whole...)
		for range 1 + r.Intn(200) {
			data[r.Intn(len(data))] = byte(r.Intn(256))
		}
		for name, b := range map[string][]byte{"vars.pdb": data, "vars.exe": exe} {
			if err := os.WriteFile(filepath.Join(dir, name), b, 0o666); err != nil {
				t.Fatal(err)
			}
		}
		target, err := corewalk.Open(context.Background(), c.Core(t), corewalk.WithSearch(dir), corewalk.WithSearch(dirs[1]))
		if err != nil {
			t.Fatal(err)
		}
		w, err := target.NewWalker()
		if err != nil {
			t.Fatal(err)
		}
		stack, _ := w.WalkStack(unwind.NullThread)
		live(target.Variables(), stack.Frames, func(a *dwarfvars.Activation, _ *dwarfvars.Scope, v *dwarfvars.LocalVar) {
			if len(a.Read(v, dwarfvars.Options{}).String()) > 0 {
				read++
			}
			a.Expression(v)
		})
		w.Close()
		target.Close()
	}
	if read < 500 {
		t.Errorf("%d variables", read)
	}
}

// TestRecordFrames reads variables of 32-bit x86, which count from the virtual frame pointer.
func TestRecordFrames(t *testing.T) {
	for fixture, want := range map[string]map[string]string{
		"i386-clang-O0": {
			"leaf.where":    "[ebp-4], memory at 0xf7d04d64: 0x0",
			"many.x":        "[vframe-8], memory at 0xf7d04e70: 1.5",
			"many.w":        "[vframe-56], memory at 0xf7d04e40: 33.75",
			"aligned.block": "[vframe-128], memory at 0xf7d04ec0: {0, 0, 0, 3, 0 <repeats 12 times>}",
		},
		"i386-clang-O2": {
			"leaf.job":      "[vframe+4], memory at 0xf7c8fda0: 0xf7c8fda8",
			"leaf.where":    "edx, register edx: 0x0",
			"middle.job":    "ecx, register ecx: <ecx not recovered>",
			"middle.depth":  ", : <optimised out>",
			"aligned.block": "[vframe-128], memory at 0xf7c8fec0: {0, 0, 0, 3, 0 <repeats 12 times>}",
			"run.job":       "[vframe-20], memory at 0xf7c8ffa0: {id = 41, title = 0x402004 \"a job\"}",
		},
	} {
		target, frames := openMinidump(t, minidump(t, fixture))
		seen := 0
		live(target.Variables(), frames, func(a *dwarfvars.Activation, s *dwarfvars.Scope, v *dwarfvars.LocalVar) {
			want, ok := want[s.Function+"."+v.Name]
			if !ok {
				return
			}
			seen++
			if got := fmt.Sprintf("%s, %s: %s", a.Expression(v), a.Where(v), a.Read(v, dwarfvars.Options{})); got != want {
				t.Errorf("%s, %s: %s, want %s", fixture, v.Name, got, want)
			}
		})
		if seen != len(want) {
			t.Errorf("%s: %d variables", fixture, seen)
		}
	}
}

// TestEnumerators: records of enumerators are no variables.
func TestEnumerators(t *testing.T) {
	target, frames := openMinidump(t, minidump(t, "amd64-msvc-O0-vars"))
	seen := false
	live(target.Variables(), frames, func(a *dwarfvars.Activation, _ *dwarfvars.Scope, v *dwarfvars.LocalVar) {
		if v.Name != "flags" || seen {
			return
		}
		known := func(n uint64) []pdb.Place { return []pdb.Place{{Kind: pdb.IsConstant, Value: n, Whole: true}} }
		record := func(name string, typ pdb.TypeID, places []pdb.Place) pdb.Var {
			return pdb.Var{Name: name, Type: typ, Places: places}
		}
		got := fmt.Sprint(a.Listed(record("readable", v.TypeID(), known(1)), record("other", v.TypeID(), known(1)), record("readable", v.TypeID(), known(91)),
			record("readable", typeInt, known(1)), record("readable", v.TypeID(), nil), record("readable", v.TypeID(), append(known(1), known(1)...)),
			record("readable", v.TypeID(), []pdb.Place{{Kind: pdb.InRegister, Value: 1, Whole: true}}), record("last", typeInt, nil)))
		if want := fmt.Sprint([]string{"other", "readable", "readable", "readable", "readable", "readable", "last"}); got != want {
			t.Errorf("%s, want %s", got, want)
		}
		seen = true
	})
	if !seen {
		t.Error("no variable flags")
	}
}

// TestRecordSymbols: a public symbol is only the symbol of its own address.
func TestRecordSymbols(t *testing.T) {
	target, frames := openMinidump(t, minidump(t, "amd64-msvc-O0-vars"))
	a, err := target.Variables().At(frames, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	at := a.Low - a.Library.Start
	name, off, ok := a.RecordSymbol(at)
	if name == "" || off != 0 || !ok {
		t.Errorf("the function: %s+%d, %v", name, off, ok)
	}
	if inside, off, ok := a.RecordSymbol(at + 2); inside != name || off != 2 || !ok {
		t.Errorf("in the function: %s+%d, %v", inside, off, ok)
	}
	for what, rva := range map[string]uint64{"4 GiB behind the function": at + 1<<32, "no address": 0} {
		if name, off, ok := a.RecordSymbol(rva); name != "" || off != 0 || ok {
			t.Errorf("%s: %s+%d, %v", what, name, off, ok)
		}
	}
}
