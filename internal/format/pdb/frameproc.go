package pdb

import (
	"bytes"
	"fmt"

	"github.com/corewalk/corewalk/internal/format/unwindrules"
)

// Flags of S_FRAMEPROC (cvinfo.h, CV_PROCFLAGS of FRAMEPROCSYM).
const (
	frameAlloca = 1 << 0
	frameNaked  = 1 << 7
)

// Codes of the base registers in the flags.
const (
	baseStack = 1
	baseFrame = 2
)

// A frameProc is an S_FRAMEPROC record.
type frameProc struct {
	size, saved  uint32
	flags        uint32
	local, param uint32 // codes of the base registers of local variables and parameters
}

func decodeFrameProc(rec []byte) (frameProc, bool) {
	if len(rec) < 30 {
		return frameProc{}, false
	}
	flags := le.Uint32(rec[26:])
	return frameProc{le.Uint32(rec[4:]), le.Uint32(rec[16:]), flags, flags >> 14 & 3, flags >> 16 & 3}, true
}

const machineAMD64 = 0x8664

// maxFrameBytes limits the size of a frame that is believed: threads have stacks of some
// megabytes.
const maxFrameBytes = 1 << 30

// FrameSize returns what is known of the frame of the x64 function at an RVA: nil and no
// error if nothing is, or if the function sets up its frame by itself (naked functions).
func (f *File) FrameSize(rva uint32) (*unwindrules.FrameSize, error) {
	if f.Machine != machineAMD64 {
		return nil, nil
	}
	x, err := f.sections()
	if err != nil {
		return nil, fmt.Errorf("section headers: %w", err)
	}
	where, ok := x.place(rva)
	if !ok {
		return nil, nil
	}
	m, err := f.moduleAt(where)
	if m == nil || err != nil {
		return nil, err
	}
	p, err := m.procs()
	if err != nil {
		return nil, err
	}
	fn, ok := p.at(where)
	if !ok {
		return nil, nil
	}
	_, rec, next, ok := p.symbols.record(fn.at)
	start, ok2 := x.rva(fn.place)
	if !ok || !ok2 || len(rec) < 39 {
		return nil, nil
	}
	fp, ok := p.frameProc(next)
	if !ok || fp.flags&frameNaked != 0 || fp.size > maxFrameBytes || fp.saved > maxFrameBytes {
		return nil, nil
	}
	w := &unwindrules.FrameSize{Start: start, Size: fn.size, Bytes: fp.size, Saved: fp.saved, LLVM: p.byLLVM()}
	w.ByRBP = fp.flags&frameAlloca != 0 || fp.local == baseStack && fp.param == baseFrame
	w.PushesRBP = fp.local == baseFrame || fp.param == baseFrame
	if w.ByRBP && !w.PushesRBP {
		return nil, nil // nothing is at a fixed distance
	}
	if body, end := le.Uint32(rec[20:]), le.Uint32(rec[24:]); body != 0 || end != 0 { // LLVM leaves both empty
		w.Body, w.Epilog = min(body, fn.size), end
	} else {
		w.Body, w.ByLines = min(p.secondLine(fn), fn.size), true
	}
	return w, nil
}

// frameProc finds the S_FRAMEPROC record of the function whose records begin at an offset;
// it is one of the first.
func (p *procs) frameProc(at int) (frameProc, bool) {
	for range 8 {
		kind, rec, next, ok := p.symbols.record(at)
		if !ok || kind == symProcIDEnd || kind == symEnd || isProc(kind) {
			break
		}
		if kind == symFrameProc {
			return decodeFrameProc(rec)
		}
		at = next
	}
	return frameProc{}, false
}

// byLLVM reports whether LLVM made the module's code, according to the compiler's name in
// one of the first records.
func (p *procs) byLLVM() bool {
	kind, rec := p.compiler()
	at := map[uint16]int{symCompile2: 22, symCompile3: 26}[kind]
	return len(rec) > at && at > 0 && (bytes.Contains(rec[at:], []byte("clang")) || bytes.Contains(rec[at:], []byte("LLVM")))
}

// secondLine returns where the second line of a function begins, as an offset in its code;
// 0 if the line table does not tell. Compilers put it after the prologue.
func (p *procs) secondLine(fn proc) uint32 {
	t, ok := p.lineTable(fn.place)
	if !ok {
		return 0
	}
	first := fn.off - t.off
	best := uint32(0)
	for rows := range t.blocks() {
		for i := range len(rows.b) / 8 {
			if off := le.Uint32(rows.b[8*i:]); off > first && off-first < fn.size && (best == 0 || off-first < best) {
				best = off - first
			}
		}
	}
	return best
}
