package signature

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/corewalk/corewalk/internal/lazy"
	"github.com/corewalk/corewalk/report"
)

// A builder makes the signature of one thread's frames.
type builder struct {
	report *report.Report
	thread *report.Thread
	sig    *Signature

	said          bool // the class identifies the place, in the words of the program's author
	block         bool // or the block of the heap that was used wrongly
	quit          bool // the function below the abort machinery decided to end the program
	kept          []entry
	libraries     bool      // functions of a language's library were dropped
	python, perl  bool      // the program's own part of the stack has functions of it
	elsewhere     string    // the file of the function that made an error which is not on the stack any more
	nulled        bool      // a function was dropped since its caller gave it null
	numbered      bool      // since its caller gave it a bad number
	handed        int       // calls of Python that were dropped since they handed it on
	onNull        bool      // it was called on a null object, and nothing else was dropped so
	uncaught      bool      // V8 ended the program for an error of JavaScript
	whole         bool      // they are not, since the stack has nothing else
	started       bool      // the start of the program or thread was reached
	inner         int       // the frame that ended the program, if one did
	end           string    // why all frames outside of those considered so far are dropped; "" if they are not
	known         []meaning // by frame
	first, strict []string  // what is hashed
}

// An entry is a frame that was kept.
type entry struct {
	name  string
	bare  string // as the first level has it
	named bool
	frame int
}

// maxWeak is how many places a weak signature has.
const maxWeak = 3

func (b *builder) build() {
	b.sig.Decisions = make([]Decision, len(b.thread.Frames))
	b.kept = make([]entry, 0, min(len(b.thread.Frames), 32))
	from := b.cut()
	b.uncaught = b.report.Crash != nil && uncaught(b.report.Crash, b.report.Crash.Kind) != nil
	words := ""
	if b.quit {
		if words = toldWords(b.report.Crash); words != "" {
			b.sig.Class += ": " + words
			b.said = b.said || strings.Contains(words, " ")
		} else if at := b.report.Crash; at != nil && at.EndedAt > 0 {
			words = "line " + strconv.Itoa(at.EndedAt) + " of the function"
			b.sig.Class += ": " + words
		}
	}
	if what := damage(b.report.Crash, b.sig.Class); what != "" {
		b.sig.Class, b.said, b.block = what, true, true
	}
	b.inner = from
	b.inInterpreter(from)
	b.python = slices.ContainsFunc(b.thread.Frames[from:], func(f report.Frame) bool { return f.Language == "python" }) || b.byExtension(from)
	b.perl = slices.ContainsFunc(b.thread.Frames[from:], func(f report.Frame) bool { return f.Language == "perl" && f.Source.File != "" })
	b.choose(from)
	named := b.named()
	if named == 0 && b.libraries {
		// Nothing but a language's own library has names: then these tell bugs apart.
		b.whole, b.started, b.end, b.kept = true, false, "", b.kept[:0]
		b.choose(from)
		named = b.named()
	}
	cycle := b.collapse()
	// If main itself crashes there is only one function, and its name is enough if the walk reached the start
	// of the program.
	// What the program itself said of the place counts without names, too.
	if whole := b.started || b.thread.End == report.EndBottom; (named == 0 || named == 1 && !whole && !b.guarded(from)) && !(b.said && len(b.kept) > 0) {
		b.weak(from)
		return
	}
	b.sig.Module = b.known[b.kept[0].frame].module
	if b.elsewhere != "" {
		b.sig.Module = b.elsewhere // what is left on the stack is the library's, in turn one part of it or another
	}
	if b.block {
		b.sig.Module = cmp.Or(b.program(), b.sig.Module)
	}
	b.sig.Weak = !b.kept[0].named
	b.sig.Top = topFrames
	if b.quit && (b.kept[0].frame == b.inner || b.thread.Frames[b.kept[0].frame].Language != "") {
		b.sig.Top, b.sig.Quit = topQuitting, true
	}
	if words != "" {
		b.sig.Top = topFrames // which of its callers it was, the words tell
	}
	if b.said && !b.numbered {
		b.sig.Top = 0
	}
	b.sig.Top = min(b.sig.Top, len(b.kept))
	if cycle > 0 {
		b.sig.Top = cycle
	}
	for i, e := range b.kept {
		b.sig.Frames = append(b.sig.Frames, e.name)
		b.sig.Decisions[e.frame].First = i < b.sig.Top
		if i < cycle {
			b.strict = append(b.strict, e.name)
		} else {
			b.strict = append(b.strict, e.name+" at "+b.place(e.frame))
		}
	}
	for _, e := range b.kept[:b.sig.Top] {
		b.first = append(b.first, e.bare)
	}
}

