package golang

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"

	"github.com/corewalk/corewalk/internal/files/image"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind/arch"
)

// A runtime is the Go runtime of one module of a process.
type runtime struct {
	memory
	lib     *libstate.Library
	im      *image.Image
	version string
	*layout

	allgs, count   uint64 // where the pointers to all goroutines are, and how many
	ptrAt, countAt uint64 // the variables that say so

	semaOnce sync.Once
	sema     map[uint64]uint64

	queuesLock sync.Mutex
	queues     map[queueKey]map[uint64]bool // the sudogs in queues of channels
}

// ErrNoRoots means that the variables of the runtime were not found.
var ErrNoRoots = errors.New("the runtime's list of goroutines was not found")

// Find finds the Go runtime among the modules of a process; nil if there is none.
func Find(p *tasks.Process) (tasks.Runtime, error) {
	machine := machineOf(p.State.Arch())
	if machine == "" {
		return nil, nil
	}
	var failed error
	for _, lib := range p.Modules {
		im := (*image.Image)(p.Files.Image(lib))
		if im == nil || im.GoTable() == nil {
			continue
		}
		r := &runtime{memory: memory{p, p.State.Arch()}, lib: lib, im: im, version: im.GoVersion()}
		if err := r.open(machine); err != nil {
			failed = fmt.Errorf("goroutines of %s: %w", lib.Path, err)
			continue
		}
		return r, nil
	}
	return nil, failed
}

// machineOf is Go's name of an architecture; "" for those that are not supported.
func machineOf(a *arch.Arch) string {
	switch a {
	case arch.AMD64:
		return "amd64"
	case arch.ARM64:
		return "arm64"
	case arch.X86:
		return "386"
	}
	return ""
}

func (r *runtime) Name() string { return "go" }

// Describe says which version it is and how its layout is known.
func (r *runtime) Describe() string {
	v := r.version
	if v == "" {
		v = "Go of an unknown version"
	}
	return v + ", layout from " + r.source
}

// open finds the layout and the roots, and proves them.
func (r *runtime) open(machine string) error {
	r.layout = tableLayout(r.version, machine)
	if r.layout == nil {
		return fmt.Errorf("no layout is known for %q", r.version)
	}
	if err := r.roots(); err != nil {
		return err
	}
	return r.prove()
}

// symbol returns the address in the process of a variable of the runtime.
func (r *runtime) symbol(name string) (uint64, bool) {
	s, ok := r.p.Symbols.SymbolByName(r.lib, "runtime."+name)
	return s.Addr, ok && s.Addr != 0
}

// roots finds the list of all goroutines.
func (r *runtime) roots() error {
	ptr, ok := r.symbol("allgptr")
	length, ok2 := r.symbol("allglen")
	if !ok || !ok2 {
		if r.searchRoots() {
			return nil
		}
		return ErrNoRoots
	}
	r.ptrAt, r.countAt = ptr, length
	return r.readRoots()
}

// readRoots reads the variables that say where the list is.
func (r *runtime) readRoots() error {
	var ok bool
	if r.allgs, ok = r.word(r.ptrAt); !ok {
		return fmt.Errorf("%w: its variable at %#x is not in the dump", ErrNoRoots, r.ptrAt)
	}
	if r.count, ok = r.word(r.countAt); !ok || r.count > maxGoroutines {
		return fmt.Errorf("%w: a length of %d", ErrNoRoots, r.count)
	}
	return nil
}

// Limits on what memory can ask for. A goroutine takes at least 2 KiB.
const (
	maxGoroutines = 1 << 26
	proveSample   = 64
)

// prove checks the layout with goroutines of the process: each has a stack that begins
// before it ends, one that runs has a thread, the saved stack pointer of one that waits is in it, ids are small and
// differ, statuses are known. One that does not fit may be torn; a layout that is wrong fits none.
func (r *runtime) prove() error {
	good, bad := 0, 0
	seen := map[uint64]bool{}
	for g := range r.all(context.Background()) {
		if good+bad == proveSample {
			break
		}
		o, ok := r.object(r.of("g"), g)
		if !ok {
			bad++
			continue
		}
		id := o.u64("goid")
		status := o.u32("atomicstatus") &^ scanBit
		lo, hi := o.word("stack.lo"), o.word("stack.hi")
		switch {
		case status == statusDead || status == statusIdle || status == statusDeadExtra:
			continue // its stack may be gone
		case (status == statusRunning || status == statusSyscall) && o.word("m") == 0, status == 5, status == 7, // no thread; never used
			id == 0 || id > 1<<48 || seen[id] || status > statusDeadExtra || lo >= hi || hi-lo > 1<<40,
			status == statusWaiting && (o.word("sched.sp") < lo || o.word("sched.sp") >= hi):
			bad++
		default:
			good++
		}
		seen[id] = true
	}
	if good == 0 || bad > good {
		return fmt.Errorf("memory does not agree with %s: %d of %d goroutines make sense", r.source, good, good+bad)
	}
	return nil
}

// all yields the addresses of all goroutines.
func (r *runtime) all(ctx context.Context) iter.Seq[uint64] {
	return func(yield func(uint64) bool) {
		size := uint64(r.arch.WordSize)
		const block = 512
		for i := uint64(0); i < r.count; i += block {
			n := min(block, r.count-i)
			if ctx.Err() != nil || r.p.Spend(int(n)) != nil {
				return
			}
			b := r.bytes(r.allgs+i*size, n*size)
			for k := range n {
				var g uint64
				if b != nil {
					g = r.arch.Word(b[k*size:])
				} else if g, _ = r.word(r.allgs + (i+k)*size); g == 0 && n == block {
					break // nothing of the block can be read
				}
				if g != 0 && !yield(g) {
					return
				}
			}
		}
	}
}
