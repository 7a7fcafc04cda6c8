package corestate

import (
	"testing"

	"github.com/corewalk/corewalk/internal/corebuild"
	"github.com/corewalk/corewalk/internal/format/elffile"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/unwind"
)

// exercise asks an open core everything.
func exercise(c *ELFCore) {
	ids, _ := c.ThreadIDs()
	for _, tid := range append(ids[:min(len(ids), 100):min(len(ids), 100)], unwind.NullThread, 0) {
		c.Registers(tid)
		c.Thread(tid)
		c.ThreadSignal(tid)
		c.FPRegs(tid)
		c.XState(tid)
	}
	n := 0
	for range c.Notes() {
		if n++; n > 10000 {
			break
		}
	}
	c.DefaultThread()
	c.ProcessID()
	c.Truncated()
	c.Mappings()
	c.ExecutablePath()
	table, _ := c.BuildLibraries(nil)
	libs, _ := table.Libraries(false)
	c.SetBacking(elfOf(func(l *libstate.Library) *elffile.File { return c.elf }))
	var buf [64]byte
	for i, s := range c.Segments() {
		if i > 1000 {
			break
		}
		c.ReadMem(s.Start, buf[:])
		c.ReadMem(s.End-8, buf[:])
		c.ReadWord(s.Start + s.InDump - 3)
	}
	for _, l := range libs[:min(len(libs), 100)] {
		c.ReadMem(l.Start, buf[:])
		c.ReadMem(l.LoadBias+0x1000, buf[:])
	}
	c.ExecutablePath()
}

func FuzzOpen(f *testing.F) {
	for _, tt := range layouts {
		b := tt.core()
		kernelOrder(b, make([]byte, 27*8))
		b.Load(0x400000, elffile.PF_R|elffile.PF_X, 0x2000, corebuild.Lib(libxProgs...).Bytes())
		b.Load(0x402000, elffile.PF_R|elffile.PF_W, 0x1000, make([]byte, 64))
		f.Add(b.Bytes())
	}
	f.Add(libxCore(true).Bytes())
	f.Add(netBSDCore().Bytes())
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := openBytes("fuzz", data, nil)
		if c == nil && err == nil {
			t.Fatal("neither a core nor an error")
		}
		if c != nil {
			exercise(c)
		}
	})
}
