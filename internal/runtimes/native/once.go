package native

import (
	"context"
	"slices"

	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind"
)

// guard describes the guard of a static variable.
func (r *runtime) guard(c *futexCall, _ *unwind.Frame, w *tasks.Wait) {
	w.Kind, w.Proved = tasks.WaitOnce, true
	w.Object = tasks.Object{Address: c.addr, Type: guardType}
}

// resolveCost is charged for each frame that is looked at.
const resolveCost = 64

// initialisers says which thread initialises what others wait for. Such a thread is inside the function that
// initialises once, whose frame has the address of the object; of a static variable, it is possibly inside the function that has
// the variable. walk walks the stack of a thread.
func (r *runtime) initialisers(ctx context.Context, all []*tasks.Task, walk func(context.Context, unwind.ThreadID) []*unwind.Frame) {
	var waits []*onceWait
	for _, t := range all {
		if w := t.Wait; w != nil && w.Kind == tasks.WaitOnce && t.Runtime == r.Name() && len(w.Holders) == 0 && w.Object.Address != 0 && len(waits) < maxOnceWaits {
			waits = append(waits, &onceWait{wait: w, tid: t.Thread})
		}
	}
	if len(waits) == 0 {
		return
	}
	for _, w := range waits {
		frames := walk(ctx, w.tid)
		_, _, at := r.function(frames)
		w.frames = frames[at+1:]
		w.caller = r.caller(w.frames)
	}
	defer func() {
		for _, w := range waits {
			onlyOne(w.wait)
		}
	}()
	ids, _ := r.p.State.ThreadIDs()
	for _, id := range ids {
		if ctx.Err() != nil {
			return
		}
		frames := []*unwind.Frame(nil)
		if i := slices.IndexFunc(waits, func(w *onceWait) bool { return w.tid == id }); i >= 0 {
			frames = waits[i].frames[min(len(waits[i].frames), 1):] // it is in the function that waits, but holds nothing there
		} else {
			frames = walk(ctx, id)
		}
		for _, f := range frames {
			if r.p.Spend(resolveCost) != nil {
				return
			}
			r.initialises(id, f, waits)
		}
	}
}

// onlyOne makes the holders of a wait uncertain if there are several: a frame may have the address of an object that
// another thread initialises.
func onlyOne(w *tasks.Wait) {
	certain := 0
	for _, h := range w.Holders {
		if h.Certainty == tasks.Certain {
			certain++
		}
	}
	for i := range w.Holders {
		if certain > 1 {
			w.Holders[i].Certainty = tasks.Possible
		}
	}
}

// maxOnceWaits is how many waits of a process are looked into.
const maxOnceWaits = 64

// A onceWait is a wait for an initialisation, with the frames outside of the function that waits.
type onceWait struct {
	wait   *tasks.Wait
	tid    unwind.ThreadID
	frames []*unwind.Frame
	caller string // the program's function that waits
}

// caller is the first function that is the program's own.
func (r *runtime) caller(frames []*unwind.Frame) string {
	for _, f := range frames[:min(len(frames), maxDepth)] {
		for _, n := range r.namesAt(f) {
			if !ofLibrary(n) {
				return n
			}
		}
	}
	return ""
}

// initialises adds a thread to the holders of what one of its frames initialises.
func (r *runtime) initialises(id unwind.ThreadID, f *unwind.Frame, waits []*onceWait) {
	var words []uint64
	for _, n := range r.namesAt(f) {
		once := slices.ContainsFunc(functions, func(fn waitFunction) bool { return fn.kind == tasks.WaitOnce && fn.matches(n, bare(n)) })
		if once && words == nil {
			words = r.words(f)
		}
		for _, w := range waits {
			h := tasks.Holder{Key: tasks.Key{Kind: tasks.KindThread, ID: uint64(id)}, Certainty: tasks.Certain}
			switch {
			case once && slices.Contains(words, w.wait.Object.Address):
			case n == w.caller && w.wait.Object.Type == guardType:
				h.Certainty = tasks.Possible
			default:
				continue
			}
			if !slices.ContainsFunc(w.wait.Holders, func(x tasks.Holder) bool { return x.Key == h.Key }) {
				w.wait.Holders = append(w.wait.Holders, h)
			}
		}
	}
}

const guardType = "guard of a static variable"
