package stackflow

import "github.com/corewalk/corewalk/unwind/arch"

// An opKind is an instruction's effect on the registers and words that are tracked.
type opKind uint8

const (
	opNone   opKind = iota
	opSet           // dst = base + k
	opConst         // dst = k
	opAlign         // dst = base & k
	opAdd           // dst = base + src
	opSub           // dst = base - src
	opStore         // words at base+k = src, src2, list
	opLoad          // dst, dst2, list = words at base+k
	opPush          // sp -= size; word at sp = src
	opPop           // dst = word at sp, or k if that is not 0; sp += size
	opEnter         // push fp; fp = sp; sp -= k
	opLeave         // sp = fp; pop fp
	opCall          // registers that are not preserved become unknown
	opHere          // a call of the next instruction, to get its address: a push
	opTable         // dst = entry of the table at base+k, plus src if that is a register
	opCmpReg        // compares base and src
	opCmpImm        // compares base and k
)

// A flow says where control continues after an instruction.
type flow uint8

const (
	flowNext flow = iota
	flowJump
	flowCond
	flowRet
	flowIndirect // a jump that is not understood, out of or within the function
	flowStop     // nowhere: a trap or tail call
)

// An op is an instruction as far as the analysis needs it.
type op struct {
	// If none of the registers in needs is known, and must is not set, the only effect of
	// the instruction is that the registers in loses become unknown.
	needs, loses arch.RegMask

	addr   uint64
	target uint64
	k, wb  int64        // wb is added to base after a load or store
	mask   arch.RegMask // other registers that become unknown
	list   arch.RegMask
	kind   opKind
	flow   flow
	dst    arch.Reg
	dst2   arch.Reg
	src    arch.Reg
	src2   arch.Reg
	base   arch.Reg
	index  arch.Reg // index register of a load whose address is otherwise unknown
	size   uint8    // size in bytes of each word moved
	len    uint8
	num    int32 // index of the instruction, in the order of decoding
	// bulk is the number of bytes that a store overwrites.
	bulk uint16

	must   bool
	leader bool // control also arrives here other than from the previous instruction
	isCall bool
	cond   bool // conditional
	slot   bool // the next instruction executes before this one's jump
	// inclusive: for the jump after a comparison with a constant, the constant itself
	// counts like smaller values.
	inclusive bool
	// swaps: of a table, either register may have its address.
	swaps bool
}

// bit returns the set of r alone, or the empty set for no register.
func bit(r arch.Reg) arch.RegMask { return 1 << r }

// sumUp computes needs, loses and must.
func (o *op) sumUp() {
	o.loses = o.mask
	switch o.kind {
	case opNone, opCmpReg, opCmpImm:
	case opSet, opAlign, opAdd, opSub:
		o.needs, o.loses = bit(o.base), o.mask|bit(o.dst)
	case opStore:
		o.needs = bit(o.base)
	case opLoad:
		o.needs, o.loses = bit(o.base), o.mask|o.list|bit(o.dst)|bit(o.dst2)
	default:
		o.must = true
	}
}

func (o *op) next() uint64 { return o.addr + uint64(o.len) }

// fallsThrough reports whether control may continue with the next instruction.
func (o *op) fallsThrough() bool { return o.flow == flowNext || o.flow == flowCond || o.cond }
