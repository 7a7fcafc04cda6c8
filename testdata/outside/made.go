package main

import (
	"encoding/binary"
	"fmt"
	"io"

	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/steppers"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// Addresses of a process that never ran.
const (
	codeStart  = 0x400000
	codeEnd    = 0x401000
	stackStart = 0x7ffe0000
	stackEnd   = 0x7ffe1000
)

// process is a ProcessState: one thread, a page of code and a page of stack.
type process struct {
	stack [stackEnd - stackStart]byte
	code  [codeEnd - codeStart]byte
	libs  *libstate.Table
	regs  arch.RegSet
}

func newProcess() *process {
	p := &process{}
	prog := &libstate.Library{Path: "/bin/made", Kind: libstate.Executable, LoadBias: 0}
	prog.SetMappings([]libstate.Mapping{{Start: codeStart, End: codeEnd, Path: prog.Path, Perm: libstate.Read | libstate.Exec}})
	p.libs = libstate.NewTable([]*libstate.Library{prog}, 0)
	// inner was called by middle, by a frame pointer; middle by outer, which keeps its
	// caller's address in a list of its own.
	p.put(stackStart+0x100, stackStart+0x140, codeStart+0x205)
	p.put(stackStart+0x140, 0, codeStart+0x305)
	p.put(stackStart+0x800, 0)
	// Return addresses follow calls.
	copy(p.code[0x200:], "\xe8\xfb\xfe\xff\xff")
	copy(p.code[0x300:], "\xe8\xfb\xfe\xff\xff")
	p.regs.Set(arch.RIP, codeStart+0x110)
	p.regs.Set(arch.RSP, stackStart+0xf0)
	p.regs.Set(arch.RBP, stackStart+0x100)
	return p
}

func (p *process) put(addr arch.Address, words ...uint64) {
	for i, w := range words {
		binary.LittleEndian.PutUint64(p.stack[addr-stackStart+uint64(8*i):], w)
	}
}

func (p *process) ReadMem(addr arch.Address, buf []byte) (int, error) {
	n := 0
	switch {
	case addr >= stackStart && addr < stackEnd:
		n = copy(buf, p.stack[addr-stackStart:])
	case addr >= codeStart && addr < codeEnd:
		n = copy(buf, p.code[addr-codeStart:])
	}
	if n < len(buf) {
		return n, &arch.MemError{Addr: addr + uint64(n), Err: arch.ErrUnmapped}
	}
	return n, nil
}

func (p *process) ReadWord(addr arch.Address) (uint64, error) {
	var b [8]byte
	_, err := p.ReadMem(addr, b[:])
	return binary.LittleEndian.Uint64(b[:]), err
}

func (p *process) Arch() *arch.Arch                               { return arch.AMD64 }
func (p *process) ProcessID() int                                 { return 17 }
func (p *process) ThreadIDs() ([]unwind.ThreadID, error)          { return []unwind.ThreadID{17}, nil }
func (p *process) DefaultThread() (unwind.ThreadID, error)        { return 17, nil }
func (p *process) Registers(unwind.ThreadID) (arch.RegSet, error) { return p.regs, nil }
func (p *process) PreStackwalk(unwind.ThreadID) error             { return nil }
func (p *process) PostStackwalk(unwind.ThreadID) error            { return nil }
func (p *process) IsFirstParty() bool                             { return false }
func (p *process) LibraryTracker() libstate.LibraryState          { return p.libs }
func (p *process) ExecutablePath() string                         { return "/bin/made" }

// names is a SymbolLookup.
type names struct{}

func (names) LookupAtAddr(addr unwind.Address) (string, any, error) {
	if addr < codeStart || addr >= codeStart+0x500 {
		return "", nil, unwind.ErrNoSymbol
	}
	name := []string{"_start", "inner", "middle", "outer", "root"}[(addr-codeStart)>>8]
	return name, addr - codeStart, nil
}

// listed is a FrameStepper: the callers of outer are in a list.
type listed struct{}

func (listed) Name() string     { return "Listed" }
func (listed) Priority() uint32 { return unwind.PriorityStackBottom - 1 }

func (listed) CallerFrame(in, out *unwind.Frame) unwind.Status {
	switch name, _ := in.Name(); name {
	case "outer":
		out.SetRA(codeStart + 0x405)
		out.SetSP(stackStart + 0x800)
		return unwind.StatusSuccess
	case "root":
		return unwind.StatusStackBottom
	}
	return unwind.StatusNotMe
}

// made walks the made process with a stepper of corewalk's and one of its own.
func made(w io.Writer) error {
	fp, err := steppers.NewFrameFuncStepper(arch.AMD64, nil)
	if err != nil {
		return err
	}
	walker, err := unwind.NewWalker(newProcess(), unwind.WithSymbolLookup(names{}))
	if err != nil {
		return err
	}
	defer walker.Close()
	for _, s := range []unwind.FrameStepper{fp, listed{}} {
		if err := walker.AddStepper(s); err != nil {
			return err
		}
	}
	stack, err := walker.WalkStack(unwind.NullThread)
	if err != nil {
		return err
	}
	return printStack(w, stack)
}

func printStack(w io.Writer, stack *unwind.Stack) error {
	for i, f := range stack.Frames {
		name, err := f.Name()
		if err != nil {
			name = "?"
		}
		by := "registers"
		if s := f.Stepper(); s != nil {
			by = s.Name()
		}
		fmt.Fprintf(w, "#%d %s by %s\n", i, name, by)
	}
	_, err := fmt.Fprintln(w, stack.End)
	return err
}
