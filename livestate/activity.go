package livestate

import (
	"bytes"
	"strconv"
	"time"

	"github.com/corewalk/corewalk/internal/lazy"
)

// An Activity is what the kernel was doing with a thread, and how much it has run so far.
type Activity struct {
	// State is proc(5)'s letter: 'R' for running or ready to run, 'S' for sleeping, 'D' for
	// uninterruptible sleep, 'T' for stopped by a signal, 't' for stopped by its tracer.
	State byte
	CPU   time.Duration // in user and kernel mode together, in steps of 10 ms
}

// clockTick is the unit of CPU times in /proc: USER_HZ, which is 100 on every architecture
// that Process supports.
const clockTick = 10 * time.Millisecond

// stateWords are the names of the states in which a thread can be met.
var stateWords = lazy.Value[map[byte]string]{Make: func() map[byte]string {
	return map[byte]string{
		'R': "running", 'S': "sleeping", 'D': "uninterruptible", 'T': "stopped", 'I': "idle", 'P': "parked", 'Z': "ended", 'X': "ended",
	}
}}

// Word returns the state in a word: "running"; "" for a state that says nothing of the
// program, as that of a thread that its tracer has stopped.
func (a Activity) Word() string { return stateWords.Get()[a.State] }

// parseActivity reads the content of /proc/PID/task/TID/stat.
func parseActivity(stat []byte) (a Activity, ok bool) {
	// The name, the second field, may contain anything, including parentheses.
	i := bytes.LastIndexByte(stat, ')')
	if i < 0 {
		return a, false
	}
	const stateField, userField, systemField = 0, 11, 12 // behind the name
	f := bytes.Fields(stat[i+1:])
	if len(f) == 0 {
		return a, false
	}
	a.State = f[stateField][0]
	if len(f) > systemField {
		for _, field := range [][]byte{f[userField], f[systemField]} {
			n, err := strconv.ParseUint(string(field), 10, 48) // far above any uptime
			if err == nil {
				a.CPU += time.Duration(n) * clockTick
			}
		}
	}
	return a, true
}
