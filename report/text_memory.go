package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

const (
	shownTypes  = 25
	shownRoots  = 12
	shownBlocks = 10
	barColumns  = 20
	pathColumns = 160
)

// WriteMemoryJSON writes m as a JSON document. The error is w's.
func WriteMemoryJSON(w io.Writer, m *Memory) error {
	j := jsonWriter{w: w}
	mine := *m
	mine.Schema = MemorySchema
	j.putMemory(&mine)
	j.buf = append(j.buf, '\n')
	j.flush()
	return j.err
}

// WriteMemoryText writes m for people: what the memory is for, each allocator, the types with the most bytes, what leads to them, the largest
// blocks, and what nothing leads to. The error is w's.
func WriteMemoryText(w io.Writer, m *Memory, opts TextOptions) error {
	t := &textWriter{lineWriter: newLineWriter(w, opts), r: &Report{}, opts: opts}
	t.infoHead(&m.Dump)
	t.memoryAreas(m)
	for i := range m.Allocators {
		t.allocator(&m.Allocators[i])
	}
	if len(m.Allocators) == 0 {
		t.end()
		t.line(plain, "No blocks of an allocator that is known are in memory.")
	}
	if len(m.Types) > 0 {
		t.memoryHeading("Types of blocks in use [likely]", len(m.Types), shownTypes)
		t.types(m.Types, shownTypes)
		t.idle(m)
	}
	if len(m.Roots) > 0 {
		t.memoryHeading("What leads to them", len(m.Roots), shownRoots)
		most, tab := m.Roots[0].Bytes, table{heads: []string{">bytes", "", ">blocks", "from"}}
		for _, r := range m.Roots[:min(len(m.Roots), shownRoots)] {
			tab.add(sizeText(r.Bytes), bar(r.Bytes, most), strconv.Itoa(r.Count), brief(r.Name, pathColumns))
		}
		tab.write(t.lineWriter)
	}
	t.memoryBlocks("Largest blocks", m.Largest)
	t.memoryBlocks("Blocks that keep most alive", m.Keepers)
	t.unreached(m)
	if len(m.Warnings) > 0 {
		t.end()
	}
	t.warnings(m.Warnings)
	return t.w.Flush()
}

// memoryHeading writes the title of a table, with how many rows are left out.
func (t *textWriter) memoryHeading(title string, all, shown int) {
	t.end()
	t.put(bold, title)
	if all > shown {
		t.put(plain, fmt.Sprintf(" (%d of %d; --format json has more)", shown, all))
	}
	t.end()
}

func (t *textWriter) memoryAreas(m *Memory) {
	t.end()
	t.put(bold, "Memory: ")
	text := sizeText(m.Mapped) + " mapped"
	if m.Missing > 0 {
		text += ", of which the dump lacks " + sizeText(m.Missing) + " that may be written"
	}
	t.line(plain, text)
	tab := table{heads: []string{">bytes", "", ">mappings", "for"}}
	most := uint64(0)
	for _, a := range m.Areas {
		most = max(most, a.Bytes)
	}
	for _, a := range m.Areas {
		tab.add(sizeText(a.Bytes), bar(a.Bytes, most), strconv.Itoa(a.Mappings), a.Kind)
	}
	tab.write(t.lineWriter)
}

// bar is as long as a number is large beside the largest.
func bar(n, most uint64) string {
	if most == 0 {
		return ""
	}
	return strings.Repeat("#", int(float64(n)/float64(most)*barColumns+0.5))
}

func percent(n, of uint64) string {
	if of == 0 {
		return "0 %"
	}
	return fmt.Sprintf("%.0f %%", 100*float64(n)/float64(of))
}

func blocksText(c MemoryCount) string {
	if c.Count == 1 {
		return "1 block, " + sizeText(c.Bytes)
	}
	return fmt.Sprintf("%d blocks, %s", c.Count, sizeText(c.Bytes))
}

func (t *textWriter) allocator(a *MemoryAllocator) {
	t.end()
	t.put(bold, brief(a.Name, maxName)+": ")
	t.line(plain, blocksText(a.Used)+" in use")
	if a.Free.Count > 0 {
		text := fmt.Sprintf("free: %s (%s of both), the largest %s", blocksText(a.Free), percent(a.Free.Bytes, a.Free.Bytes+a.Used.Bytes), sizeText(a.LargestFree))
		for i, l := range a.Lists {
			sep := ", "
			if i == 0 {
				sep = "; "
			}
			name := l.Name
			if name == "" {
				name = "on no list"
			}
			text += fmt.Sprintf("%s%s: %s", sep, brief(name, maxName), blocksText(MemoryCount{l.Count, l.Bytes}))
		}
		t.put(plain, "  ")
		t.wrap(plain, 4, text)
	}
	for i, d := range a.Damages {
		if i == 3 {
			t.line(plain, fmt.Sprintf("  and %d more", len(a.Damages)-i))
			break
		}
		t.put(plain, "  ")
		t.wrap(plain, 4, "damaged at "+brief(d, maxPath))
	}
	tab := table{heads: []string{">up to", ">blocks", ">bytes", ""}}
	most := uint64(0)
	for _, s := range a.Sizes {
		most = max(most, s.Bytes)
	}
	for _, s := range a.Sizes {
		tab.add(sizeText(s.Size), strconv.Itoa(s.Count), sizeText(s.Bytes), bar(s.Bytes, most))
	}
	tab.write(t.lineWriter)
}

