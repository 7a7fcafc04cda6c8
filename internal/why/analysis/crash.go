package analysis

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/corewalk/corewalk/internal/code/disasm"
	"github.com/corewalk/corewalk/internal/files/find"
	"github.com/corewalk/corewalk/internal/triage/signature"
	"github.com/corewalk/corewalk/internal/why/message"
	"github.com/corewalk/corewalk/internal/why/reason"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/steppers"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// died returns the thread that the process died in; NullThread if it did not die.
func (in *Engine) died() unwind.ThreadID {
	switch {
	case in.Signal != nil:
		return unwind.ThreadID(in.Signal.TID)
	case in.Exception != nil:
		return unwind.ThreadID(in.Exception.TID)
	}
	return unwind.NullThread
}

// A crash is what is known of why the process died, from the thread that it died in. Each of its facts is found when it is first asked for, and
// kept. A fact asks for those that it follows from: the order of questions does not matter. report puts them together.
type crash struct {
	*question
	naming *naming         // of the thread; nil if the thread is not asked about
	walked *unwind.Stack   // of the thread
	named  report.Thread   // the thread, without the calls of languages
	stack  []*unwind.Frame // nil if it has no frames

	known struct {
		top       fact[*unwind.Frame]
		stop      fact[*stop]
		goEnd     fact[*goEnd]
		handled   fact[*handledFault]
		own       fact[*fault]
		words     fact[words]
		goFault   fact[*fault]
		nilMap    fact[[]report.Cause]
		goDivisor fact[[]report.Cause]
		goBounds  fact[[]report.Cause]
		goNamed   fact[[]report.Cause]
		goRefused fact[[]report.Cause]
		caught    fact[*caughtFault]
		verdict   fact[verdict]
		noticed   fact[*int]
		frame     fact[*int]
		overflow  fact[*report.Overflow]
		shown     fact[shown]
		raised    fact[[]report.Raised]
		heap      fact[[]report.Cause]
		read      fact[heapWord]
		given     fact[givenBack]
		rustBlame fact[*report.Blame]
		inside    fact[[]report.Cause]
	}
	owners *owners // nil before somebody asks
}

// A verdict says what happened: report.Crash.Kind and Reason.
type verdict struct{ kind, reason string }

// diedIn returns the crash of the thread that the process died in, with its stack. It names the stack.
func (in *question) diedIn(ctx context.Context, n *naming, s *unwind.Stack) *crash {
	c := &crash{question: in, naming: n, walked: s, named: n.thread(ctx, s)}
	if len(s.Frames) > 0 {
		c.stack = s.Frames
	}
	return c
}

// diedElsewhere returns the crash where nobody asks about the thread that the process died in; nil if it did not die.
func (in *question) diedElsewhere() *crash {
	if in.Signal == nil && in.Exception == nil {
		return nil
	}
	return &crash{question: in}
}

