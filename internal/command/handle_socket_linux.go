package command

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/corewalk/corewalk/internal/carry/handle"
)

// What the kernel and the server of a core socket say to each other (include/uapi/linux/coredump.h).
const (
	coreRequest   = 16     // bytes: size, size of the answer, mask u64
	coreKernel    = 1 << 0 // the kernel writes the core
	coreWait      = 1 << 3 // the process waits until the socket is closed
	coreTimeout   = time.Second
	coreMostAtime = 1000 // connections that are served at the same time
)

// serveSocket serves the socket that the kernel connects to. Each crash is handled by a process of its own, as if the kernel had
// started it.
func (f *handleFlags) serveSocket(e env, p *handle.Policy) int {
	exe, err := os.Executable()
	if err != nil {
		return e.fail(err)
	}
	_ = os.Remove(f.listen)
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: f.listen, Net: "unix"})
	if err != nil {
		return e.fail(err)
	}
	defer l.Close()
	if err := os.Chmod(f.listen, 0o600); err != nil {
		return e.fail(err)
	}
	go func() {
		<-e.ctx.Done()
		l.Close()
	}()
	slots := make(chan struct{}, coreMostAtime)
	for {
		c, err := l.AcceptUnix()
		if err != nil {
			if e.ctx.Err() != nil {
				return exitComplete
			}
			return e.fail(err)
		}
		slots <- struct{}{}
		go func() {
			defer func() { <-slots }()
			if err := f.serveCore(exe, c); err != nil {
				logLine(p, "core socket: %v", err)
			}
		}()
	}
}

// serveCore handles one connection.
func (f *handleFlags) serveCore(exe string, c *net.UnixConn) error {
	defer c.Close()
	raw, err := c.SyscallConn()
	if err != nil {
		return err
	}
	var cred *unix.Ucred
	var cerr error
	if err := raw.Control(func(fd uintptr) { cred, cerr = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) }); err != nil || cerr != nil {
		return errors.Join(err, cerr)
	}
	if err := c.SetDeadline(time.Now().Add(coreTimeout)); err != nil {
		return err
	}
	if err := agree(c); err != nil {
		return fmt.Errorf("process %d: %w", cred.Pid, err)
	}
	file, err := c.File()
	if err != nil {
		return err
	}
	c.Close() // the child has it alone: the process goes when the child closes it
	args := []string{"handle"}
	if f.policy != "" {
		args = append(args, "--policy", f.policy)
	}
	pid := strconv.Itoa(int(cred.Pid))
	host, _ := os.Hostname()
	cmd := exec.Command(exe, append(args, pid, pid, "0", strconv.FormatInt(time.Now().Unix(), 10), host, "")...)
	cmd.Stdin = file
	err = cmd.Start()
	file.Close()
	if err != nil {
		return err
	}
	return cmd.Wait()
}

// agree tells the kernel to write the core and to wait.
func agree(c io.ReadWriter) error {
	var b [coreRequest]byte
	if _, err := io.ReadFull(c, b[:]); err != nil {
		return err
	}
	if string(b[:4]) == "\x7fELF" {
		return errors.New("the kernel writes the core without asking: core_pattern has one @ and needs two (corewalk handle --install --socket)")
	}
	size, want := binary.NativeEndian.Uint32(b[:]), binary.NativeEndian.Uint32(b[4:])
	const most = 4096
	if size < coreRequest || size > most || want < coreRequest || want > most {
		return fmt.Errorf("a request of %d bytes for an answer of %d", size, want)
	}
	if _, err := io.CopyN(io.Discard, c, int64(size-coreRequest)); err != nil {
		return err
	}
	if mask := binary.NativeEndian.Uint64(b[8:]); mask&(coreKernel|coreWait) != coreKernel|coreWait {
		return fmt.Errorf("the kernel offers %#x", mask)
	}
	answer := make([]byte, coreRequest)
	binary.NativeEndian.PutUint32(answer, coreRequest)
	binary.NativeEndian.PutUint64(answer[8:], coreKernel|coreWait)
	if _, err := c.Write(answer); err != nil {
		return err
	}
	var mark [4]byte
	if _, err := io.ReadFull(c, mark[:]); err != nil {
		return err
	}
	if m := binary.NativeEndian.Uint32(mark[:]); m != 0 {
		return fmt.Errorf("the kernel refuses the answer: %d", m)
	}
	return nil
}
