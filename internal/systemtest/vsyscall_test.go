package systemtest

import (
	"testing"

	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/report"
)

// The page of system calls holds no code: the pointer that was passed is to blame, and its caller is the place.
func TestVsyscall(t *testing.T) {
	t.Parallel()
	exe := fixture.Compile(t, "gcc", "vsyscall.c", "-g", "-O1")
	r := analyzeCore(t, fixture.Crash(t, nil, exe), exe)
	c := r.Crash
	if c.Address != nil && uint64(*c.Address) == 0xffffffffff600000 {
		t.Skip("this kernel does not have the page")
	}
	if c.Kind != report.CrashNullWrite || c.Reason != "bad pointer 0x10 given to the call gettimeofday of the page [vsyscall]" || c.Instruction != nil || len(c.Accesses) != 0 {
		t.Errorf("%s: %q, instruction %+v", c.Kind, c.Reason, c.Instruction)
	}
	frames := r.Threads[0].Frames
	if c.Frame == nil || *c.Frame != 1 || len(frames) < 3 || frames[1].Function != "ask" || frames[1].Trust != report.TrustWildPC || frames[2].Function != "main" {
		t.Errorf("frame %v of %+v", c.Frame, frames)
	}
}
