package livestate

import (
	"os"
	"testing"

	"github.com/corewalk/corewalk/unwind"
)

func TestInnermostID(t *testing.T) {
	for text, want := range map[string]uint64{
		"Name:\tx\nNSpid:\t10733\t20\t3\nNSpgid:\t1\n": 3, "Name:\tx\nNSpid:\t10733\nNSpgid:\t1\n": 10733, "Name:\tx\nNSpid:\n": 0, "": 0,
	} {
		if got := innermostID([]byte(text)); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
	p := &Process{pid: os.Getpid()}
	if got := p.OwnThreadID(unwind.ThreadID(os.Getpid())); got == 0 {
		t.Error("this program's first thread has no id")
	}
}
