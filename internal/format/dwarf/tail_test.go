package dwarf

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// A graph of functions of 0x100 bytes each, with their calls.
type callGraph struct {
	f     *dwarfFile
	nodes map[string]*node
	entry map[string]uint64
	gnu   bool
	v     int
}

// edges are "a>b" for a call, "a~b" for a tail call, "a~?" for an indirect one.
func newCallGraph(gnu bool, names string, edges ...string) *callGraph {
	g := &callGraph{f: newFile(binary.LittleEndian), nodes: map[string]*node{}, entry: map[string]uint64{}, gnu: gnu, v: 5}
	if gnu {
		g.v = 4
	}
	root := die(TagCompileUnit, pcs(0x1000, 0x10000))
	for i, n := range strings.Fields(names) {
		g.entry[n] = 0x1000 + uint64(i)*0x100
		g.nodes[n] = die(TagSubprogram, name(n), pcs(g.entry[n], 0x100))
		root.add(g.nodes[n])
	}
	for i, e := range edges {
		from, to, tail := strings.Cut(e, "~")
		if !tail {
			from, to, _ = strings.Cut(e, ">")
		}
		g.nodes[from].add(g.site(g.retPC(from, i), to, tail))
	}
	g.f.unit(&unitSpec{version: g.v, addrSize: 8, root: root})
	return g
}

// retPC returns the return address of a function's i-th edge.
func (g *callGraph) retPC(from string, i int) uint64 { return g.entry[from] + 0x10 + uint64(i) }

func (g *callGraph) site(ret uint64, to string, tail bool) *node {
	tag, pc, origin, tailAttr := TagCallSite, AttrCallReturnPC, AttrCallOrigin, AttrCallTailCall
	if g.gnu {
		tag, pc, origin, tailAttr = TagGNUCallSite, AttrLowPC, AttrAbstractOrigin, AttrGNUTailCall
	}
	n := die(tag, at(pc, FormAddr, ret))
	if tail {
		n.attrs = append(n.attrs, at(tailAttr, FormFlagPresent, 1))
	}
	if to == "?" {
		n.attrs = append(n.attrs, at(AttrCallTarget, FormExprloc, []byte{0x50}))
		return n
	}
	if g.nodes[to] == nil { // in another unit
		g.nodes[to] = die(TagSubprogram, name(to), at(AttrDeclaration, FormFlagPresent, 1))
		n.add(g.nodes[to])
	}
	n.attrs = append(n.attrs, at(origin, FormRef4, g.nodes[to]))
	return n
}

func TestTailChain(t *testing.T) {
	cases := []struct {
		names    string
		edges    []string // the first is the call asked about
		callee   string
		want     string
		complete bool
		found    bool
	}{
		{"main a", []string{"main>a"}, "a", "", true, true},
		{"main a b", []string{"main>a", "a~b"}, "b", "a", true, true},
		{"main a b c d", []string{"main>a", "a~b", "b~c", "c~d"}, "d", "a b c", true, true},
		{"main a b", []string{"main>a", "a>b"}, "b", "", false, false},
		{"main a b c", []string{"main>a", "a~b", "a~c"}, "c", "a", true, true},
		// Two paths: what they have in common.
		{"main a b c d", []string{"main>a", "a~b", "a~c", "b~d", "c~d"}, "d", "a?", false, true},
		{"main a b c d", []string{"main>a", "a~b", "a~c", "b~c", "c~d"}, "d", "a? c", false, true},
		// Two places in one function: the path is known, the line is not.
		{"main a b c", []string{"main>a", "a~b", "a~b", "b~c"}, "c", "a? b", true, true},
		// A cycle, and a function that calls itself: they may have run several times.
		{"main a b c", []string{"main>a", "a~b", "b~a", "b~c"}, "c", "a b", false, true},
		{"main a b", []string{"main>a", "a~a", "a~b"}, "b", "a", false, true},
		{"main a", []string{"main>a", "a~a"}, "a", "", true, true}, // see TailsBack
		// A cycle that does not lead to the function.
		{"main a b c", []string{"main>a", "a~b", "a~c", "c~c"}, "b", "a", true, true},
		// An indirect call may lead anywhere.
		{"main a b", []string{"main>a", "a~b", "a~?"}, "b", "", false, false},
		{"main a b", []string{"main>?", "a~b"}, "b", "", false, false},
		// Through a declaration.
		{"main a b", []string{"main>a", "a~ext"}, "b", "a", true, true},
		{"main a b", []string{"main>ext"}, "b", "", true, true},
	}
	for _, gnu := range []bool{false, true} {
		for _, c := range cases {
			t.Run(fmt.Sprintf("gnu=%v %v", gnu, c.edges), func(t *testing.T) {
				g := newCallGraph(gnu, c.names, c.edges...)
				resolve := func(n string) (uint64, bool) { return g.entry["b"], n == "ext" }
				chain, complete, err := g.f.data().TailChain(g.retPC("main", 0), Callee{PC: g.entry[c.callee] + 0x20}, resolve, nil)
				if c.found != (err == nil) || err != nil && !errors.Is(err, ErrNotFound) {
					t.Fatalf("error %v", err)
				}
				var got []string
				for _, call := range chain {
					s := call.Func.FuncInfo().Name
					if call.PC == 0 {
						s += "?"
					} else if !call.Func.Contains(call.PC) {
						t.Errorf("%s calls from %#x", s, call.PC)
					}
					got = append(got, s)
				}
				if s := strings.Join(got, " "); s != c.want || complete != c.complete {
					t.Errorf("got %q, complete %v; want %q, %v", s, complete, c.want, c.complete)
				}
			})
		}
	}
}

