package dwarfvars

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/corewalk/corewalk/internal/format/dwarf"
	"github.com/corewalk/corewalk/internal/lazy"
	"github.com/corewalk/corewalk/internal/vars/paths"
	"github.com/corewalk/corewalk/internal/vars/types"
	"github.com/corewalk/corewalk/internal/vars/values"
	"github.com/corewalk/corewalk/unwind/arch"
)

// What stands after "$": registers of the frame and their parts, $_siginfo, $_exitcode, convenience variables.

func (e *evaluation) register(n *paths.Register) (Object, error) {
	name := strings.ToLower(n.Name)
	if name == "" && e.lengthOf != nil {
		return e.lengthOf()
	}
	if name != "" && name[0] != '$' && (name[0] < '0' || name[0] > '9') {
		if t, ok, err := e.registerNamed(name); ok || err != nil {
			return t, err
		}
		switch name {
		case "_siginfo":
			return e.sigInfo()
		case "_exitcode": // the process has not exited
			return Object{in: e.in, ob: values.Object{Type: e.a.r.types.Of(types.Ref{})}, at: true}, nil
		}
	}
	for _, v := range e.vars {
		if ob, ok := v(n.Name); ok {
			return ob, nil
		}
	}
	switch {
	case n.Name == "" || n.Name[0] == '$' || n.Name[0] >= '0' && n.Name[0] <= '9':
		return Object{}, fmt.Errorf("$%s: no such value was printed before", n.Name)
	case len(e.vars) > 0:
		return Object{}, errVoid(fmt.Sprintf("%s has no register %s, and no convenience variable is called so", e.a.r.arch.Name, n.Name))
	}
	return Object{}, fmt.Errorf("%s has no register %s", e.a.r.arch.Name, n.Name)
}

// registerNamed returns a register of the frame, or a part of one; false if none has the name.
func (e *evaluation) registerNamed(name string) (Object, bool, error) {
	a, f := e.a.r.arch, e.a.Frame()
	pointer := func(v uint64) (Object, bool, error) {
		t, err := e.word(e.pointerTo(e.a.r.types.Of(types.Ref{})), v)
		return t, true, err
	}
	switch name {
	case "pc":
		return pointer(uint64(f.RA()))
	case "sp":
		return pointer(uint64(f.SP()))
	case "fp":
		return pointer(uint64(f.FP()))
	case "cfa":
		cfa, known := f.CFA()
		e.a.e.uses(known && f.CFADoubtful())
		if !known {
			return Object{}, true, registerLost(name)
		}
		return pointer(uint64(cfa))
	}
	part, ok := partOf(a, name)
	if !ok {
		return e.vectorNamed(name)
	}
	v, at, known := f.Reg(part.of)
	e.a.e.uses(known && at.Doubtful)
	if part.of == a.PC {
		v, known = uint64(f.RA()), true
	}
	if !known {
		return Object{}, true, registerLost(name)
	}
	set := e.a.r.types
	switch {
	case part.flags != nil:
		t, err := e.word(set.Flags(a.RegName(part.of), uint64(part.size), part.flags), v)
		return t, true, err
	case part.size == a.RegSize && (part.of == a.PC || part.of == a.SP || part.of == a.FP):
		return pointer(v)
	case part.size == a.RegSize:
		t, err := e.word(set.Integer(uint64(max(a.WordSize, 4)), true), v)
		return t, true, err
	}
	name = map[int]string{1: "int8_t", 2: "int16_t", 4: "int"}[part.size]
	if name == "" {
		name = "long"
	}
	t, err := e.word(set.Number(name, uint64(part.size), types.EncSigned), v>>part.shift)
	return t, true, err
}

func registerLost(name string) error {
	return fmt.Errorf("the value of %s in this frame is not known: %w", name, ErrRegister)
}

// A registerBits is a general register, or a part of one that has a name of its own.
type registerBits struct {
	of    arch.Reg
	shift uint
	size  int // bytes
	flags []types.Enumerator
}

// The flags of x86 (Intel SDM 1, 3.4.3) and of the two ARM architectures (PSTATE, CPSR).
var x86Flags = lazy.Value[[]types.Enumerator]{Make: func() []types.Enumerator {
	return flagBits(map[uint]string{0: "CF", 2: "PF", 4: "AF", 6: "ZF", 7: "SF", 8: "TF", 9: "IF", 10: "DF", 11: "OF", 14: "NT", 16: "RF", 17: "VM", 18: "AC", 19: "VIF",
		20: "VIP", 21: "ID"})
}}

