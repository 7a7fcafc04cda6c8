package stackflow

import "github.com/corewalk/corewalk/unwind/arch"

// An opKind is what an instruction does to the registers and words followed.
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
	opPop           // dst = word at sp; sp += size
	opEnter         // push fp; fp = sp; sp -= k
	opLeave         // sp = fp; pop fp
	opCall          // registers that are not preserved are lost
	opHere          // a call of the next instruction, to learn its address: a push
	opTable         // dst = entry of the table at base+k
	opCmpReg        // compares base and src
	opCmpImm        // compares base and k
)

// A flow is where control goes after an instruction.
type flow uint8

const (
	flowNext flow = iota
	flowJump
	flowCond
	flowRet
	flowIndirect // a jump that is not understood, out of the function or inside
	flowStop     // nowhere: a trap, a tail call
)

// An op is an instruction as far as it matters here.
type op struct {
	// Where nothing is known of the registers in needs, and must is not set, all
	// that the instruction does is that those in loses become unknown.
	needs, loses arch.RegMask

	addr   uint64
	target uint64
	k, wb  int64        // wb is added to base after a load or store
	mask   arch.RegMask // registers lost besides
	list   arch.RegMask
	kind   opKind
	flow   flow
	dst    arch.Reg
	dst2   arch.Reg
	src    arch.Reg
	src2   arch.Reg
	base   arch.Reg
	index  arch.Reg // of a load whose address is not known otherwise
	size   uint8    // bytes of each word moved
	len    uint8
	num    int32 // of the instruction, in the order of decoding
	// bulk is how many bytes a store overwrites.
	bulk uint16

	must   bool
	leader bool // control arrives here other than from the instruction before
	isCall bool
	cond   bool // takes effect under a condition only
	slot   bool // the instruction after this one runs before control goes on
	// inclusive: the jump after a comparison with a constant is taken, or not
	// taken, for that constant as for what is below.
	inclusive bool
}

// bit is the set of r alone; nothing for no register.
func bit(r arch.Reg) arch.RegMask { return 1 << r }

// sumUp sets needs, loses and must from the rest.
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

// fallsThrough reports whether control may go on to the next instruction.
func (o *op) fallsThrough() bool { return o.flow == flowNext || o.flow == flowCond || o.cond }
