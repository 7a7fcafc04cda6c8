package python

import (
	"cmp"
	"slices"
	"strings"
)

// Limits on the variables that name what leads to objects.
const (
	maxModuleObjects = 1 << 12
	maxModuleNames   = 1 << 13
	maxNamedFrames   = 1 << 16 // of all threads
	maxRootNames     = 1 << 20
	mainModule       = "__main__"
)

// Variables implements heap.Objects: the variables of modules, those of the program's own first, and of calls. What begins and ends with two
// underscores is Python's own, and modules lead to one another.
func (r *runtime) Variables(yield func(name string, value uint64) bool) {
	if r.free {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	left := maxRootNames
	give := func(name string, value uint64) bool {
		left--
		return left >= 0 && r.p.Spend(1) == nil && yield(name, value)
	}
	type module struct {
		name   string
		at     uint64
		within []pair
	}
	var list []module
	read := 0
	for _, at := range r.modules {
		m := module{at: at}
		if read > maxRootNames {
			break
		}
		m.within, _, _ = r.pairs(r.word(at+r.at("object.size")), maxModuleNames)
		read += len(m.within)
		for _, p := range m.within {
			if name, _ := r.str(p.key, len("__name__")); name == "__name__" {
				m.name, _ = r.str(p.value, maxName)
				break
			}
		}
		if m.name != "" {
			list = append(list, m)
		}
	}
	slices.SortFunc(list, func(a, b module) int {
		if main := a.name == mainModule; main != (b.name == mainModule) {
			if main {
				return -1
			}
			return 1
		}
		return cmp.Or(cmp.Compare(a.name, b.name), cmp.Compare(a.at, b.at))
	})
	for i, m := range list {
		if i == 1 && !r.locals(give) { // after the program's own
			return
		}
		for _, p := range m.within {
			name, ok := r.str(p.key, maxName)
			if !ok || strings.HasPrefix(name, "__") && strings.HasSuffix(name, "__") {
				continue
			}
			if t := r.typeAt(r.field(p.value, "object.type")); t == nil || t.name == "module" {
				continue
			}
			if !give(m.name+"."+name, p.value) {
				return
			}
		}
	}
	if len(list) < 2 && !r.locals(give) {
		return
	}
	for _, m := range list {
		if !give("module "+m.name, m.at) {
			return
		}
	}
}

// locals calls yield for the variables of calls.
func (r *runtime) locals(yield func(name string, value uint64) bool) bool {
	left := maxNamedFrames
	for i := range r.states {
		if left <= 0 {
			break
		}
		frames, _ := r.chain(&r.states[i])
		for _, f := range frames {
			if left--; left < 0 {
				break
			}
			c := r.codeIn(f.code)
			if c == nil {
				continue
			}
			if !c.namesRead {
				c.namesRead = true
				r.readNames(c)
			}
			function := r.functionOf(c, f.at)
			if function == "<module>" {
				continue // its variables are the module's
			}
			names := c.names[:min(len(c.names), maxVariables)]
			for k, v := range r.words(f.at+r.at("frame.localsplus"), uint64(len(names))) {
				if v &^= r.tag(); v != 0 && !yield(names[k]+" of "+function+"()", v) {
					return false
				}
			}
		}
	}
	return true
}