func flagBits(names map[uint]string) (list []types.Enumerator) {
	for bit := range uint(32) {
		if name := names[bit]; name != "" {
			list = append(list, types.Enumerator{Name: name, Val: 1 << bit})
		}
	}
	return list
}

// partOf finds a register, or a part of one, by its name.
func partOf(a *arch.Arch, name string) (registerBits, bool) {
	x86 := a.Family == arch.FamilyX86
	if x86 && (name == "rflags" || name == "ps") {
		name = "eflags"
	}
	if reg, ok := a.RegByName(name); ok {
		p := registerBits{of: reg, size: a.RegSize}
		if x86 && name == "eflags" {
			p.size, p.flags = 4, x86Flags.Get()
		}
		return p, true
	}
	switch {
	case x86:
		return x86Part(a, name)
	case a.Name == "aarch64" && strings.HasPrefix(name, "w"):
		if reg, ok := a.RegByName("x" + name[1:]); ok {
			return registerBits{of: reg, size: 4}, true
		}
	}
	return registerBits{}, false
}

// x86Part finds eax, ax, al, ah, r8d, r8w, r8l and their like.
func x86Part(a *arch.Arch, name string) (p registerBits, ok bool) {
	wide := "r"
	if a.RegSize == 4 {
		wide = "e"
	}
	find := func(whole string, size int, shift uint) (registerBits, bool) {
		reg, ok := a.RegByName(whole)
		return registerBits{of: reg, size: size, shift: shift}, ok
	}
	n := len(name)
	switch {
	case n == 3 && name[0] == 'e':
		return find("r"+name[1:], 4, 0)
	case n == 2 && (name[1] == 'x' || name[1] == 'i' || name[1] == 'p') && name != "ip":
		return find(wide+name, 2, 0)
	case n == 2 && name[1] == 'l':
		return find(wide+name[:1]+"x", 1, 0)
	case n == 2 && name[1] == 'h':
		return find(wide+name[:1]+"x", 1, 8)
	case n == 3 && name[2] == 'l':
		return find(wide+name[:2], 1, 0)
	case n >= 3 && name[0] == 'r' && name[1] >= '0' && name[1] <= '9':
		if size := map[byte]int{'d': 4, 'w': 2, 'l': 1, 'b': 1}[name[n-1]]; size != 0 {
			return find(name[:n-1], size, 0)
		}
	}
	return p, false
}

// vectorNamed returns a register other than the general ones, if the frame has it: xmm0 as a union of vectors, st0 as a
// number.
func (e *evaluation) vectorNamed(name string) (Object, bool, error) {
	whole, wide := name, false
	if rest, ok := strings.CutPrefix(name, "ymm"); ok && e.a.r.arch.Family == arch.FamilyX86 {
		whole, wide = "xmm"+rest, true
	}
	scalar := 0
	if e.a.r.arch.Name == "aarch64" && len(name) > 1 {
		if scalar = map[byte]int{'q': 16, 'd': 8, 's': 4, 'h': 2, 'b': 1}[name[0]]; scalar > 0 {
			whole = "v" + name[1:]
		}
	}
	banks := e.a.r.machine.banks
	for i := range banks {
		b := &banks[i]
		for n := b.first; n < b.first+b.count; n++ {
			if fmt.Sprintf(b.name, b.index(n)+b.base) != whole {
				continue
			}
			raw, _, ok := e.a.e.vector(n)
			if !ok {
				return Object{}, true, registerLost(name)
			}
			raw = append([]byte(nil), raw...)
			switch {
			case wide && len(raw) == 16:
				s := savedRegs{e.a.r, e.a.Frame()}
				if x, _ := s.block(noteXState); len(x) < avxYMM+16*16 { // nothing says that the upper half is zero
					return Object{}, true, registerLost(name)
				}
				raw = append(raw, make([]byte, 16)...)
			case !wide && len(raw) == 32:
				raw = raw[:16]
			case scalar > 0 && !e.a.r.arch.Big():
				raw = raw[:min(scalar, len(raw))]
			}
			t := e.vectorType(whole, raw)
			return Object{in: e.in, ob: values.Object{Type: t, Size: uint64(len(raw)), Data: raw}, at: true}, true, nil
		}
	}
	return Object{}, false, nil
}

