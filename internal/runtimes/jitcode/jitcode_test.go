package jitcode_test

import (
	"testing"

	"github.com/corewalk/corewalk/internal/runtimes/jitcode"
	"github.com/corewalk/corewalk/internal/runtimes/remote/remotetest"
	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind/arch"
)

// TestOf: whose code a frame may run, and whose not.
func TestOf(t *testing.T) {
	type language struct{}
	const atModule, atMade, atNothing = 0x100000, 0x200000, 0x900000
	for name, c := range map[string]struct {
		pc     uint64
		change func(*remotetest.Stopped, *jitcode.Stepper[language])
		found  bool
	}{
		"code of no module":     {atNothing, func(*remotetest.Stopped, *jitcode.Stepper[language]) {}, true},
		"code of a module":      {atModule, func(*remotetest.Stopped, *jitcode.Stepper[language]) {}, false},
		"another processor":     {atNothing, func(p *remotetest.Stopped, _ *jitcode.Stepper[language]) { p.CPU = arch.ARM64 }, false},
		"modules are not known": {atNothing, func(p *remotetest.Stopped, _ *jitcode.Stepper[language]) { p.Libs = nil }, false},
		"no process": {atNothing, func(_ *remotetest.Stopped, s *jitcode.Stepper[language]) {
			s.Process = func() *tasks.Process { return nil }
		}, false},
		"a process of nothing else": {atNothing, func(_ *remotetest.Stopped, s *jitcode.Stepper[language]) {
			s.Find = func(*tasks.Process) *language { return nil }
		}, false},
	} {
		p := remotetest.NewStopped(remotetest.Words{}, remotetest.Module("/app", atModule))
		asked := 0
		s := &jitcode.Stepper[language]{
			Process: func() *tasks.Process { return &tasks.Process{} },
			Find:    func(*tasks.Process) *language { asked++; return &language{} },
		}
		c.change(p, s)
		for range 2 {
			r, libs := s.Of(remotetest.Frame(t, p, c.pc+0x30, 0, nil))
			if (r != nil) != c.found || c.found && libs != p.Libs {
				t.Errorf("%s: %v", name, r)
			}
		}
		if asked > 1 || asked == 1 && !c.found {
			t.Errorf("%s: looked for %d times", name, asked)
		}
		for range s.Tasks(t.Context()) {
			t.Error("a task")
		}
		if list, err := s.Stretches(t.Context(), 1, nil); list != nil || err != nil {
			t.Error(list, err)
		}
	}
}
