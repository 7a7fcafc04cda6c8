package report

import (
	"fmt"
	"strings"
	"time"
)

// at makes a frame of a function in the sample program.
func at(function, file string, line int) Frame {
	return Frame{PC: 0x55b8960d11c2, SP: 0x7ffd0d2e80e0, Module: "/opt/queue/queue", Offset: Addr(0x1000 + line), Function: function,
		Source: Source{File: "/src/queue/" + file, Line: line}, Trust: TrustCFI, Stepper: "Debug"}
}

// in makes a frame in libc.
func in(function, file string, line int) Frame {
	f := at(function, file, line)
	f.Module = "/lib/x86_64-linux-gnu/libc.so.6"
	if file == "" {
		f.Source = Source{}
		f.Offset = 0x1081
	}
	return f
}

// with sets a frame's arguments from name=value pairs.
func with(f Frame, args ...string) Frame {
	f.Args = []Variable{}
	for _, a := range args {
		name, value, _ := strings.Cut(a, "=")
		f.Args = append(f.Args, Variable{Name: name, Value: value, Status: StatusSuccess})
	}
	return f
}

// stack numbers frames and makes a thread of them.
func stack(id int, name string, frames ...Frame) Thread {
	physical := 0
	for i := range frames {
		frames[i].Index, frames[i].Physical = i, physical
		if !frames[i].virtual() {
			physical++
		}
	}
	if len(frames) > 0 {
		frames[0].Trust = TrustContext
	}
	return Thread{ID: id, Name: name, Frames: frames, End: EndBottom}
}

func sampleModules() []Module {
	return []Module{
		{Path: "/opt/queue/queue", Base: 0x55b8960d0000, End: 0x55b8960d5000, BuildID: "1a2b3c", File: "./queue", Status: ModuleMatched, Symbols: SymbolsDWARF, Main: true},
		{Path: "/lib/x86_64-linux-gnu/libc.so.6", Base: 0x7f1200000000, End: 0x7f12001d0000, BuildID: "c0ffee", File: "/lib/x86_64-linux-gnu/libc.so.6", Status: ModuleMatched, Symbols: SymbolsDWARF},
		{Path: "/lib64/ld-linux-x86-64.so.2", Base: 0x7f1300000000, End: 0x7f1300040000, BuildID: "decade", File: "/lib64/ld-linux-x86-64.so.2", Status: ModuleMatched, Symbols: SymbolsSymtab},
		{Path: "[vdso]", Base: 0x7ffd0d3f0000, End: 0x7ffd0d3f2000, BuildID: "facade", Status: ModuleMatched, Symbols: SymbolsExports},
	}
}

func newSample(threads ...Thread) *Report {
	r := &Report{
		Schema: Schema,
		Dump: Dump{Path: "core.4242", Format: FormatELFCore, Arch: "x86-64", OS: "linux", PID: 4242, Command: "queue", CommandLine: "./queue arg",
			Time: time.Date(2026, 11, 20, 17, 2, 11, 0, time.UTC)},
		Crash:   &Crash{Signal: "SIGSEGV", SignalNumber: 11, Code: "SEGV_MAPERR", Address: new(Addr(8)), Reason: "read of 4 bytes at null+0x8", Thread: 4242},
		Modules: sampleModules(),
		Threads: threads,
	}
	if len(threads) > 0 {
		r.Threads[0].Crashed = true
	}
	return r
}

