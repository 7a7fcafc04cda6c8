package dwarf

import (
	"fmt"
	"slices"
)

// Tail calls: a function that ends with a jump to another leaves no frame. If the call
// sites allow only one path from the called function to the running one, that path is still
// known.

// A TailCall is a function that left by a tail call.
type TailCall struct {
	Func Func
	// PC is an address inside the jump, for its line; 0 if the function makes the call in
	// several places.
	PC uint64
	// Site is the entry of the jump; it is not Valid if PC is 0.
	Site DIE
}

// A Callee is the running function for which a chain of tail calls is requested.
type Callee struct {
	// PC is an address in it, in this file; 0 if it is in another file.
	PC uint64
	// Name is its linkage name, if it is in another file.
	Name string
}

// Limits of a search for tail calls.
const (
	maxTailSites = 4096 // call sites read
	maxTailPaths = 64   // paths found
	maxTailDepth = 64   // functions in a path
)

// CallTarget returns the functions of this file that the call returning to retPC may have
// called. If the callee has no entry here, it returns its name in symbol tables. The error
// is ErrNotFound if retPC has no call site or the call is indirect.
func (d *Data) CallTarget(retPC uint64, resolve Resolver) ([]Func, string, error) {
	if retPC == 0 {
		return nil, "", fmt.Errorf("call site of return address 0: %w", ErrNotFound)
	}
	u, err := d.UnitForPC(retPC - 1)
	if err != nil {
		return nil, "", err
	}
	f, ok := u.FuncAt(retPC - 1)
	if !ok {
		return nil, "", fmt.Errorf("function of the call before %#x: %w", retPC, ErrNotFound)
	}
	site, ok := f.Unit.CallSiteAt(f.Off, retPC)
	if !ok || !site.Origin.Valid() {
		return nil, "", fmt.Errorf("callee of the call before %#x: %w", retPC, ErrNotFound)
	}
	all, name := site.Origin.targets(f.Unit, resolve)
	return all, name, nil
}

// TailChain returns the functions between the call that returns to retPC and the running
// function callee, outermost first. It is empty if the call called the running function
// directly. resolve finds functions of other units by name; it may be nil.
//
// If there are several possible paths, TailChain returns their common beginning and end,
// with complete false: what is between is unknown. complete is also false if tail calls lead
// from a function on the path back to it, which may have run several times then. gdb does
// not look for that, counts two calls at different places as different paths, and finds no
// paths in code compiled by clang. The error wraps ErrNotFound if no path is known.
func (d *Data) TailChain(retPC uint64, callee Callee, resolve Resolver) (chain []TailCall, complete bool, err error) {
	starts, name, err := d.CallTarget(retPC, resolve)
	if err != nil {
		return nil, false, err
	}
	if callee.PC == 0 && name != "" && name == callee.Name {
		return nil, true, nil
	}
	return d.TailPath(starts, callee, resolve)
}

// TailPath is TailChain starting from known functions, for a call from another file into
// this one.
func (d *Data) TailPath(starts []Func, callee Callee, resolve Resolver) (chain []TailCall, complete bool, err error) {
	s := tailSearch{callee: callee, resolve: resolve, onPath: make(map[DIE]bool)}
	if callee.PC != 0 {
		u, err := d.UnitForPC(callee.PC)
		if err != nil {
			return nil, false, err
		}
		f, ok := u.FuncAt(callee.PC)
		if !ok {
			return nil, false, fmt.Errorf("function at %#x: %w", callee.PC, ErrNotFound)
		}
		s.goal = f.DIE
	}
	for i := range starts {
		if starts[i].DIE == s.goal {
			return nil, true, nil
		}
	}
	for i := range starts {
		s.visit(starts[i])
	}
	switch {
	case s.vague:
		return nil, false, fmt.Errorf("tail calls to %s: too many paths, or an indirect call: %w", callee, ErrNotFound)
	case s.paths == 0:
		return nil, false, fmt.Errorf("tail calls to %s: %w", callee, ErrNotFound)
	}
	return append(s.head, s.rest...), s.complete && !s.repeats(), nil
}

