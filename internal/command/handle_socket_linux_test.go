package command

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/corewalk/corewalk/internal/fixture"
)

// request is what the kernel sends first.
func request(size, answer uint32, mask uint64) []byte {
	b := make([]byte, coreRequest)
	binary.NativeEndian.PutUint32(b, size)
	binary.NativeEndian.PutUint32(b[4:], answer)
	binary.NativeEndian.PutUint64(b[8:], mask)
	return b
}

// The kernel writes the core, and waits, if it can do both; of a longer request, the end is not taken for the core.
func TestAgree(t *testing.T) {
	for name, c := range map[string]struct {
		request []byte
		mark    uint32
		want    string // "" for agreement
	}{
		"today":    {request(16, 16, 0xf), 0, ""},
		"longer":   {append(request(24, 24, 0x1f), make([]byte, 8)...), 0, ""},
		"no wait":  {request(16, 16, 0x7), 0, "offers"},
		"short":    {request(8, 16, 0xf), 0, "request of 8"},
		"too long": {request(1<<20, 16, 0xf), 0, "request of"},
		"refused":  {request(16, 16, 0xf), 2, "refuses"},
		"cut off":  {request(16, 16, 0xf)[:10], 0, io.ErrUnexpectedEOF.Error()},
	} {
		kernel, server := net.Pipe()
		answer := make(chan []byte, 1)
		go func() {
			defer kernel.Close()
			b := make([]byte, coreRequest)
			if _, err := kernel.Write(c.request); err != nil {
				answer <- nil
				return
			}
			if name == "cut off" {
				answer <- nil
				return
			}
			_, err := io.ReadFull(kernel, b)
			if err == nil {
				_, err = kernel.Write(append(binary.NativeEndian.AppendUint32(nil, c.mark), "core"...))
			}
			if err != nil && !errors.Is(err, io.ErrClosedPipe) {
				b = nil
			}
			answer <- b
		}()
		err := agree(server)
		if c.want == "" {
			core := make([]byte, 4)
			if _, rerr := io.ReadFull(server, core); err != nil || rerr != nil || string(core) != "core" {
				t.Errorf("%s: %v, %v, %q", name, err, rerr, core)
			}
		} else if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
		server.Close()
		if b := <-answer; c.want == "" && (len(b) != coreRequest || binary.NativeEndian.Uint32(b) != coreRequest || binary.NativeEndian.Uint64(b[8:]) != coreKernel|coreWait) {
			t.Errorf("%s: the answer is % x", name, b)
		}
	}
}

// The kernel connects to the socket when a process dies. What other programs leave is written as before.
func TestHandleSocket(t *testing.T) {
	fixture.Long(t)
	if modes, err := os.ReadFile("/proc/sys/kernel/core_modes"); err != nil || !strings.Contains(string(modes), "socket") {
		t.Skip("this kernel connects to no sockets")
	}
	policy, store := policyFile(t, "report = no\n")
	dir := filepath.Dir(policy)
	exe, err := exec.LookPath("corewalk")
	if err != nil {
		t.Fatal(err)
	}
	victim := filepath.Join(dir, "cwvictim")
	code, err := os.ReadFile(fixture.Get(t, "amd64-crash-least").Binary(t))
	if err := errors.Join(err, os.WriteFile(victim, code, 0o755)); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "s")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	served := make(chan error, 100)
	go func() {
		for {
			c, err := l.AcceptUnix()
			if err != nil {
				return
			}
			go func() { served <- serveOurs(exe, policy, c) }()
		}
	}()
	back := kernelStarts(t, "@@"+path)
	cmd := exec.Command(victim)
	cmd.Dir = dir
	err = cmd.Run()
	back()
	if err == nil {
		t.Error("it did not die")
	}
	list, _ := records(t, store)
	for end := time.After(time.Minute); len(list) == 0; list, _ = records(t, store) { // others may die before, and be served first
		select {
		case err := <-served:
			if err != nil {
				t.Error(err)
			}
			continue
		case <-end:
		}
		break
	}
	if len(list) != 1 || list[0].Program != victim || list[0].Signal == 0 || list[0].Core.Threads != 1 {
		log, _ := os.ReadFile(filepath.Join(store, "log"))
		t.Errorf("%+v: %s", list, log)
	}
}

// serveOurs serves the connection of a victim; of others it writes the core where it would have been.
func serveOurs(exe, policy string, c *net.UnixConn) error {
	var pid int32
	raw, err := c.SyscallConn()
	if err != nil {
		return err
	}
	if err := raw.Control(func(fd uintptr) {
		if cred, err := unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED); err == nil {
			pid = cred.Pid
		}
	}); err != nil {
		return err
	}
	comm, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
	if string(comm) == "cwvictim\n" {
		return (&handleFlags{policy: policy}).serveCore(exe, c)
	}
	defer c.Close()
	f, err := os.Create(fmt.Sprintf("/proc/%d/cwd/core", pid))
	if err == nil {
		defer f.Close()
		err = agree(c)
	}
	if err == nil {
		_, err = io.Copy(f, c)
	}
	return err
}