// sampleQueue has a null pointer in a list, and idle threads.
func sampleQueue() *Report {
	top := with(at("visit", "queue.c", 15), "n=0x55b8982216f0", "depth=0")
	top.Locals = []Variable{
		{Name: "p", Type: "struct payload *", Value: "(struct payload *) 0x0", Status: StatusSuccess, Location: "register rbx",
			Data: &Data{Kind: "pointer", Text: "0x0"}},
		{Name: "weights", Type: "int[2]", Value: "{0, 2}", Status: StatusSuccess, Data: &Data{Kind: "array", Address: 0x7ffc10,
			Children: []Child{{Data: Data{Kind: "int", Type: "int", Text: "0", Address: 0x7ffc10}}, {Data: Data{Kind: "int", Type: "int", Text: "2", Address: 0x7ffc14}}}}},
		{Name: "label", Type: "char[3]", Value: `"n2"`, Status: StatusSuccess},
		{Name: "buf", Type: "char *", Status: StatusUnknown, Reason: "optimised out"},
	}
	start := in("_start", "", 0)
	start.Module = "/opt/queue/queue"
	threads := []Thread{stack(4242, "queue", top,
		with(at("visit", "queue.c", 16), "n=0x55b8982216f0", "depth=1"),
		with(at("visit", "queue.c", 16), "n=0x55b8982216f0", "depth=2"),
		with(at("visit", "queue.c", 16), "n=0x55b8982216f0", "depth=3"),
		with(at("serve", "queue.c", 19), `who="./queue"`, "want=2"),
		with(at("main", "queue.c", 25), "argc=2", `argv=0x7ffd0d2e8278 {"./queue", "arg"}`),
		in("__libc_start_call_main", "libc_start_call_main.h", 58),
		in("__libc_start_main_impl", "libc-start.c", 360),
		start)}
	for i := range 3 {
		threads = append(threads, stack(4243+i, "queue",
			in("__futex_abstimed_wait_common", "futex-internal.c", 57),
			in("pthread_mutex_lock", "pthread_mutex_lock.c", 93),
			with(at("idle", "queue.c", 20), fmt.Sprintf("a=%#x", i)),
			in("start_thread", "pthread_create.c", 442),
			in("clone3", "clone3.S", 81)))
	}
	r := newSample(threads...)
	r.Crash.Instruction = &Instruction{Address: 0x55b8960d11c2, Text: "mov eax, [rax+8]", Registers: Registers{{"rax", 0}}, Access: "read",
		AccessSize: 4, Note: "from p (local, queue.c:15) = n->payload"}
	r.Crash.Causes = []Cause{{Text: "n->payload is null; n came from serve's argument `want` (queue.c:19)", Confidence: "likely"}}
	return r
}

// sampleFolds has many threads with few different stacks, in an order that groups must keep.
func sampleFolds() *Report {
	threads := []Thread{stack(1, "main", at("main", "main.c", 3))}
	for i := range 30 {
		f := at("work", "pool.c", 10)
		f.PC += Addr(i * 16) // another pc on the same line is the same place
		threads = append(threads, stack(100+i, "worker", with(f, fmt.Sprintf("n=%d", i)), at("start", "pool.c", 90)))
		if i == 3 {
			threads = append(threads, stack(50, "gc", at("sweep", "gc.c", 5)))
		}
	}
	threads = append(threads, stack(51, "gc", at("sweep", "gc.c", 5)), stack(52, "", at("sweep", "gc.c", 6)), Thread{ID: 53, Name: "dead"})
	r := newSample(threads...)
	r.Threads[0], r.Threads[2] = r.Threads[2], r.Threads[0] // the crashed thread still comes first
	r.Crash.Thread = 1
	return r
}

// sampleRecursion overflows the stack with two functions that call each other.
func sampleRecursion() *Report {
	frames := []Frame{in("memset", "", 0)}
	for range 3000 {
		frames = append(frames, with(at("odd", "parse.c", 5), fmt.Sprintf("n=%d", len(frames))), with(at("even", "parse.c", 9), fmt.Sprintf("n=%d", len(frames)+1)))
	}
	frames = append(frames, at("main", "parse.c", 20))
	for range 6 {
		frames = append(frames, Frame{PC: 0x7f1200001234, Module: "/usr/lib/libjit.so", Offset: 0x1234, Trust: TrustCFI})
	}
	for i := range 4 { // one less than folding needs
		frames = append(frames, at("shallow", "parse.c", 30), at(fmt.Sprintf("f%d", i), "parse.c", 31))
	}
	r := newSample(stack(4242, "queue", frames...))
	r.Crash.Reason = "stack overflow, write at 0x7ffd00000ff8"
	return r
}

