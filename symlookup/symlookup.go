// Package symlookup is the default SymbolLookup. It names code addresses from DWARF,
// with source lines and inlined calls. If there is no DWARF it uses the pc-line tables
// of Go programs and ELF symbol tables. Procedure linkage stubs get the name of their
// target.
package symlookup

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/corewalk/corewalk/demangle"
	"github.com/corewalk/corewalk/internal/code/relocated"
	"github.com/corewalk/corewalk/internal/files/image"
	"github.com/corewalk/corewalk/internal/format/dwarf"
	"github.com/corewalk/corewalk/internal/format/elffile"
	"github.com/corewalk/corewalk/internal/vars/types"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/modules"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// A Lookup names the code addresses of one process. It remembers every answer, and may
// be used by several goroutines.
//
// It implements unwind.SymbolLookup, CallLookup, TailCallLookup and SymbolReader.
type Lookup struct {
	libs  libstate.LibraryState
	files modules.Source

	// maps relocated code to the original; nil without WithRelocated
	relocated *relocated.Map
	arch      *arch.Arch
	mem       arch.Memory

	made MadeCode // nil without WithMadeCode

	asked *asked // nil without Recording

	calls sync.Map // unwind.Address -> answer
	tails sync.Map // tailKey -> []unwind.Call
	work  atomic.Int64
}

type answer struct {
	calls []unwind.Call
	err   error
}

type tailKey struct{ ra, target, callee unwind.Address }

// An Option configures New.
type Option func(*Lookup)

// WithRelocated names code that Dyninst relocated after its original. a is the
// process's architecture, and mem its memory, where Dyninst keeps its tables.
func WithRelocated(a *arch.Arch, mem arch.Memory) Option {
	return func(l *Lookup) { l.relocated, l.arch, l.mem = relocated.New(l.files), a, mem }
}

// MadeCode knows the code that a process made itself. It must allow concurrent use.
type MadeCode interface {
	// CallAt names the code at an address; false if it is not known.
	CallAt(addr unwind.Address) (unwind.Call, bool)
	// FunctionAt finds the function there; false if it is not known where it begins and ends.
	FunctionAt(addr unwind.Address) (unwind.Symbol, bool)
	// TableAt returns the unwind table of the function there; false if there is none, or it is not known whether the function still is.
	TableAt(addr unwind.Address) (unwind.MadeTable, bool)
}

// WithMadeCode names code of no library.
func WithMadeCode(c MadeCode) Option { return func(l *Lookup) { l.made = c } }

// New returns a lookup over the libraries of a process and their files.
func New(libs libstate.LibraryState, files modules.Source, opts ...Option) *Lookup {
	l := &Lookup{libs: libs, files: files}
	for _, o := range opts {
		o(l)
	}
	return l
}

// file returns the file of a library, or nil.
func (l *Lookup) file(lib *libstate.Library) *image.Image { return (*image.Image)(l.files.Image(lib)) }

// filePC returns the address in lib's file for addr.
func (l *Lookup) filePC(lib *libstate.Library, im *image.Image, addr unwind.Address) uint64 {
	pc := addr - im.Bias(lib.LoadBias)
	if l.relocated != nil {
		if orig, ok := l.relocated.Original(lib, pc, l.arch, l.mem); ok {
			return orig
		}
	}
	return pc
}

// A Function is the value that LookupAtAddr keeps for an address.
type Function struct {
	Library *libstate.Library
	Calls   []unwind.Call // innermost first; the last is the function
}

// LookupAtAddr implements unwind.SymbolLookup. The name is that of the function that
// has the stack frame, not of a call inlined into it; the value is a *Function.
func (l *Lookup) LookupAtAddr(addr unwind.Address) (string, any, error) {
	a := l.answer(addr)
	if a.err != nil {
		return "", nil, a.err
	}
	lib, _ := l.libs.LibraryAt(addr)
	return a.calls[len(a.calls)-1].Name, &Function{Library: lib, Calls: a.calls}, nil
}

// LookupCalls implements unwind.CallLookup.
func (l *Lookup) LookupCalls(addr unwind.Address, buf []unwind.Call) ([]unwind.Call, error) {
	a := l.answer(addr)
	return append(buf, a.calls...), a.err
}

// Work returns how much the look-ups have read so far, in entries of tables and of debugging information, about.
// It only grows.
func (l *Lookup) Work() int64 { return l.work.Load() }

