package ruby

import "math/bits"

// immediate is how many positions of instructions the first part of a table of ranks has.
const immediate = 54

// rank is how many entries of a list begin at or before a position of an instruction, as a table of ranks has it; 0 if it cannot be read.
func (r *runtime) rank(table, position uint64) uint64 {
	if table == 0 || table%8 != 0 {
		return 0
	}
	if position < immediate {
		w, _ := r.LookupWord(table + position/9*8)
		return w >> (position % 9 * 7) & 127
	}
	const blockSize = 80 // a number, the ranks of its parts, 512 bits
	within := (position - immediate) % 512
	b := r.Bytes(table+immediate/9*8+(position-immediate)/512*blockSize, blockSize)
	if b == nil {
		return 0
	}
	part := within / 64
	before := uint64(0)
	if part > 0 {
		before = r.Arch.Word(b[8:]) >> ((part - 1) * 9) & 511
	}
	set := bits.OnesCount64(r.Arch.Word(b[16+8*part:]) << (63 - within%64))
	return uint64(r.Arch.ByteOrder.Uint32(b)) + before + uint64(set)
}

// line is where a call is; approximate if only its function is known.
func (r *runtime) line(c *call) (line int, approximate bool) {
	f := c.f
	if f == nil {
		return 0, false
	}
	position := (c.pc - f.code) / 8
	if position > 0 { // it is behind the instruction
		position--
	}
	if (c.pc-f.code)%8 != 0 || position >= uint64(f.size) {
		return f.first, true
	}
	n := uint64(1)
	if f.infoCount > 1 {
		if f.succinct != 0 {
			n = r.rank(f.succinct, position)
		} else {
			return f.first, true
		}
	}
	if n < 1 || n > uint64(f.infoCount) {
		return f.first, true
	}
	v, ok := r.U32(f.infos + (n-1)*r.at("info.size") + r.at("info.line"))
	if !ok || v > 1<<30 {
		return f.first, true
	}
	return int(v), false
}