// program returns the module of the program itself; "" if it is not known.
func (b *builder) program() string {
	for i := range b.report.Modules {
		if m := &b.report.Modules[i]; m.Main {
			return moduleName(m.Path)
		}
	}
	return ""
}

// entry returns a function with a name. Of C++ the first level has the innermost scope, which is the class of a function that others override; of Rust and of
// languages above the native code it has all scopes.
func (b *builder) entry(name string, frame int) entry {
	e := entry{name: name, bare: name, named: true, frame: frame}
	if at := strings.LastIndex(name, "::"); at > 0 && !b.known[frame].scoped {
		if scope := strings.LastIndex(name[:at], "::"); scope > 0 {
			e.bare = name[scope+len("::"):]
		}
		// Others cannot override what is in such a namespace, and debugging information that has lines only leaves it out.
		e.bare = strings.TrimPrefix(e.bare, "{anonymous}::")
	}
	return e
}

// named returns how many of the kept entries have a name.
func (b *builder) named() (n int) {
	for _, e := range b.kept {
		if e.named {
			n++
		}
	}
	return n
}

// guarded reports whether the frame below the machinery is a function with a name that found its own frame
// overwritten, or whose return does not lead anywhere. It is to blame, whatever is left of the stack below it.
func (b *builder) guarded(from int) bool {
	return (stackGuards.Get()[b.sig.Via] || from == 0 && b.returns()) && b.kept[0].named && b.kept[0].frame == from
}

// returns reports whether the instruction that failed is a return: the return address is no address of code.
func (b *builder) returns() bool {
	c := b.report.Crash
	if c == nil || c.Instruction == nil || classOf(c.Kind) != "call" {
		return false
	}
	name, _, _ := strings.Cut(c.Instruction.Text, " ")
	return name == "ret" || name == "retn" || name == "retf"
}

// stackGuards are the functions that compilers call from a function whose stack guard changed.
var stackGuards = lazy.Value[map[string]bool]{Make: func() map[string]bool {
	return map[string]bool{"__stack_chk_fail": true, "__stack_chk_fail_local": true}
}}

// sentByItself reports, of a crash, whether the program sent itself the signal of a fault, of which it is not known that it was one.
func (b *builder) sentByItself() bool {
	c := b.report.Crash
	return bySignal.Get()[c.Signal] != "" && strings.HasPrefix(c.Reason, sentByItself)
}

// sentByItself is how the reason begins of a signal that the program sent to itself.
const sentByItself = "sent by the program to itself"

// machine returns one name for the functions of abort machinery that stand for each other in other versions of a library.
func machine(name string) string {
	switch name = strings.TrimPrefix(name, "__GI_"); {
	case name == "os_abort" || name == "os_abort_impl": // stripped interpreters do not name it
		return "abort"
	case name == "std::__terminate":
		return "std::terminate"
	case strings.HasPrefix(name, "_Py_FatalError"):
		return "Py_FatalError"
	case name == "runtime.fatal" || name == "internal/runtime/maps.fatal":
		return goThrow // which of them has a text depends on the version of Go
	case strings.HasPrefix(name, "runtime.panicIndex"):
		return goIndex
	case strings.HasPrefix(name, "runtime.panicSlice") && name != goConvert:
		return goSlice // which of its bounds was refused, its numbers decide
	}
	return name
}

// The functions of Go's runtime that refuse something, and before Go 1.26 a number, without those for other types of it.
const (
	goThrow   = "runtime.throw"
	goIndex   = "runtime.panicIndex"
	goSlice   = "runtime.panicSlice"
	goConvert = "runtime.panicSliceConvert"
)

