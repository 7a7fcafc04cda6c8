package hotspot

import (
	"testing"

	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/internal/runtimes/remote/remotetest"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind"
)

// TestLies: each word that is read of recorded stacks leads to memory without an end, or says what it is most likely to be wrong as: what comes of it ends soon.
func TestLies(t *testing.T) {
	step := 2999
	if fixture.IsLong(t) {
		step = 149
	}
	var victims []remotetest.Victim
	for _, name := range recordings {
		r := read(t, name)
		p := &tasks.Process{State: r, Symbols: r, Modules: []*libstate.Library{{Path: "/jdk/lib/server/libjvm.so"}}}
		reading := remotetest.Reading{Find: Find, Noted: 256, Units: 1 << 26, Tell: func(tb testing.TB, rt tasks.Runtime, p *tasks.Process) int {
			tb.Helper()
			j := rt.(*Java)
			group := unwind.NewAddrRangeGroup()
			if err := group.RegisterStepper(j); err != nil {
				tb.Fatal(err)
			}
			w, err := unwind.NewWalker(p.State, unwind.WithGroup(group))
			if err != nil {
				tb.Fatal(err)
			}
			defer w.Close()
			f, err := unwind.NewFrame(r.PC, r.SP, r.FP, w)
			if err != nil {
				tb.Fatal(err)
			}
			s, _ := w.WalkStackFromFrame(f)
			list, _ := j.Stretches(t.Context(), 1, s.Frames)
			_, _ = j.machine().Threads()
			return len(shown(list, true)) + len(raisedLines(j))
		}}
		victims = append(victims, reading.Victim(t, p))
	}
	remotetest.Damage(t, victims, step, 200)
}
