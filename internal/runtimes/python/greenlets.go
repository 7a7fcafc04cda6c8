package python

import (
	"context"
	"errors"
	"strings"

	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind"
)

// Limits on what memory can ask for.
const (
	maxObjects       = 1 << 19 // that the garbage collector has in its lists
	maxGreenlets     = 1 << 16
	maxGreenletCalls = 1 << 10
)

// A greenlet is a stack of calls that the program itself switches to. Its object has, after what each object begins with, weak
// references, attributes, and the address of an object of C++ with what a switch saves. That has no description, so what it has
// is found by what it points to.
type greenlet struct {
	parent   uint64
	frame    uint64 // the youngest call of one that is switched out; 0 for others
	callable uint64 // of one that has not begun
	stop     uint64 // where the stack of one that runs ends: in that of its thread
	isMain   bool   // of the thread itself
}

// hasGreenlets reports whether the module of greenlets is in the process.
func (r *runtime) hasGreenlets() bool {
	libs := r.p.State.LibraryTracker()
	if libs == nil {
		return false
	}
	all, _ := libs.Libraries(false)
	for _, lib := range all {
		if strings.Contains(lib.Path[strings.LastIndexAny(lib.Path, `/\`)+1:], "greenlet") {
			return true
		}
	}
	return false
}

var errManyObjects = errors.New("greenlets: there are more objects than are looked at: more greenlets may exist")

// greenlets lists the greenlets of the process as tasks.
func (r *runtime) greenlets(ctx context.Context, yield func(*tasks.Task, error) bool) bool {
	if !r.has("gc.head") || !r.hasGreenlets() {
		return true
	}
	r.mu.Lock()
	objects, err := r.findGreenlets(ctx)
	var list []*tasks.Task
	for _, at := range objects {
		if t := r.greenletTask(at); t != nil {
			list = append(list, t)
		}
	}
	r.mu.Unlock()
	for _, t := range list {
		if !yield(t, nil) {
			return false
		}
	}
	return err == nil || yield(nil, err)
}

// findGreenlets looks through the lists of the garbage collector for greenlets.
func (r *runtime) findGreenlets(ctx context.Context) ([]uint64, error) {
	var first []uint64
	if r.has("runtime.generations") {
		first = []uint64{r.root - r.at("runtime.interpreters_head") + r.at("runtime.generations")}
	}
	seen := map[uint64]bool{}
	for i := range r.states {
		if at := r.states[i].interp; r.has("interp.generations") && !seen[at] {
			seen[at] = true
			first = append(first, at+r.at("interp.generations"))
		}
	}
	var found []uint64
	head, left := r.at("gc.head"), maxObjects
	order := r.p.State.Arch().ByteOrder
	is := map[uint64]bool{}
	for _, list := range first {
		const generations = 4 // the last is of objects that are not collected
		for i := range uint64(generations) {
			begin := list + i*(head+8)
			before := begin
			for at := r.word(begin) &^ 3; at != 0 && at != begin; {
				b := r.bytes(at, head+r.at("object.type")+8)
				// The word after the next one's address is the way back; before 3.7 shifted, from then on with flags.
				if b == nil || order.Uint64(b[8:])&^3 != before {
					break // torn
				}
				if left--; left < 0 || ctx.Err() != nil {
					return found, errManyObjects
				}
				of := order.Uint64(b[head+r.at("object.type"):])
				yes, known := is[of]
				if !known {
					yes = r.isGreenletType(of)
					is[of] = yes
				}
				if yes && len(found) < maxGreenlets {
					found = append(found, at+head)
				}
				before, at = at, order.Uint64(b)&^3
			}
		}
	}
	return found, nil
}

// isGreenletType reports whether a type is greenlet's, or derived from it.
func (r *runtime) isGreenletType(at uint64) bool {
	t := r.typeAt(at)
	for range 8 {
		if t == nil {
			return false
		}
		if t.name == "greenlet.greenlet" {
			return true
		}
		t = r.typeAt(r.field(t.at, "type.base"))
	}
	return false
}

func (r *runtime) isGreenlet(at uint64) bool { return r.isGreenletType(r.field(at, "object.type")) }

// readGreenlet reads what is saved of a greenlet; false if it is not understood.
func (r *runtime) readGreenlet(at uint64) (g greenlet, ok bool) {
	const words = 32
	saved := r.words(r.word(at+r.at("object.size")+16), words)
	itself := false
	for i, v := range saved {
		t := r.typeAt(r.field(v, "object.type"))
		switch {
		case v == ^uint64(0):
			g.isMain = true // its stack ends at the end of memory
		case i > 1 && saved[i-1] == 1 && v > 1<<32 && g.stop == 0:
			g.stop = v // of a greenlet that runs; others have saved where their stack begins
		case t == nil:
		case v == at && !itself:
			itself = true
		case t.name == "frame" && g.frame == 0:
			g.frame = v
		case itself && !g.isMain && r.isGreenletType(t.at):
			// The main greenlet, what is to be called, the parent: one that has begun has no longer the second, one that has not, not
			// yet the first.
			switch {
			case i+2 < len(saved) && saved[i+1] == 0 && r.isGreenlet(saved[i+2]):
				g.parent = saved[i+2]
			case i > 2 && saved[i-2] == 0 && r.object(saved[i-1]):
				g.callable, g.parent = saved[i-1], v
			default:
				return g, false
			}
			return g, true
		}
	}
	return g, itself && g.isMain
}

// greenletTask describes a greenlet; nil for one that has ended.
func (r *runtime) greenletTask(at uint64) *tasks.Task {
	g, ok := r.readGreenlet(at)
	if !ok {
		return nil
	}
	t := &tasks.Task{Key: tasks.Key{Kind: tasks.KindFiber, ID: at}, Runtime: "python", Thread: unwind.NullThread, State: tasks.StateRunnable,
		Certainty: tasks.Certain}
	if g.parent != 0 {
		t.Labels = []tasks.Label{{Key: "parent", Value: address(g.parent)}}
	}
	switch {
	case g.frame != 0:
		t.Status = "switched out"
		t.Suspended = r.frameObjects(g.frame)
		if len(t.Suspended) == 0 {
			return nil
		}
	case g.callable != 0:
		t.Status = "not started"
		w := newPrinter(r, tasks.Limits{})
		w.value(g.callable, 0)
		t.Name = w.String()
	case g.stop != 0 && !g.isMain:
		if t.Thread = r.threadBelow(g.stop); t.Thread == unwind.NullThread {
			return nil
		}
		t.State = tasks.StateRunning
	default:
		return nil
	}
	if g.isMain {
		t.Name = "main"
	}
	return t
}

func (r *runtime) object(at uint64) bool {
	return at != 0 && r.typeAt(r.field(at, "object.type")) != nil
}

// threadBelow returns the thread whose stack pointer is the nearest below an address of a stack.
func (r *runtime) threadBelow(stop uint64) unwind.ThreadID {
	best, thread := uint64(0), unwind.ThreadID(unwind.NullThread)
	ids, _ := r.p.State.ThreadIDs()
	for _, id := range ids {
		if regs, err := r.p.State.Registers(id); err == nil {
			if sp, ok := regs.Get(r.p.State.Arch().SP); ok && sp <= stop && sp > best {
				best, thread = sp, id
			}
		}
	}
	return thread
}

// frameObjects lists the calls from a frame object on.
func (r *runtime) frameObjects(at uint64) []tasks.SuspendedFrame {
	if r.has("frameobject.frame") {
		at = r.field(at, "frameobject.frame")
	}
	var list []tasks.SuspendedFrame
	for seen := map[uint64]bool{}; at != 0 && !seen[at] && len(list) < maxGreenletCalls && r.p.Spend(8) == nil; at = r.field(at, "frame.previous") {
		seen[at] = true
		if r.minor >= 12 && r.u8(at+r.at("frame.owner")) >= ownerShim {
			continue
		}
		c := r.codeIn(r.field(at, "frame.code") &^ r.tag())
		if c == nil {
			break
		}
		offset := int(int32(r.u32(at + r.at("frame.lasti"))))
		switch {
		case r.minor >= 11:
			offset = r.instruction(c.at, r.field(at, "frame.instr"), at)
		case r.minor == 10 && offset > 0:
			offset *= 2
		}
		f := tasks.SuspendedFrame{Function: r.functionOf(c, at), File: c.file, Language: language, Object: at, Awaits: tasks.Certain}
		f.Line, _ = r.placeIn(c, offset)
		list = append(list, f)
	}
	return list
}
