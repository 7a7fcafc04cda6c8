package command

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/spf13/pflag"

	"github.com/corewalk/corewalk/internal/command/serving"
	"github.com/corewalk/corewalk/internal/faces/ask"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/session"
)

// maxAskMemory is the limit on the memory of a process that has a dump open, if --memory is not less: several of them wait for questions.
const maxAskMemory = 1 << 30

// answers answers questions about a dump, in the sandbox, until there are no more. The service starts it.
func (f *serveFlags) answers(e env, args []string) int {
	f.sandbox.asks = true
	e, status, done := f.sandboxed(e, []string{"serve"}, args, []string{f.answer})
	if done {
		return status
	}
	memory := memoryWatch{limit: min(uint64(f.memory), maxAskMemory)}
	memory.begin()
	defer memory.stop()
	go memory.watch(func() {}, func() {
		e.abort("the dump needs more than %s of memory", report.Size(memory.limit))
	})
	// What takes longer than an answer may take hangs.
	opening := time.AfterFunc(f.deadline, func() { e.abort("the dump could not be opened within %s", f.deadline) })
	t, err := e.open(operands{core: f.answer}, f.options(e, ""))
	opening.Stop()
	if t != nil {
		defer e.leave(t)
	}
	if err != nil {
		return e.failOpen(err)
	}
	s := session.New(t, session.Options{})
	defer s.Close()
	if err := ask.Serve(e.ctx, e.stdin, e.stdout, s, f.deadline); err != nil {
		return e.fail(err)
	}
	return exitComplete
}

// ask starts a process that answers questions about a dump.
func (f *serveFlags) ask(exe string, fs *pflag.FlagSet, symbols serving.Symbols, path string) (io.ReadWriteCloser, error) {
	args := append([]string{"serve", "--answer=" + path, fmt.Sprint("--memory=", f.memory.String()), "--deadline=" + f.deadline.String()}, f.files(fs, symbols)...)
	a := &asked{cmd: exec.Command(exe, args...), path: path}
	a.cmd.Env, a.cmd.Stderr = environment(symbols), &a.said
	a.cmd.WaitDelay = 5 * time.Second
	var err error
	if a.in, err = a.cmd.StdinPipe(); err == nil {
		a.out, err = a.cmd.StdoutPipe()
	}
	if err == nil {
		err = a.cmd.Start()
	}
	if err != nil {
		return nil, err
	}
	a.end = sync.OnceValue(a.close)
	return a, nil
}

// An asked process answers questions.
type asked struct {
	cmd  *exec.Cmd
	path string
	in   io.WriteCloser
	out  io.ReadCloser
	said bounded
	end  func() error
}

func (a *asked) Read(b []byte) (int, error) { return a.out.Read(b) }

func (a *asked) Write(b []byte) (int, error) { return a.in.Write(b) }

// Close ends the process, which may be called from several goroutines.
func (a *asked) Close() error { return a.end() }

// askGrace is how long a process may take to end that is asked nothing more.
const askGrace = 2 * time.Second

func (a *asked) close() error {
	_ = a.in.Close()
	kill := time.AfterFunc(askGrace, func() { _ = a.cmd.Process.Kill() })
	_, _ = io.Copy(io.Discard, a.out)
	err := a.cmd.Wait()
	if !kill.Stop() || err == nil {
		return nil
	}
	line := strings.ReplaceAll(firstSaid(a.said.String()), a.path+": ", "") // where it is concerns nobody
	if line = report.Clean(line); line != "" {
		return errors.New(line)
	}
	return err
}

// bounded keeps the beginning of what is written.
type bounded struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (w *bounded) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.b.Write(b[:min(len(b), max(0, 4096-w.b.Len()))])
	return len(b), nil
}

func (w *bounded) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.b.String()
}