// TailsBack reports whether the tail calls of f may lead back to f. What a caller passed to f
// may then differ from what f was last entered with.
func (d *Data) TailsBack(f Func, resolve Resolver) bool {
	s := tailSearch{goal: f.DIE, resolve: resolve, onPath: make(map[DIE]bool)}
	s.visit(f)
	return s.vague || s.paths > 0
}

func (c Callee) String() string {
	if c.PC != 0 {
		return fmt.Sprintf("the function at %#x", c.PC)
	}
	return c.Name
}

// tailSearch follows all paths of tail calls, depth first.
type tailSearch struct {
	callee  Callee
	goal    DIE
	resolve Resolver

	path   []TailCall
	onPath map[DIE]bool
	cyclic map[DIE]bool // functions that tail calls lead back to
	sites  int
	paths  int
	vague  bool // some path cannot be followed, so none can be the only one

	// The paths found so far have the beginning head and the end rest in common; complete
	// says that head and rest are all of the path.
	head, rest []TailCall
	complete   bool
}

func (s *tailSearch) visit(f Func) {
	if s.vague {
		return
	}
	if s.onPath[f.DIE] {
		if s.cyclic == nil {
			s.cyclic = make(map[DIE]bool)
		}
		s.cyclic[f.DIE] = true
		return
	}
	if len(s.path) == maxTailDepth {
		s.vague = true
		return
	}
	s.onPath[f.DIE] = true
	defer delete(s.onPath, f.DIE)
	var tails []CallSite
	f.Unit.eachCallSite(f.Off, func(site *CallSite) bool {
		s.sites++
		if site.Tail {
			tails = append(tails, *site)
		}
		return s.sites < maxTailSites
	})
	if s.sites >= maxTailSites {
		s.vague = true
	}
	for i := range tails {
		s.follow(f, &tails[i])
	}
}

// follow continues through one tail call of f.
func (s *tailSearch) follow(f Func, site *CallSite) {
	if s.vague {
		return
	}
	if !site.Origin.Valid() {
		s.vague = true
		return
	}
	targets, name := site.Origin.targets(f.Unit, s.resolve)
	s.path = append(s.path, TailCall{f, site.LookupPC(), site.DIE})
	if s.callee.PC == 0 && name != "" && name == s.callee.Name {
		s.found()
	}
	for _, t := range targets {
		if t.DIE == s.goal {
			s.found()
		} else {
			s.visit(t)
		}
	}
	s.path = s.path[:len(s.path)-1]
}

// repeats reports whether a function of the only path found may have run several times.
func (s *tailSearch) repeats() bool {
	return slices.ContainsFunc(s.head, func(c TailCall) bool { return s.cyclic[c.Func.DIE] })
}

// found adds the current path to the result.
func (s *tailSearch) found() {
	s.paths++
	if s.paths == 1 {
		s.head = append([]TailCall(nil), s.path...)
		s.complete = true
		return
	}
	if s.paths > maxTailPaths {
		s.vague = true
		return
	}
	s.agree()
}

// agree reduces head and rest to what they have in common with the current path.
func (s *tailSearch) agree() {
	known := append(append([]TailCall(nil), s.head...), s.rest...)
	if s.complete && len(known) == len(s.path) && sameCalls(known, s.path) == len(known) {
		s.head, s.rest = known, nil
		return
	}
	headMax, restMax := len(s.head), len(s.rest)
	if s.complete {
		restMax = len(known)
	}
	n := sameCalls(known[:headMax], s.path)
	m := 0
	for m < restMax && m < len(s.path)-n && m < len(known)-n {
		a, b := &known[len(known)-1-m], &s.path[len(s.path)-1-m]
		if !sameCall(a, b) {
			break
		}
		m++
	}
	s.head, s.rest = known[:n:n], known[len(known)-m:]
	s.complete = false
}

// sameCalls returns the length of the common beginning of a and b.
func sameCalls(a, b []TailCall) int {
	n := 0
	for n < len(a) && n < len(b) && sameCall(&a[n], &b[n]) {
		n++
	}
	return n
}

// sameCall compares functions. If the same function makes the call in different places, it
// clears the place in a.
func sameCall(a, b *TailCall) bool {
	if a.Func.DIE != b.Func.DIE {
		return false
	}
	if a.PC != b.PC {
		a.PC, a.Site = 0, DIE{}
	}
	return true
}
