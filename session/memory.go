package session

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"github.com/corewalk/corewalk/dwarfvars"
	"github.com/corewalk/corewalk/internal/code/disasm"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// MaxRead is the largest number of bytes that one question reads.
const MaxRead = 1 << 20

// ReadMemory reads memory from an address on. It returns fewer bytes than n where memory is missing, and an error if the
// first byte is.
func (s *Session) ReadMemory(ctx context.Context, addr arch.Address, n int) (b []byte, err error) {
	err = s.guarded(ctx, func() error {
		b = make([]byte, min(max(n, 0), MaxRead))
		got, err := s.t.ProcessState().ReadMem(addr, b)
		b = b[:got]
		if got == 0 && len(b) < n {
			return fmt.Errorf("no memory at %#x: %w", addr, err)
		}
		return nil
	})
	return b, err
}

// An Instruction is one of a disassembly.
type Instruction struct {
	report.CodeLine
	Symbol string // where it is: "main+4"; "" if not known
}

// maxInstructions is how many instructions one question disassembles.
const maxInstructions = 1 << 12

// Disassemble decodes instructions: before of them in front of an address, and n from it on. Where instructions differ in
// size, those in front are decoded from the start of the function.
func (s *Session) Disassemble(ctx context.Context, addr arch.Address, before, n int) (list []Instruction, err error) {
	err = s.guarded(ctx, func() error {
		list, err = s.disassemble(addr, min(max(before, 0), maxInstructions), min(max(n, 0), maxInstructions))
		return err
	})
	return list, err
}

// maxBack is how many bytes before an address are decoded to find the instructions there.
const maxBack = 1 << 16

func (s *Session) disassemble(addr arch.Address, before, n int) ([]Instruction, error) {
	a := s.t.ProcessState().Arch()
	start := addr
	if before > 0 {
		if _, entry, ok := s.symbolAt(addr); ok && entry <= addr && addr-entry <= maxBack {
			start = entry
		}
		if size := a.PCAlign; size >= 4 {
			start = max(start, addr-min(addr, arch.Address(before*size)))
			if start == addr {
				start -= min(addr, arch.Address(before*size))
			}
		}
	}
	buf := make([]byte, int(addr-start)+(n+1)*disasm.MaxLen)
	got, err := s.t.ProcessState().ReadMem(start, buf)
	if got <= int(addr-start) && start != addr {
		start = addr
		got, err = s.t.ProcessState().ReadMem(start, buf[:min(len(buf), (n+1)*disasm.MaxLen)])
	}
	if got == 0 {
		return nil, fmt.Errorf("no code at %#x: %w", addr, err)
	}
	buf = buf[:got]
	var list []Instruction
	from := -1
	for at := start; len(buf) > 0 && (from < 0 || len(list) < from+n); {
		var inst disasm.Inst
		err := disasm.DecodeInto(&inst, a, buf, uint64(at))
		size := inst.Len
		if err != nil {
			if errors.Is(err, disasm.ErrTruncated) || errors.Is(err, disasm.ErrUnsupported) {
				break
			}
			size = max(1, a.PCAlign)
		}
		size = min(size, len(buf))
		if from < 0 && at >= addr {
			from = len(list)
		}
		line := Instruction{CodeLine: report.CodeLine{Address: report.Addr(at), Bytes: hex.EncodeToString(buf[:size]), Here: at == addr}}
		if err == nil {
			line.Text = inst.Text(disasm.TextOptions{Symbol: func(to uint64) (string, uint64) {
				name, entry, _ := s.symbolAt(arch.Address(to))
				return name, uint64(entry)
			}})
		}
		if name, entry, ok := s.symbolAt(at); ok {
			line.Symbol = offset(name, uint64(at-entry))
		}
		list = append(list, line)
		at += arch.Address(size)
		buf = buf[size:]
	}
	if from < 0 {
		return nil, fmt.Errorf("no instructions were decoded at %#x", addr)
	}
	return list[max(0, from-before):], nil
}

func offset(name string, off uint64) string {
	if off == 0 {
		return name
	}
	return fmt.Sprintf("%s+%d", name, off)
}

// symbolAt returns the function around an address, and where it begins.
func (s *Session) symbolAt(addr arch.Address) (name string, entry arch.Address, ok bool) {
	lookup, is := s.t.SymbolLookup().(unwind.CallLookup)
	if !is {
		return "", 0, false
	}
	calls, err := lookup.LookupCalls(addr, nil)
	if err != nil || len(calls) == 0 {
		return "", 0, false
	}
	c := calls[len(calls)-1]
	return c.Name, c.Entry, c.Name != ""
}

// A Place says what is at an address.
type Place struct {
	Address arch.Address
	// Mapped says that the process had memory there: from Start to End, of the file Path with the permissions Perm,
	// "r-x".
	Mapped     bool
	Start, End arch.Address
	Path, Perm string
	// Module is the module there, Offset the address in its file.
	Module string
	Offset arch.Address
	// Function is the function there, and FunctionOffset how far in it.
	Function       string
	FunctionOffset uint64
	// Thread is the thread whose stack it is in, and Frame the number of the frame there; 0 and -1 for none.
	Thread unwind.ThreadID
	Frame  int
}

