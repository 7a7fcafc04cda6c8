package command

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/pflag"

	"github.com/corewalk/corewalk/internal/budget"
	"github.com/corewalk/corewalk/internal/files/scratch"
	"github.com/corewalk/corewalk/internal/sandbox"
	"github.com/corewalk/corewalk/report"
)

// limitFlags bound what one report may cost. The defaults are far above what any honest dump needs.
type limitFlags struct {
	deadline time.Duration
	memory   memoryFlag
	set      *pflag.FlagSet
}

const (
	defaultDeadline = 10 * time.Minute
	defaultMemory   = 4 << 30
	minMemory       = 32 << 20 // less is not enough for any report
	// deadlineGrace is how long after the deadline the command is ended, if the analysis does not end by itself.
	deadlineGrace = 5 * time.Second
)

// register adds the flags; shows says what --memory without a size prints.
func (f *limitFlags) register(fs *pflag.FlagSet, deadline time.Duration, shows string) {
	f.set, f.memory.limit = fs, defaultMemory
	fs.DurationVar(&f.deadline, "deadline", deadline, "stop after this `TIME`, with what is known then; 0 for no limit. When given, it replaces the limit on work, which is in proportion to the dump")
	fs.Var(&f.memory, "memory", shows+". With a value: stop when more than `SIZE` of memory is used (512MiB, 4GiB; default 4GiB)")
	fs.Lookup("memory").NoOptDefVal = showMemory
}

// unlimited reports whether the user gave a time limit, which replaces that on work.
func (f *limitFlags) unlimited() bool { return f.set.Changed("deadline") }

func (f *limitFlags) check() error {
	if f.deadline < 0 {
		return fmt.Errorf("--deadline %v: must be 0 or more", f.deadline)
	}
	return nil
}

// watch ends the work of e at the limits: its context is done first, so that there is a report of what is known.
// If the work does not end then, the command does. The caller calls stop when all is written.
func (f *limitFlags) watch(e env) (limited env, stop func()) {
	ctx, cancel := context.WithCancelCause(e.ctx)
	limited = e
	limited.ctx = ctx
	release := context.CancelFunc(func() {})
	if f.deadline > 0 && f.unlimited() { // for whoever asks whether the user gave one
		limited.ctx, release = context.WithTimeout(ctx, f.deadline+deadlineGrace)
	}
	var timers []*time.Timer
	after := func(d time.Duration, do func()) { timers = append(timers, time.AfterFunc(d, do)) }
	if f.deadline > 0 {
		after(f.deadline, func() { cancel(fmt.Errorf("the time limit of %v (--deadline) is over", f.deadline)) })
		after(f.deadline+deadlineGrace, func() { e.abort("gave up %v after --deadline %v: the analysis did not end", deadlineGrace, f.deadline) })
	}
	memory := memoryWatch{limit: f.memory.limit}
	watch := func() {
		size := report.Size(memory.limit)
		memory.watch(func() { cancel(fmt.Errorf("more than the limit of %s of memory is needed (--memory)", size)) },
			func() { e.abort("gave up: more than %s of memory is needed; --memory=SIZE sets the limit", size) })
	}
	if memory.limit < defaultMemory {
		memory.begin()
	}
	after(shortRun, watch)
	return limited, func() {
		for _, t := range timers {
			t.Stop()
		}
		memory.stop()
		release()
	}
}

// guard ends the command if it needs more memory than any honest dump makes it need. It is for commands without a flag for that.
func (e env) guard() (stop func()) {
	if e.catch == nil { // in tests, which go on
		return func() {}
	}
	_ = sandbox.LimitMemory(hardMemory(defaultMemory)) // what grows faster than the watch looks
	w := memoryWatch{limit: defaultMemory}
	begin := time.AfterFunc(shortRun, func() {
		w.watch(func() {}, func() { e.abort("gave up: more than %s of memory is needed", report.Size(w.limit)) })
	})
	return func() {
		begin.Stop()
		w.stop()
	}
}

// A memoryWatch keeps the program below a limit on memory.
type memoryWatch struct {
	limit uint64 // in bytes

	mu     sync.Mutex
	begun  bool
	before int64              // the runtime's limit
	end    context.CancelFunc // nil if nothing waits
	over   bool
}

