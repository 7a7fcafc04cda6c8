package ghc

import (
	"errors"
	"fmt"
	"slices"

	"github.com/corewalk/corewalk/internal/procmem"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/tasks"
)

const stopThread = "stg_stop_thread_info"

// The types of frames in the order of rts/storage/ClosureTypes.h, which is the same in all versions; their numbers are not. RET_BCO to STOP_FRAME.
const (
	bytecode = iota // of the interpreter
	small           // the layout is a bitmap, with its size in the lowest bits
	big             // the layout leads to a bitmap
	function        // to be called, with its arguments
	update
	catch
	underflow // the stack goes on in an older piece
	stop
)

// openIn reads what the runtime says of itself: the numbers of types by the tables of frames that have names.
func openIn(p *tasks.Process, lib *libstate.Library) (*engine, error) {
	e := &engine{Reader: procmem.Of(p.State).Charged(p.Spend), p: p}
	symbol := func(name string) uint64 {
		s, _ := p.Symbols.SymbolByName(lib, name)
		return s.Addr
	}
	e.run, e.leaves, e.resume = symbol("StgRun"), symbol("StgReturn"), symbol("resumeThread")
	if e.run == 0 {
		e.run = symbol("StgRunIsImplementedInAssembler")
	}
	if e.leaves == 0 {
		return nil, errors.New("GHC's runtime: it has no symbol StgReturn")
	}
	var ok bool
	if e.stop, ok = e.U32(symbol(stopThread) - 8); !ok {
		return nil, errors.New("GHC's runtime: the table of stg_stop_thread is not in the dump")
	}
	for name, kind := range map[string]uint32{"stg_stack_underflow_frame_info": underflow, "stg_catch_frame_info": catch, "stg_upd_frame_info": update} {
		if typ, ok := e.U32(symbol(name) - 8); !ok || typ != e.stop-(stop-kind) {
			return nil, fmt.Errorf("GHC's runtime: %s is not of the type that it has in versions which are known", name)
		}
	}
	if layout := e.Word(symbol("stg_catch_frame_info") - 16); layout&sizeMask != 2 { // with profiling, all frames are larger
		return nil, errors.New("GHC's runtime: it has frames of other sizes, as with profiling, which are not known")
	}
	for _, name := range []string{"stg_atomically_frame_info", "stg_catch_retry_frame_info", "stg_catch_stm_frame_info"} {
		if s := symbol(name); s != 0 {
			if typ, ok := e.U32(s - 8); ok {
				e.more = append(e.more, typ)
			}
		}
	}
	return e, nil
}

// Bits of a layout that is a bitmap: the size of the frame without its first word.
const sizeMask = 63

// info returns what kind of frame the code at an address returns from, by the table before it: the layout, one word, the type and a reference, u32.
// It is false if there is no such table.
func (e *engine) info(code uint64) (kind uint32, ok bool) {
	typ, known := e.U32(code - 8)
	switch {
	case !known:
		return 0, false
	case typ <= e.stop && e.stop-typ <= stop:
		return stop - (e.stop - typ), true
	case slices.Contains(e.more, typ):
		return small, true
	}
	return 0, false
}

const (
	// maxWords is how large a frame may be, in words.
	maxWords = 1 << 20
	// pieceSP is where a piece of a stack has its youngest frame (StgStack.sp).
	pieceSP = 16
)

// next returns the frame behind the one at sp. It is 0 behind the last, and where it is not known: then why says so. of is the code of the frame, which is
// entered if it is at sp.
func (e *engine) next(sp, of uint64, entered bool) (next uint64, why string) {
	code := of
	if !entered {
		code = e.Word(sp)
	}
	kind, ok := e.info(code)
	layout := e.Word(code - 16)
	words := layout & sizeMask
	switch {
	case !ok:
		return 0, "a frame has no table"
	case kind == stop:
		return 0, ""
	case kind == bytecode:
		return 0, "GHC's interpreter runs there"
	case kind == underflow:
		if next, ok = e.LookupWord(e.Word(sp+8) + pieceSP); !ok || next == 0 {
			return 0, "an older piece of it is not there"
		}
		return next, ""
	case kind == big:
		words = e.Word(code + uint64(int64(int32(layout))))
	case kind == function:
		words = e.Word(sp+8) + 2
	}
	if words >= maxWords {
		return 0, "a frame is too large"
	}
	return sp + 8 + 8*words, ""
}