// MadeCodeAt implements unwind.MadeCodeReader.
func (l *Lookup) MadeCodeAt(addr unwind.Address) (unwind.Symbol, bool) {
	if l.made == nil {
		return unwind.Symbol{}, false
	}
	return l.made.FunctionAt(addr)
}

// MadeTableAt implements unwind.MadeTableReader.
func (l *Lookup) MadeTableAt(addr unwind.Address) (unwind.MadeTable, bool) {
	if l.made == nil {
		return unwind.MadeTable{}, false
	}
	return l.made.TableAt(addr)
}

func (l *Lookup) answer(addr unwind.Address) answer {
	if v, ok := l.calls.Load(addr); ok {
		return v.(answer)
	}
	calls, err := l.find(addr)
	if err == nil && len(calls) == 0 {
		err = fmt.Errorf("%#x: %w", addr, unwind.ErrNoSymbol)
	}
	a := answer{calls, err}
	l.calls.Store(addr, a)
	return a
}

func (l *Lookup) find(addr unwind.Address) ([]unwind.Call, error) {
	lib, ok := l.libs.LibraryAt(addr)
	if !ok && l.made != nil {
		if c, ok := l.made.CallAt(addr); ok {
			c.Name, c.LinkageName = display("", c.Name)
			return []unwind.Call{c}, nil
		}
	}
	if !ok {
		return nil, fmt.Errorf("%#x is in no library: %w", addr, unwind.ErrNoSymbol)
	}
	im := l.file(lib)
	if im == nil {
		return nil, fmt.Errorf("no file for %s: %w", lib.Path, unwind.ErrNoSymbol)
	}
	pc, bias := l.filePC(lib, im, addr), im.Bias(lib.LoadBias)
	if d := im.DWARF(); d != nil {
		before := d.Work()
		calls := fromDWARF(im, pc, bias)
		l.work.Add(d.Work() - before) // other look-ups at the same time may count too
		if len(calls) > 0 {
			return calls, nil
		}
	}
	if calls := l.fromSymbolFile(im, addr-lib.Start, lib.Start); len(calls) > 0 {
		return calls, nil
	}
	if target, start, ok := im.PLTStub(pc); ok {
		return []unwind.Call{fromStub(target, start+bias)}, nil
	}
	if t := im.GoTable(); t != nil {
		before := t.Work()
		calls := fromGoTable(im, pc, bias)
		l.work.Add(t.Work() - before)
		if len(calls) > 0 {
			return calls, nil
		}
	}
	if s, ok := im.SymbolAt(pc); ok {
		c := fromSymbol(s, bias)
		nimSymbol(&c, im)
		return []unwind.Call{c}, nil
	}
	return nil, nil
}

// fromGoTable names the code of a Go program by its pc-line table. The names are as the source has them.
func fromGoTable(im *image.Image, pc uint64, bias unwind.Address) []unwind.Call {
	f, ok := im.GoFuncAt(pc)
	if !ok {
		return nil
	}
	var calls []unwind.Call
	for _, c := range f.Calls(pc) {
		calls = append(calls, unwind.Call{Name: c.Name, File: c.File, Line: c.Line, Inlined: c.Inlined})
	}
	if len(calls) > 0 {
		calls[len(calls)-1].Entry = f.Entry + bias
	}
	return calls
}

func fromSymbol(s elffile.Sym, bias unwind.Address) unwind.Call {
	c := unwind.Call{Entry: s.Value + bias}
	c.Name, c.LinkageName = display("", s.KeptName())
	return c
}

// fromStub names a procedure linkage stub as debuggers do.
func fromStub(target string, entry unwind.Address) unwind.Call {
	const suffix = "@plt"
	c := unwind.Call{Entry: entry}
	c.Name, c.LinkageName = display("", target)
	c.Name += suffix
	if c.LinkageName != "" {
		c.LinkageName += suffix
	}
	return c
}

// fromDWARF returns the calls at pc. If the line is known but the function is not
// (assembly), the function's name comes from the symbol table.
func fromDWARF(im *image.Image, pc uint64, bias unwind.Address) []unwind.Call {
	d := im.DWARF()
	if d == nil || im.InPLT(pc) {
		return nil
	}
	calls := slices.Clone(image.Kept(im, callsKey(pc), func() []unwind.Call { return knownCalls(im, d, pc) }))
	for i := range calls {
		calls[i].Entry += bias
	}
	return calls
}

// A callsKey is an address in a file, the key of what callsAt returns.
type callsKey uint64