// hardMemory is what the kernel lets a process have that is to end by itself at a limit: a stranger's dump may ask for memory faster than the
// process looks at what it has.
func hardMemory(limit uint64) uint64 { return limit + limit/2 + 256<<20 }

// begin tells the runtime of the limit.
func (w *memoryWatch) begin() {
	w.before, w.begun = debug.SetMemoryLimit(int64(w.limit/4*3)), true
}

// watch waits until there is more memory than seven eighths of the limit, calls near, and then until there is more than
// the limit, and calls over; or until stop is called.
func (w *memoryWatch) watch(near, over func()) {
	w.mu.Lock()
	if w.over {
		w.mu.Unlock()
		return
	}
	if !w.begun {
		w.begin()
	}
	ctx, end := context.WithCancel(context.Background())
	w.end = end
	w.mu.Unlock()
	budget.WatchMemory(ctx, w.limit/8*7, near)
	budget.WatchMemory(ctx, w.limit, over)
}

func (w *memoryWatch) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.over = true
	if w.end != nil {
		w.end()
	}
	if w.begun {
		debug.SetMemoryLimit(w.before)
	}
}

// abort ends the command at once.
func (e env) abort(format string, args ...any) {
	e.say(format, args...)
	scratch.RemoveAll()
	os.Exit(exitNothing)
}

// showMemory is the value of --memory without a value.
const showMemory = "show"

// A memoryFlag is the value of --memory: without a size, memory is printed; with one, it is the limit. Both may
// be given.
type memoryFlag struct {
	show  bool
	limit uint64 // in bytes
}

func (m *memoryFlag) String() string { return "" }

// Type implements pflag.Value.
func (m *memoryFlag) Type() string { return "size" }

// Set implements pflag.Value.
func (m *memoryFlag) Set(s string) error {
	if s == showMemory {
		m.show = true
		return nil
	}
	n, err := parseSize(s)
	if err == nil && n < minMemory {
		err = fmt.Errorf("less than %s is not enough", report.Size(minMemory))
	}
	if err == nil {
		m.limit = n
	}
	return err
}

// A sizeFlag is a number of bytes.
type sizeFlag uint64

// String is exact, because the analysis processes of triage get it.
func (s *sizeFlag) String() string {
	if *s%(1<<20) == 0 {
		return fmt.Sprintf("%dMiB", *s>>20)
	}
	return fmt.Sprintf("%dKiB", *s>>10)
}

// Type implements pflag.Value.
func (s *sizeFlag) Type() string { return "size" }

// Set implements pflag.Value.
func (s *sizeFlag) Set(v string) error {
	n, err := parseSize(v)
	*s = sizeFlag(n)
	return err
}

// A sizeOrNone is a size, or 0.
type sizeOrNone struct{ sizeFlag }

// Set implements pflag.Value.
func (s *sizeOrNone) Set(v string) error {
	if v == "0" {
		s.sizeFlag = 0
		return nil
	}
	return s.sizeFlag.Set(v)
}

// sizeUnits are the suffixes of sizes.
var sizeUnits = []struct {
	suffix string
	shift  uint
}{{"kib", 10}, {"mib", 20}, {"gib", 30}, {"tib", 40}, {"kb", 10}, {"mb", 20}, {"gb", 30}, {"tb", 40}, {"k", 10}, {"m", 20}, {"g", 30}, {"t", 40}}

// parseSize parses a size with a unit; a bare number is in MiB. Units are powers of 1024 whether spelt with an i
// or not.
func parseSize(s string) (uint64, error) {
	num, shift := strings.ToLower(strings.TrimSpace(s)), uint(20)
	for _, u := range sizeUnits {
		if rest, ok := strings.CutSuffix(num, u.suffix); ok {
			num, shift = rest, u.shift
			break
		}
	}
	n, err := strconv.ParseFloat(strings.TrimSpace(num), 64)
	if err != nil || !(n > 0) || n*float64(uint64(1)<<shift) >= 1<<62 {
		return 0, errors.New("not a size; write 512MiB or 4GiB")
	}
	return uint64(n * float64(uint64(1)<<shift)), nil
}