// String says it in one line.
func (p Place) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%#x", p.Address)
	switch {
	case p.Function != "":
		fmt.Fprintf(&b, " is in %s", offset(p.Function, p.FunctionOffset))
	case p.Thread != 0:
		fmt.Fprintf(&b, " is on the stack of thread %d", p.Thread)
		if p.Frame >= 0 {
			fmt.Fprintf(&b, ", frame #%d", p.Frame)
		}
	case p.Path != "":
		fmt.Fprintf(&b, " is in %s", p.Path)
	case p.Mapped:
		b.WriteString(" is in memory without a file")
	default:
		b.WriteString(" is in no mapping")
	}
	if p.Module != "" {
		fmt.Fprintf(&b, ", %s at %#x", p.Module, p.Offset)
	}
	if p.Mapped {
		fmt.Fprintf(&b, ", mapping %#x-%#x %s", p.Start, p.End, p.Perm)
	}
	return b.String()
}

// At says what is at an address.
func (s *Session) At(ctx context.Context, addr arch.Address) (p Place, err error) {
	err = s.guarded(ctx, func() error {
		p = s.place(addr)
		return s.onStack(ctx, &p)
	})
	return p, err
}

func (s *Session) place(addr arch.Address) Place {
	p := Place{Address: addr, Frame: -1}
	if m, ok := s.t.MappingAt(addr); ok {
		p.Mapped, p.Start, p.End, p.Path, p.Perm = true, m.Start, m.End, m.Path, m.Perm.String()
	}
	if libs := s.t.ProcessState().LibraryTracker(); libs != nil {
		if lib, ok := libs.LibraryAt(addr); ok {
			p.Module, p.Offset = lib.Path, addr-lib.LoadBias
		}
	}
	if name, entry, ok := s.symbolAt(addr); ok {
		p.Function, p.FunctionOffset = name, uint64(addr-entry)
	}
	return p
}

// maxStackFrames is how many frames of a stack are walked to find an address on it.
const maxStackFrames = 4096

// onStack finds the thread whose stack an address is on: the one in whose mapping its stack pointer is.
func (s *Session) onStack(ctx context.Context, p *Place) error {
	if !p.Mapped || p.Function != "" {
		return nil
	}
	if err := s.listThreads(); err != nil {
		return err
	}
	for _, st := range s.stacks[:s.threads] {
		s.open(st)
		if st.facts.Walk(ctx, 1) != nil || len(st.frames()) == 0 {
			continue
		}
		f := st.frames()[0]
		if f.SP() < p.Start || f.SP() >= p.End || p.Address < f.SP()-min(f.SP(), 128) {
			continue
		}
		p.Thread = unwind.ThreadID(st.Number)
		if err := s.walk(ctx, st, 64); err != nil {
			return err
		}
		for n := 64; !st.whole && n < maxStackFrames; n *= 2 {
			if last := st.named[len(st.named)-1]; arch.Address(last.SP) > p.Address {
				break
			}
			if err := s.walk(ctx, st, n); err != nil {
				return err
			}
		}
		for i := range st.named {
			if e := &st.named[i]; !e.Inlined && !e.Tail && arch.Address(e.SP) <= p.Address && (e.CFA != 0 && p.Address < arch.Address(e.CFA)) {
				p.Frame = e.Index
			}
		}
		return nil
	}
	return nil
}

// Focus returns the frame to look at first: of the thread that died the one that a report points to, else the youngest
// frame of the first thread that has a source line.
func (s *Session) Focus(ctx context.Context) (f Frame, err error) {
	err = s.guarded(ctx, func() error {
		if err := s.listThreads(); err != nil {
			return err
		}
		if s.threads == 0 {
			return errors.New("there are no threads")
		}
		st := s.stacks[0]
		f, err = s.focused(ctx, st)
		return err
	})
	return f, err
}

// FocusOf returns the frame of a stack to look at first.
func (s *Session) FocusOf(ctx context.Context, of StackID) (f Frame, err error) {
	err = s.guarded(ctx, func() error {
		st, err := s.stack(of)
		if err != nil {
			return err
		}
		f, err = s.focused(ctx, st)
		return err
	})
	return f, err
}

func (s *Session) focused(ctx context.Context, st *stack) (Frame, error) {
	at, err := s.focus(ctx, st)
	if err != nil {
		return Frame{}, err
	}
	if err := s.walk(ctx, st, at+1); err != nil {
		return Frame{}, err
	}
	if at >= len(st.named) {
		return Frame{}, fmt.Errorf("%s %d has no frames", st.Kind, st.Number)
	}
	return s.frame(st, at), nil
}

// Address returns the value of an expression as a number: an integer, or the address that a pointer has.
func (s *Session) Address(ctx context.Context, id FrameID, expr string) (n uint64, err error) {
	err = s.guarded(ctx, func() error {
		f, err := s.at(id)
		if err != nil {
			return err
		}
		if err := s.callers(ctx, f.st); err != nil {
			return err
		}
		frames, physical := f.st.frames(), f.st.named[f.index].Physical
		if physical >= len(frames) {
			return errors.New("the frame is suspended: it has no registers")
		}
		call := dwarfvars.AllCalls
		if a, n, ok := s.activation(f); ok {
			a.Close()
			call = n
		}
		ob, err := s.facts.Variables().Evaluate(frames, physical, call, expr)
		if err != nil {
			return err
		}
		n, err = ob.Number()
		return err
	})
	return n, err
}
