package disasm

import (
	"strconv"
	"strings"

	"github.com/corewalk/corewalk/unwind/arch"
	"golang.org/x/arch/x86/x86asm"
)

// text formats in. Mnemonic and operand order are x86asm's if it found the same length;
// memory operands and targets are always our own.
func (m *x86Mode) text(in *Inst, opts TextOptions) string {
	var r x86Raw
	if err := m.takeApart(&r, in.Bytes()); err != nil {
		return in.rawText()
	}
	if name := m.ownName(&r, in); name != "" {
		return name
	}
	x, err := x86asm.Decode(in.Bytes(), m.x86asm)
	if err != nil || x.Len != in.Len || x.Op == 0 {
		return in.rawText()
	}
	if in.Kind == Nop && x.Op != x86asm.PAUSE {
		return "nop" // whatever operand lengthens it
	}
	w := x86Writer{mode: m, raw: &r, in: in, x: &x, opts: opts}
	return w.write()
}

// ownName returns the names of instructions that x86asm misreads or does not know.
func (m *x86Mode) ownName(r *x86Raw, in *Inst) string {
	suffix := "d"
	if r.w() {
		suffix = "q"
	}
	reg := func() string { return gprName(r.rmExt(), in.Size, true) }
	switch {
	case in.Kind == Endbr && r.modrm == 0xfa:
		return "endbr64"
	case in.Kind == Endbr:
		return "endbr32"
	case !r.legacy0F():
		return ""
	case r.op == 0x1e && r.pp == ppF3 && !r.memForm() && r.reg() == 1:
		return "rdssp" + suffix + " " + reg()
	case r.op == 0xae && r.pp == ppF3 && !r.memForm() && r.reg() == 5:
		return "incssp" + suffix + " " + reg()
	case r.op == 0x01 && r.pp == ppF3 && r.modrm == 0xea:
		return "saveprevssp"
	case r.op == 0x01 && r.modrm == 0xee:
		return "rdpkru"
	case r.op == 0x01 && r.modrm == 0xef:
		return "wrpkru"
	case r.op == 0xb9:
		return "ud1"
	case r.op == 0xff:
		return "ud0"
	}
	return ""
}

// gprName returns the 64-bit mode name of general register n with a size in bytes. Without
// REX, byte registers 4 to 7 are the high halves.
func gprName(n, size uint8, rex bool) string {
	const names = "axcxdxbxspbpsidi"
	if n >= 8 {
		s := "r" + strconv.Itoa(int(n))
		switch size {
		case 1:
			s += "b"
		case 2:
			s += "w"
		case 4:
			s += "d"
		}
		return s
	}
	s := names[2*n : 2*n+2]
	switch size {
	case 8:
		return "r" + s
	case 4:
		return "e" + s
	case 1:
		switch {
		case n < 4:
			return s[:1] + "l"
		case rex:
			return s + "l"
		}
		return names[2*(n-4):2*(n-4)+1] + "h"
	}
	return s
}

// addrRegName returns the name of a register in an address, with the address's size.
func (i *Inst) addrRegName(m *MemOperand, r arch.Reg) string {
	name := i.arch.RegName(r)
	if int(m.AddrSize) == i.arch.RegSize {
		return name
	}
	if mode := x86ModeOf(i.arch); mode != nil {
		for n, g := range mode.gpr {
			if g == r {
				return gprName(uint8(n), m.AddrSize, true)
			}
		}
	}
	return name
}

// An x86Writer formats one instruction.
type x86Writer struct {
	mode *x86Mode
	raw  *x86Raw
	in   *Inst
	x    *x86asm.Inst
	opts TextOptions
}

func (w *x86Writer) write() string {
	var b strings.Builder
	w.prefix(&b)
	b.WriteString(w.mnemonic())
	n := 0
	for i, a := range w.x.Args {
		if a == nil {
			break
		}
		s, attach := w.arg(i, a)
		switch {
		case s == "":
			continue
		case attach:
			b.WriteString(" " + s)
			continue
		case n == 0:
			b.WriteByte(' ')
		default:
			b.WriteString(", ")
		}
		b.WriteString(s)
		n++
	}
	return b.String()
}

// prefix writes the prefixes that change the instruction's meaning.
func (w *x86Writer) prefix(b *strings.Builder) {
	r := w.raw
	if r.lock {
		b.WriteString("lock ")
	}
	switch k := w.in.Kind; {
	case w.in.Rep && (r.op&^1 == 0xa6 || r.op&^1 == 0xae):
		if r.rep == 0xf2 {
			b.WriteString("repne ")
		} else {
			b.WriteString("repe ")
		}
	case w.in.Rep:
		b.WriteString("rep ")
	case r.notrack && (k == CallIndirect || k == JumpIndirect):
		b.WriteString("notrack ")
	case r.rep == 0xf2 && (k.IsCall() || k == Ret || k == Jump || k == JumpIndirect || k == CondJump):
		b.WriteString("bnd ")
	}
}

func (w *x86Writer) mnemonic() string {
	switch w.x.Op {
	case x86asm.MOVSD_XMM:
		return "movsd"
	case x86asm.CMPSD_XMM:
		return "cmpsd"
	case x86asm.LCALL:
		return "call far"
	case x86asm.LJMP:
		return "jmp far"
	case x86asm.LRET:
		return "retf"
	case x86asm.MOV:
		if w.raw.opmap == mapOne && w.raw.immLen == 8 {
			return "movabs"
		}
	case x86asm.INT:
		if w.in.Kind == Int3 {
			return "int3"
		}
	}
	return strings.ToLower(w.x.Op.String())
}