// report puts together what is told of the crash. v says what happened, as the thread that died tells it (verdict), or with other threads
// (receivedFirst) and tasks (hang) counted in. It returns nil for a nil crash.
//
// Of facts that tell the same, these count, the last first:
//   - Kind and Reason: the signal or exception, with the instruction that it came at; the signal for which Go's runtime aborted; the words of
//     the program, with the fault that a panic of Go stands for; the fault for which a handler was called that then aborted. A fault inside
//     the C library is put into the words of the program's call.
//   - Address, Instruction and Blame: the fault of the signal; that of the panic; that for which the handler was called.
//   - Frame: the first outside of helpers; what the program's words name; where the fault was for which the handler was called. Calls of
//     languages may take its place.
//   - Causes: all, in the order of causes.
func (c *crash) report(ctx context.Context, v verdict) *report.Crash {
	if c == nil {
		return nil
	}
	out := c.sign()
	out.Kind, out.Reason = v.kind, v.reason
	f := c.fault()
	out.Address, out.Instruction, out.Blame = f.address, f.instruction, f.blame
	out.AdjustedAddress, out.Accesses, out.BitFlips, out.Inconsistencies = f.why.Adjusted, f.why.Accesses, f.why.BitFlips, f.why.Inconsistencies
	w := c.words()
	if w.told != untold {
		out.Thrown = thrown(w.Thrown)
	}
	if w.told == asReason {
		out.Message, out.MessageSource = w.Message, w.Source
		if a := w.Assertion; a != nil {
			out.Assertion = &report.Assertion{Expression: a.Expression, Error: a.Error, File: a.File, Line: a.Line, Function: a.Function}
		}
		if q := w.Panic; q != nil {
			out.Panic = &report.Panic{Runtime: q.Runtime, Type: q.Type, Value: q.Value, Fatal: q.Fatal,
				File: q.File, Line: q.Line, Column: q.Column, Goroutine: q.Goroutine}
		}
	}
	if out.Kind == report.CrashAbort && out.Message == "" {
		if out.Told, out.ToldConfidence = c.toldWith(); out.Told == "" {
			out.Printed = c.printed()
		}
		if out.Told+out.Printed == "" {
			out.EndedAt = c.endedAt()
		}
	}
	if out.Blame == nil {
		out.Blame = c.rustBlame()
	}
	out.Causes = c.causes()
	out.Frame = c.shown(ctx).frame
	if out.Overflow = c.overflow(); out.Overflow != nil {
		if cycle, times := languageCycle(c.shown(ctx).thread.Frames); times > 0 {
			o := *out.Overflow
			o.Cycle, o.Times = cycle, times
			out.Overflow = &o
		}
	}
	if b := c.throughLanguages(ctx, out.Blame); b != out.Blame {
		old := blameText(out.Blame, out.Kind)
		for i := range out.Causes {
			if out.Causes[i].Text == old {
				out.Causes[i] = report.Cause{Text: blameText(b, out.Kind), Confidence: b.Confidence}
			}
		}
		out.Blame = b
	}
	out.Raised = c.raised(ctx)
	return &out
}

// causes returns what may have caused the crash, most likely first: what is said of the fault or the exception that is told instead of the
// signal's, then who damaged the heap, then of the signal's own fault, also that its value was in a freed block, then what the program found out itself.
func (c *crash) causes() []report.Cause {
	own, w := c.own(), c.words()
	var first, handled, found []report.Cause
	if f := c.fault(); f != own {
		first = slices.Concat(f.causes, f.why.Causes)
	}
	switch {
	case w.told == asOverflow:
		first = append(first, report.Cause{Text: w.Reason, Confidence: report.Likely})
	case w.told == asReason && w.Finding != "":
		found = []report.Cause{{Text: w.Finding, Confidence: report.Certain}}
	}
	first = slices.Concat(first, c.nilMap(), c.goDivisor(), c.goBounds(), c.goNamed(), c.goRefused(), c.rustPointer())
	if h := c.handled(); h != nil && c.caught() == nil {
		handled = []report.Cause{{Text: h.text, Confidence: report.Likely}}
	}
	told := own.causes
	inside := c.calledInside()
	if len(inside) > 0 { // what has run since has used what nobody set
		told = slices.Clone(told)
		for i := range told {
			told[i].Confidence = report.Possible
		}
	}
	return slices.Concat(first, c.smashedStack(), c.pureCalled(), c.wronglyGiven(), c.heapCauses(), inside, told, c.usedAfterFree(), c.foreign(), c.tooSmall(), c.ranOff(), c.overranArray(), c.deadVariable(), handled, c.withoutOthers(own.why.Causes), found)
}

// verdict is what the thread that died tells of what happened.
func (c *crash) verdict() verdict { return c.known.verdict.of(c.findVerdict) }

func (c *crash) findVerdict() verdict {
	v := c.unplaced()
	if s := c.beyondHandler(); s != "" && !strings.Contains(v.reason, "handler") {
		v.reason += ", in the handler of " + s
	}
	return v
}

