package golang

import (
	"fmt"
	"strings"

	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind"
)

// maxCondWords is how many words of the stack are looked at for the address of a sync.Cond.
const maxCondWords = 512

// condition says for which sync.Cond a goroutine waits. No structure of the runtime leads there: the words of the stack do, up
// to the frame that called Wait. It is the one in whose list the goroutine waits.
func (r *runtime) condition(o *object, w *tasks.Wait, frames []*unwind.Frame) {
	notify, ok := r.of("cond").off("notify")
	if !ok || r.of("notifylist") == nil {
		return
	}
	size := uint64(r.Arch.WordSize)
	at, words := uint64(0), 0
	for _, f := range frames[:min(len(frames), maxAsker)] {
		if at == 0 {
			at = f.SP()
		}
		end, ok := f.CFA()
		if !ok {
			return
		}
		for ; at < end && words < maxCondWords && r.p.Spend(1) == nil; at, words = at+size, words+1 {
			v, ok := r.word(at)
			if !ok {
				return
			}
			if n, ok := r.waitsIn(v+notify, o.at); ok {
				w.Object = tasks.Object{Address: v, Type: "sync.Cond", Detail: fmt.Sprintf("%d waiting", n)}
				w.Proved = true
				return
			}
		}
		for _, name := range r.calls(f) {
			if !strings.HasPrefix(name, "runtime.") && !strings.HasPrefix(name, "sync.") {
				return // it called Wait
			}
		}
	}
}

// waitsIn reports whether a goroutine waits in the sync.notifyList at an address, and how many do.
func (r *runtime) waitsIn(at, g uint64) (n int, found bool) {
	list, ok := r.object(r.of("notifylist"), at)
	if !ok {
		return 0, false
	}
	for s := list.word("head"); s != 0 && n < maxQueue && r.p.Spend(queuedCost) == nil; n++ {
		in, ok := r.object(r.of("sudog"), s)
		if !ok {
			return 0, false
		}
		found = found || in.word("g") == g
		s = in.word("next")
	}
	return n, found
}
