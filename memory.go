package corewalk

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/corewalk/corewalk/internal/heap/export"
	"github.com/corewalk/corewalk/internal/why/analysis"
	"github.com/corewalk/corewalk/report"
)

// A Memory says what fills the memory of a process, and has the blocks that it was made of.
type Memory struct {
	*report.Memory
	f     *Facts
	graph *analysis.HeapGraph
}

// MemoryOptions say how much is done to tell what fills the memory.
type MemoryOptions struct {
	// Limit is how many bytes of this program's memory the list of blocks may take; 0 means 460 MiB. If the blocks of the
	// process are too many for it, parts of the answer are left out, and a warning says which.
	Limit int
	// Progress is called with what is done next, in words, and with "" at the end. It may be nil.
	Progress func(what string)
}

// Memory says what fills the memory: what mappings are for, the blocks of the allocators that are known, their types, who
// keeps them alive, and the blocks that nothing points to. It reads all memory that can be written, which may be slow.
func (f *Facts) Memory(ctx context.Context, o MemoryOptions) (m *Memory, err error) {
	fault := f.t.guard(func() {
		var r *report.Memory
		var g *analysis.HeapGraph
		if r, g, err = f.engine.Memory(ctx, analysis.MemoryOptions{Limit: o.Limit, Progress: o.Progress}); err == nil {
			m = &Memory{r, f, g}
		}
	})
	if fault != nil {
		return nil, fault
	}
	return m, err
}

// Formats in which Export writes a heap.
const (
	MemoryHTML         = "html"         // a page of one file, which needs no network
	MemoryPprof        = "pprof"        // a profile for go tool pprof: types, and what keeps them alive
	MemoryHeapSnapshot = "heapsnapshot" // for DevTools of Chrome
	MemoryHprof        = "hprof"        // a heap dump of Java, for VisualVM and the like; types are classes
)

// ErrNoHeap means that a process has no blocks of an allocator that is known.
var ErrNoHeap = errors.New("no blocks of an allocator that is known are in memory")

// Export writes the blocks in use, their types, and who points at whom, in a format of other tools (MemoryHTML and so on).
// Call it before the Facts are closed. The error is ErrNoHeap if there are no blocks.
func (m *Memory) Export(ctx context.Context, w io.Writer, format string) (err error) {
	write, ok := map[string]func(context.Context, io.Writer, *export.Heap) error{
		MemoryHTML: export.WriteHTML, MemoryPprof: export.WritePprof, MemoryHeapSnapshot: export.WriteHeapSnapshot, MemoryHprof: export.WriteHprof,
	}[format]
	if !ok {
		return fmt.Errorf("no format %q of heaps", format)
	}
	if m.graph == nil {
		return ErrNoHeap
	}
	d := &m.Dump
	h := &export.Heap{Graph: m.graph.Graph, Program: d.Command, Title: report.Base(d.Path), Time: d.Time, Type: m.graph.TypeName, Root: m.graph.RootName,
		Field: m.graph.FieldName, Retained: m.graph.Retained, By: m.graph.By, Summary: m.Summary(), Clean: report.Clean}
	if d.Command != "" {
		h.Title += " of " + d.Command
	}
	if fault := m.f.t.guard(func() { err = write(ctx, w, h) }); fault != nil {
		return fault
	}
	return err
}