// sampleKinds has every kind of frame and mark, and an early end.
func sampleKinds() *Report {
	mark := func(f Frame, trust string) Frame { f.Trust = trust; return f }
	inlined, tail := at("clamp", "util.h", 7), with(at("finish", "queue.c", 40), "rc=1")
	inlined.Inlined, tail.Tail = true, true
	trampoline := in("__restore_rt", "", 0)
	trampoline.Signal, trampoline.SignalNumber, trampoline.Trust = "SIGUSR1", 10, TrustSignal
	unknown := trampoline
	unknown.Signal, unknown.SignalNumber = UnknownSignal, 0
	other := at("plugin_call", "plugin.c", 3)
	other.Module, other.Mismatched = "/opt/queue/libplugin.so.1", true
	noSymbol := mark(Frame{PC: 0x7f1200001234, Module: "/usr/lib/libfoo.so", Offset: 0x1234}, TrustFramePointer)
	jit := mark(Frame{PC: 0x7f00deadbeef}, TrustScan)
	t := stack(4242, "queue", with(at("handler", "queue.c", 3), "sig=10"), trampoline, inlined, tail, at("step", "queue.c", 12), unknown,
		mark(at("asm_loop", "loop.S", 9), TrustAnalysis), mark(at("dispatch", "queue.c", 77), TrustWildPC), noSymbol, jit,
		in("qsort", "", 0), other, mark(at("user", "u.c", 0), TrustUser))
	t.End, t.EndDetail = "no-module", "return address 0x0 at 0x7ffe10, after 12 frames, is in no module"
	r := newSample(t)
	r.Crash = &Crash{Exception: "EXCEPTION_ACCESS_VIOLATION", Code: "0xc0000005", Address: new(Addr(0x10)), Thread: 4242, Frame: new(4),
		Message: "terminate called after throwing an instance of 'std::runtime_error': what(): the queue is full and nobody reads it"}
	return r
}

// sampleGaps lacks modules, and a part of the dump.
func sampleGaps() *Report {
	f := in("wait", "", 0)
	f.Args = []Variable{{Name: "x", Status: StatusUnknown, Reason: "rbx not recovered: frame #3 has no CFI"},
		{Name: "m", Status: StatusUnknown, Reason: "memory not in the dump: 0x7f00"}, {Name: "k", Status: StatusOutOfScope}}
	r := newSample(stack(4242, "", f))
	r.Crash, r.Threads[0].Crashed = nil, false
	r.Modules = append(r.Modules,
		Module{Path: "/usr/lib/libfoo.so.1", BuildID: "1a2b", Status: ModuleMismatched, Symbols: SymbolsNone},
		Module{Path: "/usr/lib/libbar.so", BuildID: "77aa", Status: ModuleMissing, Symbols: SymbolsNone},
		Module{Path: `C:\Windows\thing.dll`, Status: ModuleNoID, Symbols: SymbolsExports})
	r.Warnings = []Warning{
		{Code: "module-mismatched", Module: "/usr/lib/libfoo.so.1", Message: "file has build-id 1a2b.., the process had 3c4d..; frames #4, #7 used unwinding by frame pointer", Advice: "Get it: corewalk info --missing"},
		{Code: "notes", Message: "the note at 0x2f8 is cut"},
	}
	r.Dump.Truncated, r.Dump.Size, r.Dump.FullSize = true, 14_200_000, 2_100_000_000
	return r
}

const hostile = "a\x1b[31mred\x1b]0;t\x07\nThread 1\u202egnp\u200b\xff\x80\u0085\u2028z\t\x00 "