// goRefusal returns which of these refused what a panic tells of: since Go 1.26 there is one for all.
func goRefusal(via string, p *report.Panic) string {
	switch {
	case via != "runtime.panicBounds" || p == nil:
	case strings.HasPrefix(p.Value, "runtime error: index "):
		return goIndex
	case strings.HasPrefix(p.Value, "runtime error: slice "):
		return goSlice
	case strings.HasPrefix(p.Value, "runtime error: cannot convert slice "):
		return goConvert
	}
	return via
}

// allocates reports whether the innermost function below the machinery is an allocator's.
func (b *builder) allocates(end int) bool {
	if end >= len(b.known) {
		return false
	}
	r := b.rule(end)
	return r != nil && r.file == "allocator.txt" && r.action == actDrop
}

func (b *builder) decide(i int, action, why string) {
	name := b.name(i)
	if name == "" {
		name = b.spot(&b.thread.Frames[i])
	}
	b.sig.Decisions[i] = Decision{Frame: i, Name: name, Action: action, Why: why}
}

// name returns the frame's function, normalised; "" if it has no reliable name.
func (b *builder) name(i int) string { return b.known[i].name }

func (b *builder) rule(i int) *rule { return b.known[i].rule }

// byMachinery are the classes for which the outermost function of the abort machinery says more than the class,
// such as abort against a failed unwrap. An assertion's condition and an exception's type say more than that
// function.
var byMachinery = lazy.Value[map[string]bool]{Make: func() map[string]bool {
	return map[string]bool{
		report.CrashAbort: true, report.CrashException: true, report.CrashAssertion: true, report.CrashSignal: true, "SIGABRT": true,
	}
}}

// synchronous are the signals that a thread gets for its own action. Their handlers deal with a crash. The
// handler of any other signal is code that happened to run at that time.
var synchronous = lazy.Value[map[string]bool]{Make: func() map[string]bool {
	return map[string]bool{
		"SIGSEGV": true, "SIGBUS": true, "SIGFPE": true, "SIGILL": true, "SIGTRAP": true, "SIGSYS": true, "SIGABRT": true,
		"SIGEMT": true, "SIGSTKFLT": true,
	}
}}

// Synchronous reports whether a signal is one that a thread gets for its own action.
func Synchronous(signal string) bool { return synchronous.Get()[signal] }

// watching are the signals by which a program is told that something takes too long. A handler that ends the program
// then says nothing about why.
var watching = lazy.Value[map[string]bool]{Make: func() map[string]bool {
	return map[string]bool{"SIGQUIT": true, "SIGALRM": true, "SIGVTALRM": true, "SIGPROF": true, "SIGXCPU": true}
}}

// bySignal is the class of a crash that a handler dealt with before the dump was written.
var bySignal = lazy.Value[map[string]string]{Make: func() map[string]string {
	return map[string]string{
		"SIGSEGV": "access", "SIGBUS": "access", "SIGFPE": "arithmetic",
		"SIGILL": report.CrashIllegalInstruction, "SIGTRAP": report.CrashBreakpoint, "SIGSYS": report.CrashSeccomp,
	}
}}

