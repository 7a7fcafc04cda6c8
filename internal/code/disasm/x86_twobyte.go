package disasm

import "github.com/corewalk/corewalk/unwind/arch"

// twoByte adds to what the table says about a general opcode of map 0F.
func (d *x86Decoder) twoByte() {
	op := d.raw.op
	switch {
	case op >= 0x80 && op < 0x90:
		d.branch(CondJump)
	case op >= 0xc8 && op < 0xd0: // bswap
		d.explicit(op&7|d.raw.rex&rexB<<3, accRW, true)
	case op >= 0x18 && op <= 0x1f || op == 0x0d:
		d.hintNop(op)
	case op < 0x40:
		d.twoByteLow(op)
	default:
		d.twoByteRest(op)
	}
}

// hintNop decodes the nop space 0F 18 to 0F 1F, which includes prefetches and CET.
func (d *x86Decoder) hintNop(op uint8) {
	in, r := d.in, d.raw
	if op == 0x0d || op == 0x18 && r.memForm() {
		return // prefetches: Other, without an access
	}
	in.Kind, in.Size = Nop, 0
	if op != 0x1e || r.pp != ppF3 || r.memForm() {
		return
	}
	switch {
	case r.modrm == 0xfa || r.modrm == 0xfb:
		in.Kind = Endbr
	case r.reg() == 1: // rdssp: keeps its operand if shadow stacks are off
		in.Kind, in.Size = Other, 4
		if r.w() {
			in.Size = 8
		}
		d.explicit(r.rmExt(), accRW, true)
	}
}

func (d *x86Decoder) twoByteLow(op uint8) {
	in := d.in
	switch op {
	case 0x01:
		d.systemGroup()
	case 0x05: // syscall: the number and up to six arguments; the kernel uses rcx and r11
		in.Kind = Syscall
		d.use(nAX, accRW)
		in.Reads |= d.mode.masks(nDI, nSI, nDX)
		in.Writes |= d.mode.mask(nCX)
		if d.mode.bits == 64 {
			in.Writes |= d.mode.mask(nR11)
			in.Reads |= arch.Mask(arch.R8, arch.R9, arch.R10)
		}
	case 0x34:
		in.Kind = Syscall
	case 0x0b:
		in.Kind = Trap
	case 0x06, 0x07, 0x08, 0x09, 0x30, 0x32, 0x35, 0x20, 0x21, 0x22, 0x23:
		in.Kind = Halt
	case 0x31, 0x33: // rdtsc, rdpmc
		in.Writes |= d.mode.masks(nAX, nDX)
	case 0x00:
		if r := d.raw.reg(); r < 2 {
			d.setRM(accW, 2)
		} else {
			d.setRM(accR, 2)
		}
	}
}

// systemGroup decodes 0F 01.
func (d *x86Decoder) systemGroup() {
	r := d.raw
	if !r.memForm() {
		switch r.modrm {
		case 0xd0: // xgetbv
			d.use(nCX, accR)
			d.in.Writes |= d.mode.masks(nAX, nDX)
		case 0xf9: // rdtscp
			d.in.Writes |= d.mode.masks(nAX, nDX, nCX)
		case 0xee: // rdpkru
			d.in.Writes |= d.mode.masks(nAX, nDX)
		case 0xef: // wrpkru
			d.in.Reads |= d.mode.masks(nAX, nCX, nDX)
		}
		if r.reg() == 4 {
			d.setRM(accW, 2)
		}
		return
	}
	table := 2 + int(d.mode.wordLen)
	switch r.reg() {
	case 0, 1:
		d.setRM(accW, table)
	case 2, 3:
		d.setRM(accR, table)
	case 4:
		d.setRM(accW, 2)
	case 5:
		d.setRM(accRW, 8)
	case 6:
		d.setRM(accR, 2)
	case 7:
		d.setRM(accNone, 0)
	}
}

