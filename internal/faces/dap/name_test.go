package dap

import (
	"testing"

	"github.com/corewalk/corewalk/session"
)

// TestName: an editor shows the numbers of tasks as their runtimes write them.
func TestName(t *testing.T) {
	for want, st := range map[string]session.Stack{
		"thread 4242 worker [crashed]":      {Kind: "thread", Number: 4242, Name: "worker", Crashed: true},
		"process <0.129.0> first [waiting]": {Kind: "process", Number: 129, Name: "first", State: "waiting"},
		"coroutine 0x7f00 [waiting]":        {Kind: "coroutine", Number: 0x7f00, State: "waiting"},
		"goroutine 7 [chan receive]":        {Kind: "goroutine", Number: 7, Status: "chan receive"},
	} {
		if got := name(&st); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
