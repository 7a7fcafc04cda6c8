package analysis

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"

	"github.com/corewalk/corewalk/internal/code/disasm"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// Around says how much of what lies around the frames and the crash goes into a report.
type Around struct {
	Source int  // lines of source before and after a frame's line; 0 for none
	Code   bool // instructions around each frame's address
	Memory bool // memory around the bad address, the registers' values and the stack pointer
}

const (
	maxAroundFrames = 256  // frames of a thread with source and instructions
	codeBefore      = 5    // instructions shown before the frame's
	codeAfter       = 4    // and after it
	maxCodeBack     = 4096 // bytes from a function's entry that are decoded to find the instructions before
	memoryBefore    = 16   // bytes shown before an address, and from it on
	memoryAfter     = 48
	memoryStack     = 256
)

// wantsAround reports whether a thread's frames get source and instructions: those that the
// user asked for, else the crashed one, else all; false if no report has them.
func (in *question) wantsAround(crashed bool) bool {
	if in.opts.Around.Source <= 0 && !in.opts.Around.Code {
		return false
	}
	return crashed || in.opts.Threads != nil || in.died() == unwind.NullThread
}

// sources adds the source around the lines of a thread's frames.
func (in *question) sources(frames []report.Frame) {
	libs := in.Proc.LibraryTracker()
	if in.opts.Around.Source <= 0 || in.Files == nil || libs == nil {
		return
	}
	for i := range frames[:min(len(frames), maxAroundFrames)] {
		f := &frames[i]
		if f.Source.File == "" || f.Source.Line == 0 || f.Signal != "" {
			continue
		}
		lib, ok := libs.LibraryAt(unwind.Address(f.Lookup))
		if !ok {
			continue
		}
		file, err := in.Files.SourceFile(lib, f.Source.File)
		if err != nil {
			in.lackSource(f.Source.File, err)
			continue
		}
		n := in.opts.Around.Source
		first, lines := file.Lines(f.Source.Line-n, f.Source.Line+n)
		if f.Source.Line >= first+len(lines) { // the file is shorter than the line: another version
			in.lackSource(f.Source.File, fmt.Errorf("%s has fewer than %d lines: it is another version", file.Path, f.Source.Line))
			continue
		}
		f.Listing = &report.Listing{Path: file.Path, First: first, Lines: lines, Newer: file.Newer && f.Language == ""} // a script's time says nothing of its interpreter's
	}
}

// lackSource notes a source file that is not shown.
func (in *Engine) lackSource(path string, err error) {
	if in.noSource == nil {
		in.noSource = map[string]error{}
	}
	in.noSource[path] = err
}

// warnSources tells which source files were not found.
func (in *Engine) warnSources(r *report.Report) {
	absent, first := 0, ""
	for path, err := range in.noSource {
		if errors.Is(err, fs.ErrNotExist) {
			absent++
			if first == "" || path < first {
				first = path
			}
		}
	}
	for _, path := range slices.Sorted(maps.Keys(in.noSource)) {
		if err := in.noSource[path]; !errors.Is(err, fs.ErrNotExist) {
			r.Warnings = append(r.Warnings, report.Warning{Code: "source-unusable", Message: fmt.Sprintf("source file not shown: %v", err)})
		}
	}
	if absent == 0 {
		return
	}
	what := "source file not found: " + first
	if absent > 1 {
		what = fmt.Sprintf("%d source files not found, such as %s", absent, first)
	}
	r.Warnings = append(r.Warnings, report.Warning{Code: "source-missing", Message: what,
		Advice: "Say where the sources are with --search DIR or --source-map FROM=TO, or fetch them with --debuginfod"})
}

// code returns the instructions around a frame's address. entry is where its function
// begins, 0 if that is not known.
func (in *question) code(f *unwind.Frame, entry unwind.Address) []report.CodeLine {
	here := f.RA()
	mode := f.CodePointer() - here // the bit that says Thumb
	switch lookup := f.LookupAddr(); {
	case lookup == here:
	case in.arch.DelaySlots && !f.IsTopFrame():
		here -= min(here, unwind.Address(2*in.arch.PCAlign))
	default: // in the call or the breakpoint before
		here = lookup
	}
	start := in.codeStart(f, entry, here)
	buf := in.mem.Some(start, int(here-start)+(codeAfter+2)*disasm.MaxLen)
	var out []report.CodeLine
	at, found := start, -1
	for len(buf) > 0 {
		var inst disasm.Inst
		err := disasm.DecodeInto(&inst, in.arch, buf, uint64(at+mode))
		n := inst.Len
		if err != nil {
			if errors.Is(err, disasm.ErrTruncated) || errors.Is(err, disasm.ErrUnsupported) {
				break
			}
			n = max(1, in.arch.PCAlign)
		}
		n = min(n, len(buf))
		line := report.CodeLine{Address: report.Addr(at), Bytes: hex.EncodeToString(buf[:n])}
		if err == nil {
			line.Text = inst.Text(disasm.TextOptions{Symbol: in.symbol})
		}
		if found < 0 && here < at+unwind.Address(n) {
			found, line.Here = len(out), true
		}
		out = append(out, line)
		if found >= 0 && len(out) > found+codeAfter {
			break
		}
		at += unwind.Address(n)
		buf = buf[n:]
	}
	if found < 0 {
		return nil
	}
	return out[max(0, found-codeBefore):]
}

