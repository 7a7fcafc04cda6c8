package golang

import (
	"strings"
	"sync"

	"github.com/corewalk/corewalk/unwind"
)

// names are the functions at addresses of code, each asked for once: of a hundred thousand goroutines most begin at the
// same few, and wait in the same few.
type names struct {
	mu        sync.Mutex // guards the maps; no other lock is taken inside
	functions map[unwind.Address]string
	calls     map[unwind.Address][]string
}

// kept returns what a map has for an address, or what find finds, which the map then has unless it has many.
func kept[V any](n *names, of *map[unwind.Address]V, at unwind.Address, find func() V) V {
	n.mu.Lock()
	v, ok := (*of)[at]
	n.mu.Unlock()
	if ok {
		return v
	}
	v = find()
	n.mu.Lock()
	defer n.mu.Unlock()
	if *of == nil {
		*of = map[unwind.Address]V{}
	}
	if len(*of) < maxCodes {
		(*of)[at] = v
	}
	return v
}

// calls names the function of a frame and those inlined there, the innermost first. The list is not to be changed.
func (m memory) calls(f *unwind.Frame) []string {
	at := f.LookupAddr()
	lookup, ok := m.p.Names.(unwind.CallLookup)
	if !ok {
		return []string{m.function(at, false)}
	}
	return kept(m.names, &m.names.calls, at, func() []string {
		calls, err := lookup.LookupCalls(at, nil)
		if err != nil {
			return nil
		}
		names := make([]string, len(calls))
		for i := range calls {
			names[i] = calls[i].Name
		}
		return names
	})
}

// function names the function that contains an address; "" if nothing does. after says that
// the address is one after a call.
func (m memory) function(at unwind.Address, after bool) string {
	if m.p.Names == nil || at == 0 {
		return ""
	}
	if after {
		at--
	}
	return kept(m.names, &m.names.functions, at, func() string {
		name, _, err := m.p.Names.LookupAtAddr(at)
		if err != nil {
			return ""
		}
		return strings.TrimSuffix(name, "()")
	})
}