// cut finds where the program's own part begins, below the machinery of aborting, throwing and handling
// signals, and decides about all frames above.
func (b *builder) cut() int {
	end, why := 0, make([]string, len(b.thread.Frames))
	class, overflow := b.sig.Class, false
	for i := range b.thread.Frames {
		f := &b.thread.Frames[i]
		if f.Signal != "" && end == i && i > 0 && !synchronous.Get()[f.Signal] && f.Signal != report.UnknownSignal {
			// The runtime itself handled a signal from outside, as Go's does: it is signed like one without a handler.
			end, why[i] = i+1, "signal delivery: "+f.Signal
			b.quit, b.sig.Via = false, ""
			continue
		}
		if f.Signal != "" {
			// A handler of an unknown signal that ends the program deals with a crash as well, or with a program
			// that takes too long: that is told by the code that it interrupted.
			if !synchronous.Get()[f.Signal] && (f.Signal != report.UnknownSignal && !watching.Get()[f.Signal] || !b.quit) {
				if f.Signal != report.UnknownSignal {
					break
				}
				continue
			}
			end, why[i] = i+1, "signal delivery: "+f.Signal
			b.quit, b.sig.Via = false, ""
			if c, ok := bySignal.Get()[f.Signal]; ok && !told.Get()[b.sig.Class] {
				class = c
			}
			continue
		}
		if f.Trust == report.TrustScan {
			continue
		}
		if r := b.rule(i); r.cuts() {
			end, why[i] = i+1, r.why
			b.quit, b.sig.Via = r.action == actQuit, machine(b.name(i))
			overflow = overflow || r.action == actOverflow
		}
	}
	if thrown, ok := strings.CutPrefix(class, report.CrashException+": "); ok && b.thrownByLibrary(end) {
		// The words are the library's: whichever function gives it a wrong value, they are the same.
		name, _, _ := strings.Cut(thrown, ": ")
		class, b.said = report.CrashException+": "+cmp.Or(converter(b.report.Crash), name), false
	}
	switch {
	case class == "access" && b.allocates(end):
		class = report.CrashHeapCorruption // what the allocator did not notice
	case end == 0 && class == report.CrashSignal && b.sentByItself():
		class = bySignal.Get()[b.report.Crash.Signal] // a handler looked at the fault, and sent its signal again
	case overflow:
		class = report.CrashStackOverflow
	case b.sig.Via != "" && byMachinery.Get()[class]: // the report has a crash: without one the class is another
		b.sig.Via = goRefusal(b.sig.Via, b.report.Crash.Panic)
		class = b.sig.Via
		// A panic that a library made for the program is known by its place: compilers merge all calls in a
		// function that do not return, whichever inlined functions they came from.
		// So is a panic of the program's own, unless it is in a function that does nothing else.
		if place := rustPlace(b.report.Crash.Panic); place != "" && (!b.quit || !b.refuses(end)) {
			class, b.said, b.quit = "panic "+place+panicWords(b.report.Crash.Panic, b.sig.Via), true, false
		}
	}
	b.sig.Class = class
	for i := end - 1; i >= 0; i-- {
		if why[i] == "" {
			why[i] = "above " + b.sig.Decisions[end-1].Name
		}
		b.decide(i, Cut, why[i])
	}
	return end
}

// told are the classes that say more of a fault than its signal.
var told = lazy.Value[map[string]bool]{Make: func() map[string]bool {
	return map[string]bool{report.CrashStackOverflow: true, "call": true}
}}

// thrownByLibrary reports whether a function of the C++ library threw, from the frames that are machinery.
func (b *builder) thrownByLibrary(end int) bool {
	for i := range end {
		if strings.HasPrefix(b.name(i), "std::__throw_") {
			return true
		}
	}
	return false
}

// converter returns the function of the C++ library that throws one of two exceptions for a text that is no number, or too large a one; "" for none. Which of them it is
// depends on the text.
func converter(c *report.Crash) string {
	if len(c.Thrown) == 0 || c.Thrown[0].What == nil {
		return ""
	}
	switch what := *c.Thrown[0].What; what {
	case "stoi", "stol", "stoul", "stoll", "stoull", "stof", "stod", "stold":
		return what
	}
	return ""
}

// refuses reports whether the frame below the machinery is a function that never returns: others call it to end
// the program, each for a reason of its own.
func (b *builder) refuses(end int) bool {
	return end < len(b.thread.Frames) && b.thread.Frames[end].NoReturn
}

// choose decides about the frames from the given one outward.
func (b *builder) choose(from int) {
	for i := from; i < len(b.thread.Frames); i++ {
		if last, ok := b.mergedAt(i); ok && b.end == "" {
			if name := b.mergedElement(last); name != "" {
				b.numbered = true
				b.kept = append(b.kept, b.entry(name, last))
			}
			b.shared(i, last)
			i = last
		}
		b.consider(i)
	}
}

