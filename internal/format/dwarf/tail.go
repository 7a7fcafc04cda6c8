package dwarf

import (
	"fmt"
	"slices"
)

// Tail calls: a function that ends with a jump to another leaves no frame. If the call
// sites allow only one path from the called function to the running one, that path is still
// known. The code tells it for functions whose call sites DWARF does not describe.

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
	// Entry is where it begins, if PC is not 0 and DWARF does not describe it; 0 if not known.
	Entry uint64
	// Name is its linkage name, if it is in another file.
	Name string
	// Named, if not nil, reports whether a name means it, in another file.
	Named func(name string) bool
}

// is reports whether the callee, in another file, has a name in symbol tables.
func (c *Callee) is(name string) bool {
	return c.PC == 0 && name != "" && (name == c.Name || c.Named != nil && c.Named(name))
}

// A Jump is a tail call found in the code of a function.
type Jump struct {
	PC uint64 // of the instruction
	To uint64 // the function, in this file; 0 if it is in another
	// Name is its name in symbol tables, if it is in another file.
	Name string
}

// Jumps finds all tail calls in the code of the function that begins at entry. It returns
// false if it cannot.
type Jumps func(entry uint64) ([]Jump, bool)

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
	site, err := d.callSite(retPC)
	if err != nil {
		return nil, "", err
	}
	all, name := site.Origin.targets(site.Unit, resolve)
	return all, name, nil
}

// callSite returns the call site that returns to retPC and says which function it calls.
func (d *Data) callSite(retPC uint64) (CallSite, error) {
	if retPC == 0 {
		return CallSite{}, fmt.Errorf("call site of return address 0: %w", ErrNotFound)
	}
	u, err := d.UnitForPC(retPC - 1)
	if err != nil {
		return CallSite{}, err
	}
	f, ok := u.FuncAt(retPC - 1)
	if !ok {
		return CallSite{}, fmt.Errorf("function of the call before %#x: %w", retPC, ErrNotFound)
	}
	site, ok := f.Unit.CallSiteAt(f.Off, retPC)
	if !ok || !site.Origin.Valid() {
		return CallSite{}, fmt.Errorf("callee of the call before %#x: %w", retPC, ErrNotFound)
	}
	return site, nil
}

