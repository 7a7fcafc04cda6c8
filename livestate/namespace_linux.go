package livestate

import (
	"bytes"
	"strconv"

	"github.com/corewalk/corewalk/unwind"
)

// OwnThreadID returns the id by which the process knows one of its threads: that of its own pid namespace, which its memory
// has. It differs from id in a container that is looked at from outside. It is 0 if the thread has ended.
func (p *Process) OwnThreadID(id unwind.ThreadID) uint64 {
	b, err := readProc(procPath(p.pid, "task/"+strconv.FormatInt(int64(id), 10)+"/status"))
	if err != nil {
		return 0
	}
	return innermostID(b)
}

// innermostID reads the last id of the line NSpid of /proc/PID/status: that of the namespace that is furthest in.
func innermostID(status []byte) uint64 {
	_, rest, _ := bytes.Cut(status, []byte("\nNSpid:"))
	line, _, _ := bytes.Cut(rest, []byte("\n"))
	ids := bytes.Fields(line)
	if len(ids) == 0 {
		return 0
	}
	n, _ := strconv.ParseUint(string(ids[len(ids)-1]), 10, 32)
	return n
}
