package symlookup

import (
	"cmp"
	"slices"
	"sync"

	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/unwind"
)

// maxAsked is how many symbols Recording records, and maxAskedName how long their names may be, in bytes.
const maxAsked, maxAskedName = 1 << 14, 1 << 10

// asked are the symbols that were found.
type asked struct {
	mu   sync.Mutex
	list map[askedKey]unwind.Symbol
}

type askedKey struct {
	start unwind.Address // of the library
	addr  unwind.Address
	name  string
}

// Recording records the symbols that SymbolByName and SymbolAt find, for Asked.
func Recording() Option {
	return func(l *Lookup) { l.asked = &asked{list: map[askedKey]unwind.Symbol{}} }
}

func (a *asked) add(lib *libstate.Library, s unwind.Symbol) {
	if a == nil || len(s.Name) > maxAskedName {
		return
	}
	k := askedKey{lib.Start, s.Addr, s.Name}
	a.mu.Lock()
	defer a.mu.Unlock()
	old, ok := a.list[k]
	if !ok && len(a.list) >= maxAsked {
		return
	}
	s.Size = max(s.Size, old.Size)
	a.list[k] = s
}

// Asked lists the symbols of a library that were found so far, in order of their addresses; none without Recording.
func (l *Lookup) Asked(lib *libstate.Library) []unwind.Symbol {
	if l.asked == nil {
		return nil
	}
	l.asked.mu.Lock()
	defer l.asked.mu.Unlock()
	var list []unwind.Symbol
	for k, s := range l.asked.list {
		if k.start == lib.Start {
			list = append(list, s)
		}
	}
	slices.SortFunc(list, func(x, y unwind.Symbol) int { return cmp.Or(cmp.Compare(x.Addr, y.Addr), cmp.Compare(x.Name, y.Name)) })
	return list
}
