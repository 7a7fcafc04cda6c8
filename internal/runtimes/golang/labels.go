package golang

import (
	"cmp"
	"slices"

	"github.com/corewalk/corewalk/tasks"
)

// maxLabels limits the labels of one goroutine.
const maxLabels = 128

// labels reads what runtime/pprof attached to a goroutine: from Go 1.24 on a pointer to a slice of pairs
// of strings, before a pointer to a map from string to string.
func (r *runtime) labels(at uint64) []tasks.Label {
	if at == 0 {
		return nil
	}
	var found []tasks.Label
	if r.minor >= 24 {
		ws := uint64(r.Arch.WordSize)
		list, _ := r.word(at)
		n, ok := r.word(at + ws)
		if !ok || n > maxLabels {
			return nil
		}
		for i := range n {
			found = r.label(found, list+i*4*ws, list+(4*i+2)*ws)
		}
	} else if m, ok := r.word(at); ok {
		found = r.labelMap(m)
	}
	slices.SortFunc(found, func(a, b tasks.Label) int { return cmp.Compare(a.Key, b.Key) })
	return found
}

// label adds a label whose key and value are strings in memory.
func (r *runtime) label(found []tasks.Label, key, value uint64) []tasks.Label {
	k, ok := r.stringAt(key)
	v, ok2 := r.stringAt(value)
	if !ok || !ok2 {
		return found
	}
	return append(found, tasks.Label{Key: k, Value: v})
}

// stringAt reads a string variable.
func (r *runtime) stringAt(at uint64) (string, bool) {
	p, ok := r.word(at)
	n, ok2 := r.word(at + uint64(r.Arch.WordSize))
	if !ok || !ok2 {
		return "", false
	}
	return r.text(p, n)
}

// labelMap reads a map[string]string of Go before 1.24 (runtime.hmap): buckets of eight, each with a byte for each key
// (below minTopHash if there is none), the keys, the values and a pointer to the next bucket. While the map grows, some
// entries are in the old buckets yet.
func (r *runtime) labelMap(m uint64) []tasks.Label {
	const entries, minTopHash = 8, 5
	ws := uint64(r.Arch.WordSize)
	size := entries + entries*4*ws + ws
	var found []tasks.Label
	log := r.bytes(m+ws+1, 1)
	if log == nil || log[0] > 7 {
		return nil
	}
	table := func(at uint64, count uint64) {
		for i := range count {
			b := at + i*size
			for n := 0; b != 0 && n < maxLabels && len(found) < maxLabels; n++ {
				top := r.bytes(b, entries)
				if top == nil || r.p.Spend(1) != nil {
					return
				}
				for k := range uint64(entries) {
					if top[k] >= minTopHash {
						found = r.label(found, b+entries+k*2*ws, b+entries+(entries+k)*2*ws)
					}
				}
				b, _ = r.word(b + size - ws)
			}
		}
	}
	buckets, _ := r.word(m + ws + 8)
	old, _ := r.word(m + 2*ws + 8)
	if buckets != 0 {
		table(buckets, 1<<log[0])
	}
	if old != 0 && log[0] > 0 {
		table(old, 1<<(log[0]-1))
	}
	return slices.CompactFunc(found, func(a, b tasks.Label) bool { return a.Key == b.Key })
}
