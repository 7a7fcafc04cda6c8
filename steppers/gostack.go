package steppers

import (
	"github.com/corewalk/corewalk/internal/files/image"
	"github.com/corewalk/corewalk/internal/procmem"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// Some functions of Go's runtime change stacks, which their call frame information does
// not describe. Each thread has a stack of its own, that of its g0, and runs goroutines
// on their stacks. The scheduler, the garbage collector and C run on g0's stack; C may
// call Go there, which runs on the goroutine's again.
//
// Offsets in the runtime's structures, in words: of struct g (stack.lo 0, stack.hi 1), of
// the gobuf in it, and of struct m (g0 0). They are the same in all of Go 1.17 to 1.26,
// except m.curg, which has to be searched for.
const (
	goStackHi = 1
	goM       = 6
	goSchedSP = 7
	goSchedPC = 8
	// Where there is a link register; the second one before Go 1.25, with 0 at the first.
	goSchedLR    = 11
	goOldSchedLR = 12

	goCurgFirst = 17
	goCurgLast  = 32

	// asmcgocall stores the depth of the goroutine's stack, and g, at the top of g0's
	// stack; on i386 above the argument of C, and elsewhere before Go 1.21 above the
	// arguments of the Windows ABI.
	goSlotsX86 = 1
	oldGoSlots = 5
	// crosscall2 stores C's registers this many bytes above its SP at the call.
	goHostRegs = 24
)

// A goMachine is what the runtime does differently on each architecture.
type goMachine struct {
	g          arch.Reg // has the g in compiled code, which leaves it there; C restores it; NoReg if it is in thread-local storage
	clock      arch.Reg // has the stack pointer where the runtime calls the kernel's clock
	race       arch.Reg // has the stack pointer where it calls the race detector
	tls        arch.Reg // points to the end of the thread-local storage that has the g, if no register has it
	mcall      uint64   // bytes that mcall stores on g0's stack
	morestack  uint64   // bytes that morestack stores there
	keepsFrame bool     // sigfwd stays on its stack
}

func goMachineOf(a *arch.Arch) goMachine {
	switch a {
	case arch.AMD64:
		return goMachine{g: arch.R14, tls: arch.NoReg, clock: arch.R12, race: arch.R12, mcall: 8}
	case arch.ARM64:
		return goMachine{g: arch.ARM64X0 + 28, tls: arch.NoReg, clock: arch.ARM64X0 + 20, race: arch.ARM64X0 + 19, mcall: 16, morestack: 16, keepsFrame: true}
	case arch.X86:
		return goMachine{g: arch.NoReg, tls: arch.X86GSBase, clock: a.FP, race: arch.NoReg, mcall: 4}
	}
	return goMachine{g: arch.NoReg, tls: arch.NoReg, clock: arch.NoReg, race: arch.NoReg}
}

// maxCallbacks limits nested calls from C.
const maxCallbacks = 1024

// maxCallbackFrame limits the stack that cgocallback takes, in bytes.
const maxCallbackFrame = 64

// A goFrame is a frame in a function that changes stacks.
type goFrame struct {
	procmem.Reader
	in, out *unwind.Frame
	p       unwind.ProcessState
}

// field reads a word of a structure of the runtime, at an offset in words.
func (g *goFrame) field(of arch.Address, words uint64) uint64 {
	return g.Word(of + words*g.wordSize())
}

func (g *goFrame) wordSize() uint64 { return uint64(g.Arch.WordSize) }

// stackPointer returns SP as it was before the function changed to another stack: the
// base for its call frame information. It returns StatusSuccess with SP, or else the
// status for the step to return. The function begins at entry and takes size bytes of stack,
// including the return address.
func (g *goFrame) stackPointer(fn image.GoFunc, entry arch.Address, size uint64) (arch.Address, unwind.Status) {
	sp := g.in.SP()
	to := sp
	switch fn {
	case image.GoAsmcgocall:
		to = g.beforeC()
	case image.GoCgocallback:
		to = g.beforeCallback(entry, size)
	case image.GoSystemstack:
		if m := g.machine(); m != 0 && g.field(g.Word(m), goSchedSP) == sp {
			to = g.field(g.current(m), goSchedSP)
		}
	case image.GoClock:
		to, _, _ = g.in.Reg(goMachineOf(g.Arch).clock)
	case image.GoRacecall:
		to, _, _ = g.in.Reg(goMachineOf(g.Arch).race)
	case image.GoSPInBP:
		if !goMachineOf(g.Arch).keepsFrame {
			to, _, _ = g.in.Reg(g.Arch.FP)
		}
	}
	if to == 0 {
		g.note("the stack that the function came from is not known")
		return 0, unwind.StatusNotMe
	}
	if to != sp {
		g.note("Go changed stacks, from SP %#x to %#x", to, sp)
	}
	return to, unwind.StatusSuccess
}

func (g *goFrame) note(format string, args ...any) {
	if g.out.Tracing() {
		g.out.Notef(format, args...)
	}
}

// maxThreadLocal is how many words of thread-local storage may lie behind the g.
const maxThreadLocal = 16

// machine finds the thread's m by the register that holds one of its g, or by the thread-local
// storage that does; 0 if neither does.
func (g *goFrame) machine() arch.Address {
	how := goMachineOf(g.Arch)
	if how.tls == arch.NoReg {
		of, _, ok := g.in.Reg(how.g)
		if !ok {
			return 0
		}
		return g.machineOf(of)
	}
	top := g.in
	for f := top.PrevFrame(); f != nil; f = f.PrevFrame() {
		top = f
	}
	base, _, ok := top.Reg(how.tls) // which no function changes
	if !ok {
		return 0
	}
	end := g.Word(base) // the thread-local storage points to itself
	for i := range uint64(maxThreadLocal) {
		if m := g.machineOf(g.Word(end - (i+1)*g.wordSize())); m != 0 {
			return m
		}
	}
	return 0
}

// machineOf returns the m of a g; 0 if it is none.
func (g *goFrame) machineOf(of arch.Address) arch.Address {
	if of == 0 {
		return 0
	}
	m := g.field(of, goM)
	if m == 0 || g.field(g.Word(m), goM) != m {
		return 0
	}
	return m
}

// current returns m's goroutine: the first g other than its g0 that m points to, that points back, and
// that has left its stack, as the g of signals never does.
func (g *goFrame) current(m arch.Address) arch.Address {
	g0 := g.Word(m)
	for i := uint64(goCurgFirst); i < goCurgLast; i++ {
		if c := g.field(m, i); c != 0 && c != g0 && g.field(c, goM) == m && g.onStack(c, g.field(c, goSchedSP)) {
			return c
		}
	}
	return 0
}

// onStack reports whether sp is on the stack of goroutine c.
func (g *goFrame) onStack(c, sp arch.Address) bool {
	lo, hi := g.Word(c), g.field(c, goStackHi)
	return lo != 0 && sp >= lo && sp < hi
}

// beforeC returns SP in asmcgocall before it changed to g0's stack. asmcgocall stored
// there either SP and 0 (if it was on such a stack already), or SP's distance from the
// end of the goroutine's stack, which may move, and g; on arm64 g comes first.
func (g *goFrame) beforeC() arch.Address {
	first := uint64(0)
	if g.Arch == arch.X86 {
		first = goSlotsX86
	}
	for _, words := range []uint64{first, oldGoSlots} {
		at := g.in.SP() + words*g.wordSize()
		v, c := g.Word(at), g.field(at, 1)
		if g.Arch == arch.ARM64 {
			v, c = c, v
		}
		switch {
		case c == 0 && v > at && v < stackEnd(g.p, at):
			return v
		case c != 0 && g.onStack(c, g.field(c, goStackHi)-v):
			return g.field(c, goStackHi) - v
		}
	}
	return 0
}

// beforeCallback returns SP in cgocallback, which takes size bytes of stack, before it
// changed to the goroutine's stack. cgocallback stored that SP in g0, and stored at it
// the older SP of an outer callback, and so on. A panic that passed by has removed
// them.
//
// It returns the frame's own SP if C's is not available: what cgocallback left on the
// goroutine's stack leads past C to the Go code that called C.
func (g *goFrame) beforeCallback(entry arch.Address, size uint64) arch.Address {
	m := g.machine()
	if m == 0 {
		return g.in.SP()
	}
	sp := g.field(g.Word(m), goSchedSP)
	seen, ok := g.lastOnStack(sp)
	for range maxCallbacks {
		if !ok || sp > seen {
			break
		}
		sp = g.Word(sp)
	}
	if site, called := callBefore(g.p, g.Word(sp+size-g.wordSize())); !called || site.Target != 0 && site.Target != entry || !ok || sp <= seen || g.onStack(g.current(m), sp) {
		return g.in.SP()
	}
	return sp
}

// lastOnStack returns SP of the oldest frame so far on the same stack as addr, or 0. It
// returns false if an inner callback did not lead there either.
func (g *goFrame) lastOnStack(addr arch.Address) (arch.Address, bool) {
	stack, known, _ := mappingAt(g.p, addr)
	for f := g.in.PrevFrame(); f != nil && known; f = f.PrevFrame() {
		if sp := f.SP(); sp >= stack.Start && sp < stack.End {
			return sp, true
		}
		if f.RA() == g.in.RA() {
			return 0, false
		}
	}
	return 0, known
}

// leave steps from mcall and morestack, which never return. It returns false if
// morestack has not changed stacks. If it is not known where the thread's stack was
// used before, the walk ends: Go's scheduler counts as the bottom.
func (g *goFrame) leave(fn image.GoFunc) (unwind.Status, bool) {
	m := g.machine()
	g0, sp := g.Word(m), g.in.SP()
	if how := goMachineOf(g.Arch); fn == image.GoMcall {
		sp += how.mcall
	} else {
		sp += how.morestack
	}
	if m != 0 && g.field(g0, goSchedSP) == sp {
		if fn == image.GoMorestack && g.resume(g.current(m)) || g.callerOfCallback(g0) || g.resume(g0) {
			return unwind.StatusSuccess, true
		}
	} else if m != 0 && fn == image.GoMorestack {
		return 0, false
	}
	g.note("Go's scheduler runs from here; what ran before is not known")
	return unwind.StatusStackBottom, true
}

// resume finds where a goroutine stopped running; for g0, where the thread began its
// scheduler.
func (g *goFrame) resume(c arch.Address) bool {
	w := g.wordSize()
	sp, pc := g.field(c, goSchedSP), g.field(c, goSchedPC)
	if _, ok := callBefore(g.p, pc); !ok || c == 0 {
		return false
	}
	g.note("Go left this stack at SP %#x", sp)
	g.caller(pc, unwind.AtAddress(c+goSchedPC*w), sp, unwind.AtAddress(c+goSchedSP*w))
	if a := g.Arch; a.RA != arch.NoReg {
		for _, at := range []arch.Address{c + goSchedLR*w, c + goOldSchedLR*w} { // of a function that has not saved it
			lr := g.Word(at)
			if _, ok := callBefore(g.p, lr); ok {
				g.out.SetReg(a.RA, lr, unwind.AtAddress(at))
				break
			}
		}
	}
	return true
}

// callerOfCallback finds the caller of a cgocallback that left g0's stack; its
// goroutine is not the thread's any more. It returns false if g0's stack was not left
// there: cgocallback stores at SP where the stack was left before.
func (g *goFrame) callerOfCallback(g0 arch.Address) bool {
	sp, w := g.field(g0, goSchedSP), g.wordSize()
	if before := g.Word(sp); before < sp || before >= stackEnd(g.p, sp) {
		return false
	}
	for at := sp + w; at < sp+maxCallbackFrame; at += w {
		ra := g.Word(at)
		if site, ok := callBefore(g.p, ra); ok && site.Target != 0 {
			g.note("C called Go at SP %#x", at+w)
			g.caller(ra, unwind.AtAddress(at), at+w, unwind.Location{})
			return true
		}
	}
	return false
}

// caller sets out to what is known although no function returned: compiled Go code
// keeps nothing but the g in registers.
func (g *goFrame) caller(pc arch.Address, pcLoc unwind.Location, sp arch.Address, spLoc unwind.Location) {
	a := g.Arch
	reg := goMachineOf(a).g
	v, loc, known := g.in.Reg(reg) // which led to the thread's m, if there is one
	g.out.ForgetRegs()
	if known {
		g.out.SetReg(reg, v, loc)
	}
	g.out.SetReg(a.PC, pc, pcLoc)
	g.out.SetReg(a.SP, sp, spLoc)
	g.out.SetTrust(unwind.TrustCFI)
}

// hostRegisters restores the registers that crosscall2 saves for C and that its call
// frame information omits. BP comes last. If crosscall2 had set up a frame pointer
// before, the saved BP is its own, and points at C's.
func (g *goFrame) hostRegisters() {
	if g.Arch != arch.AMD64 {
		return
	}
	at := g.in.SP() + goHostRegs
	for _, r := range []arch.Reg{arch.RBX, arch.R12, arch.R13, arch.R14, arch.R15, arch.RBP} {
		v, err := g.ReadWord(at)
		if err == nil && r == arch.RBP && v == at+8 {
			at = v
			v, err = g.ReadWord(at)
		}
		if err == nil {
			g.out.SetReg(r, v, unwind.AtAddress(at))
		} else {
			g.out.ForgetReg(r)
		}
		at += 8
	}
}

// hostReturn restores the return address of a function that C or the kernel calls on 64-bit PowerPC: it is where C's functions save it, in
// their caller's frame, to which the back chain leads. The call frame information has the place where compiled Go code saves it, which
// has the back chain.
func (g *goFrame) hostReturn() {
	a, sp := g.Arch, g.out.SP()
	if a.Family != arch.FamilyPPC || a.WordSize != 8 || sp == g.in.SP() || g.Word(g.in.SP()) != sp {
		return
	}
	const saved = 16
	if ra, err := a.ReadReg(g.p, sp+saved); err == nil {
		g.out.SetReg(a.PC, ra, unwind.AtAddress(sp+saved))
	}
}

// leavePanic undoes what Go's signal handler did to the stack of the function that
// faulted, to make it look as if that function had called sigpanic: it pushed the link
// register, if there is one (preparePanic of runtime/signal_ARCH.go).
func (g *goFrame) leavePanic() {
	a := g.Arch
	m := machineOf(a)
	if m == nil || m.goPanic == 0 {
		return
	}
	at := g.out.SP()
	if lr, err := a.ReadReg(g.p, at); err == nil {
		g.out.SetReg(a.RA, lr, unwind.AtAddress(at))
	}
	g.out.SetSP(at + m.goPanic)
}
