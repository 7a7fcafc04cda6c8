package image

import (
	"errors"
	"fmt"
	"strings"

	"github.com/corewalk/corewalk/internal/format/dwarf"
	"github.com/corewalk/corewalk/internal/format/elffile"
	"github.com/corewalk/corewalk/unwind/arch"
)

// A TailChain lists, outermost first, the functions that ran between a call and the running
// function and left by tail calls. They are all in one file.
type TailChain struct {
	Image *Image
	Calls []dwarf.TailCall
	// Complete says that only one path is possible. Otherwise Calls has what all possible
	// paths have in common.
	Complete bool
}

// TailCalls finds the functions that ran between the call in from that returns to ret and
// the function in to that contains pc (both are addresses in the files), if DWARF says what
// the call leads to. The error wraps dwarf.ErrNotFound if no path is known.
func TailCalls(from *Image, ret uint64, to *Image, pc uint64) (TailChain, error) {
	return keptChain(from, to, tailKey{false, ret, to, pc}, func() (TailChain, error) { return tailCalls(from, ret, to, pc) })
}

// A tailKey is the key of a chain that the file of the call keeps. at is the address that the call returns to or,
// with begins, where the called function begins.
type tailKey struct {
	begins bool
	at     uint64
	to     *Image
	pc     uint64
}

type tailResult struct {
	chain TailChain
	err   error
}

// keptChain is Kept for a chain between two files. Those of one cache are closed together; another would not be freed.
func keptChain(from, to *Image, key tailKey, find func() (TailChain, error)) (TailChain, error) {
	if from == nil || to == nil || from.cache == nil || from.cache != to.cache {
		return find()
	}
	r := Kept(from, key, func() tailResult { return diskChain(from, to, key, find) })
	return r.chain, r.err
}

// What is kept on disk of a chain: that there is none. A chain of calls is found again.
const (
	noPath   = 'n' // dwarf.ErrNotFound
	direct   = 'd' // no calls, and no other path
	possible = 'p' // no calls, and other paths
)

// diskChain finds a chain, or knows from an earlier run that there is none. That is so for nearly all calls.
func diskChain(from, to *Image, key tailKey, find func() (TailChain, error)) (r tailResult) {
	if from != to {
		r.chain, r.err = find()
		return r
	}
	q := Question{Kind: askedChain, A: key.at, B: key.pc}
	if key.begins {
		q.Kind = askedChainAt
	}
	found := false
	a := from.DebugAnswer(q, func() []byte {
		r.chain, r.err = find()
		found = true
		switch {
		case errors.Is(r.err, dwarf.ErrNotFound):
			return []byte{noPath}
		case r.err != nil || len(r.chain.Calls) > 0 || r.chain.Image != from:
			return nil
		case r.chain.Complete:
			return []byte{direct}
		}
		return []byte{possible}
	})
	switch {
	case found:
	case len(a) == 1 && a[0] == noPath:
		r.err = dwarf.ErrNotFound
	case len(a) == 1 && (a[0] == direct || a[0] == possible):
		r.chain = TailChain{Image: from, Complete: a[0] == direct}
	default:
		r.chain, r.err = find()
	}
	return r
}

func tailCalls(from *Image, ret uint64, to *Image, pc uint64) (TailChain, error) {
	d := from.DWARF()
	if d == nil {
		return TailChain{}, fmt.Errorf("tail calls before %#x: %w", ret, dwarf.ErrNotFound)
	}
	if from == to {
		calls, complete, err := d.TailChain(ret, from.callee(pc), from.resolver(), from.jumps)
		return TailChain{from, calls, complete}, err
	}
	starts, name, err := callTarget(from, d, ret)
	if err != nil {
		return TailChain{}, err
	}
	// All the jumps are in one of the two files.
	if len(starts) > 0 {
		return tailCallsOf(from, starts, to, pc)
	}
	return tailCallsByName(name, to, pc)
}

// toName stands before the name of what is called in another file, as it is kept on disk.
const toName = 't'

