package unwind_test

import (
	"encoding/binary"
	"errors"
	"sync"

	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// stackBase is the address of the fake process's only memory.
const stackBase = 0x7fff_0000_0000

// fakeProc is a process with one thread's registers and one block of memory.
type fakeProc struct {
	regs arch.RegSet
	mem  []byte
	libs libstate.LibraryState

	mu        sync.Mutex
	pre, post int
	preErr    error
	postErr   error
}

// newProc makes a process whose thread 1 is at pc with the given stack.
func newProc(pc, sp, fp uint64, words ...uint64) *fakeProc {
	p := &fakeProc{}
	p.regs.Set(arch.RIP, pc)
	p.regs.Set(arch.RSP, sp)
	p.regs.Set(arch.RBP, fp)
	for _, w := range words {
		p.mem = binary.LittleEndian.AppendUint64(p.mem, w)
	}
	return p
}

func (p *fakeProc) ReadMem(addr arch.Address, buf []byte) (int, error) {
	if addr < stackBase || addr-stackBase >= uint64(len(p.mem)) {
		return 0, &arch.MemError{Addr: addr, Err: arch.ErrUnmapped}
	}
	n := copy(buf, p.mem[addr-stackBase:])
	if n < len(buf) {
		return n, &arch.MemError{Addr: addr + uint64(n), Err: arch.ErrUnmapped}
	}
	return n, nil
}

func (p *fakeProc) ReadWord(addr arch.Address) (uint64, error) {
	off := addr - stackBase
	if addr < stackBase || off+8 > uint64(len(p.mem)) {
		return 0, &arch.MemError{Addr: addr, Err: arch.ErrUnmapped}
	}
	return binary.LittleEndian.Uint64(p.mem[off:]), nil
}

func (p *fakeProc) Arch() *arch.Arch                        { return arch.AMD64 }
func (p *fakeProc) ProcessID() int                          { return 1 }
func (p *fakeProc) ThreadIDs() ([]unwind.ThreadID, error)   { return []unwind.ThreadID{1}, nil }
func (p *fakeProc) DefaultThread() (unwind.ThreadID, error) { return 1, nil }
func (p *fakeProc) IsFirstParty() bool                      { return false }
func (p *fakeProc) LibraryTracker() libstate.LibraryState   { return p.libs }
func (p *fakeProc) ExecutablePath() string                  { return "/bin/fake" }
func (p *fakeProc) Registers(t unwind.ThreadID) (arch.RegSet, error) {
	if t != 1 {
		return arch.RegSet{}, unwind.ErrNoThread
	}
	return p.regs, nil
}

func (p *fakeProc) PreStackwalk(unwind.ThreadID) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pre++
	return p.preErr
}

func (p *fakeProc) PostStackwalk(unwind.ThreadID) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.post++
	return p.postErr
}

// stepFunc is a stepper defined by a function.
type stepFunc struct {
	name     string
	priority uint32
	step     func(in, out *unwind.Frame) unwind.Status
	heard    []string // library notifications
}

func (s *stepFunc) Name() string     { return s.name }
func (s *stepFunc) Priority() uint32 { return s.priority }
func (s *stepFunc) CallerFrame(in, out *unwind.Frame) unwind.Status {
	if s.step == nil {
		return unwind.StatusNotMe
	}
	return s.step(in, out)
}
func (s *stepFunc) NewLibraryNotification(l *libstate.Library, c libstate.Change) {
	s.heard = append(s.heard, c.String()+" "+l.Path)
}

func named(name string, priority uint32) *stepFunc { return &stepFunc{name: name, priority: priority} }

// byFP follows a chain of frame pointers; a return address of 0 is the bottom.
func byFP(in, out *unwind.Frame) unwind.Status {
	p := in.Walker().ProcessState()
	ra, err := p.ReadWord(in.FP() + 8)
	if err != nil {
		return unwind.StatusNotMe
	}
	fp, err := p.ReadWord(in.FP())
	if err != nil {
		return unwind.StatusNotMe
	}
	if ra == 0 {
		return unwind.StatusStackBottom
	}
	out.SetReg(arch.RIP, ra, unwind.AtAddress(in.FP()+8))
	out.SetReg(arch.RBP, fp, unwind.AtAddress(in.FP()))
	out.SetSP(in.FP() + 16)
	out.SetCalleeCFA(in.FP() + 16)
	out.SetTrust(unwind.TrustFramePointer)
	return unwind.StatusSuccess
}

// deepStack makes the memory of n frames of size bytes each (a multiple of 8, at
// least 16), returning to ra. The frame of index 0 has its saved FP at stackBase.
func deepStack(n, size int, ra uint64) *fakeProc {
	p := newProc(ra, stackBase, stackBase)
	p.mem = make([]byte, n*size+16)
	for i := range n - 1 {
		b := p.mem[i*size:]
		binary.LittleEndian.PutUint64(b, stackBase+uint64((i+1)*size))
		binary.LittleEndian.PutUint64(b[8:], ra)
	}
	return p
}

// mustWalker makes a walker with the given steppers.
func mustWalker(p unwind.ProcessState, opts []unwind.Option, steppers ...unwind.FrameStepper) *unwind.Walker {
	w, err := unwind.NewWalker(p, opts...)
	if err != nil {
		panic(err)
	}
	for _, s := range steppers {
		if err := w.AddStepper(s); err != nil {
			panic(err)
		}
	}
	return w
}

var errFake = errors.New("fake failure")

// fakeLibs is a LibraryState with one library; tests can send notifications.
type fakeLibs struct {
	lib *libstate.Library
	sub map[int]func(*libstate.Library, libstate.Change)
	n   int
}

func (l *fakeLibs) LibraryAt(a arch.Address) (*libstate.Library, bool) {
	return l.lib, l.lib != nil && l.lib.Contains(a)
}
func (l *fakeLibs) Libraries(bool) ([]*libstate.Library, error) { return nil, nil }
func (l *fakeLibs) AOut() (*libstate.Library, bool)             { return nil, false }
func (l *fakeLibs) Libc() (*libstate.Library, bool)             { return nil, false }
func (l *fakeLibs) Libthread() (*libstate.Library, bool)        { return nil, false }
func (l *fakeLibs) Refresh() error                              { return nil }
func (l *fakeLibs) LibTrapAddress() arch.Address                { return 0 }
func (l *fakeLibs) Subscribe(f func(*libstate.Library, libstate.Change)) func() {
	if l.sub == nil {
		l.sub = map[int]func(*libstate.Library, libstate.Change){}
	}
	l.n++
	id := l.n
	l.sub[id] = f
	return func() { delete(l.sub, id) }
}
func (l *fakeLibs) tell(lib *libstate.Library, c libstate.Change) {
	for _, f := range l.sub {
		f(lib, c)
	}
}

func (p *fakeProc) setRegs(r arch.Reg, v uint64) { p.regs.Set(r, v) }
