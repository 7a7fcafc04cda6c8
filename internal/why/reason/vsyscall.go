package reason

import (
	"fmt"

	"github.com/corewalk/corewalk/internal/code/disasm"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/unwind/arch"
)

// vsyscall explains a fault at a call in the kernel's page of system calls: the kernel, which carries the call out, cannot write where an argument points
// to, or does not offer the page to programs.
func (in *Input) vsyscall(pc uint64) (Reason, bool) {
	if in.Signal.Number == 0 { // other systems have exceptions, and no such page
		return Reason{}, false
	}
	name, ok := in.Arch.Vsyscall(pc)
	switch {
	case !ok:
		return Reason{}, false
	case name == "":
		return Reason{Kind: report.CrashBadCall, Text: fmt.Sprintf("call of %#x in the page [vsyscall], where no call begins", pc), Access: report.AccessExecute, Addr: pc, HasAddr: true}, true
	}
	args := []arch.Reg{arch.RDI, arch.RSI}
	if name == "time" {
		args = args[:1]
	}
	for _, reg := range args {
		v, _ := in.Regs.Get(reg)
		if v == 0 || in.Mapping == nil {
			continue
		}
		if m, _ := in.mapping(v); m.Perm&libstate.Write != 0 {
			continue
		}
		r := access(disasm.Access{Write: true}, v)
		r.AtInst = false
		r.Kind, r.Text = of(&wildKinds, r.Access), fmt.Sprintf("bad pointer %#x given to the call %s of the page [vsyscall]", v, name)
		if v < nullZone {
			r.Kind = of(&nullKinds, r.Access)
		}
		return r, true
	}
	return Reason{Kind: report.CrashBadCall, Text: fmt.Sprintf("call %s of the page [vsyscall], which the kernel did not carry out", name), Access: report.AccessExecute, Addr: pc, HasAddr: true}, true
}
