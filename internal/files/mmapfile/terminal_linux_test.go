package mmapfile

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// TestNoTerminal: a terminal that is opened does not become that of a process which has none, and can be interrupted from there.
func TestNoTerminal(t *testing.T) {
	const inside = "COREWALK_TEST_TERMINAL"
	if os.Getenv(inside) == "" {
		cmd := exec.Command(os.Args[0], "-test.run=^TestNoTerminal$")
		cmd.Env = append(os.Environ(), inside+"=1")
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		out, err := cmd.CombinedOutput()
		if strings.Contains(string(out), "no terminals: ") {
			t.Skip(string(out))
		}
		if err != nil {
			t.Errorf("%v: %s", err, out)
		}
		return
	}
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skip("no terminals: ", err)
	}
	defer master.Close()
	if err := unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Skip("no terminals: ", err)
	}
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Skip("no terminals: ", err)
	}
	f, err := OpenAtOnce(fmt.Sprint("/dev/pts/", n))
	if err != nil {
		t.Skip("no terminals: ", err)
	}
	defer f.Close()
	if own, err := os.Open("/dev/tty"); err == nil {
		own.Close()
		t.Error("the terminal has become this process's")
	}
}
