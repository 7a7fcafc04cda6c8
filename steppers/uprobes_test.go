package steppers_test

import (
	"testing"

	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/steppers"
)

// The kernel's page of trampolines is one page that can only be run, and is no file's.
func TestIsUprobe(t *testing.T) {
	const page = 0x7fffffffe000
	for _, c := range []struct {
		name  string
		start uint64
		perm  libstate.Perm
		size  int
		off   uint64
		want  bool
	}{
		{"its start", page, libstate.Exec, 0x1000, 0, true},
		{"inside", page, libstate.Exec, 0x1000, 16, false},
		{"readable", page, libstate.Read | libstate.Exec, 0x1000, 0, false},
		{"not to be run", page, libstate.Read, 0x1000, 0, false},
		{"two pages", page, libstate.Exec, 0x2000, 0, false},
		{"the page of vsyscalls", 0xffffffffff600000, libstate.Exec, 0x1000, 0, false},
		{"nothing", page, libstate.Exec, 0x1000, 0x2000, false},
	} {
		p := newProc(map[string]uint64{"rip": bias + raCaller, "rsp": stack})
		p.add(c.start, c.perm, make([]byte, c.size))
		p.libs = libstate.NewTable([]*libstate.Library{p.program(libstate.Executable)}, 0)
		if got := steppers.IsUprobe(mapper{p}, c.start+c.off); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
	p := newProc(map[string]uint64{"rip": bias + raCaller, "rsp": stack})
	lib := p.program(libstate.Executable)
	p.add(page, libstate.Exec, make([]byte, 0x1000))
	lib.Mappings = append(lib.Mappings, libstate.Mapping{Start: page, End: page + 0x1000, Perm: libstate.Exec})
	lib.End = page + 0x1000
	p.libs = libstate.NewTable([]*libstate.Library{lib}, 0)
	if steppers.IsUprobe(mapper{p}, page) {
		t.Error("a page of a program")
	}
}