// vectorType is the type of the bytes of a register: a floating-point number, or a union of vectors as gdb has it.
func (e *evaluation) vectorType(name string, raw []byte) *types.Type {
	set, size := e.a.r.types, uint64(len(raw))
	if strings.HasPrefix(name, "st") && size == x87Size {
		return set.Number("long double", size, types.EncFloat)
	}
	if size == 4 || size == 8 && (name[0] == 'd' || name[0] == 'f') {
		return set.Float(size)
	}
	var fields []types.MadeField
	for _, elem := range [...]struct {
		name string
		size uint64
		enc  types.Encoding
	}{{"float", 4, types.EncFloat}, {"double", 8, types.EncFloat}, {"int8", 1, types.EncSigned}, {"int16", 2, types.EncSigned}, {"int32", 4, types.EncSigned}, {"int64", 8, types.EncSigned}} {
		n := size / elem.size
		if n == 0 {
			continue
		}
		t := set.Number(map[string]string{"int8": "int8_t", "int16": "int16_t", "int32": "int", "int64": "long"}[elem.name], elem.size, elem.enc)
		if elem.enc == types.EncFloat {
			t = set.Float(elem.size)
		}
		fields = append(fields, types.MadeField{Name: "v" + strconv.FormatUint(n, 10) + "_" + elem.name, Type: set.ArrayOf(t, n)})
	}
	if size == 16 {
		fields = append(fields, types.MadeField{Name: "uint128", Type: set.Number("unsigned __int128", 16, types.EncUnsigned)})
	}
	return set.Made(dwarf.TagUnionType, "vec"+strconv.FormatUint(8*size, 10), size, fields)
}

// noteSigInfo is NT_SIGINFO, whose owner is CORE.
const noteSigInfo = 0x53494749

// sigInfo returns the siginfo_t of the signal that the frame's thread met, as the dump's note has it.
func (e *evaluation) sigInfo() (Object, error) {
	p, ok := e.a.r.proc.(threadNotes)
	var raw []byte
	if ok {
		raw, ok = p.ThreadNote(e.a.Frame().Thread(), "CORE", noteSigInfo)
	}
	t := e.sigInfoType()
	if !ok || uint64(len(raw)) < t.ByteSize {
		return Object{}, fmt.Errorf("the dump has no siginfo_t of the thread")
	}
	return Object{in: e.in, ob: values.Object{Type: t, Size: t.ByteSize, Data: raw[:t.ByteSize]}, at: true}, nil
}

// sigInfoType is siginfo_t of Linux (include/uapi/asm-generic/siginfo.h), whose members have the names of the C library.
func (e *evaluation) sigInfoType() *types.Type {
	set, word := e.a.r.types, e.a.r.types.Word()
	i32, u32 := set.Integer(4, true), set.Integer(4, false)
	long, pointer := set.Number("long", word, types.EncSigned), set.PointerTo(set.Of(types.Ref{}))
	f := func(name string, t *types.Type, off uint64) types.MadeField {
		return types.MadeField{Name: name, Type: t, Off: off}
	}
	record := func(size uint64, list ...types.MadeField) *types.Type {
		return set.Made(dwarf.TagStructureType, "", size, list)
	}
	value := set.Made(dwarf.TagUnionType, "sigval", word, []types.MadeField{f("sival_int", i32, 0), f("sival_ptr", pointer, 0)})
	bounds := record(2*word, f("_lower", pointer, 0), f("_upper", pointer, word))
	all := 4 * word // as far as the parts below reach
	fields := set.Made(dwarf.TagUnionType, "", all, []types.MadeField{
		f("_kill", record(8, f("si_pid", i32, 0), f("si_uid", u32, 4)), 0),
		f("_timer", record(8+word, f("si_tid", i32, 0), f("si_overrun", i32, 4), f("si_sigval", value, 8)), 0),
		f("_rt", record(8+word, f("si_pid", i32, 0), f("si_uid", u32, 4), f("si_sigval", value, 8)), 0),
		f("_sigchld", record(all, f("si_pid", i32, 0), f("si_uid", u32, 4), f("si_status", i32, 8), f("si_utime", long, values.AlignUp(12, word)), f("si_stime", long, values.AlignUp(12, word)+word)), 0),
		f("_sigfault", record(4*word, f("si_addr", pointer, 0), f("_addr_lsb", set.Number("short", 2, types.EncSigned), word), f("_addr_bnd", bounds, 2*word)), 0),
		f("_sigpoll", record(2*word, f("si_band", long, 0), f("si_fd", i32, word)), 0),
		f("_sigsys", record(word+8, f("_call_addr", pointer, 0), f("_syscall", i32, word), f("_arch", u32, word+4)), 0),
	})
	start := values.AlignUp(12, word)
	second, third := "si_errno", "si_code"
	if e.a.r.arch.Family == arch.FamilyMIPS {
		second, third = third, second
	}
	return set.Made(dwarf.TagStructureType, "siginfo", start+all, []types.MadeField{
		f("si_signo", i32, 0), f(second, i32, 4), f(third, i32, 8), f("_sifields", fields, start)})
}
