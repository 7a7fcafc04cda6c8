package analysis

import (
	"encoding/hex"
	"slices"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/code/provenance"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/internal/why/message"
	"github.com/corewalk/corewalk/internal/why/reason"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/unwind/arch"
)

// TestRaisedAgain: what else is on the stack of a handler that raises SIGABRT says that the program aborted.
func TestRaisedAgain(t *testing.T) {
	o := openCase(t, fixture.Get(t, "amd64-again-sent"))
	const unknown = "raised by the handler of a signal that is not known"
	for _, c := range []struct {
		name   string
		change func(*crash)
		want   string
	}{
		{"as it is", func(*crash) {}, unknown},
		{"another signal", func(c *crash) { c.Signal.Number = 11 }, ""},
		{"an exception", func(c *crash) { c.Signal = nil }, ""},
		{"nobody raises", func(c *crash) { c.named.Frames[1].Function = "" }, ""},
		{"faulthandler", func(c *crash) { c.named.Frames[1].Function = "faulthandler_fatal_error" }, unknown},
		{"pthread_kill", func(c *crash) { c.named.Frames[1].Function = "__pthread_kill_implementation" }, unknown},
		{"a handler of the program", func(c *crash) { c.named.Frames[1].Function = "on_abort" }, ""},
		{"another function of the C library", func(c *crash) { c.named.Frames[0].Function = "memcpy" }, ""},
		{"the program's, without a name", func(c *crash) { c.named.Frames[0].Module = "/x/app" }, ""},
		{"no handler", func(c *crash) { c.named.Frames = c.named.Frames[:2] }, ""},
		{"called by no handler", func(c *crash) { c.named.Frames[2].Signal, c.named.Frames[2].Function = "", "main" }, ""},
		{"nothing interrupted", func(c *crash) { c.stack = c.stack[:3] }, ""},
		{"in abort", func(c *crash) { c.named.Frames[3].Function = "abort" }, ""},
		{"in kill", func(c *crash) { c.named.Frames[3].Function = "__kill" }, ""},
		{"in kill, called by the C library", func(c *crash) {
			c.named.Frames[3].Function, c.named.Frames[4].Function, c.named.Frames[4].Module = "", "raise", c.named.Frames[3].Module
		}, ""},
		{"kill called what was interrupted", func(c *crash) { c.named.Frames[5].Function = "kill" }, unknown},
	} {
		x := o.crash(t, false, false)
		s := *x.Signal
		x.Signal = &s
		x.named.Frames = slices.Clone(x.named.Frames)
		c.change(x)
		if got := x.raisedAgain(); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// TestRaisedFault: a fault is the reason of a signal that the process sent itself, if that is the fault's and nobody said more.
func TestRaisedFault(t *testing.T) {
	o := openCase(t, fixture.Get(t, "amd64-again-fault"))
	for _, c := range []struct {
		name   string
		change func(*crash)
		want   bool
	}{
		{"as it is", func(*crash) {}, true},
		{"another signal", func(c *crash) { c.Signal.Number = 15 }, false},
		{"another process", func(c *crash) { c.Signal.PID++ }, false},
		{"no process", func(c *crash) { c.Signal.PID, c.Signal.OwnPID = 0, 0 }, false},
		{"an exception", func(c *crash) { c.Signal = nil }, false},
		{"a message", func(c *crash) {
			c.known.words = fact[words]{words{told: asReason, Words: message.Words{Message: "no room"}}, true}
		}, false},
		{"an abort of another kind", func(c *crash) {
			c.known.stop = fact[*stop]{&stop{why: reason.Reason{Kind: report.CrashAbort}}, true}
		}, false},
		{"no fault", func(c *crash) { c.known.handled.value, c.known.handled.found = nil, true }, false},
	} {
		x := o.crash(t, false, false)
		s := *x.Signal
		x.Signal = &s
		x.handled()
		c.change(x)
		if got := x.abortedByHandler(); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

// TestCaught: the report is of the fault, and says what its handler did.
func TestCaught(t *testing.T) {
	for name, want := range map[string]string{
		"amd64-again-fault": "SIGSEGV caught: write of 4 bytes at null; its handler raised it again",
		"amd64-passed-O2":   "SIGSEGV caught: write of 4 bytes at null; its handler called abort",
	} {
		x := openCase(t, fixture.Get(t, name)).crash(t, false, false)
		k := x.caught()
		if k == nil || k.verdict.kind != report.CrashNullWrite || k.verdict.reason != want {
			t.Errorf("%s: %+v", name, k)
			continue
		}
		if x.named.Frames[k.frame].Physical != x.handled().physical || k.frame != k.from {
			t.Errorf("%s: frame %d, from %d; the fault was in %d", name, k.frame, k.from, x.handled().physical)
		}
		if k.fault.blame != nil && k.fault.blame.Steps[0].Physical != x.handled().physical {
			t.Errorf("%s: %+v", name, k.fault.blame.Steps)
		}
	}
}

// TestPassedIn: what a caller passed is known only of a direct call of the function, and only in a register of an argument.
func TestPassedIn(t *testing.T) {
	x := openCase(t, fixture.Get(t, "amd64-pie")).crash(t, false, false)
	tr := &tracer{in: x.question, stack: x.stack}
	t.Cleanup(tr.close)
	visit := func() *witness { return tr.witness(1, nil) } // of the list that main has on its stack
	sp := x.stack[1].SP()
	if v, exact, ok := tr.passedIn(visit(), arch.RDI); !ok || !exact || v <= sp {
		t.Fatalf("the list is at %#x, %v, %v", v, exact, ok)
	}
	if v, _, ok := tr.passedIn(visit(), arch.RSI); !ok || v != 2 {
		t.Errorf("depth is %d, %v", v, ok)
	}
	for name, change := range map[string]func(*witness) arch.Reg{
		"not of an argument":  func(*witness) arch.Reg { return arch.RSP },
		"of another function": func(w *witness) arch.Reg { w.call.Entry++; return arch.RDI },
		"without a caller":    func(w *witness) arch.Reg { w.number = len(x.stack); return arch.RDI },
	} {
		w := visit()
		r := change(w)
		if v, _, ok := tr.passedIn(w, r); ok {
			t.Errorf("%s: %#x", name, v)
		}
	}
}

// TestChoose: of the values that can have met, that is taken which the others cannot be.
func TestChoose(t *testing.T) {
	x := openCase(t, fixture.Get(t, "amd64-pie")).crash(t, false, false)
	tr := &tracer{in: x.question, stack: x.stack}
	t.Cleanup(tr.close)
	join := func() (*witness, *provenance.Value) {
		w := tr.witness(1, nil)
		return w, w.code.Before(w.state.PC, provenance.Reg(arch.RDI))
	}
	w, v := join()
	if v.Kind != provenance.Join {
		t.Fatalf("%+v", v)
	}
	if got := tr.choose(w, v, 0); got == nil || got.Kind != provenance.Load {
		t.Errorf("null is not what was passed: %+v", got)
	}
	first, _, _ := tr.passedIn(w, arch.RDI)
	if got := tr.choose(w, v, first); got != nil {
		t.Errorf("what was passed may have been read, too: %+v", got)
	}
	if w.call.Entry++; tr.choose(w, v, 0) != nil {
		t.Error("what was passed is not known")
	}
}

// TestRaisedBy: abort is not called where the program's own code raised the signal, and all functions in between are known.
func TestRaisedBy(t *testing.T) {
	const libc = "/lib/x86_64-linux-gnu/libc.so.6"
	for _, c := range []struct {
		want  string
		names []string // of libc, but for what begins with /
	}{
		{"raise", []string{"__pthread_kill_implementation", "__pthread_kill_internal", "__GI___pthread_kill", "__GI_raise", "/main"}},
		{"pthread_kill", []string{"__pthread_kill_implementation", "___pthread_kill", "/main"}},
		{"tgkill", []string{"syscall", "/main"}},
		{"", []string{"__pthread_kill_implementation", "raise", "abort", "/main"}},
		{"", []string{"raise", "__assert_fail", "/main"}},
		{"", []string{"raise", "", "/main"}},
		{"", []string{"raise"}},
		{"", []string{"/main"}},
		{"", nil},
	} {
		var frames []report.Frame
		for _, name := range c.names {
			f := report.Frame{Module: libc, Function: name}
			if name, own := strings.CutPrefix(name, "/"); own {
				f = report.Frame{Module: "/srv/app", Function: name}
			}
			frames = append(frames, f)
		}
		if got := raisedBy(frames); got != c.want {
			t.Errorf("%q: %q, want %q", c.names, got, c.want)
		}
		if len(frames) > 1 {
			frames[1].Signal = "SIGSEGV"
			if got := raisedBy(frames); got != "" {
				t.Errorf("%q, in a handler: %q", c.names, got)
			}
		}
	}
}

// TestKernelCalled: the instruction and the result tell, on each architecture, whether a thread has just called the kernel with success, as what raises a
// signal on its own thread has.
func TestKernelCalled(t *testing.T) {
	for a, c := range map[*arch.Arch]struct {
		result string
		calls  []string
	}{
		arch.AMD64: {"rax", []string{"0f05"}}, arch.X86: {"eax", []string{"cd80", "0f05", "0f34"}}, arch.ARM64: {"x0", []string{"010000d4"}},
		arch.ARM: {"r0", []string{"000000ef", "00df"}}, arch.RISCV64: {"a0", []string{"73000000"}}, arch.Loong64: {"a0", []string{"00002b00"}},
		arch.MIPS: {"v0", []string{"0000000c"}}, arch.MIPS64EL: {"v0", []string{"0c000000"}}, arch.PPC64LE: {"r3", []string{"02000044", "01000044"}},
		arch.PPC: {"r3", []string{"44000002"}}, arch.S390X: {"r2", []string{"0a00", "0aed"}},
	} {
		for _, text := range c.calls {
			code, _ := hex.DecodeString(text)
			const end = 0x1000
			read := func(at uint64, n int) []byte {
				have := append([]byte{0xff, 0xff, 0xff, 0xff}, code...) // of which the last is before end
				from := uint64(end - len(have))
				if at < from || at+uint64(n) > end {
					return nil
				}
				return have[at-from : at-from+uint64(n)]
			}
			reg, ok := a.RegByName(c.result)
			if !ok {
				t.Fatalf("%s has no %s", a.Name, c.result)
			}
			for _, row := range []struct {
				what          string
				returned      uint64
				unset         bool
				pc            uint64
				called, known bool
			}{
				{"has succeeded", 0, false, end, true, true},
				{"has failed", a.Truncate(1<<64 - 4), false, end, false, true},
				{"returned what is not known", 0, true, end, true, false},
				{"is elsewhere", 0, false, end - uint64(len(code)), false, true},
				{"is at code that is not known", 0, false, 0x4000, false, false},
			} {
				var regs arch.RegSet
				if !row.unset {
					regs.Set(reg, row.returned)
				}
				if called, known := kernelCalled(a, &regs, row.pc, read); called != row.called && known || known != row.known {
					t.Errorf("%s, %s, %s: %v %v", a.Name, text, row.what, called, known)
				}
			}
		}
	}
	if _, known := kernelCalls(arch.HPPA); known != nil {
		t.Error("the calls of PA-RISC are not known")
	}
	for _, c := range []struct {
		a      *arch.Arch
		sender int
		want   string
	}{{arch.S390X, 7, "sent by the program to itself, not by abort"}, {arch.HPPA, 7, "sent by the program to itself, likely not by abort"},
		{arch.ARM64, 0, "not raised by abort: sent from outside"}, {arch.HPPA, 0, "likely not raised by abort: sent from outside"}} {
		if got := elsewhere(c.a, c.sender); !strings.HasPrefix(got, c.want) {
			t.Errorf("%s, sent by %d: %s", c.a.Name, c.sender, got)
		}
	}
}

// TestAtNamedCall: where nothing but names tells, all in the C library must have one, and none may be of what raises signals.
func TestAtNamedCall(t *testing.T) {
	const libc, app = "/lib/libc.so.6", "/app"
	f := func(module, function string) report.Frame { return report.Frame{Module: module, Function: function} }
	for what, c := range map[string]struct {
		frames []report.Frame
		want   bool
	}{
		"waits":                 {[]report.Frame{f(libc, "futex_wait"), f(libc, "pthread_mutex_lock"), f(app, "")}, true},
		"raises":                {[]report.Frame{f(libc, "__pthread_kill_implementation"), f(libc, "raise"), f(app, "main")}, false},
		"aborts":                {[]report.Frame{f(libc, "a"), f(libc, "abort"), f(app, "main")}, false},
		"calls the kernel":      {[]report.Frame{f(libc, "syscall"), f(app, "main")}, false},
		"without a name":        {[]report.Frame{f(libc, "futex_wait"), f(libc, ""), f(app, "main")}, false},
		"in a handler":          {[]report.Frame{f(libc, "pause"), {Signal: "SIGALRM", Module: libc, Function: "__restore_rt"}, f(app, "main")}, false},
		"in the program":        {[]report.Frame{f(app, "work"), f(app, "main")}, false},
		"whose end is not seen": {[]report.Frame{f(libc, "futex_wait")}, false},
		"nowhere":               {nil, false},
	} {
		x := &crash{named: report.Thread{Frames: c.frames}}
		if got := x.atNamedCall(); got != c.want {
			t.Errorf("%s: %v", what, got)
		}
	}
}

// TestWaitingFrame: a wait is not in what a signal interrupted, unless the handler ends the program.
func TestWaitingFrame(t *testing.T) {
	const libc, app = "/lib/libc.so.6", "/app"
	f := func(module, function string) report.Frame { return report.Frame{Module: module, Function: function} }
	signal := report.Frame{Signal: "SIGALRM", Module: libc}
	for what, c := range map[string]struct {
		frames []report.Frame
		want   string
	}{
		"in the program":               {[]report.Frame{f(libc, "futex_wait"), f(libc, "pthread_mutex_lock"), f(app, "inner"), f(app, "main")}, "inner"},
		"in a handler":                 {[]report.Frame{f(libc, "pthread_mutex_lock"), f(app, "on"), signal, f(app, "main")}, "on"},
		"in a handler without a frame": {[]report.Frame{f(libc, "pthread_mutex_lock"), signal, f(app, "main")}, ""},
		"below one that ends it":       {[]report.Frame{f(libc, "pthread_kill"), f(libc, "raise"), f(app, "on"), signal, f(libc, "pthread_mutex_lock"), f(app, "inner")}, "inner"},
		"below two":                    {[]report.Frame{f(libc, "raise"), f(app, "on"), signal, f(libc, "pthread_mutex_lock"), signal, f(app, "main")}, ""},
	} {
		got := ""
		if w := waitingFrame(c.frames, ""); w != nil {
			got = w.Function
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", what, got, c.want)
		}
	}
}
