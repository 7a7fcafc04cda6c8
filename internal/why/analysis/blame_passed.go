package analysis

import (
	"fmt"
	"slices"
	"strings"

	"github.com/corewalk/corewalk/internal/code/disasm"
	"github.com/corewalk/corewalk/internal/code/provenance"
	"github.com/corewalk/corewalk/internal/lazy"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// passedIn is what a register of an argument held when a function was called. The call must be known to be the function's: one through a register may
// have led to another that jumped to it.
func (t *tracer) passedIn(w *witness, r arch.Reg) (value uint64, exact, ok bool) {
	if !slices.Contains(w.abi.Args, r) {
		return 0, false, false
	}
	caller := t.witness(w.number+1, nil)
	if caller == nil {
		return 0, false, false
	}
	if call, ok := caller.code.Inst(caller.state.PC); !ok || call.Kind != disasm.Call || call.Target != w.call.Entry {
		return 0, false, false
	}
	v := caller.code.Before(caller.state.PC, provenance.Reg(r))
	if value, exact, ok = caller.eval.Value(v, 0); !ok && v.Kind == provenance.Entry && caller.number < maxBlameFrames {
		return t.enteredWith(caller, v.Reg) // what it was passed itself
	}
	return value, exact, ok
}

// enteredWith is what a register held when a function was called: what it saved itself, or else passedIn.
func (t *tracer) enteredWith(w *witness, r arch.Reg) (value uint64, exact, ok bool) {
	for _, off := range w.code.SavedAt(w.state.PC, r, t.in.arch.RegSize) {
		if value, ok := t.in.mem.Uint(w.state.CFA+uint64(off), t.in.arch.RegSize); ok && w.state.HasCFA {
			return value, true, true
		}
	}
	return t.passedIn(w, r)
}

// passed continues from a parameter to what the caller passed for it.
func (t *tracer) passed(w *witness, v *provenance.Value, value uint64) (*provenance.Value, *witness, uint64, bool) {
	number := w.number + 1
	argument := false
	for i, r := range w.abi.Args {
		if v.Kind == provenance.Entry && v.Reg == r {
			argument = true
			if w.number == 0 && t.out.Value == report.Addr(value) {
				t.argument = i + 1
			}
		}
	}
	if v.Kind == provenance.EntrySlot {
		argument = v.K >= 0
	}
	t.entered(w)
	if !argument || w.number >= maxBlameFrames {
		return nil, nil, 0, false
	}
	if n := w.nameByEntry(v); !t.told(n, w) {
		s := t.variable(w, n, w.state.PC)
		s.Kind, s.Role = report.BlameArgument, "argument"
		t.add(s)
	}
	t.entered(w)
	caller := t.witness(number, nil)
	if caller == nil || caller.state.PC == caller.frame.RA() {
		return nil, nil, 0, false
	}
	call, ok := caller.code.Inst(caller.state.PC)
	if !ok || !t.calls(&call, w) {
		return nil, nil, 0, false
	}
	place, reg := provenance.Reg(v.Reg), v.Reg
	if v.Kind == provenance.EntrySlot {
		if !w.state.HasCFA || !caller.state.HasCFA {
			return nil, nil, 0, false
		}
		place, reg = provenance.Frame(int64(w.state.CFA+uint64(v.K)-caller.state.CFA), v.Size), arch.NoReg
	}
	t.past = 0
	next := caller.code.Before(caller.state.PC, place)
	s := caller.step(report.BlamePassed, caller.state.PC)
	n := caller.name(next, caller.state.PC, reg, 0)
	if n.held == nil {
		n = caller.inlinedParameter(next)
	}
	if n.text != "" && n.held != nil {
		named := t.variable(caller, n, caller.state.PC)
		s.Name, s.Role, s.Function = named.Name, named.Role, named.Function
		s.Entry = caller.cameIn(n, next, caller.state.PC, func(a *provenance.Value) bool { return t.impossible(caller, next, a, value) })
	}
	t.add(s)
	return next, caller, value, true
}

// entered says of the argument that the last step is about that the function was called with it.
func (t *tracer) entered(w *witness) {
	if n := len(t.out.Steps); n > 0 && t.out.Steps[n-1].Physical == w.number && t.out.Steps[n-1].Role == "argument" {
		t.out.Steps[n-1].Entry = true
	}
}

// nameByEntry names a parameter.
func (w *witness) nameByEntry(v *provenance.Value) named {
	if w.vars != nil {
		if n := w.nameByOrigin(v, 0); n.held != nil && n.held.Param {
			return n
		}
	}
	return named{text: entryText(w.in.arch, &w.abi, v)}
}

// entryText names a parameter that has no name, by its number if each has one register: those of Go may have several or none.
func entryText(a *arch.Arch, abi *provenance.ABI, v *provenance.Value) string {
	if v.Kind == provenance.Entry {
		switch i := slices.Index(abi.Args, v.Reg); {
		case i >= 0 && abi.Restarts:
			return "argument in " + a.RegName(v.Reg)
		case i >= 0:
			return fmt.Sprintf("argument %d", i+1)
		}
	}
	return "argument on the stack"
}

// told reports whether the last step is already about this variable.
func (t *tracer) told(n named, w *witness) bool {
	if len(t.out.Steps) == 0 {
		return false
	}
	last := &t.out.Steps[len(t.out.Steps)-1]
	switch {
	case last.Physical != w.number:
		return false
	case n.held == nil: // any name is enough
		return last.Role == "argument" || last.Kind == report.BlamePassed && last.Name != ""
	case last.Kind == report.BlameVariable, last.Kind == report.BlamePassed:
		return last.Name == n.text && last.Role == "argument"
	}
	return false
}

// calls reports whether a call led to the function of w itself, not to another function that jumped to it. It
// accepts direct calls only: to the function, or to an import stub with the function's name. A call through a
// register or memory may have led anywhere.
func (t *tracer) calls(call *disasm.Inst, w *witness) bool {
	entry := w.call.Entry
	if call.Kind == disasm.Call && call.Target == entry {
		return true
	}
	if t.tailBetween(w.number) {
		return false
	}
	if call.Kind != disasm.Call {
		return false
	}
	code := codeReader{in: t.in}
	f, ok := code.function(call.Target)
	if !ok || f.Entry != call.Target {
		return false
	}
	stub, _, _ := strings.Cut(f.Name, "@")
	if w.call.Name == "" && chosen.Get()[stub] {
		// One of the C library's functions for different processors, without a name of its own.
		t.doubt(report.Likely)
		if n := len(t.out.Steps); n > 0 && t.out.Steps[n-1].Kind == report.BlameArgument {
			t.out.Steps[n-1].Function = stub
		}
		return systemModule(t.in.libraryPath(w.frame.LookupAddr()))
	}
	if !sameFunction(stub, w.call) {
		return false
	}
	if n := len(t.out.Steps); n > 0 && t.out.Steps[n-1].Kind == report.BlameArgument {
		t.out.Steps[n-1].Function = stub // as the caller calls it
	}
	return true
}

// chosen are functions that glibc has once for each kind of processor, and that jump to no other function
// before they use their arguments.
var chosen = lazy.Value[map[string]bool]{Make: func() map[string]bool {
	return map[string]bool{
		"memcpy": true, "memmove": true, "mempcpy": true, "memset": true, "memcmp": true, "memchr": true, "memrchr": true,
		"strlen": true, "strnlen": true, "strcpy": true, "strncpy": true, "stpcpy": true, "strcat": true, "strcmp": true, "strncmp": true,
		"strchr": true, "strrchr": true, "strchrnul": true, "wcslen": true, "wmemset": true,
	}
}}

// sameFunction reports whether a function is the one that an import names, or one of the C library's versions
// of it for different processors.
func sameFunction(name string, f unwind.Call) bool {
	if name == "" {
		return false
	}
	return sameName(name, f.Name, f.LinkageName)
}

// sameName is sameFunction for the names of the function.
func sameName(name string, names ...string) bool {
	for _, have := range names {
		if have == name || libcName(have) == name {
			return true
		}
		for _, prefix := range [...]string{"mem", "str", "wmem", "wcs", "stp"} {
			if !strings.HasPrefix(name, prefix) {
				continue
			}
			if strings.HasPrefix(have, "__"+name+"_") {
				return true
			}
		}
		if (name == "memcpy" || name == "memmove") && strings.HasPrefix(have, "__memmove_") && !strings.Contains(have, "_chk") {
			return true
		}
	}
	return false
}

// tailBetween reports whether functions are known to have left by tail calls between a frame and the call in
// its caller.
func (t *tracer) tailBetween(number int) bool {
	return number+1 < len(t.stack) && len(t.in.tailCalls(t.stack, number+1, t.in.calledAs(t.stack, number+1))) > 0
}
