package livestate

import (
	"strconv"
	"strings"

	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// Asleep returns the system call in which a thread sleeps now, not when the snapshot was taken; false if it is in none.
func (s *Snapshot) Asleep(tid unwind.ThreadID) (Sleep, bool) {
	var out Sleep
	task := "task/" + strconv.Itoa(int(tid))
	status, err := readProc(procPath(s.p.pid, task+"/status"))
	if err != nil {
		return out, false
	}
	found := 0
	for line := range strings.Lines(string(status)) {
		name, value, _ := strings.Cut(line, ":")
		value = strings.TrimSpace(value)
		switch name {
		case "State":
			if !strings.HasPrefix(value, "S") {
				return out, false
			}
		case "voluntary_ctxt_switches", "nonvoluntary_ctxt_switches":
			n, err := strconv.ParseUint(value, 10, 64)
			if err != nil {
				return out, false
			}
			out.Switches += n
			found++
		}
	}
	call, err := readProc(procPath(s.p.pid, task+"/syscall"))
	f := strings.Fields(string(call))
	if err != nil || found != 2 || len(f) != 9 {
		return out, false
	}
	for i, to := range []*uint64{&out.Number, &out.Args[0], &out.Args[1], &out.Args[2], &out.Args[3], &out.Args[4], &out.Args[5], &out.SP, &out.PC} {
		if *to, err = strconv.ParseUint(f[i], 0, 64); err != nil {
			return out, false
		}
	}
	return out, true
}

// ReadNow reads memory as it is now, not when the snapshot was taken.
func (s *Snapshot) ReadNow(addr arch.Address, buf []byte) (int, error) { return s.p.ReadMem(addr, buf) }
