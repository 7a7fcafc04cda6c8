// Command victim dies in the way that its argument says, and keeps its crash.
package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/corewalk/corewalk/crashself"
)

type account struct {
	name    string
	balance int
}

type refused struct {
	code int
	what string
}

func (r refused) Error() string { return fmt.Sprintf("refused with %d: %s", r.code, r.what) }

//go:noinline
func transfer(from *account, amount int) int {
	from.balance -= amount // line "nil"
	return from.balance
}

//go:noinline
func deep(n int) int {
	var pad [64]int
	pad[n%64] = n
	return deep(n+1) + pad[n%63]
}

var sink [][]byte

func main() {
	switch how := os.Args[1]; how {
	case "nil":
		go transfer(nil, 42)
	case "custom":
		go func() { panic(refused{451, "the vault is closed"}) }()
	case "nested":
		func() {
			defer func() { panic(fmt.Sprint("while recovering: ", recover())) }()
			panic("first")
		}()
	case "goexit":
		runtime.Goexit() // and no other goroutine
	case "mapwrites":
		m := map[int]int{}
		for range 4 {
			go func() {
				for i := 0; ; i++ {
					m[i&7]++
				}
			}()
		}
	case "deadlock":
		<-make(chan int)
	case "overflow":
		deep(0)
	case "memory":
		fatal(syscall.Setrlimit(syscall.RLIMIT_AS, &syscall.Rlimit{Cur: 1 << 30, Max: 1 << 30}))
		for {
			sink = append(sink, make([]byte, 64<<20))
		}
	case "exit":
		os.Exit(3)
	case "exec":
		fatal(syscall.Exec("/bin/true", []string{"true"}, nil))
	case "quit", "wait", "kill":
	case "notify": // a program with handlers of its own
		c := make(chan os.Signal, 1)
		signal.Notify(c, syscall.SIGQUIT, syscall.SIGUSR1)
		fatal(syscall.Kill(os.Getpid(), syscall.SIGQUIT))
		<-c
		transfer(nil, 42)
	case "closed":
		for fd := range 3 {
			syscall.Close(fd)
		}
		transfer(nil, 42)
	case "children":
		for range 3 {
			fatal(exec.Command("sleep", "30").Start())
		}
		fatal(exec.Command("/bin/true").Run())
		transfer(nil, 42)
	case "output": // its own
		f, err := os.Create(os.Args[2])
		fatal(err)
		fatal(crashself.Start(crashself.Options{Output: f}))
		transfer(nil, 42)
	case "taken": // another takes the place of this package
		f, err := os.Create(os.Args[2])
		fatal(err)
		fatal(debug.SetCrashOutput(f, debug.CrashOptions{}))
		transfer(nil, 42)
	case "stopped":
		fatal(crashself.Stop())
		transfer(nil, 42)
	case "orphan": // its watcher is killed
		fatal(syscall.Kill(child(), syscall.SIGKILL))
		transfer(nil, 42)
	case "undumpable":
		_, _, errno := syscall.RawSyscall(syscall.SYS_PRCTL, syscall.PR_SET_DUMPABLE, 0, 0)
		if errno != 0 {
			fatal(errno)
		}
		transfer(nil, 42)
	case "large":
		n, err := strconv.Atoi(os.Args[2])
		fatal(err)
		for i := range n {
			b := make([]byte, 1<<20)
			for j := 0; j < len(b); j += 4096 {
				b[j] = byte(i)
			}
			sink = append(sink, b)
		}
		for range 50 {
			go func() { select {} }()
		}
		transfer(nil, 42)
	default:
		fatal(errors.New(how))
	}
	fmt.Println("ready")
	time.Sleep(time.Minute)
}

// child returns the number of this program's only child.
func child() int {
	b, err := os.ReadFile(fmt.Sprintf("/proc/self/task/%d/children", os.Getpid()))
	fatal(err)
	pid, err := strconv.Atoi(strings.TrimSpace(string(b)))
	fatal(err)
	return pid
}

func fatal(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
