package dwarf

import "fmt"

// Tail calls: a function that ends by jumping to another leaves no frame. Where
// the call sites allow only one way from the function that was called to the
// one that is running, that way is known all the same.

// A TailCall is a function that was left through a tail call.
type TailCall struct {
	Func Func
	// PC is an address within the jump, for its line; 0 when the function
	// makes the call at several places.
	PC uint64
	// Site is the entry of the jump; not Valid where PC is 0.
	Site DIE
}

// A Callee is the function that is running when a chain of tail calls is asked
// for.
type Callee struct {
	// PC is an address in it, in this file; 0 when it is in another file.
	PC uint64
	// Name is its linkage name, for one in another file.
	Name string
}

// Bounds of a search for tail calls.
const (
	maxTailSites = 4096 // call sites looked at
	maxTailPaths = 64   // ways found
	maxTailDepth = 64   // functions in a way
)

// CallTarget returns the functions of this file that the call returning to
// retPC may have called, and the callee's name in symbol tables when it was not
// found by its entry. It fails with ErrNotFound without a call site for retPC,
// and for an indirect call.
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

// TailChain returns the functions between the call that returns to retPC and
// the function that is running instead of the one called: outermost first, empty
// when the running function was called directly. Names lead to functions of
// other units through resolve, which may be nil.
//
// When there are several ways, their common beginning and end are returned, with
// complete false: the frames between are not known. So too does gdb, which
// however takes two calls at different places for different ways, and finds none
// in code of clang. The error wraps ErrNotFound when no way is known.
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

// TailPath is TailChain from functions already known: for a call from another
// file into this one.
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
		return nil, false, fmt.Errorf("tail calls to %s: too many ways, or an indirect one: %w", callee, ErrNotFound)
	case s.paths == 0:
		return nil, false, fmt.Errorf("tail calls to %s: %w", callee, ErrNotFound)
	}
	return append(s.head, s.rest...), s.complete, nil
}

func (c Callee) String() string {
	if c.PC != 0 {
		return fmt.Sprintf("the function at %#x", c.PC)
	}
	return c.Name
}

// tailSearch walks all ways along tail calls, depth first.
type tailSearch struct {
	callee  Callee
	goal    DIE
	resolve Resolver

	path   []TailCall
	onPath map[DIE]bool
	sites  int
	paths  int
	vague  bool // some way cannot be followed: none can be called the only one

	// The ways found so far agree on head at their beginning and on rest at
	// their end; complete says that this is all there is.
	head, rest []TailCall
	complete   bool
}

func (s *tailSearch) visit(f Func) {
	if s.vague || s.onPath[f.DIE] {
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

// follow goes on through one tail call of f.
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

// found takes the current path in.
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

// agree reduces head and rest to what they share with the current path.
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

// sameCalls counts the calls at the beginning of a that b begins with too.
func sameCalls(a, b []TailCall) int {
	n := 0
	for n < len(a) && n < len(b) && sameCall(&a[n], &b[n]) {
		n++
	}
	return n
}

// sameCall compares by function, and forgets in a the place of the call when it
// is not the same.
func sameCall(a, b *TailCall) bool {
	if a.Func.DIE != b.Func.DIE {
		return false
	}
	if a.PC != b.PC {
		a.PC, a.Site = 0, DIE{}
	}
	return true
}