// knownCalls is callsAt, or what that returned in an earlier run.
func knownCalls(im *image.Image, d *dwarf.Data, pc uint64) []unwind.Call {
	var calls []unwind.Call
	found := false
	answer := im.DebugAnswer(image.Question{Kind: image.AskedCalls, A: pc}, func() []byte {
		found = true
		calls = callsAt(im, d, pc)
		return packCalls(calls)
	})
	if found {
		return calls
	}
	calls, ok := unpackCalls(answer)
	if !ok {
		return callsAt(im, d, pc)
	}
	return calls
}

// callsAt returns the calls at an address of a file, with addresses of the file.
func callsAt(im *image.Image, d *dwarf.Data, pc uint64) []unwind.Call {
	frames, err := d.Frames(pc, nil)
	if err != nil {
		if !errors.Is(err, dwarf.ErrNotFound) && !errors.Is(err, dwarf.ErrNoSup) {
			im.DamagedDWARF(err)
		}
		return nil
	}
	calls := make([]unwind.Call, len(frames))
	for i, f := range frames {
		calls[i] = fromFrame(f)
	}
	if len(calls) > 0 {
		last := len(calls) - 1
		nameBySymbol(&calls[last], im, pc)
		if scopeless(&frames[last]) {
			scopeBySymbol(&calls[last], im)
		}
	}
	return calls
}

// scopeless reports whether DWARF has a function of C++ outside of any scope and without a linkage name. It may be in none; but so
// clang describes each function where only lines are wanted (-g1, -gline-tables-only), and Crystal, whose language is C++ for debuggers, all.
func scopeless(f *dwarf.Call) bool {
	return f.Func.Valid() && (f.LinkageName == "" || f.LinkageName == f.Name) && f.Name != "main" && types.IsCXX(f.Language) && !strings.Contains(f.Name, "::")
}

// scopeBySymbol gives a function the name of the symbol where it begins, which has namespaces and classes, if the name itself is the same.
func scopeBySymbol(c *unwind.Call, im *image.Image) {
	s, ok := im.SymbolAt(c.Entry)
	if !ok || s.Value != c.Entry {
		return
	}
	name, linkage := display("", s.KeptName())
	if crystal, _, _ := strings.Cut(name, "<"); linkage != "" && linkage[0] == '*' && (strings.HasSuffix(crystal, "#"+c.Name) || strings.HasSuffix(crystal, "."+c.Name) || strings.HasSuffix(crystal, "::"+c.Name)) ||
		strings.HasSuffix(name, "::"+c.Name) {
		c.Name, c.LinkageName = name, linkage
	}
}

// nameBySymbol names a function from the symbol table if DWARF has a line but no
// function (assembly), or no linkage name for a function in a class without a name (a
// lambda), whose own name would say little.
func nameBySymbol(c *unwind.Call, im *image.Image, pc uint64) {
	nameless := c.LinkageName == "" && strings.Contains(c.Name, "(anonymous)")
	if c.Name != "" && !nameless {
		return
	}
	s, ok := im.SymbolAt(pc)
	if !ok || nameless && (s.Value != c.Entry || !demangle.Mangled(s.Name())) {
		return
	}
	c.Name, c.LinkageName = display("", s.KeptName())
	c.Entry = s.Value
}

func fromFrame(f dwarf.Call) unwind.Call {
	c := unwind.Call{File: f.File.Path, Line: f.Line, Column: f.Column, Approximate: f.ApproxLine || f.Line == 0, Inlined: f.Inlined, NoReturn: f.Noreturn, Declared: f.DeclLine, Entry: f.Entry}
	if c.Name, c.LinkageName = display(f.Name, f.LinkageName); f.LinkageName == "" && f.Language == dwarf.LangMipsAsm {
		c.Name, c.LinkageName = display("", f.Name) // compilers that write assembly, as OCaml's, have their names mangled there
	}
	if c.LinkageName == "" && strings.Contains(c.Name, "__") && types.IsC(f.Language) && f.Origin.Unit != nil && f.Origin.Unit.OfNim() {
		nimName(&c)
	}
	return c
}

// display returns the name to show and, if it differs, the linkage name.
func display(name, linkage string) (shown, link string) {
	if linkage == "" {
		return name, ""
	}
	shown = demangle.Func(linkage)
	if shown == linkage {
		if name != "" && name != linkage {
			return name, linkage
		}
		return linkage, ""
	}
	return shown, linkage
}