// arg formats operand i. attach says that it is not an operand but a decoration of the
// previous one: a write mask.
func (w *x86Writer) arg(i int, a x86asm.Arg) (s string, attach bool) {
	switch a := a.(type) {
	case x86asm.Reg:
		if w.raw.enc == encEVEX && i == 1 && a >= x86asm.K0 && a <= x86asm.K7 {
			return w.mask(a), true
		}
		return x86RegName(a), false
	case x86asm.Mem:
		return w.mem(a), false
	case x86asm.Rel:
		return w.opts.address(w.in.Target), false
	case x86asm.Imm:
		if w.in.Kind == Int3 {
			return "", false
		}
		return w.imm(int64(a)), false
	}
	return strings.ToLower(a.String()), false
}

// mask formats an AVX-512 write mask.
func (w *x86Writer) mask(k x86asm.Reg) string {
	s := ""
	if k != x86asm.K0 {
		s = "{" + x86RegName(k) + "}"
	}
	if w.x.Zeroing {
		s += "{z}"
	}
	return s
}

// mem formats one of our memory operands for x86asm's: string instructions have two, and
// x86asm says which it is.
func (w *x86Writer) mem(a x86asm.Mem) string {
	mems := w.in.Mems()
	if len(mems) == 0 {
		return strings.ToLower(a.String())
	}
	m := &mems[0]
	if len(mems) > 1 && m.Implicit && (a.Base == x86asm.RDI || a.Base == x86asm.EDI) {
		m = &mems[1]
	}
	index := ""
	if m.Vector && a.Index != 0 {
		index = x86RegName(a.Index)
	}
	s := w.in.memText(m, index, w.opts)
	if w.raw.bcast && w.x.Broadcast {
		s += "{1to" + strconv.Itoa(w.raw.vlBytes()/int(max(m.Size, 1))) + "}"
	}
	if w.sizeEvident(m) {
		return s
	}
	return sizeWord(m.Size) + s
}

// sizeEvident reports whether the size of m can be omitted.
func (w *x86Writer) sizeEvident(m *MemOperand) bool {
	if m.Implicit || !m.Read && !m.Write {
		return true // implied by the mnemonic
	}
	for i, a := range w.x.Args {
		if r, ok := a.(x86asm.Reg); ok && x86RegSize(r) == int(m.Size) && !(i > 0 && w.shiftCount()) {
			return true
		}
	}
	return false
}

// shiftCount reports whether the second operand is a count, whose size says nothing about
// the first.
func (w *x86Writer) shiftCount() bool {
	return w.raw.opmap == mapOne && (w.raw.op == 0xd2 || w.raw.op == 0xd3)
}

func sizeWord(n uint16) string {
	switch n {
	case 1:
		return "byte ptr "
	case 2:
		return "word ptr "
	case 4:
		return "dword ptr "
	case 6:
		return "fword ptr "
	case 8:
		return "qword ptr "
	case 10:
		return "tbyte ptr "
	case 16:
		return "xmmword ptr "
	case 32:
		return "ymmword ptr "
	case 64:
		return "zmmword ptr "
	}
	return ""
}

// imm formats an immediate: small negative numbers with a sign, others as the bits of the
// operand.
func (w *x86Writer) imm(v int64) string {
	if v < 0 && v >= -0x10000 && w.raw.opmap == mapOne && (w.in.Kind != MovImm || w.in.Size == 8) {
		return "-" + number(uint64(-v))
	}
	u := uint64(v)
	if size := w.in.Size; size > 0 && size < 8 {
		u &= 1<<(8*size) - 1
	} else if w.raw.immLen == 1 && w.raw.opmap != mapOne {
		u &= 0xff
	}
	return number(u)
}

// x86RegName returns the name that debuggers use for a register.
func x86RegName(r x86asm.Reg) string {
	switch {
	case r >= x86asm.SPB && r <= x86asm.DIB:
		return [...]string{"spl", "bpl", "sil", "dil"}[r-x86asm.SPB]
	case r >= x86asm.R8L && r <= x86asm.R15L:
		return "r" + strconv.Itoa(int(r-x86asm.R8L)+8) + "d"
	case r >= x86asm.F0 && r <= x86asm.F7:
		return "st(" + strconv.Itoa(int(r-x86asm.F0)) + ")"
	case r >= x86asm.M0 && r <= x86asm.M7:
		return "mm" + strconv.Itoa(int(r-x86asm.M0))
	case r >= x86asm.X0 && r <= x86asm.X31:
		return "xmm" + strconv.Itoa(int(r-x86asm.X0))
	case r >= x86asm.Y0 && r <= x86asm.Y31:
		return "ymm" + strconv.Itoa(int(r-x86asm.Y0))
	case r >= x86asm.Z0 && r <= x86asm.Z31:
		return "zmm" + strconv.Itoa(int(r-x86asm.Z0))
	}
	return strings.ToLower(r.String())
}

// x86RegSize returns the size of a register in bytes, or 0 if it does not imply an operand
// size.
func x86RegSize(r x86asm.Reg) int {
	switch {
	case r >= x86asm.AL && r <= x86asm.R15B:
		return 1
	case r >= x86asm.AX && r <= x86asm.R15W:
		return 2
	case r >= x86asm.EAX && r <= x86asm.R15L:
		return 4
	case r >= x86asm.RAX && r <= x86asm.R15, r >= x86asm.M0 && r <= x86asm.M7:
		return 8
	case r >= x86asm.X0 && r <= x86asm.X31:
		return 16
	case r >= x86asm.Y0 && r <= x86asm.Y31:
		return 32
	case r >= x86asm.Z0 && r <= x86asm.Z31:
		return 64
	}
	return 0
}
