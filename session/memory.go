package session

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"

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
	Symbol string        // where it is: "main+4"; "" if not known
	Source report.Source // its line; without a file if that is not known
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
			line.Source = s.lineAt(at)
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

// At says what is at an address.
func (s *Session) At(ctx context.Context, addr arch.Address) (p report.Place, err error) {
	err = s.guarded(ctx, func() error {
		p, err = s.facts.At(ctx, addr)
		return err
	})
	return p, err
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
		return Frame{}, fmt.Errorf("%s has no frames", st.Title())
	}
	return s.frame(st, at), nil
}

// Address returns the value of an expression as a number: an integer, or the address in a pointer. vars supply
// convenience variables, as for Evaluate.
func (s *Session) Address(ctx context.Context, id FrameID, expr string, vars ...Convenience) (n uint64, err error) {
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
		ob, err := s.facts.Variables().Evaluate(frames, physical, call, expr, objectsOf(vars)...)
		if err != nil {
			return err
		}
		n, err = ob.Number()
		return err
	})
	return n, err
}
