package disasm

import (
	"fmt"
	"strconv"

	"github.com/corewalk/corewalk/unwind/arch"
)

// Names by opcode, and by the function field of opcode 0.
var (
	mipsNames = [64]string{0x02: "j", 0x03: "jal", 0x04: "beq", 0x05: "bne", 0x06: "blez", 0x07: "bgtz", 0x08: "addi", 0x09: "addiu", 0x0a: "slti",
		0x0b: "sltiu", 0x0c: "andi", 0x0d: "ori", 0x0e: "xori", 0x0f: "lui", 0x14: "beql", 0x15: "bnel", 0x16: "blezl", 0x17: "bgtzl", 0x18: "daddi",
		0x19: "daddiu", 0x1a: "ldl", 0x1b: "ldr", 0x20: "lb", 0x21: "lh", 0x22: "lwl", 0x23: "lw", 0x24: "lbu", 0x25: "lhu", 0x26: "lwr", 0x27: "lwu",
		0x28: "sb", 0x29: "sh", 0x2a: "swl", 0x2b: "sw", 0x2c: "sdl", 0x2d: "sdr", 0x2e: "swr", 0x30: "ll", 0x31: "lwc1", 0x34: "lld", 0x35: "ldc1",
		0x37: "ld", 0x38: "sc", 0x39: "swc1", 0x3c: "scd", 0x3d: "sdc1", 0x3f: "sd"}
	mipsSpecial = [64]string{0x00: "sll", 0x02: "srl", 0x03: "sra", 0x04: "sllv", 0x06: "srlv", 0x07: "srav", 0x08: "jr", 0x09: "jalr", 0x0a: "movz",
		0x0b: "movn", 0x0c: "syscall", 0x0d: "break", 0x0f: "sync", 0x10: "mfhi", 0x11: "mthi", 0x12: "mflo", 0x13: "mtlo", 0x14: "dsllv",
		0x16: "dsrlv", 0x17: "dsrav", 0x18: "mult", 0x19: "multu", 0x1a: "div", 0x1b: "divu", 0x1c: "dmult", 0x1d: "dmultu", 0x1e: "ddiv",
		0x1f: "ddivu", 0x20: "add", 0x21: "addu", 0x22: "sub", 0x23: "subu", 0x24: "and", 0x25: "or", 0x26: "xor", 0x27: "nor", 0x2a: "slt",
		0x2b: "sltu", 0x2c: "dadd", 0x2d: "daddu", 0x2e: "dsub", 0x2f: "dsubu", 0x34: "teq", 0x36: "tne", 0x38: "dsll", 0x3a: "dsrl", 0x3b: "dsra",
		0x3c: "dsll32", 0x3e: "dsrl32", 0x3f: "dsra32"}
)

// mipsText formats the instruction like GNU tools. An instruction without a name here is
// shown as its bytes.
func mipsText(i *Inst, opts TextOptions) string {
	w := mipsWord(i.arch, i.Bytes())
	op, reg := w>>26, func(at uint) string { return i.arch.RegName(arch.Reg(w >> at & 31)) }
	name, rs, rt := mipsNames[op], reg(21), reg(16)
	switch {
	case w == 0:
		return "nop"
	case op == 0 && (i.Kind == Mov || i.Kind == MovSPtoFP || i.Kind == MovFPtoSP):
		src := rs
		if w>>21&31 == 0 {
			src = rt
		}
		return "move " + reg(11) + ", " + src
	case op == 0:
		return mipsSpecialText(i, w, reg)
	case op == 1 && i.Kind == Call:
		return "bal " + opts.address(i.Target)
	case name == "":
		return i.rawText()
	case i.Kind == Jump && op == 4:
		return "b " + opts.address(i.Target)
	case i.Kind == Call || i.Kind == Jump:
		return name + " " + opts.address(i.Target)
	case op == 6 || op == 7 || op == 0x16 || op == 0x17:
		return name + " " + rs + ", " + opts.address(i.Target)
	case i.Kind == CondJump:
		return name + " " + rs + ", " + rt + ", " + opts.address(i.Target)
	case op >= 0x1a && op != 0x1c && op != 0x1d && op != 0x1f:
		if op == 0x31 || op == 0x35 || op == 0x39 || op == 0x3d {
			rt = "f" + strconv.Itoa(int(w>>16&31))
		}
		return fmt.Sprintf("%s %s, %d(%s)", name, rt, int16(w), rs)
	case op == 0x0f:
		return fmt.Sprintf("lui %s, %#x", rt, w&0xffff)
	case op >= 0x0c && op <= 0x0e:
		return fmt.Sprintf("%s %s, %s, %#x", name, rt, rs, w&0xffff)
	}
	return fmt.Sprintf("%s %s, %s, %d", name, rt, rs, int16(w))
}

func mipsSpecialText(i *Inst, w uint32, reg func(uint) string) string {
	funct := w & 0x3f
	name, rs, rt, rd := mipsSpecial[funct], reg(21), reg(16), reg(11)
	switch {
	case name == "":
		return i.rawText()
	case funct == 0x0c || funct == 0x0f || funct == 0x0d && w>>16&0x3ff == 0:
		return name
	case funct == 0x0d:
		return fmt.Sprintf("break %#x", w>>16&0x3ff)
	case funct == 0x08 || funct == 0x11 || funct == 0x13 || funct == 0x09 && w>>11&31 == 31:
		return name + " " + rs
	case funct == 0x09:
		return name + " " + rd + ", " + rs
	case funct == 0x10 || funct == 0x12:
		return name + " " + rd
	case funct >= 0x18 && funct <= 0x1f || funct >= 0x30 && funct <= 0x36:
		return name + " " + rs + ", " + rt
	case funct <= 0x03 || funct >= 0x38:
		return fmt.Sprintf("%s %s, %s, %d", name, rd, rt, w>>6&31)
	case funct >= 0x04 && funct <= 0x07 || funct >= 0x14 && funct <= 0x17:
		return name + " " + rd + ", " + rt + ", " + rs
	}
	return name + " " + rd + ", " + rs + ", " + rt
}