// sampleHostile has terminal commands and 10 kB names everywhere that a dump controls.
func sampleHostile() *Report {
	f := at(hostile, hostile, 3)
	f.Module = "/tmp/" + hostile
	f.Symbol = hostile
	f.Args = []Variable{{Name: hostile, Type: hostile, Value: hostile}, {Name: "v", Reason: hostile, Status: hostile}}
	f.Locals = []Variable{{Name: hostile, Value: strings.Repeat("é", 5000)}}
	f.Listing = &Listing{Path: hostile, First: 2, Lines: []string{hostile, "\t" + hostile, strings.Repeat("\t", 5000)}, Newer: true}
	f.Code = []CodeLine{{Address: 1, Bytes: hostile, Text: hostile, Here: true}, {Address: 2, Bytes: "c3"}}
	deep := "ns::run<" + strings.Repeat("std::pair<int, std::vector<long>>, ", 300) + "int>(std::function<void ()>)::{lambda()#1}::operator()() const"
	long := at(strings.Repeat("xyzzy", 2000), strings.Repeat("f", 300)+".c", 1)
	huge := at(strings.Repeat("t<", 50_000), "a.c", 2)
	sig := at("x", "y", 1)
	sig.Signal, sig.SignalNumber = hostile, 7
	t := stack(7, hostile, f, at(deep, "run.cc", 4), at("bool std::operator< <char>(a<b> const&, c->d)", "run.cc", 5), long, huge, sig)
	t.End, t.EndDetail = hostile, strings.Repeat(hostile, 100)
	t.Registers = Registers{{hostile, 1}, {"rbx", 2}}
	r := newSample(t)
	r.Dump.Command, r.Dump.CommandLine, r.Dump.Path, r.Dump.Arch, r.Dump.OS = hostile, hostile, hostile, hostile, hostile
	r.Process = &Process{Executable: hostile, Arguments: []string{hostile}, Host: hostile, Container: hostile, Environment: []EnvironmentVariable{{hostile, hostile, true}}}
	r.Crash = &Crash{Signal: hostile, Code: hostile, Reason: hostile, Message: hostile, Thread: 7, Causes: []Cause{{Text: hostile, Confidence: hostile, Block: &CauseBlock{Fault: hostile, Type: hostile}}},
		Instruction: &Instruction{Text: hostile, Registers: Registers{{hostile, 3}}, Note: hostile}}
	r.Modules = append(r.Modules, Module{Path: hostile, Status: ModuleMissing, BuildID: hostile}, Module{Path: hostile + "2", Status: ModuleMissing, BuildID: "ab"})
	r.Memory = []MemoryArea{{Names: []string{hostile}, Bytes: hostile, Mapping: hostile}, {Names: []string{hostile}, Bytes: "1b5b33316d", Mapping: hostile}}
	r.Warnings = []Warning{{Code: hostile, Message: hostile, Module: hostile, Advice: hostile}}
	return r
}

// sampleProcess has a process with an environment.
func sampleProcess() *Report {
	r := newSample(stack(4242, "queue", at("main", "queue.c", 9)))
	r.Process = &Process{Executable: "/opt/queue/queue", Arguments: []string{"./queue", "--jobs=4", "two words", "it's", "", "--token=***", strings.Repeat("x", 400)}, ArgumentsCut: true,
		Parent: 1, UID: new(int), GID: new(int), Host: "web-1", Container: "kubernetes", Started: time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC),
		Environment: []EnvironmentVariable{{"HOME", "/root", false}, {"DB_PASSWORD", "***", true}, {"EMPTY", "", false}, {"LONG", strings.Repeat("y", 200), false}}}
	return r
}

