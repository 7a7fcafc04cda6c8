package analysis

import (
	"context"
	"sync"

	"github.com/corewalk/corewalk/internal/files/mmapfile"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/unwind"
)

const (
	// aheadTasks is how many walks and fetches run at the same time.
	aheadTasks = 16
	// aheadFrames is the depth of each walk. Report fetches what lies deeper.
	aheadFrames = 4096
)

// FetchAhead fetches in parallel the files that Report would fetch one after the other: it walks all threads at once,
// each walk fetching the binaries it needs, and fetches the debug information of every library in a thread's
// frames as soon as the thread's walk is done. Report then finds all files in place, and says the same as
// without FetchAhead.
//
// Only frames decide which files to fetch. Words on the stack that look like return addresses would be known
// earlier, but old calls leave such words too, and would lead to modules that no stack needs.
//
// The error wraps mmapfile.ErrChanged.
func (e *Engine) FetchAhead(ctx context.Context, o Options) error {
	p, maxFrames := e.Parts, o.MaxFrames
	if p.Files == nil || !lacksSeveral(p) {
		return nil
	}
	if maxFrames <= 0 {
		maxFrames = aheadFrames
	}
	w, err := unwind.NewWalker(p.Proc, unwind.WithGroup(p.Walker.StepperGroup()), unwind.WithSymbolLookup(p.Walker.SymbolLookup()),
		unwind.WithSymbolReader(p.Walker.SymbolReader()), unwind.WithMaxFrames(min(maxFrames, aheadFrames)))
	if err != nil {
		return nil // the Engine's Walker failed in the same way
	}
	defer w.Close()
	ids, err := w.AvailableThreads()
	if err != nil {
		return nil
	}
	a := ahead{Parts: p, walker: w, tasks: make(chan struct{}, aheadTasks), known: map[*libstate.Library]bool{}}
	for _, id := range o.wanted(ids) {
		a.tasks <- struct{}{} // acquired here, so that the number of goroutines is limited too
		a.running.Go(func() { a.do(func() { a.thread(ctx, id) }) })
	}
	a.running.Wait()
	return a.fault
}

// lacksSeveral reports whether files have to be fetched for more than one library.
func lacksSeveral(p Parts) bool {
	libs := p.Proc.LibraryTracker()
	if libs == nil {
		return false
	}
	list, _ := libs.Libraries(false)
	n := 0
	for _, lib := range list {
		if p.Files.Lacks(lib) {
			n++
		}
	}
	return n > 1
}

// ahead is the state of one call of FetchAhead.
type ahead struct {
	Parts
	walker  *unwind.Walker
	tasks   chan struct{} // full when the maximum is running
	running sync.WaitGroup

	mu    sync.Mutex
	known map[*libstate.Library]bool // those that contain frames
	fault error                      // a file was cut short
}

// do runs a task that has its place in tasks.
func (a *ahead) do(task func()) {
	defer func() { <-a.tasks }()
	if err := mmapfile.Guard(task); err != nil {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.fault = err
	}
}

// thread walks a thread, and starts fetching the files of its frames' libraries.
func (a *ahead) thread(ctx context.Context, id unwind.ThreadID) {
	if ctx.Err() != nil {
		return
	}
	stack, _ := a.walker.WalkStackContext(ctx, id)
	libs := a.Proc.LibraryTracker()
	var last *libstate.Library
	for _, f := range stack.Frames {
		lib, ok := libs.LibraryAt(f.LookupAddr())
		if !ok || lib == last || ctx.Err() != nil {
			continue
		}
		last = lib
		if a.first(lib) {
			a.running.Go(func() {
				a.tasks <- struct{}{}
				a.do(func() { a.Files.FetchAll(lib) })
			})
		}
	}
}

// first reports whether no frame in lib has been seen before.
func (a *ahead) first(lib *libstate.Library) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.known[lib] {
		return false
	}
	a.known[lib] = true
	return true
}
