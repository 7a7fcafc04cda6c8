package sandbox

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"testing"

	"golang.org/x/sys/unix"
)

// The environment of a process that takes more memory than it may have.
const envTakes = "SANDBOX_TAKES"

// TestLimitMemory: who takes more memory than allowed is ended by its runtime, however fast it does so; less is left alone.
func TestLimitMemory(t *testing.T) {
	if os.Getenv(envTakes) != "" {
		if err := LimitMemory(256 << 20); err != nil {
			t.Fatal(err)
		}
		var kept [][]byte
		for range map[string]int{"little": 4, "much": 64}[os.Getenv(envTakes)] {
			kept = append(kept, bytes.Repeat([]byte{1}, 16<<20))
		}
		if len(kept) == 64 {
			t.Error("1 GB was taken")
		}
		return
	}
	for takes, ends := range map[string]bool{"little": true, "much": false} {
		cmd := exec.Command(os.Args[0], "-test.run=^TestLimitMemory$")
		cmd.Env = append(os.Environ(), envTakes+"="+takes)
		out, err := cmd.CombinedOutput()
		var exit *exec.ExitError
		if ends != (err == nil) || err != nil && !errors.As(err, &exit) || !ends && !bytes.Contains(out, []byte("out of memory")) {
			t.Errorf("%s: %v\n%.400s", takes, err, out)
		}
	}
}

// TestLower: a limit is never raised.
func TestLower(t *testing.T) {
	var was, now unix.Rlimit
	if err := errors.Join(unix.Getrlimit(unix.RLIMIT_NOFILE, &was), lower(unix.RLIMIT_NOFILE, was.Max+1), unix.Getrlimit(unix.RLIMIT_NOFILE, &now)); err != nil {
		t.Fatal(err)
	}
	if now != was {
		t.Errorf("%v became %v", was, now)
	}
}
