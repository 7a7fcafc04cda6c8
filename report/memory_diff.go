package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
)

// MemoryDiffSchema identifies the schema of WriteMemoryDiffJSON's document.
const MemoryDiffSchema = "corewalk-memory-diff/1"

// A MemoryDiff says what fills the memory of one process more or less than that of another: of the same program later, or of another run of it.
type MemoryDiff struct {
	// Schema is the constant MemoryDiffSchema. WriteMemoryDiffJSON writes the constant whatever this field holds.
	Schema string        `json:"schema"`
	Old    Dump          `json:"old"` // the dump that is compared with
	New    Dump          `json:"new"` // the other
	Areas  []MemoryDelta `json:"areas"`
	// Allocators are the blocks in use of each.
	Allocators []MemoryDelta `json:"allocators"`
	// Types are the types of blocks in use whose number or bytes changed, what grew most first and what shrank most last.
	Types []MemoryDelta `json:"types"`
	// Unreached are the blocks to which nothing leads; nil if that was not found out for both.
	Unreached *MemoryDelta `json:"unreached,omitempty"`
}

// A MemoryDelta is what changed of one kind of memory.
type MemoryDelta struct {
	Name string `json:"name,omitempty"` // as in Memory
	// Size is that of each block, in bytes, of those whose type is not known.
	Size     uint64 `json:"size,omitempty"`
	Bytes    int64  `json:"bytes"`     // more in the new one; negative for less
	Count    int    `json:"count"`     // blocks, or mappings, more in the new one
	OldBytes uint64 `json:"old_bytes"` // what there was in the old one
	OldCount int    `json:"old_count"` // of blocks, or mappings
	NewBytes uint64 `json:"new_bytes"` // what there is in the new one
	NewCount int    `json:"new_count"` // of blocks, or mappings
}

// DiffMemory compares what fills the memory of two processes.
func DiffMemory(before, after *Memory) *MemoryDiff {
	d := &MemoryDiff{Old: before.Dump, New: after.Dump}
	d.Areas = deltas(before.Areas, after.Areas, func(a *MemoryPart) MemoryDelta {
		return MemoryDelta{Name: a.Kind, NewBytes: a.Bytes, NewCount: a.Mappings}
	})
	d.Allocators = deltas(before.Allocators, after.Allocators, func(a *MemoryAllocator) MemoryDelta {
		return MemoryDelta{Name: a.Name, NewBytes: a.Used.Bytes, NewCount: a.Used.Count}
	})
	d.Types = deltas(before.Types, after.Types, func(a *MemoryType) MemoryDelta {
		return MemoryDelta{Name: a.Name, Size: a.Size, NewBytes: a.Bytes, NewCount: a.Count}
	})
	if u, v := before.Unreached, after.Unreached; u != nil && v != nil {
		all := deltas([]MemoryUnreached{*u}, []MemoryUnreached{*v}, func(a *MemoryUnreached) MemoryDelta { return MemoryDelta{NewBytes: a.Bytes, NewCount: a.Count} })
		d.Unreached = &MemoryDelta{OldBytes: u.Bytes, OldCount: u.Count, NewBytes: v.Bytes, NewCount: v.Count}
		if len(all) > 0 {
			d.Unreached = &all[0]
		}
	}
	return d
}

// deltas pairs rows by their names and sizes. Those that did not change are left out.
func deltas[T any](before, after []T, row func(*T) MemoryDelta) []MemoryDelta {
	type key struct {
		name string
		size uint64
	}
	rows := map[key]*MemoryDelta{}
	order := []*MemoryDelta{}
	get := func(x MemoryDelta) *MemoryDelta {
		k := key{x.Name, x.Size}
		if rows[k] == nil {
			rows[k] = &MemoryDelta{Name: x.Name, Size: x.Size}
			order = append(order, rows[k])
		}
		return rows[k]
	}
	for i := range before {
		x := row(&before[i])
		d := get(x)
		d.OldBytes, d.OldCount = x.NewBytes, x.NewCount
	}
	for i := range after {
		x := row(&after[i])
		d := get(x)
		d.NewBytes, d.NewCount = x.NewBytes, x.NewCount
	}
	out := []MemoryDelta{}
	for _, d := range order {
		d.Bytes, d.Count = int64(d.NewBytes-d.OldBytes), d.NewCount-d.OldCount
		if d.Bytes != 0 || d.Count != 0 {
			out = append(out, *d)
		}
	}
	slices.SortStableFunc(out, func(a, b MemoryDelta) int {
		return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(b.Count, a.Count), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Size, b.Size))
	})
	return out
}

// WriteMemoryDiffJSON writes d as a JSON document. The error is w's.
func WriteMemoryDiffJSON(w io.Writer, d *MemoryDiff) error {
	j := jsonWriter{w: w}
	mine := *d
	mine.Schema = MemoryDiffSchema
	j.putMemoryDiff(&mine)
	j.buf = append(j.buf, '\n')
	j.flush()
	return j.err
}

// WriteMemoryDiffText writes d for people: what grew most and what shrank most. The error is w's.
func WriteMemoryDiffText(w io.Writer, d *MemoryDiff, opts TextOptions) error {
	t := &textWriter{lineWriter: newLineWriter(w, opts), r: &Report{}, opts: opts}
	t.line(plain, "old: "+brief(d.Old.Path, maxPath))
	t.line(plain, "new: "+brief(d.New.Path, maxPath))
	t.deltas("Memory", "for", d.Areas)
	t.deltas("Blocks in use", "allocator", d.Allocators)
	t.deltas("Types of blocks in use", "type", d.Types)
	if u := d.Unreached; u != nil && (u.Bytes != 0 || u.Count != 0) {
		t.deltas("Blocks to which nothing leads", "", []MemoryDelta{*u})
	}
	if len(d.Areas)+len(d.Allocators)+len(d.Types) == 0 {
		t.end()
		t.line(plain, "Nothing changed.")
	}
	return t.w.Flush()
}

func (t *textWriter) deltas(title, what string, list []MemoryDelta) {
	if len(list) == 0 {
		return
	}
	t.memoryHeading(title, len(list), 2*shownTypes)
	tab := table{heads: []string{">change", ">count", ">old", ">new", what}}
	for i := range list {
		if i >= shownTypes && i < len(list)-shownTypes { // what shrank is at the end
			continue
		}
		x := &list[i]
		name := brief(x.Name, pathColumns)
		if x.Name == "" && x.Size > 0 {
			name = fmt.Sprintf("(not known, %d bytes)", x.Size)
		}
		change := "+" + sizeText(uint64(x.Bytes))
		if x.Bytes < 0 {
			change = "-" + sizeText(uint64(-x.Bytes))
		}
		count := strconv.Itoa(x.Count)
		if x.Count > 0 {
			count = "+" + count
		}
		tab.add(change, count, sizeText(x.OldBytes), sizeText(x.NewBytes), name)
	}
	tab.write(t.lineWriter)
}