// beyondHandler names the signal whose handler ended the program, if the place that is told is not in the handler but in what the signal interrupted, which
// did not fail; "" if that is not so.
func (c *crash) beyondHandler() string {
	at := c.frame()
	if at == nil || c.goEnd() != nil || c.caught() != nil {
		return ""
	}
	for i := range c.named.Frames[:*at] {
		switch f := &c.named.Frames[i]; {
		case f.Signal == "":
		case f.Signal == report.UnknownSignal:
			return "a signal that is not known"
		case signature.Synchronous(f.Signal):
		case f.SignalConfidence != "":
			return "a signal (" + f.SignalConfidence + " " + f.Signal + ")"
		default:
			return f.Signal
		}
	}
	return ""
}

// unplaced is the verdict that does not look at the place.
func (c *crash) unplaced() verdict {
	if k := c.caught(); k != nil {
		return k.verdict
	}
	v := c.spoken()
	if w := c.words(); w.told == asHandler && w.Reason != "" && c.abortedByHandler() {
		return verdict{report.CrashException, w.Reason}
	}
	if len(c.named.Frames) == 0 || c.message() != "" {
		return v
	}
	if c.smashedFrame() != 0 { // of a C library that says nothing
		return verdict{report.CrashStackOverrun, "stack smashing detected"}
	}
	if c.muslRefused() {
		return verdict{report.CrashHeapCorruption, "heap corrupted, noticed by musl's allocator (" + v.reason + ")"}
	}
	if c.namelessRefused() {
		return verdict{report.CrashHeapCorruption, "heap corrupted, noticed in " + find.BaseName(c.named.Frames[0].Module) + " (" + v.reason + ")"}
	}
	return titled(v, c.fault(), c.named.Frames)
}

// spoken is the verdict by the signal or exception, and what the program or its runtime says.
func (c *crash) spoken() verdict {
	v := c.signalled()
	if w := c.words(); w.told == asReason {
		v = verdict{crashKinds[w.Cause], cmp.Or(w.Reason, w.Message)}
	}
	if f := c.goFault(); f != nil {
		v = verdict{f.why.Kind, v.reason + ": " + f.why.Text}
	}
	return v
}

// signalled is the verdict by the signal or exception, or by that for which Go's runtime aborted.
func (c *crash) signalled() verdict {
	if g := c.goEnd(); g != nil {
		return g.verdict
	}
	if v := c.firstAbort(); v.kind != "" {
		return v
	}
	if c.stop().why.Kind == report.CrashAbort {
		if by := c.raisedAgain(); by != "" {
			return verdict{report.CrashSignal, by}
		}
		if by := raisedBy(c.named.Frames); by != "" && c.Signal != nil && c.Signal.Number == sigABRT {
			return verdict{report.CrashAbort, "raised by the program itself by " + by + ", not by abort"}
		}
		if c.raisedElsewhere() {
			return verdict{report.CrashSignal, elsewhere(c.arch, c.Signal.PID)}
		}
	}
	return verdict{c.stop().why.Kind, c.stop().why.Text}
}

// elsewhere says in words that the thread that died raised no SIGABRT. Where registers do not prove it, names say so; without a sender anybody may have sent it.
func elsewhere(a *arch.Arch, sender int) string {
	not := "not"
	if _, calls := kernelCalls(a); len(calls) == 0 {
		not = "likely not"
	}
	if sender == 0 {
		return not + " raised by abort: sent from outside, by another thread, or by a handler that had returned"
	}
	return "sent by the program to itself, " + not + " by abort: by another thread, or by a handler that had returned"
}

// fault is the fault that is told.
func (c *crash) fault() *fault {
	if k := c.caught(); k != nil {
		return k.fault
	}
	return cmp.Or(c.goFault(), c.own())
}

