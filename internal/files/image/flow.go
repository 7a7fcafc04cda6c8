package image

import (
	"slices"
	"strings"
	"sync"

	"github.com/corewalk/corewalk/internal/code/stackflow"
	"github.com/corewalk/corewalk/internal/format/elffile"
	"github.com/corewalk/corewalk/internal/format/winunwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// maxFlows limits how many function analyses an image keeps.
const maxFlows = 1 << 12

// A funcRange is a function's start and its end, or 0 if the end is unknown.
type funcRange struct{ start, end uint64 }

// A flowCache keeps the results of analysing an image's code.
type flowCache struct {
	mu       sync.Mutex                    // guards the two below; no other lock is taken inside
	funcs    map[funcRange]*stackflow.Func // nil for code that cannot be analysed
	noReturn map[uint64]bool

	callsOnce sync.Once
	calls     []uint64
}

// Limits on the code searched for calls, in bytes. The code of x86 is scanned byte by byte;
// that of other architectures must be decoded.
const (
	maxCallCodeX86 = 64 << 20
	maxCallCode    = 16 << 20
)

// CallTargets lists, in ascending order, the code pointers (addresses in the file) that
// direct calls within one segment lead to. It returns nil for files with too much code. The
// code is searched on first use. Do not modify the result.
func (im *Image) CallTargets(a *arch.Arch) []uint64 {
	c := &im.flows
	c.callsOnce.Do(func() {
		left := uint64(maxCallCode)
		if a.Family == arch.FamilyX86 {
			left = maxCallCodeX86
		}
		for i := range im.elf.Progs {
			p := &im.elf.Progs[i]
			if p.Type != elffile.PT_LOAD || p.Flags&elffile.PF_X == 0 {
				continue
			}
			data := im.elf.SegmentData(p)
			if uint64(len(data)) > left {
				return
			}
			left -= uint64(len(data))
			c.calls = append(c.calls, stackflow.CallTargets(a, data, p.Vaddr)...)
		}
		slices.Sort(c.calls)
	})
	return c.calls
}

// Flow analyses the function that begins at start, a code pointer in the file, and ends
// before end (0 if unknown). It returns nil for code that cannot be analysed. The result is
// cached and shared. work is what was done for it now, in instructions.
func (im *Image) Flow(a *arch.Arch, start, end uint64) (f *stackflow.Func, work int) {
	if im == nil || im.elf.DebugOnly() {
		return nil, 0
	}
	c := &im.flows
	c.mu.Lock()
	f, ok := c.funcs[funcRange{start, end}]
	c.mu.Unlock()
	if ok {
		return f, 0
	}
	f, work = stackflow.Measured(a, (*imageCode)(im), start, end)
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.funcs) >= maxFlows {
		clear(c.funcs)
	}
	if c.funcs == nil {
		c.funcs = map[funcRange]*stackflow.Func{}
	}
	c.funcs[funcRange{start, end}] = f
	return f, work
}

// imageCode gives stackflow access to an image.
type imageCode Image

// CodeAt implements stackflow.Code.
func (c *imageCode) CodeAt(addr uint64) []byte { return c.segment(addr, elffile.PF_X) }

// DataAt implements stackflow.Code.
func (c *imageCode) DataAt(addr uint64) []byte { return c.segment(addr, 0) }

// segment returns the bytes from addr on in the segment that contains it, or nil if the
// segment is writable or lacks the flags in want.
func (c *imageCode) segment(addr uint64, want uint32) []byte {
	p := c.elf.LoadAt(addr)
	if p == nil || p.Flags&want != want || p.Flags&elffile.PF_W != 0 || addr-p.Vaddr >= p.Filesz {
		return nil
	}
	data := c.elf.SegmentData(p)
	if off := addr - p.Vaddr; off < uint64(len(data)) {
		return data[off:]
	}
	return nil
}

// Nonvolatile implements stackflow.Convention.
func (c *imageCode) Nonvolatile() arch.RegMask {
	if c.pe == nil {
		return 0
	}
	if a := peArch(c.pe.Machine); a != nil {
		return winunwind.Nonvolatile(a)
	}
	return 0
}

// FuncAt implements stackflow.Code, using symbols. Linkage stubs count. The cold part of a
// function does not: it is jumped to when the function's frame is already set up.
func (c *imageCode) FuncAt(addr uint64) bool {
	im := (*Image)(c)
	if s, ok := im.SymbolAt(addr); ok && s.Value == addr {
		return !IsColdPart(s.Name())
	}
	_, start, ok := im.PLTStub(addr)
	return ok && start == addr
}

// IsColdPart reports whether a symbol names the cold part of a function, which the compiler
// moved away from the rest.
func IsColdPart(name string) bool {
	_, part, ok := strings.Cut(name, ".cold")
	return ok && (part == "" || part[0] == '.')
}

// NoReturn implements stackflow.Code.
func (c *imageCode) NoReturn(addr uint64) bool {
	im := (*Image)(c)
	im.flows.mu.Lock()
	v, ok := im.flows.noReturn[addr]
	im.flows.mu.Unlock()
	if ok {
		return v
	}
	name, _, ok := im.PLTStub(addr)
	if !ok {
		if s, ok := im.SymbolAt(addr); ok && s.Value == addr {
			name = s.Name()
		}
	}
	v = stackflow.NoReturnName(name)
	im.flows.mu.Lock()
	defer im.flows.mu.Unlock()
	if len(im.flows.noReturn) >= 16*maxFlows {
		clear(im.flows.noReturn)
	}
	if im.flows.noReturn == nil {
		im.flows.noReturn = map[uint64]bool{}
	}
	im.flows.noReturn[addr] = v
	return v
}

// Code returns the image's code for stackflow.
func (im *Image) Code() stackflow.Code { return (*imageCode)(im) }