// calls reports whether a call site means the function that contains pc, as nearly all do. To
// know that takes no list of all functions that the site may mean, as other answers do: if it
// returns false, the site may still mean it.
func (s *CallSite) calls(d *Data, pc uint64) bool {
	f, ok := d.FuncAt(pc)
	if !ok || f.Unit != s.Origin.Unit && f.Unit != s.Unit {
		return false
	}
	if f.DIE == s.Origin {
		return true
	}
	if _, own := s.Origin.Unit.funcOf(s.Origin.Off); own {
		return false
	}
	at := f.DIE
	for range maxOrigins {
		if at = at.origin(); !at.Valid() {
			return false
		}
		if at == s.Origin {
			return true
		}
	}
	return false
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
func (d *Data) TailChain(retPC uint64, callee Callee, resolve Resolver, jumps Jumps) (chain []TailCall, complete bool, err error) {
	site, err := d.callSite(retPC)
	if err != nil {
		return nil, false, err
	}
	if callee.PC != 0 && site.calls(d, callee.PC) {
		return nil, true, nil
	}
	starts, name := site.Origin.targets(site.Unit, resolve)
	if callee.is(name) {
		return nil, true, nil
	}
	return d.TailPath(starts, callee, resolve, jumps)
}

// TailPath is TailChain starting from known functions, for a call from another file into
// this one. d may be nil, and DWARF need not describe the functions: jumps, if not nil, finds
// tail calls in their code.
func (d *Data) TailPath(starts []Func, callee Callee, resolve Resolver, jumps Jumps) (chain []TailCall, complete bool, err error) {
	s := tailSearch{d: d, callee: callee, resolve: resolve, jumps: jumps, onPath: make(map[uint64]bool)}
	if callee.PC != 0 {
		s.goal = callee.Entry
		if f, ok := d.FuncAt(callee.PC); ok {
			s.goal = f.Entry
		}
		if s.goal == 0 {
			return nil, false, fmt.Errorf("function at %#x: %w", callee.PC, ErrNotFound)
		}
	}
	for i := range starts {
		if callee.PC != 0 && starts[i].Entry == s.goal {
			return nil, true, nil
		}
	}
	for i := range starts {
		s.visit(starts[i])
	}
	if jumps != nil && s.paths == 0 && !s.vague {
		s.code = true
		for i := range starts {
			s.visit(starts[i])
		}
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
// may then differ from what f was last entered with. Functions that DWARF does not describe,
// such as those of the C library, count as ones that do not lead back.
func (d *Data) TailsBack(f Func, resolve Resolver, jumps Jumps) bool {
	s := tailSearch{d: d, callee: Callee{PC: f.Low}, goal: f.Entry, resolve: resolve, jumps: jumps, known: true, onPath: make(map[uint64]bool)}
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
	d       *Data
	callee  Callee
	goal    uint64 // entry of the callee
	resolve Resolver
	jumps   Jumps
	known   bool // follow only functions that DWARF describes
	code    bool // prefer the code to DWARF: clang claims to have all call sites, but has none of undeclared functions

	path []TailCall
	// Functions are known by their entries.
	onPath map[uint64]bool
	cyclic map[uint64]bool // functions that tail calls lead back to
	sites  int
	paths  int
	vague  bool // some path cannot be followed, so none can be the only one

	// The paths found so far have the beginning head and the end rest in common; complete
	// says that head and rest are all of the path.
	head, rest []TailCall
	complete   bool
}

func (s *tailSearch) visit(f Func) {
	if s.vague || s.known && f.Unit == nil {
		return
	}
	if s.onPath[f.Entry] {
		if s.cyclic == nil {
			s.cyclic = make(map[uint64]bool)
		}
		s.cyclic[f.Entry] = true
		return
	}
	if len(s.path) == maxTailDepth {
		s.vague = true
		return
	}
	s.onPath[f.Entry] = true
	defer delete(s.onPath, f.Entry)
	tails, described := s.tailSites(f)
	if s.known && len(tails) == 0 {
		return
	}
	if (s.code || !described) && s.followCode(f) {
		return
	}
	for i := range tails {
		s.follow(f, &tails[i])
	}
}

// tailSites returns the tail calls of f that DWARF describes. described says whether it
// claims to describe all, and knows what they lead to.
func (s *tailSearch) tailSites(f Func) (tails []CallSite, described bool) {
	if f.Unit == nil {
		return nil, false
	}
	f.Unit.eachCallSite(f.Off, func(c *Cursor, e *Entry) bool {
		s.sites++
		if c.has(AttrCallTailCall) || c.has(AttrGNUTailCall) {
			if site, _ := f.Unit.callSite(c, e, 0); site.Tail {
				tails = append(tails, site)
			}
		}
		return s.sites < maxTailSites
	})
	if s.sites >= maxTailSites {
		s.vague = true
	}
	for i := range tails {
		if !tails[i].Origin.Valid() {
			return tails, false
		}
	}
	return tails, len(tails) > 0 || f.describesTails()
}

// describesTails reports whether the entry of f says that it has all tail calls.
func (f *Func) describesTails() bool {
	for _, a := range [...]Attr{AttrCallAllCalls, AttrCallAllTailCalls, AttrGNUAllCallSites, AttrGNUAllTailCallSites} {
		if v := f.Unit.Value(f.Off, a); v.Flag() {
			return true
		}
	}
	return false
}

// followCode continues through the jumps in the code of f. It returns false if it cannot.
func (s *tailSearch) followCode(f Func) bool {
	if s.jumps == nil {
		return false
	}
	jumps, ok := s.jumps(f.Entry)
	s.sites += len(jumps)
	if !ok || s.sites >= maxTailSites {
		s.vague = true
		return true
	}
	for i := range jumps {
		j := &jumps[i]
		var to []Func
		if j.To != 0 {
			to = []Func{s.d.funcFrom(j.To)}
		}
		s.through(TailCall{Func: f, PC: j.PC}, to, j.Name)
	}
	return true
}

// funcFrom returns the function that begins at entry. If DWARF does not describe it, it has
// only its entry.
func (d *Data) funcFrom(entry uint64) Func {
	if f, ok := d.FuncAt(entry); ok && f.Entry == entry {
		return f
	}
	return Func{Range: Range{Low: entry, High: entry + 1}, Entry: entry}
}

// FuncAt returns the function whose code contains pc. d may be nil.
func (d *Data) FuncAt(pc uint64) (Func, bool) {
	if d == nil {
		return Func{}, false
	}
	u, err := d.UnitForPC(pc)
	if err != nil {
		return Func{}, false
	}
	return u.FuncAt(pc)
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
	s.through(TailCall{f, site.LookupPC(), site.DIE}, targets, name)
}

// through continues through a tail call to one of the functions to, or to one of another file.
func (s *tailSearch) through(call TailCall, to []Func, name string) {
	if s.vague {
		return
	}
	s.path = append(s.path, call)
	if s.callee.is(name) {
		s.found()
	}
	for _, t := range to {
		if s.callee.PC != 0 && t.Entry == s.goal {
			s.found()
		} else {
			s.visit(t)
		}
	}
	s.path = s.path[:len(s.path)-1]
}

// repeats reports whether a function of the only path found may have run several times.
func (s *tailSearch) repeats() bool {
	return slices.ContainsFunc(s.head, func(c TailCall) bool { return s.cyclic[c.Func.Entry] })
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
	if a.Func.Entry != b.Func.Entry {
		return false
	}
	if a.PC != b.PC {
		a.PC, a.Site = 0, DIE{}
	}
	return true
}
