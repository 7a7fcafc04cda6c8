package corewalk

import (
	"context"

	"github.com/corewalk/corewalk/internal/why/analysis"
	"github.com/corewalk/corewalk/report"
)

// A Memory says what fills the memory of a process, and has the blocks that it was made of.
type Memory struct {
	*report.Memory
	graph *analysis.HeapGraph
}

// MemoryOptions say how much is done to tell what fills the memory.
type MemoryOptions struct {
	// Limit is how much memory the blocks in use may take while they are looked at, in bytes; 0 means 480 MiB. Of more blocks less is said.
	Limit int
	// Progress is told what is done next; it may be nil.
	Progress func(what string)
}

// Memory says what fills the memory: what mappings are for, the blocks of the allocators that are known, their types, who keeps them alive, and what
// nothing leads to. All memory that may be written is read.
func (f *Facts) Memory(ctx context.Context, o MemoryOptions) (m *Memory, err error) {
	fault := f.t.guard(func() {
		var r *report.Memory
		var g *analysis.HeapGraph
		if r, g, err = f.engine.Memory(ctx, analysis.MemoryOptions{Limit: o.Limit, Progress: o.Progress}); err == nil {
			m = &Memory{r, g}
		}
	})
	if fault != nil {
		return nil, fault
	}
	return m, err
}
