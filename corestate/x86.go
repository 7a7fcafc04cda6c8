package corestate

import (
	"github.com/corewalk/corewalk/internal/format/binbuf"
	"github.com/corewalk/corewalk/unwind/arch"
)

// addSegmentBases adds to regs the bases of the segments fs and gs; the second is the
// thread pointer of i386. NT_386_TLS lists a thread's own segments (struct user_desc:
// number, base, limit, flags). A selector has the segment's number from its fourth bit
// on.
func (c *ELFCore) addSegmentBases(t *thread, regs *arch.RegSet) {
	list, ok := c.noteOf(t, "LINUX", nt386TLS)
	if !ok {
		return
	}
	addSegmentBases(binbuf.New(list, 0, c.big), regs)
}

func addSegmentBases(cur binbuf.Cursor, regs *arch.RegSet) {
	for cur.Len() > 0 {
		number, base := cur.U32(), cur.U32()
		cur.Skip(8)
		if cur.Error != nil {
			return
		}
		if sel, ok := regs.Get(arch.X86GS); ok && sel&0xffff>>3 == uint64(number) {
			regs.Set(arch.X86GSBase, uint64(base))
		}
		if sel, ok := regs.Get(arch.X86FS); ok && sel&0xffff>>3 == uint64(number) {
			regs.Set(arch.X86FSBase, uint64(base))
		}
	}
}