func (t *textWriter) types(list []MemoryType, shown int) {
	tab := table{heads: []string{">bytes", "", ">count", ">keeps alive", "type"}}
	for _, x := range list[:min(len(list), shown)] {
		name := brief(x.Name, pathColumns)
		if x.Name == "" {
			name = fmt.Sprintf("(not known, %d bytes)", x.Size)
		}
		keeps := ""
		if x.Retained > 0 {
			keeps = sizeText(x.Retained)
		}
		tab.add(sizeText(x.Bytes), bar(x.Bytes, list[0].Bytes), strconv.Itoa(x.Count), keeps, name)
	}
	tab.dropEmpty()
	tab.write(t.lineWriter)
}

// leastIdle is how large a part of what is in use containers must have for nothing, to be told.
const leastIdle = 100

// idle says how much containers have for elements that they do not hold.
func (t *textWriter) idle(m *Memory) {
	if text := m.idle(); text != "" {
		t.put(plain, "  ")
		t.wrap(plain, 4, "room in containers for elements that they do not hold: "+text)
	}
}

// idle is how much containers have for elements that they do not hold, and which the most; "" if that is little.
func (m *Memory) idle() string {
	all, used := uint64(0), uint64(0)
	for i := range m.Allocators {
		used += m.Allocators[i].Used.Bytes
	}
	list := slices.Clone(m.Types)
	slices.SortStableFunc(list, func(a, b MemoryType) int { return cmp.Compare(b.Idle, a.Idle) })
	var parts []string
	for _, x := range list {
		if all += x.Idle; x.Idle > 0 && len(parts) < 3 {
			parts = append(parts, fmt.Sprintf("%s of %s in %s", sizeText(x.Idle), sizeText(x.Bytes), brief(x.Name, pathColumns)))
		}
	}
	if all == 0 || all < used/leastIdle {
		return ""
	}
	return sizeText(all) + "; " + strings.Join(parts, ", ")
}

func (t *textWriter) memoryBlocks(title string, list []MemoryBlock) {
	if len(list) == 0 {
		return
	}
	t.memoryHeading(title, len(list), shownBlocks)
	tab := table{heads: []string{"address", ">bytes", ">keeps alive", "type", "from"}}
	for _, b := range list[:min(len(list), shownBlocks)] {
		keeps := ""
		if b.Retained > 0 {
			keeps = sizeText(b.Retained)
		}
		tab.add(fmt.Sprintf("%#x", uint64(b.Address)), sizeText(b.Size), keeps, brief(b.Type, pathColumns), brief(b.Path, pathColumns))
	}
	tab.dropEmpty()
	tab.write(t.lineWriter)
}

// Allocators whose lost blocks are no leaks, or need not be.
const (
	goHeap     = "Go heap"
	pythonHeap = "Python's small objects"
	javaHeap   = "Java heap"
)

// unreached says what is lost, as far as that can be said.
func (t *textWriter) unreached(m *Memory) {
	u := m.Unreached
	if u == nil {
		return
	}
	t.end()
	t.put(bold, "Nothing leads to: ")
	if u.Count == 0 {
		t.line(plain, "no block; what only looks like a pointer counts as one")
		return
	}
	text := blocksText(MemoryCount{u.Count, u.Bytes})
	switch {
	case len(m.Allocators) == 1 && m.Allocators[0].Name == goHeap:
		text += ", which the runtime has not collected yet"
	case slices.ContainsFunc(m.Allocators, func(a MemoryAllocator) bool { return len(a.Damages) > 0 }):
		text += "; pointers to them may be in blocks that damage hides"
	case slices.ContainsFunc(m.Warnings, func(w Warning) bool { return w.Code == WarnLate }):
		text += " [possibly lost: the process ran on]"
	case m.Missing == 0 && slices.ContainsFunc(m.Allocators, func(a MemoryAllocator) bool { return a.Name == pythonHeap }):
		text += " [likely leaked, or cycles that Python has not collected yet]"
	case m.Missing == 0 && slices.ContainsFunc(m.Allocators, func(a MemoryAllocator) bool { return a.Name == javaHeap }):
		text += " [of Java not collected yet, else likely leaked]"
	case m.Missing > 0:
		text += "; pointers to them may be in memory that the dump lacks"
	default:
		text += " [likely leaked]"
	}
	if u.Heads.Count < u.Count {
		text += fmt.Sprintf("; to %s of them none of the others points", blocksText(u.Heads))
	}
	t.line(plain, text)
	t.types(u.Types, shownBlocks)
	t.memoryBlocks("The largest of them", u.Blocks)
}

// Summary is what a Memory says in all, in few rows of a name and a text.
func (m *Memory) Summary() [][2]string {
	rows := [][2]string{{"mapped", sizeText(m.Mapped)}}
	for i := range m.Allocators {
		a := &m.Allocators[i]
		rows = append(rows, [2]string{a.Name, blocksText(a.Used) + " in use, " + blocksText(a.Free) + " free"})
	}
	if u := m.Unreached; u != nil && u.Count > 0 {
		rows = append(rows, [2]string{"nothing leads to", blocksText(MemoryCount{u.Count, u.Bytes})})
	}
	if text := m.idle(); text != "" {
		rows = append(rows, [2]string{"empty room in containers", text})
	}
	if m.Missing > 0 {
		rows = append(rows, [2]string{"not in the dump", sizeText(m.Missing)})
	}
	return rows
}