// codeStart returns where to begin to decode, so that the instructions before here are
// those that the processor saw.
func (in *Engine) codeStart(f *unwind.Frame, entry, here unwind.Address) unwind.Address {
	if entry != 0 && entry <= here && here-entry <= maxCodeBack {
		return entry
	}
	if size := in.arch.PCAlign; size >= 4 { // all instructions have this size
		return (here - min(here, unwind.Address(codeBefore*size))) &^ unwind.Address(size-1)
	}
	if site, ok := in.callSite(f); ok {
		return f.RA() - unwind.Address(site.Len)
	}
	return here
}

// callSite returns the call that a frame made; false if there is none before its return address.
func (in *Engine) callSite(f *unwind.Frame) (disasm.CallSite, bool) {
	ra := f.RA()
	if ra == f.LookupAddr() {
		return disasm.CallSite{}, false
	}
	size := min(ra, disasm.MaxLen+1)
	return disasm.CallBefore(in.arch, in.mem.Bytes(ra-size, int(size)), uint64(f.CodePointer()))
}

// memory returns what lies around the addresses that matter to the crash.
func (c *crash) memory(ctx context.Context) []report.MemoryArea {
	f, in := c.top(), c.question
	if f == nil {
		return nil
	}
	type pointer struct {
		name          string
		addr          unwind.Address
		before, after uint64
		constant      bool // not of interest if it points to what cannot be written
	}
	var ps []pointer
	if why := &c.stop().why; why.HasAddr {
		ps = append(ps, pointer{"fault address", why.Addr, memoryBefore, memoryAfter, false})
	}
	ps = append(ps, pointer{"stack pointer", f.SP(), 0, memoryStack, false})
	regs := f.Registers()
	for reg := range arch.Reg(in.arch.NumRegs()) {
		if v, ok := regs.Get(reg); ok && reg != in.arch.PC && reg != in.arch.SP {
			ps = append(ps, pointer{in.arch.RegName(reg), unwind.Address(v), memoryBefore, memoryAfter, true})
		}
	}
	var out []report.MemoryArea
	for _, p := range ps {
		m, ok := in.Proc.MappingAt(p.addr)
		if !ok || p.constant && m.Perm&libstate.Write == 0 {
			continue // constants and code lie in files
		}
		same := slices.IndexFunc(out, func(a report.MemoryArea) bool {
			return unwind.Address(a.Start) <= p.addr && p.addr < unwind.Address(a.Start)+unwind.Address(max(len(a.Bytes)/2, 1))
		})
		if same >= 0 {
			out[same].Names = append(out[same].Names, pointerName(p.name, p.addr, unwind.Address(out[same].Address)))
			continue
		}
		row := p.addr &^ 15
		start := max(row-min(row, unwind.Address(p.before)), m.Start)
		size := p.before + p.after
		if end := m.End; end > start && uint64(end-start) < size {
			size = uint64(end - start)
		}
		bytes := in.mem.Some(start, int(size))
		if len(bytes) <= int(p.addr-start) { // what is before may be missing: begin at the address
			start = p.addr
			bytes = in.mem.Some(start, int(min(size, p.after)))
		}
		area := report.MemoryArea{Names: []string{p.name}, Address: report.Addr(p.addr), Start: report.Addr(start), Bytes: hex.EncodeToString(bytes), Mapping: m.Path}
		if p.addr != f.SP() {
			if at := in.whatIsAt(ctx, p.addr); at.Kind != "" {
				area.Place = at.Text()
			}
		}
		out = append(out, area)
	}
	return out
}

// pointerName names a pointer into an area around another address: "rbp (+0x10)".
func pointerName(name string, addr, area unwind.Address) string {
	switch {
	case addr > area:
		return fmt.Sprintf("%s (+%#x)", name, uint64(addr-area))
	case addr < area:
		return fmt.Sprintf("%s (-%#x)", name, uint64(area-addr))
	}
	return name
}
