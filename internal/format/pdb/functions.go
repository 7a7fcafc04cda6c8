package pdb

import "iter"

// Functions iterates over the functions of all modules of the program, then over the public names of others, without Frames and
// Linkage. An error is about one module; the others follow.
func (f *File) Functions() iter.Seq2[Symbol, error] {
	return func(yield func(Symbol, error) bool) {
		x, err := f.sections()
		if err != nil {
			yield(Symbol{}, err)
			return
		}
		mods, err := f.modules()
		if err != nil && !yield(Symbol{}, err) {
			return
		}
		known := map[place]bool{}
		for _, m := range mods {
			p, err := m.procs()
			if err != nil {
				if !yield(Symbol{}, err) {
					return
				}
				continue
			}
			for _, fn := range p.list {
				_, rec, _, ok := p.symbols.record(fn.at)
				start, ok2 := x.rva(fn.place)
				if !ok || !ok2 || len(rec) < 39 {
					continue
				}
				known[fn.place] = true
				if !yield(Symbol{Name: cstring(rec[39:]), Start: start, Size: fn.size}, nil) {
					return
				}
			}
		}
		pub, err := f.publics()
		if err != nil {
			yield(Symbol{}, err)
			return
		}
		for i := range pub.addrs.size / 4 {
			n, ok := pub.get(i)
			if !ok || !n.function || known[n.place] {
				continue
			}
			if start, ok := x.rva(n.place); ok && !yield(Symbol{Name: n.name(), Start: start, Public: true}, nil) {
				return
			}
		}
	}
}
