package steppers

import (
	"errors"
	"fmt"
	"sync"

	"github.com/corewalk/corewalk/internal/format/exidx"
	"github.com/corewalk/corewalk/modules"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// ExidxStepper walks 32-bit ARM by the exception index, which takes the place of
// .eh_frame there.
//
// The index describes a function only at its calls. A frame at a call is walked by the
// index before its code is analysed. An interrupted frame may be in a prologue or an
// epilogue; it is walked by the index only if the analysis fails.
type ExidxStepper struct {
	files       modules.Source
	interrupted bool
	scratch     sync.Pool // *exidx.Entry
}

// NewExidxStepper returns the stepper for frames at a call, or for those that are not;
// ErrBadParam without files.
func NewExidxStepper(files modules.Source, interrupted bool) (*ExidxStepper, error) {
	if files == nil {
		return nil, fmt.Errorf("exception index stepper needs files: %w", unwind.ErrBadParam)
	}
	return &ExidxStepper{files: files, interrupted: interrupted}, nil
}

// Name implements unwind.FrameStepper.
func (s *ExidxStepper) Name() string { return "Exidx" }

// Priority implements unwind.FrameStepper.
func (s *ExidxStepper) Priority() uint32 {
	if s.interrupted {
		return unwind.PriorityAnalysis + 1
	}
	return unwind.PriorityDebugStepper + 1
}

// CallerFrame implements unwind.FrameStepper.
func (s *ExidxStepper) CallerFrame(in, out *unwind.Frame) unwind.Status {
	if interrupted(in) != s.interrupted {
		return unwind.StatusNotMe
	}
	e, _ := s.scratch.Get().(*exidx.Entry)
	if e == nil {
		e = &exidx.Entry{}
	}
	err := s.step(e, in, out)
	s.scratch.Put(e)
	if err != nil {
		if out.Tracing() {
			out.Notef("%v", err)
		}
		return unwind.StatusNotMe
	}
	return unwind.StatusSuccess
}

var (
	errNoIndex    = errors.New("no exception index")
	errNoCall     = errors.New("the return address from the exception index does not follow a call")
	errOffStack   = errors.New("the caller's stack pointer from the exception index is not on the stack")
	errZeroReturn = errors.New("the return address is zero")
)

func (s *ExidxStepper) step(e *exidx.Entry, in, out *unwind.Frame) error {
	p, lookup := in.Walker().ProcessState(), in.LookupAddr()
	lib := libraryAt(p, lookup)
	if lib == nil {
		return errNoIndex
	}
	table := fileOf(s.files, lib).Exidx()
	if table == nil {
		return errNoIndex
	}
	if err := table.Find(lookup-lib.LoadBias, e); err != nil {
		return err
	}
	var f exidx.Frame
	for r := arch.ARMR0; r <= arch.ARMPC; r++ {
		if v, _, ok := in.Reg(r); ok {
			f.Reg[r], f.Known = uint32(v), f.Known|1<<r
		}
	}
	if !s.interrupted {
		f.Known &^= 1 << arch.ARMLR // the call has overwritten it
	}
	err := exidx.Run(e.Ops(), &f, func(addr uint32) (uint32, error) {
		v, err := p.ReadWord(uint64(addr))
		return uint32(v), err
	})
	if err != nil {
		return err
	}
	return s.restore(&f, in, out)
}

// restore fills in the caller if it is plausible.
func (s *ExidxStepper) restore(f *exidx.Frame, in, out *unwind.Frame) error {
	w, a := in.Walker(), arch.ARM
	p := w.ProcessState()
	sp, raw := arch.Address(f.Reg[arch.ARMSP]), uint64(f.Reg[arch.ARMPC])
	switch {
	case sp < in.SP() || sp > endOfStack(in):
		return errOffStack
	case w.CodeAddress(raw) == 0:
		return errZeroReturn
	}
	ra := codePointer(w, raw)
	if _, ok := callBefore(p, ra); !ok && !mayReturnTo(arm.Get(), p, ra) {
		return errNoCall
	}
	for r := arch.ARMR0; r < arch.ARMPC; r++ {
		if r != arch.ARMSP && r != arch.ARMLR && f.Restored>>r&1 != 0 {
			out.SetReg(r, uint64(f.Reg[r]), unwind.AtAddress(uint64(f.Saved[r])))
		}
	}
	for n := range arch.Reg(8) {
		if f.RestoredD>>(8+n)&1 == 0 {
			continue
		}
		saved := uint64(f.SavedD[8+n])
		if v, err := a.ReadUint(p, saved, 8); err == nil {
			out.SetReg(arch.ARMD8+n, v, unwind.AtAddress(saved))
		} else {
			out.ForgetReg(arch.ARMD8 + n)
		}
	}
	out.SetSP(sp)
	_, loc, _ := in.Reg(arch.ARMLR)
	if (f.Restored>>arch.ARMPC|f.Restored>>arch.ARMLR)&1 != 0 {
		loc = unwind.AtAddress(uint64(f.Saved[arch.ARMPC]))
	}
	out.SetPC(raw, loc)
	out.SetCalleeCFA(sp)
	out.SetTrust(unwind.TrustExidx)
	return nil
}