// consider decides about one frame.
func (b *builder) consider(i int) {
	switch why, stop := b.irrelevant(i); {
	case b.end != "":
		b.decide(i, Dropped, b.end)
	case why == "" && stop == "" && b.givenNull(i):
		b.onNull = !b.nulled && object(b.report.Crash.Blame)
		b.nulled = true
		b.decide(i, Dropped, GivenNull)
	case why == "" && stop == "" && b.badNumber(i):
		b.nulled, b.numbered = true, true
		b.decide(i, Dropped, badNumber)
	case why == "" && stop == "" && b.soughtPast(i):
		b.nulled = true
		b.decide(i, Dropped, soughtPast)
	case why == "" && stop == "" && b.givenByPython(i):
		b.nulled = true
		b.decide(i, Dropped, givenAddress)
	case why == "" && stop == "" && b.handedOn(i):
		b.decide(i, Dropped, handedOn)
	case why != "":
		b.decide(i, Dropped, why)
		b.end = stop
	default:
		if name := b.moved(i); name != "" {
			b.kept = append(b.kept, b.entry(name, i))
		}
		b.keep(i)
		b.end = stop
	}
}

// irrelevant returns why a frame is dropped, "" if it is not, and why all frames outside of it are dropped, ""
// if they are not.
func (b *builder) irrelevant(i int) (why, stop string) {
	f := &b.thread.Frames[i]
	switch {
	case f.Signal == report.UnknownSignal:
		return "signal trampoline", ""
	case f.Signal != "": // not the crash's: cut took that
		b.started = true
		return "signal trampoline", "interrupted by " + f.Signal + " by chance"
	case f.Trust == report.TrustScan:
		return "found by scanning the stack: may be stale", ""
	case f.Module == "" && f.Function == "":
		return "not in any module", ""
	case f.Folded:
		return "only executes calls of a language", ""
	case f.Language == "java" && strings.HasPrefix(f.Function, "<"):
		return "the virtual machine's own code", ""
	case f.Language == "javascript" && f.Source.File == "":
		return "V8's own function", ""
	case f.Language == "javascript" && (strings.HasPrefix(f.Source.File, "node:internal/modules/") || strings.HasPrefix(f.Source.File, "node:internal/main/")):
		return "Node's loader of modules", ""
	case f.Language == "perl" && f.Source.File == "" && !strings.Contains(f.Function, "::"):
		return "Perl's own function", ""
	case f.Language == "perl" && strings.HasPrefix(f.Function, "eval "):
		return "an eval is in the sub that has it", ""
	case b.sig.Class == report.CrashOutOfMemory && strings.HasPrefix(f.Function, "v8::"):
		return "V8's way to memory", ""
	case b.uncaught && strings.HasPrefix(f.Function, "v8::"):
		return "V8's way to an error", ""
	case nameless(f) && b.writtenIn(i):
		return "written in the function that called it", ""
	case !b.whole && ofLibrary(f):
		b.libraries = true
		return "the language's own library", ""
	case f.Language != "":
		return "", ""
	case inlinedHeader(f):
		return "from a header of an interpreter", ""
	case b.python && b.rule(i) == nil && interprets(f), b.perl && perlInterprets(f):
		return "the interpreter's own function", ""
	case f.Inlined && strings.Contains(f.Source.File, "/include/c++/"): // its name may have no namespace
		return "inlined from a header of the C++ library", ""
	}
	rule := b.rule(i)
	switch {
	case rule == nil && f.Merged == nil && ofRust(f): // a joined call has the place of what was inlined there
		return "Rust's library", ""
	case rule == nil:
		return "", ""
	case rule.action == actStart:
		b.started = true
		return rule.why, "outside of " + b.name(i)
	case rule.action == actLast:
		b.started = true
		return "", "outside of " + b.name(i)
	case rule.action == actKeep:
		return "", ""
	}
	return rule.why, ""
}

// nameless reports whether a function of JavaScript or Python has no name.
func nameless(f *report.Frame) bool {
	return f.Language == "javascript" && f.Function == "<anonymous>" || unnamedPython(f)
}

// writtenIn reports whether the next frame outward of the program in the language of a frame is in the same file, and has a name: functions without
// names are written where they are passed to another one, and that called them.
func (b *builder) writtenIn(i int) bool {
	frames := b.thread.Frames
	for k := i + 1; k < len(frames); k++ {
		if f := &frames[k]; f.Language == frames[i].Language && f.Source.File != "" && !ofLibrary(f) && !nameless(f) {
			return f.Source.File == frames[i].Source.File
		}
	}
	return false
}