// callTarget is CallTarget of from's debug information d, or knows from an earlier run that the call is not described, or
// which function of another file it calls: to find that out, all units are asked.
func callTarget(from *Image, d *dwarf.Data, ret uint64) (starts []dwarf.Func, name string, err error) {
	found := false
	a := from.DebugAnswer(Question{Kind: askedTarget, A: ret}, func() []byte {
		found = true
		starts, name, err = d.CallTarget(ret, from.resolver())
		switch {
		case errors.Is(err, dwarf.ErrNotFound):
			return []byte{noPath}
		case err == nil && len(starts) == 0:
			return append([]byte{toName}, name...)
		}
		return nil
	})
	switch {
	case found:
		return starts, name, err
	case len(a) == 1 && a[0] == noPath:
		return nil, "", fmt.Errorf("call that returns to %#x: %w", ret, dwarf.ErrNotFound)
	case len(a) > 1 && a[0] == toName:
		return nil, string(a[1:]), nil
	}
	return d.CallTarget(ret, from.resolver())
}

// tailCallsByName is TailCalls for a call of the function of to with a name in symbol tables.
func tailCallsByName(name string, to *Image, pc uint64) (TailChain, error) {
	entry, ok := to.resolver()(name)
	if !ok {
		return TailChain{}, fmt.Errorf("%s: %w", name, dwarf.ErrNotFound)
	}
	return TailCallsAt(to, entry, to, pc)
}

// TailCallsAt is TailCalls for a call of the function in from whose code begins at entry, or
// of the function to which the linkage stub at entry leads. The functions need no DWARF.
func TailCallsAt(from *Image, entry uint64, to *Image, pc uint64) (TailChain, error) {
	return keptChain(from, to, tailKey{true, entry, to, pc}, func() (TailChain, error) { return tailCallsAt(from, entry, to, pc) })
}

func tailCallsAt(from *Image, entry uint64, to *Image, pc uint64) (TailChain, error) {
	if f, ok := from.DWARF().FuncAt(entry); ok {
		return tailCallsOf(from, []dwarf.Func{f}, to, pc)
	}
	if name, start, ok := from.PLTStub(entry); ok && start == entry {
		return tailCallsByName(name, to, pc)
	}
	if !from.begins(entry) {
		return TailChain{}, fmt.Errorf("function at %#x: %w", entry, dwarf.ErrNotFound)
	}
	return tailCallsOf(from, []dwarf.Func{{Range: dwarf.Range{Low: entry, High: entry + 1}, Entry: entry}}, to, pc)
}

// tailCallsOf is TailCalls for a call of one of the functions starts in from.
func tailCallsOf(from *Image, starts []dwarf.Func, to *Image, pc uint64) (TailChain, error) {
	callee := from.callee(pc)
	if from != to {
		s, ok := to.SymbolAt(pc)
		if !ok {
			return TailChain{}, fmt.Errorf("function at %#x: %w", pc, dwarf.ErrNotFound)
		}
		callee = dwarf.Callee{Name: s.Name(), Named: func(name string) bool { return to.NamedAt(name, s.Value) }}
	}
	calls, complete, err := from.DWARF().TailPath(starts, callee, from.resolver(), from.jumps)
	return TailChain{from, calls, complete}, err
}

// callee is the function of this file that contains pc.
func (im *Image) callee(pc uint64) dwarf.Callee {
	c := dwarf.Callee{PC: pc}
	s, ok := im.SymbolAt(pc)
	if ok && IsColdPart(s.Name()) {
		whole, _, _ := strings.Cut(s.Name(), ".cold")
		s, ok = im.SymbolByName(whole)
	}
	if ok {
		c.Entry = s.Value
	}
	return c
}

