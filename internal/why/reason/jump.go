package reason

import (
	"fmt"

	"github.com/corewalk/corewalk/internal/code/disasm"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/unwind/arch"
)

// cannotRun reports whether the processor could not have fetched an instruction at pc.
func (in *Input) cannotRun(pc uint64) bool {
	if in.Mapping == nil {
		return in.Inst == nil
	}
	m, _ := in.mapping(pc)
	return m.Perm&libstate.Exec == 0
}

// ranInto reports whether the fault at addr was the fetch of the rest of the instruction at pc, which extends
// into a page without code.
func (in *Input) ranInto(pc, addr uint64) bool {
	length := uint64(disasm.MaxLen)
	if in.Inst != nil {
		length = uint64(in.Inst.Len)
	}
	return addr-pc < length && addr%pageSize == 0 && !in.cannotRun(pc) && in.cannotRun(addr)
}

// pageSize is the smallest page of any processor.
const pageSize = 4096

// jump explains a pc at which there is no code.
func (in *Input) jump(pc uint64) Reason {
	r := Reason{Access: report.AccessExecute, Addr: pc, HasAddr: true, Kind: report.CrashWildCall}
	m, mapped := in.mapping(pc)
	switch {
	case pc < nullZone:
		r.Kind = report.CrashNullCall
	case !in.canonical(pc):
		r.Kind = report.CrashNonCanonicalCall
	case mapped && m.Perm&libstate.Exec == 0:
		r.Kind = report.CrashExecNoExec
	case mapped || in.Mapping == nil:
		r.Kind = report.CrashBadCall
	}
	r.Text = in.how(pc) + " " + in.noCode(pc)
	return r
}

// noCode says why no code can run at pc.
func (in *Input) noCode(pc uint64) string {
	switch m, mapped := in.mapping(pc); {
	case pc < nullZone:
		return nullPlus(int64(pc))
	case !in.canonical(pc):
		return fmt.Sprintf("%#x%s", pc, impossible)
	case mapped && m.Perm&libstate.Exec == 0:
		return fmt.Sprintf("%#x, which is not executable%s", pc, place(m))
	case mapped:
		return fmt.Sprintf("%#x, which was not accessible%s", pc, place(m))
	case in.Mapping == nil:
		return fmt.Sprintf("%#x, where no code can run", pc)
	}
	return fmt.Sprintf("%#x, which is not mapped", pc)
}

// how distinguishes a return, a call and a jump. A return leaves its target just below the stack pointer, a
// call leaves its return address.
func (in *Input) how(pc uint64) string {
	sp, ok := in.Regs.Get(in.Arch.SP)
	if ok && pc != 0 && in.Arch.RA == arch.NoReg {
		if v, ok := in.word(sp - uint64(in.Arch.RegSize)); ok && v == pc {
			return "return to"
		}
	}
	if in.called(sp, ok, pc) {
		return "call to"
	}
	return "jump to"
}

// called reports whether the current return address follows a call that may have led to pc. A function that was
// itself called like this and then jumped to pc looks the same, unless the call names its target.
func (in *Input) called(sp uint64, haveSP bool, pc uint64) bool {
	var ra uint64
	var ok bool
	if in.Arch.RA != arch.NoReg {
		ra, ok = in.Regs.Get(in.Arch.RA)
	} else if haveSP {
		ra, ok = in.word(sp)
	}
	if !ok || in.Bytes == nil {
		return false
	}
	ra += in.Arch.ReturnOffset
	at := ra
	if in.Arch.Mode != arch.NoReg {
		at &^= 1
	}
	var code [disasm.MaxLen + 1]byte
	if n := in.Bytes(at-uint64(len(code)), code[:]); n != len(code) {
		return false
	}
	call, ok := disasm.CallBefore(in.Arch, code[:], ra)
	return ok && (!call.Direct || call.Target == pc)
}