// frame is the entry of the thread to look at first, without the calls of languages: report.Crash.Frame.
func (c *crash) frame() *int { return c.known.frame.of(c.findFrame) }

// findFrame takes the frame of a fault that was caught, or the one that the program's words name or are thrown in, or the one that noticed.
func (c *crash) findFrame() *int {
	if k := c.caught(); k != nil {
		return &k.frame
	}
	frames, at, w := c.named.Frames, c.noticed(), c.words()
	switch {
	case len(frames) == 0:
	case w.told == asOverflow:
		const oldest = 256 // frames among which it was raised
		from := max(len(frames)-oldest, 0)
		if i := firstFrame(frames[from:], true, false); i != nil {
			*i += from
			at = i
		}
	case w.told == asReason:
		if w.Cause == message.UncaughtException && w.Panic == nil {
			at = thrownAt(frames, at)
		}
		if w.Raised > 0 {
			if i := slices.IndexFunc(frames, func(f report.Frame) bool { return f.Physical == w.Raised }); i >= 0 {
				at = &i
			}
		}
	}
	return at
}

// noticed is the frame that failed, or noticed that, as far as the stack alone tells; nil without frames.
func (c *crash) noticed() *int { return c.known.noticed.of(c.findNoticed) }

func (c *crash) findNoticed() *int {
	frames := c.named.Frames
	if len(frames) == 0 {
		return nil
	}
	sign := c.sign()
	if at := firstFrame(frames, (c.endedItself() || sign.Signal != "" && sentByProcess(sign.Code)) && !c.killed(), c.calledNoCode(c.stop().why.Kind, frames)); at != nil {
		return at
	}
	if g := c.goEnd(); g != nil && g.frame > 0 {
		return &g.frame
	}
	return new(int) // nothing is known to have failed but the innermost
}

// killed reports whether another process sent the signal by kill: a handler that was at work then did not end the program.
func (c *crash) killed() bool {
	s := c.Signal
	return s != nil && c.sign().Code == "SI_USER" && s.PID != 0 && s.OwnPID != 0 && s.PID != s.OwnPID
}

// overflow describes the stack that overflowed; nil if none did.
func (c *crash) overflow() *report.Overflow { return c.known.overflow.of(c.findOverflow) }

func (c *crash) findOverflow() *report.Overflow {
	k, w := c.caught(), c.words()
	switch {
	case c.naming == nil:
	case k != nil && k.fault.why.Kind == report.CrashStackOverflow:
		return overflow(c.named.Frames[k.from:], overflowed(c.named.End, [2]arch.Address{}))
	case c.stop().why.Kind == report.CrashStackOverflow:
		return overflow(c.named.Frames, overflowed(c.named.End, [2]arch.Address{}))
	case w.told == asReason && w.Cause == message.StackOverflow && c.frame() != nil:
		return overflow(c.named.Frames[*c.frame():], overflowed(c.named.End, w.Stack))
	}
	return nil
}

// sign returns what the signal or the exception alone tells.
func (in *Engine) sign() report.Crash {
	out := report.Crash{Thread: int(in.died())}
	if e := in.Exception; in.Signal == nil && e != nil {
		out.Exception, out.Code = e.Name(in.arch), e.Number()
		return out
	}
	out.Signal, out.SignalNumber = in.Signal.Name(), in.Signal.Number
	if in.Signal.HasInfo {
		out.Code, _ = in.Signal.CodeName()
	}
	return out
}

// top is the youngest frame of the thread; nil if it has none.
func (c *crash) top() *unwind.Frame { return c.known.top.of(c.findTop) }

func (c *crash) findTop() *unwind.Frame {
	if len(c.stack) > 0 {
		return c.stack[0]
	}
	top, _ := c.Walker.InitialFrame(c.died())
	return top
}

// A stop is where the signal or exception stopped the thread, and why.
type stop struct {
	inst disasm.Inst
	regs arch.RegSet
	why  reason.Reason
}