func (d *x86Decoder) twoByteRest(op uint8) {
	in, r := d.in, d.raw
	switch op {
	case 0xa0, 0xa8:
		d.slot(true)
	case 0xa1, 0xa9:
		d.slot(false)
	case 0xa2: // cpuid
		d.use(nAX, accRW)
		d.use(nCX, accRW)
		in.Writes |= d.mode.masks(nDX, nBX)
	case 0xa5, 0xad: // shld, shrd by cl
		d.use(nCX, accR)
	case 0xae:
		d.fenceGroup()
	case 0xb0, 0xb1: // cmpxchg
		d.use(nAX, accRW)
		if op == 0xb0 {
			in.Size = 1
		}
	case 0xb2, 0xb4, 0xb5: // far pointers
		d.setRM(accR, int(d.sizeV())+2)
		in.Dst = d.mode.gpr[r.regExt()]
	case 0xb8: // popcnt; jmpe otherwise
		if r.pp != ppF3 {
			in.Kind = Trap
		}
	case 0xb9, 0xff:
		in.Kind = Trap
	case 0xba:
		if r.reg() == 4 {
			d.setRM(accR, int(in.Size))
		} else if r.reg() < 4 {
			in.Kind = Trap
		}
	case 0xc7:
		d.cmpxchgGroup()
	}
}

// fenceGroup decodes 0F AE: saved processor states, fences, segment bases.
func (d *x86Decoder) fenceGroup() {
	r := d.raw
	if !r.memForm() {
		switch {
		case r.pp == ppF3 && r.reg() < 2: // rdfsbase, rdgsbase
			d.in.Size = d.sizeV()
			d.explicit(r.rmExt(), accW, true)
		case r.pp == ppF3 && r.reg() < 6, r.pp != ppNone && r.reg() == 6: // wrfsbase, incssp, umwait and similar
			d.in.Size = d.sizeV()
			d.explicit(r.rmExt(), accR, false)
		}
		return
	}
	switch r.reg() {
	case 0:
		d.setRM(accW, 512)
	case 1:
		d.setRM(accR, 512)
	case 2:
		d.setRM(accR, 4)
	case 3:
		d.setRM(accW, 4)
	case 4:
		if r.pp == ppF3 { // ptwrite
			d.setRM(accR, int(d.sizeV()))
			return
		}
		d.xsave(accW)
	case 5:
		d.xsave(accR)
	case 6:
		switch r.pp {
		case ppNone:
			d.xsave(accW)
		case ppF3:
			d.setRM(accRW, 8)
		}
	}
}

// xsave decodes saves and restores of an area whose size depends on eax:edx and the
// processor.
func (d *x86Decoder) xsave(acc opAccess) {
	d.setRM(acc, 0)
	d.in.Reads |= d.mode.masks(nAX, nDX)
}

// cmpxchgGroup decodes 0F C7.
func (d *x86Decoder) cmpxchgGroup() {
	in, r := d.in, d.raw
	if !r.memForm() {
		if r.reg() >= 6 { // rdrand, rdseed, rdpid
			in.Size = d.sizeV()
			d.explicit(r.rmExt(), accW, true)
		}
		return
	}
	switch r.reg() {
	case 1:
		size := 8
		if r.w() {
			size = 16
			in.mems[0].Aligned = true
		}
		in.Size = uint8(size)
		d.setRM(accRW, size)
		in.Reads |= d.mode.masks(nAX, nDX, nBX, nCX)
		in.Writes |= d.mode.masks(nAX, nDX)
	case 3:
		d.xsave(accR)
	case 4, 5:
		d.xsave(accW)
	case 6:
		d.setRM(accR, 8)
	case 7:
		d.setRM(accW, 8)
	}
}

// classify sets the kind of plain moves and of moves of the stack pointer.
func (d *x86Decoder) classify() {
	in, r := d.in, d.raw
	sp, fp := d.mode.gpr[nSP], d.mode.gpr[nBP]
	full := in.Size >= d.mode.ptrLen
	switch {
	case in.Kind == Lea && in.Dst == sp && full:
		in.Kind = LeaSP
	case in.Kind != Other:
	case r.opmap == map0F && isMovx(r.op), r.opmap == mapOne && r.op == 0x63 && d.mode.bits == 64:
		in.Kind = d.moveKind()
	case r.opmap == mapOne && r.op >= 0x88 && r.op <= 0x8b:
		in.Kind = d.moveKind()
		if in.Kind == Mov && full {
			switch {
			case in.Dst == fp && in.Src == sp:
				in.Kind = MovSPtoFP
			case in.Dst == sp && in.Src == fp:
				in.Kind = MovFPtoSP
			}
		}
	}
}

// isMovx reports whether opcode 0F op is movzx or movsx.
func isMovx(op uint8) bool { return op == 0xb6 || op == 0xb7 || op == 0xbe || op == 0xbf }

func (d *x86Decoder) moveKind() Kind {
	switch {
	case !d.raw.memForm():
		return Mov
	case d.in.mems[0].Write:
		return Store
	}
	return Load
}