// LeftBy returns the function that begins at entry, a code pointer in the file, as a chain: it was called, its frame is gone, and it may have left by a jump
// to an address that it computed. The jump is known if it is the function's only way out but for a return. If elsewhere is set, what runs is in another file, to which a direct jump may lead as well. Thunks that compilers make of indirect calls only pass a call on; linkage stubs have no symbol.
func (im *Image) LeftBy(entry uint64, elsewhere bool) (TailChain, error) {
	none := fmt.Errorf("function at %#x that leaves by an indirect jump: %w", entry, dwarf.ErrNotFound)
	if im == nil {
		return TailChain{}, none
	}
	a := im.elf.Arch()
	s, ok := im.SymbolAt(entry)
	if a == nil || a.Mode != arch.NoReg || !ok || s.Value != entry || passesOn(s.Name()) {
		return TailChain{}, none
	}
	end := uint64(0)
	if s.Size > 0 {
		end = entry + s.Size
	}
	flow, _ := im.Flow(a, entry, end)
	if flow == nil {
		return TailChain{}, none
	}
	jumps := flow.LeavesAt()
	indirect, direct := len(jumps), len(flow.Tails)
	if elsewhere {
		for _, t := range flow.Tails {
			jumps = append(jumps, t.At)
		}
		direct = 0
	}
	if len(jumps) == 0 {
		return TailChain{}, none
	}
	call := dwarf.TailCall{Func: dwarf.Func{Range: dwarf.Range{Low: entry, High: max(end, entry+1)}, Entry: entry}}
	if len(jumps) == 1 && len(flow.Indirect) == indirect && direct == 0 {
		call.PC = jumps[0]
	}
	return TailChain{Image: im, Calls: []dwarf.TailCall{call}}, nil
}

// passesOn reports whether a function is a thunk for indirect calls: of a compiler, or in the assembly of Go's runtime.
func passesOn(name string) bool {
	for _, p := range [...]string{"__x86_indirect_thunk", "__llvm_retpoline", "__llvm_slsblr", "runtime."} {
		if strings.HasPrefix(name, p) {
			return true
		}
	}
	return false
}

// NamedAt reports whether programs may call the function of this file that begins at entry
// by a name. A function may have several.
func (im *Image) NamedAt(name string, entry uint64) bool {
	s, ok := im.SymbolByName(name)
	if ok && s.Value == entry {
		return s.Bind != elffile.STB_LOCAL
	}
	if s, ok = im.SymbolAt(entry); ok && s.Value == entry {
		for _, other := range calledAs(s.Name()) {
			if name == other {
				return true
			}
		}
	}
	return false
}

// begins reports whether a function begins at an address, by symbols.
func (im *Image) begins(entry uint64) bool { return im != nil && (*imageCode)(im).FuncAt(entry) }

// jumps implements dwarf.Jumps.
func (im *Image) jumps(entry uint64) ([]dwarf.Jump, bool) {
	a := im.elf.Arch()
	// A jump tells the instruction set of its target only together with that of its function.
	if a == nil || a.Mode != arch.NoReg || !im.begins(entry) {
		return nil, false
	}
	end := uint64(0)
	if s, ok := im.SymbolAt(entry); ok && s.Value == entry && s.Size > 0 {
		end = entry + s.Size
	}
	flow, _ := im.Flow(a, entry, end)
	if flow == nil || flow.TailsUnknown {
		return nil, false
	}
	jumps := make([]dwarf.Jump, len(flow.Tails))
	for i, t := range flow.Tails {
		jumps[i] = dwarf.Jump{PC: t.At, To: t.To}
		if name, _, ok := im.PLTStub(t.To); ok {
			jumps[i].To, jumps[i].Name = 0, name
		}
	}
	return jumps, true
}

// TailsBack reports whether the tail calls of f, a function of the file, may lead back to it.
func (im *Image) TailsBack(f dwarf.Func) bool {
	return im.DWARF().TailsBack(f, im.resolver(), im.jumps)
}

func (im *Image) resolver() dwarf.Resolver {
	return func(name string) (uint64, bool) {
		s, ok := im.SymbolByName(name)
		return s.Value, ok
	}
}
