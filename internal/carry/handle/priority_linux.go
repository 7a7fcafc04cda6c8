package handle

import (
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// afterwards is the nice value of what a handler does once the process may end: handlers that keep processes waiting come first.
const afterwards = 10

// giveWay lowers the priority of this program, and of what it starts.
func giveWay() {
	list, err := os.ReadDir("/proc/self/task") // Linux has a priority for each thread; those to come inherit it
	if err != nil {
		return
	}
	for _, t := range list {
		if tid, err := strconv.Atoi(t.Name()); err == nil {
			_ = unix.Setpriority(unix.PRIO_PROCESS, tid, afterwards)
		}
	}
}