// keep keeps a frame. Consecutive frames without names in one module become one entry.
func (b *builder) keep(i int) {
	f := &b.thread.Frames[i]
	name := b.name(i)
	if nameless(f) {
		name += " in " + b.known[i].file
	}
	e := b.entry(name, i)
	if name == "" {
		e.named = false
		e.name = "?" + b.known[i].module
		if len(b.kept) == 0 {
			e.name = b.spot(f) // nothing else distinguishes bugs in this module
		} else if last := b.kept[len(b.kept)-1]; !last.named && b.known[last.frame].module == b.known[i].module {
			b.decide(i, Collapsed, "another function without a name in the same module")
			return
		}
		e.bare = e.name
	}
	b.decide(i, Kept, "")
	b.kept = append(b.kept, e)
}

// weak makes the signature from places in modules of one build. Frames of system libraries do not say whose bug
// it is: without other frames the dump matches no other dump.
func (b *builder) weak(from int) {
	b.sig.Weak = true
	spots := b.spots(from)
	if len(spots) == 0 {
		b.first, b.strict = []string{b.alone()}, []string{b.alone()}
		return
	}
	for i := range b.sig.Decisions {
		if b.sig.Decisions[i].Action == Kept {
			b.decide(i, Dropped, "the signature is weak: it has the innermost places only")
		}
	}
	for _, e := range spots {
		b.sig.Frames = append(b.sig.Frames, e.name)
		b.sig.Decisions[e.frame] = Decision{Frame: e.frame, Name: e.name, Action: Kept, First: true}
	}
	b.sig.Top = len(b.sig.Frames)
	b.sig.Module = b.known[spots[0].frame].module
	b.first, b.strict = b.sig.Frames, b.sig.Frames
}

// spots returns the innermost places of the stack outside of system libraries, each once; for a stack overflow
// those of the recursion, in alphabetical order.
func (b *builder) spots(from int) []entry {
	times := make(map[string]int)
	var list []entry
	for i := from; i < len(b.thread.Frames); i++ {
		if d := &b.sig.Decisions[i]; d.Action != Kept && d.Action != Collapsed {
			continue
		}
		e := entry{name: b.spot(&b.thread.Frames[i]), frame: i}
		if times[e.name]++; times[e.name] == 1 {
			list = append(list, e)
		}
	}
	if b.sig.Class == report.CrashStackOverflow {
		cycle := slices.DeleteFunc(slices.Clone(list), func(e entry) bool { return times[e.name] < 3 })
		slices.SortFunc(cycle, func(a, b entry) int { return cmp.Compare(a.name, b.name) })
		if len(cycle) > 0 {
			return cycle[:min(len(cycle), maxPeriod)]
		}
	}
	return list[:min(len(list), maxWeak)]
}

// alone returns a text that no second dump has: the process and the address of its stack.
func (b *builder) alone() string {
	s := fmt.Sprintf("%s %d", b.report.Dump.Command, b.report.Dump.PID)
	if b.thread != nil && len(b.thread.Frames) > 0 {
		f := &b.thread.Frames[0]
		s += fmt.Sprintf(" %d %#x %#x", b.thread.ID, uint64(f.PC), uint64(f.SP))
	}
	return s
}

// spot returns the frame's place in one build of its module: "libfoo.so+0x1234 (3fccada7b6ff)".
func (b *builder) spot(f *report.Frame) string {
	if f.Module == "" {
		return fmt.Sprintf("%#x", uint64(f.PC))
	}
	s := fmt.Sprintf("%s+%#x", report.Clean(baseName(f.Module)), uint64(f.Offset))
	for i := range b.report.Modules {
		if m := &b.report.Modules[i]; m.Path == f.Module {
			if id := m.BuildID + m.DebugID; id != "" {
				s += " (" + id[:min(12, len(id))] + ")"
			}
			break
		}
	}
	return s
}

// place returns the frame's place for the second level: a source line, or the spot.
func (b *builder) place(i int) string {
	f := &b.thread.Frames[i]
	if f.Source.Line > 0 && !f.Mismatched {
		return b.known[i].module + " " + b.known[i].file + ":" + strconv.Itoa(f.Source.Line)
	}
	return b.spot(f)
}

// baseName returns the last part of a path, of any operating system.
func baseName(p string) string {
	return path.Base(strings.ReplaceAll(p, `\`, "/"))
}
