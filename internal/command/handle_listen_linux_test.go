package command

import (
	"encoding/binary"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/corewalk/corewalk/internal/fixture"
)

// victimEnv has the path of a socket for the process that stands for one that dies.
const victimEnv = "COREWALK_TEST_CORE_SOCKET"

// TestHandleVictim is that process: it does what the kernel does for it, with a core that it has on its input, and waits
// until the server closes the socket.
func TestHandleVictim(t *testing.T) {
	path := os.Getenv(victimEnv)
	if path == "" {
		t.Skip("for TestHandleListen")
	}
	c, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	b := make([]byte, coreRequest)
	if _, err := c.Write(request(16, 16, 0xf)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(c, b); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Write(make([]byte, 4)); err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(c, os.Stdin) // ends when the server has what it wants
	if _, err := c.Read(b); err == nil {
		t.Error("the server says more")
	}
}

// TestHandleListen: the server of the core socket serves crashes at once, and goes on when connections say nothing, nonsense, or
// are those of a kernel that was told of it with one @ only.
func TestHandleListen(t *testing.T) {
	policy, store := policyFile(t, "report = no\n")
	dir := filepath.Dir(policy)
	path := filepath.Join(dir, "s")
	server := exec.Command("corewalk", "handle", "--policy", policy, "--listen", path)
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = server.Process.Kill() }()
	connect := func() net.Conn {
		for end := time.Now().Add(10 * time.Second); ; time.Sleep(5 * time.Millisecond) {
			c, err := net.Dial("unix", path)
			if err == nil {
				return c
			}
			if time.Now().After(end) {
				t.Fatal(err)
			}
		}
	}
	silent := connect()
	defer silent.Close()
	nonsense := []string{"", strings.Repeat("\xff", 64), string(request(16, 16, 1)), "\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x04\x00"}
	for _, said := range nonsense {
		c := connect()
		_, _ = io.WriteString(c, said)
		c.Close()
	}
	const atOnce = 4
	core := fixture.Get(t, "amd64-crash-least").Core(t)
	var all []*exec.Cmd
	for range atOnce {
		in, err := os.Open(core)
		if err != nil {
			t.Fatal(err)
		}
		defer in.Close()
		v := exec.Command(os.Args[0], "-test.run=^TestHandleVictim$")
		v.Env, v.Stdin = append(os.Environ(), victimEnv+"="+path), in
		if err := v.Start(); err != nil {
			t.Fatal(err)
		}
		all = append(all, v)
	}
	for _, v := range all {
		if err := v.Wait(); err != nil {
			t.Error(err)
		}
	}
	var list []string
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end) && len(list) < atOnce; time.Sleep(5 * time.Millisecond) {
		list, _ = filepath.Glob(filepath.Join(store, "crashes", "2*", "crash.json"))
	}
	c := connect() // once more: there is a log by now
	_, _ = io.WriteString(c, nonsense[3])
	_, _ = io.Copy(io.Discard, c)
	c.Close()
	var log []byte
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end) && !strings.Contains(string(log), "one @"); time.Sleep(5 * time.Millisecond) {
		log, _ = os.ReadFile(filepath.Join(store, "log"))
	}
	if len(list) != atOnce || !strings.Contains(string(log), "one @") {
		t.Errorf("%d of %d were kept: %s", len(list), atOnce, log)
	}
	if err := server.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := server.Wait(); err != nil && server.ProcessState.ExitCode() != 128+int(syscall.SIGTERM) && !strings.Contains(err.Error(), "terminated") {
		t.Errorf("the server ended: %v", err)
	}
}

// FuzzAgree: a kernel, or somebody else who reaches the socket, may say anything.
func FuzzAgree(f *testing.F) {
	f.Add(append(request(16, 16, 0xf), 0, 0, 0, 0))
	f.Add(append(request(24, 24, 0x1f), make([]byte, 12)...))
	f.Fuzz(func(t *testing.T, said []byte) {
		c := &talk{said: said}
		if err := agree(c); err == nil && (len(c.heard) != coreRequest || binary.NativeEndian.Uint64(said[8:])&(coreKernel|coreWait) != coreKernel|coreWait) {
			t.Errorf("agreed to % x with % x", said, c.heard)
		}
	})
}

// talk is a connection.
type talk struct{ said, heard []byte }

func (c *talk) Read(b []byte) (int, error) {
	if len(c.said) == 0 {
		return 0, io.EOF
	}
	n := copy(b, c.said)
	c.said = c.said[n:]
	return n, nil
}

func (c *talk) Write(b []byte) (int, error) {
	c.heard = append(c.heard, b...)
	return len(b), nil
}