func (c *crash) stop() *stop { return c.known.stop.of(c.findStop) }

func (c *crash) findStop() *stop {
	s := &stop{}
	ci := c.crashInput()
	if top := c.top(); top != nil {
		s.regs = top.Registers()
		ci.Regs = s.regs
		if err := c.decode(&s.inst, top); err == nil {
			ci.Inst = &s.inst
		}
	}
	if e := c.Exception; c.Signal == nil && e != nil {
		s.why = reason.WhyException(ci, *e)
	} else {
		ci.Signal = *c.Signal
		if own := ci.Signal.PID != 0 && ci.Signal.PID == ci.Signal.OwnPID; own && reason.Faults(c.Numbers, ci.Signal.Number) {
			ci.Left = c.trapLeft(&s.regs, ci.Signal.Numbers)
		}
		s.why = reason.Why(ci)
	}
	return s
}

// trapLeft is the exception that the frame of a signal has whose handler has returned to where registers are.
func (c *crash) trapLeft(regs *arch.RegSet, numbers reason.Numbering) steppers.Trap {
	left, _ := steppers.SignalLeft(c.Proc, regs)
	d := reason.Delivery{Saved: left}
	if left.HasInfo {
		c.readInfo(&d)
		d.Info.Numbers = numbers
	}
	if d.ByProcess() {
		return steppers.Trap{}
	}
	return left.Trap
}

// A fault is one fault of the processor: address, instruction and the origin of the bad value.
type fault struct {
	why         reason.Reason
	address     *report.Addr
	instruction *report.Instruction
	blame       *report.Blame
	argument    int // the number of the argument of the youngest frame that the blame found bad, from 1; 0 for none
	causes      []report.Cause
	origin      // of the bad value
}

// own is the fault of the signal or exception itself, if it is one.
func (c *crash) own() *fault {
	return c.known.own.of(func() *fault {
		s := c.stop()
		return c.faultAt(0, &s.inst, &s.regs, nil, &s.why, c.signalled().kind)
	})
}

// faultOf is a fault that interrupted a frame of the thread, with the registers at its instruction if they are not those of the frame. Of its
// blame, frames count from that one; see countedFrom. What is evaluated is not what others see of those frames.
func (c *crash) faultOf(physical int, inst *disasm.Inst, regs *arch.RegSet, why *reason.Reason) *fault {
	c.forgetEvaluations()
	defer c.forgetEvaluations()
	return c.faultAt(physical, inst, regs, regs, why, why.Kind)
}

// faultAt is a fault of a frame of the thread. kind is what is said of it, early are the registers if they are not those of the frame.
func (c *crash) faultAt(physical int, inst *disasm.Inst, regs, early *arch.RegSet, why *reason.Reason, kind string) *fault {
	f := &fault{why: *why}
	if why.HasAddr {
		addr := report.Addr(why.Addr)
		f.address = &addr
	}
	if why.AtInst {
		f.instruction = c.instruction(inst, regs, *why)
	}
	if !c.opts.NoBlame && physical <= len(c.stack) {
		f.blame, f.argument, f.origin = c.blamed(c.stack[physical:], early, inst, regs, why)
	}
	if f.blame != nil {
		if m := inst.Mem(); f.instruction != nil && len(f.instruction.Registers) > 0 && !(m != nil && constant(m)) { // of which no register is to blame
			f.instruction.Note = blameNote(f.blame)
		}
		f.causes = []report.Cause{{Text: blameText(f.blame, kind), Confidence: f.blame.Confidence}}
		if f.set() {
			f.why.BitFlips, f.why.Causes = unflipped(f.why.BitFlips, f.why.Causes, f.blame.Register)
		}
	}
	return f
}

// set reports whether the code itself certainly made the bad value.
func (f *fault) set() bool {
	n := len(f.blame.Steps)
	return f.blame.Register != "" && f.blame.Confidence == report.Certain && n > 0 && f.blame.Steps[n-1].Kind == report.BlameSet
}