// What a caller passed says nothing of a function that a tail call may have entered again.
func TestTailsBack(t *testing.T) {
	for _, c := range []struct {
		edges string
		want  bool
	}{
		{"a>b b>a", false}, {"a~b", false}, {"a~a", true}, {"a~b b~a", true}, {"a~b b~c c~a", true},
		{"a~b b~c c~b", false}, {"a~?", true}, {"a~b b~?", true}, {"a>? b~?", false}, {"a~puts", false},
	} {
		g := newCallGraph(false, "a b c", strings.Fields(c.edges)...)
		d := g.f.data()
		a, ok := d.FuncAt(g.entry["a"])
		if got := d.TailsBack(a, nil, nil); got != c.want || !ok {
			t.Errorf("%s: %v, found %v", c.edges, got, ok)
		}
	}
}

// Where DWARF describes no call sites, the code tells the tail calls. d and e have no DWARF.
func TestTailChainInCode(t *testing.T) {
	for _, c := range []struct {
		code   string
		callee string
		want   string
	}{
		{"a~b b~c", "c", "a b true"},
		{"a~b b~d d~c", "c", "a b d true"},
		{"a~b b~d", "d", "a b true"},
		{"a~b b~puts", "puts", "a b true"},
		{"a~b a~d b~c d~c", "c", "a? false"},
		{"a~b b~a b~c", "c", "a b false"},
		{"a~b b~?", "b", "a true"},
		{"a~b b~? b~c", "c", "none"},
		{"a~b", "c", "none"},
		{"a~b b~fputs", "puts", "none"},
	} {
		g := newCallGraph(false, "main a b c", "main>a")
		g.entry["d"], g.entry["e"] = 0x9000, 0x9100
		byEntry := map[uint64]string{}
		for n, entry := range g.entry {
			byEntry[entry] = n
		}
		jumps := func(entry uint64) (out []Jump, ok bool) {
			for i, e := range strings.Fields(c.code) {
				from, to, _ := strings.Cut(e, "~")
				if from == byEntry[entry] && to == "?" {
					return nil, false
				}
				if from == byEntry[entry] {
					j := Jump{PC: entry + 0x20 + uint64(i), To: g.entry[to]}
					if j.To == 0 {
						j.Name = to
					}
					out = append(out, j)
				}
			}
			return out, true
		}
		callee := Callee{PC: g.entry[c.callee] + 0x20, Entry: g.entry[c.callee]}
		if g.entry[c.callee] == 0 {
			callee = Callee{Named: func(name string) bool { return name == c.callee }}
		}
		chain, complete, err := g.f.data().TailChain(g.retPC("main", 0), callee, nil, jumps)
		got := ""
		for _, call := range chain {
			got += byEntry[call.Func.Entry]
			if call.PC == 0 {
				got += "?"
			}
			got += " "
		}
		if got += fmt.Sprint(complete); err != nil {
			got = "none"
		}
		if got != c.want {
			t.Errorf("%s, %s runs: %s, want %s (%v)", c.code, c.callee, got, c.want, err)
		}
	}
}

// A callee in another file is known by its name.
func TestTailChainElsewhere(t *testing.T) {
	g := newCallGraph(false, "main a", "main>a", "a~puts")
	chain, complete, err := g.f.data().TailChain(g.retPC("main", 0), Callee{Name: "puts"}, nil, nil)
	if err != nil || !complete || len(chain) != 1 || chain[0].Func.FuncInfo().Name != "a" {
		t.Errorf("%+v, %v, %v", chain, complete, err)
	}
	g = newCallGraph(false, "main", "main>puts")
	if chain, complete, err = g.f.data().TailChain(g.retPC("main", 0), Callee{Name: "puts"}, nil, nil); err != nil || !complete || len(chain) != 0 {
		t.Errorf("direct call: %+v, %v, %v", chain, complete, err)
	}
}

// A graph in which every function calls every other has too many paths to follow.
func TestTailChainBounds(t *testing.T) {
	var names, edges []string
	for i := range 40 {
		names = append(names, fmt.Sprintf("f%d", i))
	}
	edges = append(edges, "f0>f1")
	for i := 1; i < 39; i++ {
		for j := 1; j < 39; j++ {
			edges = append(edges, fmt.Sprintf("f%d~f%d", i, j))
		}
	}
	g := newCallGraph(false, strings.Join(names, " "), edges...)
	if _, _, err := g.f.data().TailChain(g.retPC("f0", 0), Callee{PC: g.entry["f39"]}, nil, nil); !errors.Is(err, ErrNotFound) {
		t.Errorf("error %v", err)
	}
}

func TestCallSites(t *testing.T) {
	g := newCallGraph(false, "main a b", "main>a", "main~b", "main>?")
	u, err := g.f.data().UnitForPC(0x1000)
	if err != nil {
		t.Fatal(err)
	}
	sites := u.CallSites(g.nodes["main"].off, nil)
	if len(sites) != 3 {
		t.Fatalf("%d call sites", len(sites))
	}
	if s := sites[0]; s.ReturnPC != 0x1010 || s.LookupPC() != 0x100f || s.Origin.Off != g.nodes["a"].off || s.Tail {
		t.Errorf("first: %+v", s)
	}
	if s := sites[1]; !s.Tail || s.Origin.Off != g.nodes["b"].off {
		t.Errorf("second: %+v", s)
	}
	if s := sites[2]; s.Origin.Valid() || !slices.Equal(s.Target, []byte{0x50}) {
		t.Errorf("third: %+v", s)
	}
	if _, ok := u.CallSiteAt(g.nodes["main"].off, 0x1011); ok {
		t.Error("nothing returns from a tail call")
	}
}