// sampleAround has source, instructions and memory around two frames.
func sampleAround() *Report {
	top, main := at("visit", "queue.c", 9), at("main", "queue.c", 100)
	top.Listing = &Listing{Path: "/src/queue.c", First: 8, Lines: []string{"{", "\tsum += n->value; /* " + strings.Repeat("long ", 30) + "*/", "ab\tcd", ""}, Newer: true}
	top.Code = []CodeLine{{0x1ff, "90", "nop", false}, {0x200, "8b4008", "mov eax, [rax+8]", true}, {0x203, "06", "", false}}
	main.Listing = &Listing{Path: "/src/queue.c", First: 99, Lines: []string{"  int n;", "  visit(n);"}, Newer: true}
	r := newSample(stack(4242, "queue", top, main), stack(4243, "other", at("idle", "main.c", 9)))
	r.Memory = []MemoryArea{
		{Names: []string{"fault address"}, Address: 0x5000, Start: 0x5000, Mapping: "/opt/queue/data"},
		{Names: []string{"stack pointer", "rbp (+0x8)"}, Address: 0xff8, Start: 0xff0, Bytes: "000102030405060708090a0b0c0d0e0f2041427e7f80ff"},
	}
	return r
}

// sampleExplain says how frames were found.
func sampleExplain() *Report {
	inlined := at("peek", "queue.h", 4)
	inlined.Inlined = true
	f := at("visit", "queue.c", 16)
	f.Offset, f.Lookup, f.CFA = 0x11c2, f.PC-1, 0x7ffd0d2e80f0
	f.Explain = &Explain{
		Asked: []Asked{{"BottomOfStack", "not_me", ""}, {"SigHandler", "not_me", "not in range"}, {"Instrumentation", "error", "no map"}, {"Debug", "success", ""}},
		Rule:  "CFI: .eh_frame FDE queue+0x1180..0x121f, row at 0x11b0: CFA = rbp+16; rbp at cfa-16; rbx at cfa-40; ra at cfa-8",
		Registers: []RecoveredRegister{{"rbp", new(Addr(0x7ffd0d2e8150)), "saved at 0x7ffd0d2e80e0"}, {"rbx", new(Addr(2)), "saved at 0x7ffd0d2e80c8"},
			{"r12..r15", nil, "unchanged"}},
		Notes: []string{"verified by: FrameFunc (same caller); Wanderer (same return address)"},
	}
	top := f
	top.Source.Line, top.Lookup, top.Explain = 15, 0, nil
	top.ReturnAddressLocation = Location{Register: "rip"}
	main := at("main", "queue.c", 25)
	main.ReturnAddressLocation = Location{Address: 0x7ffd0d2e80e8}
	return newSample(stack(4242, "queue", top, inlined, f, main))
}

func sampleRegisters() *Report {
	r := newSample(stack(4242, "queue", at("main", "main.c", 3)), stack(4243, "a", at("idle", "main.c", 9)), stack(4244, "b", at("idle", "main.c", 9)))
	for i := range r.Threads {
		for k, name := range []string{"rax", "rbx", "rcx", "rdx", "rsi", "rdi", "rbp", "rsp", "rip", "fs_base"} {
			r.Threads[i].Registers = append(r.Threads[i].Registers, Register{name, Addr(0x1000<<(4*k)) * Addr(i+1)})
		}
	}
	return r
}

func sampleInfo() *Info {
	r := sampleGaps()
	return &Info{Dump: r.Dump, Modules: r.Modules, Warnings: r.Warnings,
		Notes: []Note{{"CORE", "NT_PRSTATUS", 336, 4242, "SIGSEGV"}, {"CORE", "NT_AUXV", 352, 0, ""}, {"LINUX", "NT_X86_XSTATE", 2696, 4242, hostile}},
		Mappings: []Mapping{{Start: 0x55b8960d0000, End: 0x55b8960d1000, Perm: "r--", Offset: 0, File: "/opt/queue/queue", InDump: 0x1000}, {Start: 0x55b8960d1000, End: 0x55b8960d2000, Perm: "r-x", Offset: 0x1000, File: "/opt/queue/queue", InDump: 0},
			{Start: 0x7ffd0d2c9000, End: 0x7ffd0d2ea000, Perm: "rw-", Offset: 0, File: "", InDump: 4096}}}
}
