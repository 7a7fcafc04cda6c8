package golang

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"

	"github.com/corewalk/corewalk/internal/files/image"
	"github.com/corewalk/corewalk/internal/procmem"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// A runtime is the Go runtime of one module of a process.
type runtime struct {
	memory
	lib     *libstate.Library
	im      *image.Image
	version string
	table   string // layoutsText
	*layout

	allgs, count   uint64 // where the pointers to all goroutines are, and how many
	ptrAt, countAt uint64 // the variables that say so

	semaOnce sync.Once
	sema     map[uint64]uint64

	queuesLock sync.Mutex                   // guards the two below; no other lock is taken inside
	queues     map[queueKey]map[uint64]bool // the sudogs in queues of channels
	elems      map[uint64]string            // the names of the types of their elements, by descriptors
}

// ErrNoRoots means that the variables of the runtime were not found.
var ErrNoRoots = errors.New("the runtime's list of goroutines was not found")

// Find finds the Go runtime among the modules of a process; nil if there is none.
func Find(p *tasks.Process) (tasks.Runtime, error) { return find(p, layoutsText) }

// find is Find with a table of layouts.
func find(p *tasks.Process, table string) (tasks.Runtime, error) {
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
		r := &runtime{memory: memory{procmem.Of(p.State).Charged(p.Spend), p, &names{}}, lib: lib, im: im, version: im.GoVersion(), table: table}
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

// open finds the layout and the roots, and proves them. The table's layout counts; of a version that it does not have, or with
// which memory does not agree, that in the program's debug information; else that of a near version, which is then marked.
func (r *runtime) open(machine string) error {
	minor := image.GoMinor(r.version)
	known := readLayout(r.table, minor, machine)
	var failed error
	try := func(l *layout) bool {
		if l == nil {
			return false
		}
		r.layout = l
		err := r.roots()
		if err == nil {
			err = r.prove()
		}
		if err == nil && l.derived {
			err = r.proveFields()
		}
		if failed == nil {
			failed = err
		}
		return err == nil
	}
	if try(known) || try(r.dwarfLayout()) {
		return nil
	}
	if known == nil {
		for _, l := range nearLayouts(r.table, minor, r.version, machine) {
			r.layout = l
			if own := r.ownReasons(); own != nil {
				l.reasons = own
			}
			if try(l) {
				return nil
			}
		}
	}
	if failed == nil {
		failed = fmt.Errorf("no layout is known for %q", r.version)
	}
	return failed
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
	fieldSample   = 4096 // few of many goroutines run
)

// prove checks the layout with goroutines of the process: each has a stack that begins
// before it ends, one that runs has a thread, the saved stack pointer of one that waits is in it, ids are small and
// differ, statuses are known. One that does not fit may be torn; a layout that is wrong fits none.
func (r *runtime) prove() error {
	good, bad, absent := 0, 0, 0
	seen := map[uint64]bool{}
	for g := range r.all(context.Background()) {
		if good+bad+absent == proveSample {
			break
		}
		switch r.sense(g, seen) {
		case senseAbsent:
			absent++
		case senseBad:
			bad++
		case senseGood:
			good++
		}
	}
	if absent > 0 && good == 0 && bad == 0 {
		return fmt.Errorf("nothing proves %s: %d goroutines are not in the dump", r.source, absent)
	}
	if good == 0 || bad > good {
		return fmt.Errorf("memory does not agree with %s: %d of %d goroutines make sense", r.source, good, good+bad)
	}
	return nil
}

// A sense says whether what is at an address makes sense as a goroutine.
type sense uint8

const (
	senseBad    sense = iota
	senseAbsent       // the dump lacks it
	senseDead         // nothing speaks against it: its stack may be gone
	senseGood
)

// sense looks at a goroutine; seen has the ids of those before it.
func (r *runtime) sense(g uint64, seen map[uint64]bool) sense {
	o, ok := r.object(r.of("g"), g)
	if !ok && r.lacks(r.of("g"), g) {
		return senseAbsent
	}
	if !ok {
		return senseBad
	}
	id := o.u64("goid")
	status := o.u32("atomicstatus") &^ scanBit
	lo, hi := o.word("stack.lo"), o.word("stack.hi")
	twice := seen[id]
	switch {
	case status == statusDead || status == statusIdle || status == statusDeadExtra:
		return senseDead
	case (status == statusRunning || status == statusSyscall) && o.word("m") == 0, status == 5, status == 7, // no thread; never used
		id == 0 || id > 1<<48 || twice || status > statusDeadExtra || lo >= hi || hi-lo > 1<<40,
		status == statusWaiting && (o.word("sched.sp") < lo || o.word("sched.sp") >= hi):
		seen[id] = true
		return senseBad
	}
	seen[id] = true
	return senseGood
}

// proveFields checks what a layout of another version says of fields that prove does not need: that functions begin where goroutines
// do, and contain where they were created; that reasons of waits have words; that goroutines which stopped in the
// function that parks them wait, but for some that were woken; that what a goroutine waits in is its own. One that does not fit may be torn.
func (r *runtime) proveFields() error {
	type count struct{ good, bad int }
	var began, created, reason, queued, runs, framed count
	vote := func(c *count, good bool) {
		if good {
			c.good++
		} else {
			c.bad++
		}
	}
	n, parked, waits := 0, 0, 0
	seen := map[uint64]bool{}
	for g := range r.all(context.Background()) {
		if n == fieldSample {
			break
		}
		o, ok := r.object(r.of("g"), g)
		if !ok || r.sense(g, seen) != senseGood {
			continue
		}
		n++
		start := o.word("startpc")
		f, ok := r.im.GoFuncAt(start - r.lib.LoadBias)
		vote(&began, ok && f.Entry == start-r.lib.LoadBias)
		if at := o.word("gopc"); at != 0 {
			_, ok := r.im.GoFuncAt(at - 1 - r.lib.LoadBias)
			vote(&created, ok)
		}
		status := o.u32("atomicstatus") &^ scanBit
		if f, ok := r.im.GoFuncAt(o.word("sched.pc") - 1 - r.lib.LoadBias); ok && f.Name() == "runtime.gopark" {
			parked++
			if status == statusWaiting {
				waits++
			}
		}
		switch status {
		case statusWaiting:
			bp := o.word("sched.bp")
			vote(&framed, o.word("stack.lo") <= bp && bp < o.word("stack.hi"))
			vote(&reason, o.u8("waitreason") > 0 && int(o.u8("waitreason")) < len(r.reasons))
		case statusRunning, statusSyscall:
			vote(&runs, r.thread(&o) != unwind.NullThread)
		}
		if at := o.word("waiting"); at != 0 {
			s, ok := r.object(r.of("sudog"), at)
			vote(&queued, ok && s.word("g") == g)
		}
	}
	if framed.bad > framed.good/4 {
		delete(r.of("g").fields, "sched.bp") // walks do without
	}
	if 4*waits < parked { // Go's own always wait
		return fmt.Errorf("memory does not agree with %s: by g.atomicstatus %d of %d parked goroutines wait", r.source, waits, parked)
	}
	for name, c := range map[string]count{"startpc": began, "gopc": created, "waitreason": reason, "waiting": queued, "m": runs} {
		if c.bad > c.good/4 {
			return fmt.Errorf("memory does not agree with %s: g.%s makes sense in %d of %d goroutines", r.source, name, c.good, c.good+c.bad)
		}
	}
	return nil
}

// all yields the addresses of all goroutines.
func (r *runtime) all(ctx context.Context) iter.Seq[uint64] {
	return func(yield func(uint64) bool) {
		size := uint64(r.Arch.WordSize)
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
					g = r.Arch.Word(b[k*size:])
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
