package livestate

import (
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/corewalk/corewalk/corestate"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// Types of the core notes that PTRACE_GETREGSET can read (kernel,
// include/uapi/linux/elf.h).
const (
	ntPRStatus  = 1
	ntFPRegSet  = 2
	ntSigInfo   = 0x53494749
	nt386TLS    = 0x200
	ntX86XState = 0x202
	ntARMVFP    = 0x400
	ntARMPAC    = 0x406
)

// block returns the register block of a thread for a note type. It stops a running
// thread for that time.
func (p *Process) block(tid unwind.ThreadID, note uint32) ([]byte, error) {
	var out []byte
	err := p.call(func() error {
		l, err := p.thread(tid)
		if err != nil {
			return err
		}
		if err := p.holdThread(l); err != nil {
			return err
		}
		defer p.releaseThread(l)
		out, err = p.t.block(l, note)
		return err
	})
	return out, err
}

// block reads a block of a stopped thread, once per stop.
func (t *tracer) block(l *lwp, note uint32) ([]byte, error) {
	if b, ok := l.blocks[note]; ok {
		if b == nil {
			return nil, unwind.ErrUnsupported
		}
		return b, nil
	}
	var b []byte
	var err error
	if note == ntSigInfo {
		b, err = sigInfo(l.tid)
	} else {
		if t.scratch == nil {
			t.scratch = make([]byte, maxRegSet)
		}
		if b, err = regSet(l.tid, note, t.scratch); err == nil {
			b = append([]byte(nil), b...)
		}
	}
	if err != nil && err != unix.EINVAL && err != unix.ENODEV {
		return nil, fmt.Errorf("registers of thread %d: %w", l.tid, err)
	}
	if l.blocks == nil {
		l.blocks = make(map[uint32][]byte)
	}
	l.blocks[note] = b
	if b == nil {
		return nil, unwind.ErrUnsupported
	}
	return b, nil
}

// RegisterBlock returns a thread's general registers in the layout of PTRACE_GETREGSET,
// which is that of pr_reg in a core's NT_PRSTATUS.
func (p *Process) RegisterBlock(tid unwind.ThreadID) ([]byte, error) {
	return p.block(tid, ntPRStatus)
}

// Registers decodes a thread's registers. A running thread is stopped for a moment to
// read them.
func (p *Process) Registers(tid unwind.ThreadID) (arch.RegSet, error) {
	b, err := p.block(tid, ntPRStatus)
	if err != nil {
		return arch.RegSet{}, err
	}
	return decodeRegisters(p.Arch(), b, func(note uint32) []byte {
		b, _ := p.block(tid, note)
		return b
	})
}

// decodeRegisters combines the register blocks of a thread.
func decodeRegisters(a *arch.Arch, general []byte, block func(note uint32) []byte) (arch.RegSet, error) {
	regs, err := a.DecodeGRegSet(general)
	if err != nil {
		return regs, err
	}
	if fp := block(fpNote(a)); fp != nil {
		a.DecodeFPRegSet(fp, &regs)
	}
	if a == arch.X86 {
		if tls := block(nt386TLS); tls != nil {
			corestate.AddSegmentBases(tls, &regs)
		}
	}
	return regs, nil
}

// fpNote returns the note type of the floating-point registers.
func fpNote(a *arch.Arch) uint32 {
	if a == arch.ARM {
		return ntARMVFP
	}
	return ntFPRegSet
}

// FPRegs returns a thread's floating-point registers in the machine's layout
// (NT_FPREGSET of a core); false if there are none.
func (p *Process) FPRegs(tid unwind.ThreadID) ([]byte, bool) {
	b, err := p.block(tid, fpNote(p.Arch()))
	return b, err == nil
}

// XState returns a thread's extended state as XSAVE writes it (NT_X86_XSTATE); false if
// there is none.
func (p *Process) XState(tid unwind.ThreadID) ([]byte, bool) {
	return p.ThreadNote(tid, "LINUX", ntX86XState)
}

// ThreadNote returns the contents that a thread's note would have in a core, for notes
// named "LINUX" and "CORE" except NT_PRSTATUS (see RegisterBlock). It returns false if
// the kernel has no such registers.
func (p *Process) ThreadNote(tid unwind.ThreadID, owner string, typ uint32) ([]byte, bool) {
	if owner != "LINUX" && owner != "CORE" || typ == ntPRStatus {
		return nil, false
	}
	b, err := p.block(tid, typ)
	return b, err == nil
}

// CodeMask returns the mask of the bits of code pointers that hold a signature; 0 if
// there are none.
func (p *Process) CodeMask() arch.Address {
	if p.Arch() != arch.ARM64 {
		return 0
	}
	b, _ := p.ThreadNote(unwind.NullThread, "LINUX", ntARMPAC)
	return codeMask(p.Arch(), b)
}

// codeMask returns the second mask of NT_ARM_PAC_MASK; the first is for data.
func codeMask(a *arch.Arch, note []byte) arch.Address {
	if len(note) < 16 {
		return 0
	}
	return a.ByteOrder.Uint64(note[8:])
}