// unflipped leaves out the guesses that a bit of a register was flipped.
func unflipped(flips []report.BitFlip, causes []report.Cause, register string) ([]report.BitFlip, []report.Cause) {
	flips = slices.DeleteFunc(slices.Clone(flips), func(b report.BitFlip) bool { return b.Register == register })
	causes = slices.DeleteFunc(slices.Clone(causes), func(c report.Cause) bool { return strings.HasPrefix(c.Text, reason.BitFlipped+register+":") })
	return flips, causes
}

// countedFrom returns the fault with a blame that counts all frames, instead of those from the physical one.
func (f *fault) countedFrom(physical int) *fault {
	if f.blame == nil {
		return f
	}
	out, b := *f, *f.blame
	b.Steps = slices.Clone(b.Steps)
	for i := range b.Steps {
		b.Steps[i].Physical += physical
	}
	out.blame = &b
	return &out
}

// calledNoCode reports whether the innermost frame is at an address without code, of which its caller is to blame. Where the processor refused
// to go there, the frame is still at the call.
func (in *Engine) calledNoCode(kind string, frames []report.Frame) bool {
	if len(frames) < 2 || frames[0].Function != "" && frames[1].Trust != report.TrustWildPC {
		return false
	}
	if _, kernels := in.arch.Vsyscall(uint64(frames[0].PC)); kernels {
		return true
	}
	switch kind {
	case report.CrashNullCall, report.CrashWildCall, report.CrashNonCanonicalCall, report.CrashExecNoExec, report.CrashBadCall:
		return true
	}
	return false
}

// sentByProcess reports whether the code of a signal says that a process sent it, such as the handler of a fault that passes it on.
func sentByProcess(code string) bool {
	return code == "SI_USER" || code == "SI_TKILL" || code == "SI_QUEUE"
}

// decode decodes the instruction of a frame; in the youngest frame of a thread, the breakpoint instruction that
// it stopped after.
func (in *Engine) decode(inst *disasm.Inst, f *unwind.Frame) error {
	var code [disasm.MaxLen]byte
	at, pointer := f.RA(), f.CodePointer()
	if back := at - f.LookupAddr(); f.IsTopFrame() && back != 0 {
		if s := in.Signal; in.arch.Family == arch.FamilyS390 && s != nil && s.HasAddr {
			back = at - s.Addr // its instructions have several lengths
		}
		at, pointer = at-back, pointer-back
	}
	n, err := in.Proc.ReadMem(at, code[:])
	if n == 0 {
		return err
	}
	*inst, err = disasm.Decode(in.arch, code[:n], pointer)
	return err
}

func (in *Engine) instruction(inst *disasm.Inst, regs *arch.RegSet, why reason.Reason) *report.Instruction {
	out := &report.Instruction{
		Address:    report.Addr(inst.PC),
		Text:       inst.Text(disasm.TextOptions{Symbol: in.symbol}),
		Access:     why.Access,
		AccessSize: why.AccessSize,
	}
	for r := range arch.Reg(in.arch.NumRegs()) {
		if !inst.Reads.Has(r) || r == in.arch.PC {
			continue
		}
		if v, ok := regs.Get(r); ok {
			out.Registers = append(out.Registers, report.Register{Name: in.arch.RegName(r), Value: report.Addr(v)})
		}
	}
	return out
}

// symbol names a branch target for the disassembly.
func (in *Engine) symbol(addr uint64) (string, uint64) {
	lookup := in.Walker.SymbolLookup()
	if lookup == nil {
		return "", 0
	}
	if cl, ok := lookup.(unwind.CallLookup); ok {
		if calls, err := cl.LookupCalls(addr, nil); err == nil && len(calls) > 0 {
			c := calls[len(calls)-1]
			return c.Name, c.Entry
		}
	}
	return "", 0
}
