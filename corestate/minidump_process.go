package corestate

import (
	"fmt"
	"time"

	"github.com/corewalk/corewalk/internal/format/minidump"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// ProcessID returns the process's id; 0 if the dump does not have it.
func (d *Minidump) ProcessID() int { return d.file.ProcessID() }

func (d *Minidump) thread(tid unwind.ThreadID) (*minidump.Thread, bool) {
	i, ok := d.index(tid)
	if !ok {
		return nil, false
	}
	return d.threads[i], true
}

// context decodes a thread's registers. For the exception's thread they are those of
// the exception, because the thread itself was in the handler by then.
func (d *Minidump) context(t *minidump.Thread) (minidump.Context, error) {
	if d.wow64 {
		return d.file.WOW64Registers(t)
	}
	if e := d.file.Exception; e != nil && e.ThreadID == t.ID && len(e.Context) > 0 {
		if c, err := d.file.DecodeContext(e.Context); err == nil {
			return c, nil
		}
	}
	return d.file.DecodeContext(t.Context)
}

// Registers decodes a thread's general registers. Registers that the dump's flags do not
// declare valid are unknown.
func (d *Minidump) Registers(tid unwind.ThreadID) (arch.RegSet, error) {
	t, ok := d.thread(tid)
	if !ok {
		return arch.RegSet{}, fmt.Errorf("thread %d: %w", tid, unwind.ErrNoThread)
	}
	if d.arch == nil {
		return arch.RegSet{}, fmt.Errorf("thread %d: registers of %v: %w", t.ID, d.file.System.CPU, ErrUnsupportedArch)
	}
	c, err := d.context(t)
	if err != nil {
		return arch.RegSet{}, fmt.Errorf("thread %d: %w", t.ID, err)
	}
	if c.Arch != d.arch {
		return arch.RegSet{}, fmt.Errorf("thread %d has registers of %s in a dump of %s: %w", t.ID, c.Arch.Name, d.arch.Name, ErrUnsupportedArch)
	}
	if mask := d.CodeMask(); mask != 0 {
		if pc, ok := c.Regs.Get(d.arch.PC); ok {
			c.Regs.Set(d.arch.PC, pc&^mask)
		}
	}
	d.addThreadPointer(t, &c.Regs)
	return c.Regs, nil
}

// addThreadPointer adds the base of the segment through which code finds its thread's
// data. On Windows that is the thread environment block; Crashpad writes the thread
// pointer of other systems in its place.
func (d *Minidump) addThreadPointer(t *minidump.Thread, regs *arch.RegSet) {
	if t.TEB == 0 || d.wow64 { // the block of the 64-bit side
		return
	}
	windows := d.file.System.Platform.Windows()
	switch {
	case d.arch == arch.AMD64 && (windows || d.file.System.Platform.Apple()):
		regs.Set(arch.GSBase, t.TEB)
	case d.arch == arch.AMD64:
		regs.Set(arch.FSBase, t.TEB)
	case d.arch == arch.X86 && windows:
		regs.Set(arch.X86FSBase, t.TEB)
	case d.arch == arch.X86:
		regs.Set(arch.X86GSBase, t.TEB)
	}
}

// CodeMask returns the bits of a pointer to code that hold a signature (pointer authentication) and not the address; 0 if
// the dump does not say which.
func (d *Minidump) CodeMask() arch.Address {
	if c := d.file.Crashpad; c != nil {
		return c.AddressMask
	}
	return 0
}

// RuntimeFunction implements steppers.FunctionTabler.
func (d *Minidump) RuntimeFunction(pc arch.Address) (entry []byte, base arch.Address, ok bool) {
	if len(d.file.Functions) == 0 {
		return nil, 0, false
	}
	f, ok := d.functions().At(pc)
	return f.Entry, f.Base, ok
}

// FPRegs returns a thread's floating-point and vector registers as its CONTEXT record has
// them: on x86 the FXSAVE area; false if the dump has none.
func (d *Minidump) FPRegs(tid unwind.ThreadID) ([]byte, bool) {
	t, ok := d.thread(tid)
	if !ok {
		return nil, false
	}
	c, err := d.context(t)
	return c.Vector, err == nil && c.Vector != nil
}

// ShadowStack returns a thread's shadow stack pointer; false if the dump has none.
func (d *Minidump) ShadowStack(tid unwind.ThreadID) (arch.Address, bool) {
	t, ok := d.thread(tid)
	if !ok {
		return 0, false
	}
	c, err := d.context(t)
	if err != nil {
		return 0, false
	}
	return c.XState.ShadowStack()
}

// ExecutablePath returns the main program's path in the process.
func (d *Minidump) ExecutablePath() string {
	if path := d.program(); path != "" {
		return path
	}
	if len(d.file.Modules) > 0 && d.file.Modules[0].Path != "" {
		return d.file.Modules[0].Path
	}
	return ""
}

// WOW64 returns the 32-bit side of a dump of a 32-bit process that a 64-bit program wrote.
// Its threads are those whose 32-bit registers are in the dump. It returns false if there
// are none, or if the thread of the exception is not among them. Both share the file:
// close one of them.
func (d *Minidump) WOW64() (*Minidump, bool) {
	if d.wow64 || !d.file.WOW64() {
		return nil, false
	}
	w := newMinidump(d.file, arch.X86)
	w.wow64, w.path, w.maps, w.mapped, w.closer = true, d.path, d.maps, d.mapped, d.Close
	w.reads = d.reads
	for i, t := range d.threads {
		if _, err := d.file.WOW64Registers(t); err != nil {
			if i == d.crashed && d.file.Exception != nil {
				return nil, false
			}
			continue
		}
		if i == d.crashed {
			w.crashed = len(w.threads)
		}
		w.addThread(t)
	}
	return w, len(w.threads) > 0
}

// A MinidumpThread is what a minidump has of a thread besides its registers.
type MinidumpThread struct {
	Name         string
	TEB          arch.Address // thread environment block; 0 for not known
	SuspendCount int
	Priority     int
	Context      bool   // its registers are in the dump
	LastError    uint32 // GetLastError, with HasLastError
	HasLastError bool
	// StackLow and StackHigh are the ends of its stack, [low, high), from the thread
	// environment block; both 0 if not known.
	StackLow, StackHigh arch.Address
	// HasInfo says that the fields below are known, from a ThreadInfoList.
	HasInfo              bool
	StartAddress         arch.Address
	CreateTime           time.Time // zero for not known
	KernelTime, UserTime time.Duration
	Exited, WroteDump    bool
	ExitStatus           uint32
}

// Thread returns what is known of a thread.
func (d *Minidump) Thread(tid unwind.ThreadID) (MinidumpThread, bool) {
	t, ok := d.thread(tid)
	if !ok {
		return MinidumpThread{}, false
	}
	out := MinidumpThread{Name: t.Name, TEB: t.TEB, SuspendCount: int(t.Suspend), Priority: int(int32(t.Priority)), Context: len(t.Context) > 0}
	if b := d.file.Breakpad; b != nil && b.DumpThread == t.ID {
		out.WroteDump = true
	}
	if i := t.Info; i != nil && i.Flags&minidump.ThreadInvalidInfo == 0 {
		out.HasInfo, out.StartAddress, out.ExitStatus = true, i.StartAddress, i.ExitStatus
		out.Exited, out.WroteDump = i.Flags&minidump.ThreadExited != 0, out.WroteDump || i.Flags&minidump.ThreadWritingDump != 0
		out.KernelTime, out.UserTime = fileDuration(i.KernelTime), fileDuration(i.UserTime)
		out.CreateTime = fileTime(i.CreateTime)
	}
	d.readTEB(t, &out)
	return out, true
}

// StackBounds returns the ends of a thread's stack, [low, high), from its thread
// environment block; false if that is not in the dump.
func (d *Minidump) StackBounds(tid unwind.ThreadID) (low, high arch.Address, ok bool) {
	t, ok := d.thread(tid)
	if !ok {
		return 0, 0, false
	}
	var x MinidumpThread
	d.readTEB(t, &x)
	return x.StackLow, x.StackHigh, x.StackHigh != 0
}

// fileDuration converts Windows' unit of 100 ns; what does not fit is cut.
func fileDuration(n uint64) time.Duration { return time.Duration(min(n, 1<<63/100-1) * 100) }

// fileTime converts a FILETIME: 100 ns since 1601.
func fileTime(n uint64) time.Time {
	const to1970 = 116444736000000000
	if n == 0 || n < to1970 || n > 1<<62 {
		return time.Time{}
	}
	n -= to1970
	return time.Unix(int64(n/1e7), int64(n%1e7)*100).UTC()
}

// readTEB reads a thread environment block of Windows: its second and third pointers
// are the stack's ends, its fourteenth word is the last error.
func (d *Minidump) readTEB(t *minidump.Thread, out *MinidumpThread) {
	if t.TEB == 0 || !d.file.System.Platform.Windows() || d.arch == nil {
		return
	}
	w := uint64(d.wordSize)
	if d.wow64 {
		return
	}
	high, err1 := d.ReadWord(t.TEB + w)
	low, err2 := d.ReadWord(t.TEB + 2*w)
	if err1 == nil && err2 == nil && low < high {
		out.StackLow, out.StackHigh = low, high
	}
	var b [4]byte
	if n, _ := d.ReadMem(t.TEB+13*w, b[:]); n == len(b) {
		out.LastError, out.HasLastError = d.order().Uint32(b[:]), true
	}
}

// ThreadName returns a thread's name; "" if the dump does not have it.
func (d *Minidump) ThreadName(tid unwind.ThreadID) string {
	if t, ok := d.thread(tid); ok {
		return t.Name
	}
	return ""
}

// Name returns the program's name: its file's base name.
func (d *Minidump) Name() string {
	if n := d.file.Linux.StatusField("Name"); n != "" {
		return n
	}
	if len(d.file.Modules) > 0 {
		return d.file.Modules[0].Name()
	}
	return ""
}

// CommandLine returns the command line; nil if the dump does not have it.
func (d *Minidump) CommandLine() []string { return d.file.Linux.Args() }

// Time returns when the dump was written; zero if not known.
func (d *Minidump) Time() time.Time {
	if d.file.Time == 0 {
		return time.Time{}
	}
	return time.Unix(int64(d.file.Time), 0).UTC()
}
