package subject

import (
	"encoding/binary"
	"iter"

	"github.com/corewalk/corewalk/unwind/arch"
)

// Limits on what Identity takes from a dump, in bytes.
const (
	identityRecords = 4 << 20
	identityStack   = 64 << 10
)

// Identity yields bytes that identify a dump among others of its size without reading it whole: its Records,
// and the registers and the top of the stack of the crashed thread. A slice is valid until the next one.
func Identity(s Subject) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		var word [8]byte
		number := func(v uint64) bool {
			binary.LittleEndian.PutUint64(word[:], v)
			return yield(word[:])
		}
		left := identityRecords
		for typ, data := range s.Records() {
			if left -= len(data); left < 0 {
				break
			}
			if !number(uint64(typ)) || !yield(data) {
				return
			}
		}
		tid, err := s.DefaultThread()
		if err != nil {
			return
		}
		a := s.Arch()
		regs, err := s.Registers(tid)
		if err != nil || a == nil {
			return
		}
		for r := range arch.Reg(a.NumRegs()) {
			v, _ := regs.Get(r)
			if !number(v) {
				return
			}
		}
		sp, ok := regs.Get(a.SP)
		if !ok {
			return
		}
		stack := make([]byte, identityStack)
		n, _ := s.ReadMem(sp, stack)
		yield(stack[:n])
	}
}
