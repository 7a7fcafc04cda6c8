package disasm

// An opInfo describes an opcode of the one-byte map or map 0F: what follows it, and the
// access to the operands in modrm.
type opInfo uint32

const (
	oiModRM   opInfo = 1 << 0
	oiNot64   opInfo = 1 << 1 // undefined in 64-bit mode
	oiInvalid opInfo = 1 << 2 // undefined in every mode
	oiNoMem   opInfo = 1 << 3 // computes an address without accessing memory
	oiVec     opInfo = 1 << 4 // MMX and SSE: see x86_vector.go
	oiRegVec  opInfo = 1 << 5 // modrm.reg is not a general register, or extends the opcode
	oiBits    opInfo = 1 << 6 // modrm.reg is a bit number that may exceed the operand's size

	// Access to modrm.rm and modrm.reg.
	oiRMR  opInfo = 1 << 8
	oiRMW  opInfo = 1 << 9
	oiRegR opInfo = 1 << 10
	oiRegW opInfo = 1 << 11

	// Size of modrm.rm; sizeV if none is given.
	oiSize opInfo = 7 << 12
	sizeV  opInfo = 0 << 12 // 2, 4 or 8 depending on the prefixes
	sizeB  opInfo = 1 << 12
	sizeW  opInfo = 2 << 12
	sizeD  opInfo = 3 << 12
	sizeS  opInfo = 4 << 12 // a stack slot: 8 in 64-bit mode
	sizeY  opInfo = 5 << 12 // 4 or 8, ignoring prefix 66
	size0  opInfo = 6 << 12 // determined elsewhere

	oiImm     opInfo = 15 << 16
	immNone   opInfo = 0 << 16
	imm8      opInfo = 1 << 16
	imm16     opInfo = 2 << 16
	imm32     opInfo = 3 << 16
	immZ      opInfo = 4 << 16
	immV      opInfo = 5 << 16
	immRel    opInfo = 6 << 16
	immAddr   opInfo = 7 << 16
	imm16and8 opInfo = 8 << 16
	immFar    opInfo = 9 << 16
)

// Abbreviations for the tables: operand forms in the manuals' opcode maps.
const (
	md  = oiModRM
	un  = oiInvalid
	n64 = oiNot64

	rmRW  = oiRMR | oiRMW
	regRW = oiRegR | oiRegW

	grp   = md | oiRegVec // modrm.reg extends the opcode
	ebgbM = md | rmRW | oiRegR | sizeB
	evgvM = md | rmRW | oiRegR
	gbebM = md | regRW | oiRMR | sizeB
	gvevM = md | regRW | oiRMR
	ebgbR = md | oiRMR | oiRegR | sizeB
	evgvR = md | oiRMR | oiRegR
	gvevW = md | oiRMR | oiRegW
	vec   = md | oiVec
	nopM  = md | oiNoMem | oiRegVec
)

// oneByteOps: Intel SDM volume 2, table A-2. Prefixes and escapes are handled before; group
// opcodes are completed in x86_groups.go.
var oneByteOps = [256]opInfo{
	// 00: add, or; 10: adc, sbb; 20: and, sub; 30: xor, cmp
	ebgbM, evgvM, gbebM, gvevM, imm8, immZ, n64, n64, ebgbM, evgvM, gbebM, gvevM, imm8, immZ, n64, un,
	ebgbM, evgvM, gbebM, gvevM, imm8, immZ, n64, n64, ebgbM, evgvM, gbebM, gvevM, imm8, immZ, n64, n64,
	ebgbM, evgvM, gbebM, gvevM, imm8, immZ, un, n64, ebgbM, evgvM, gbebM, gvevM, imm8, immZ, un, n64,
	ebgbM, evgvM, gbebM, gvevM, imm8, immZ, un, n64, ebgbR, evgvR, ebgbR, evgvR, imm8, immZ, un, n64,
	// 40: inc, dec (32-bit mode); 50: push, pop
	0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
	0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
	// 60: pusha popa bound movsxd/arpl, push imm, imul, ins, outs
	n64, n64, n64 | md | oiRMR | oiRegR, md | oiRMR | oiRegW | sizeD, un, un, un, un,
	immZ | sizeS, gvevW | immZ, imm8 | sizeS, gvevW | imm8, 0, 0, 0, 0,
	// 70: jcc
	imm8, imm8, imm8, imm8, imm8, imm8, imm8, imm8, imm8, imm8, imm8, imm8, imm8, imm8, imm8, imm8,
	// 80: immediate group, test, xchg, mov, lea, pop
	grp | sizeB | imm8 | rmRW, grp | immZ | rmRW, grp | n64 | sizeB | imm8 | rmRW, grp | imm8 | rmRW,
	ebgbR, evgvR, md | rmRW | regRW | sizeB, md | rmRW | regRW,
	md | oiRMW | oiRegR | sizeB, md | oiRMW | oiRegR, md | oiRMR | oiRegW | sizeB, gvevW,
	grp | oiRMW | sizeW, md | oiRegW | oiNoMem, grp | oiRMR | sizeW, grp | oiRMW | sizeS,
	// 90: nop, xchg, cbw, cwd, call far, fwait, flags
	0, 0, 0, 0, 0, 0, 0, 0, 0, 0, n64 | immFar, 0, 0, 0, 0, 0,
	// a0: mov with absolute address, strings, test
	immAddr, immAddr, immAddr, immAddr, 0, 0, 0, 0, imm8, immZ, 0, 0, 0, 0, 0, 0,
	// b0: mov imm
	imm8, imm8, imm8, imm8, imm8, imm8, imm8, imm8, immV, immV, immV, immV, immV, immV, immV, immV,
	// c0: shifts, ret, les, lds, mov imm, enter, leave, retf, int, iret
	grp | sizeB | imm8 | rmRW, grp | imm8 | rmRW, imm16, 0, n64 | md | oiRegW | oiRMR, n64 | md | oiRegW | oiRMR,
	grp | sizeB | imm8 | oiRMW, grp | immZ | oiRMW, imm16and8, 0, imm16, 0, 0, imm8, n64, 0,
	// d0: shifts, aam, aad, salc, xlat, x87
	grp | sizeB | rmRW, grp | rmRW, grp | sizeB | rmRW, grp | rmRW, n64 | imm8, n64 | imm8, n64, 0,
	grp | size0, grp | size0, grp | size0, grp | size0, grp | size0, grp | size0, grp | size0, grp | size0,
	// e0: loops, in, out, call, jmp
	imm8, imm8, imm8, imm8, imm8, imm8, imm8, imm8, immRel, immRel, n64 | immFar, imm8, 0, 0, 0, 0,
	// f0: int1, hlt, groups
	un, 0, un, un, 0, 0, grp | sizeB, grp, 0, 0, 0, 0, 0, 0, grp | sizeB | rmRW, grp | size0,
}

// twoByteOps: Intel SDM volume 2, table A-3.
var twoByteOps = [256]opInfo{
	// 00: system, lar, lsl, syscall, ud2, prefetchw, femms
	grp | sizeW, grp | size0, md | oiRMR | oiRegW | sizeW, md | oiRMR | oiRegW | sizeW, un, 0, 0, 0,
	0, 0, un, 0, un, nopM, 0, un,
	// 10: SSE moves, hints
	vec, vec, vec, vec, vec, vec, vec, vec, nopM, nopM, nopM, nopM, nopM, nopM, nopM, nopM,
	// 20: control registers, SSE
	grp | oiRMW | sizeS, grp | oiRMW | sizeS, grp | oiRMR | sizeS, grp | oiRMR | sizeS, un, un, un, un,
	vec, vec, vec, vec, vec, vec, vec, vec,
	// 30: msr, tsc, sysenter
	0, 0, 0, 0, 0, 0, un, 0, un, un, un, un, un, un, un, un,
	// 40: cmovcc
	gvevM, gvevM, gvevM, gvevM, gvevM, gvevM, gvevM, gvevM, gvevM, gvevM, gvevM, gvevM, gvevM, gvevM, gvevM, gvevM,
	// 50, 60, 70: SSE and MMX
	vec, vec, vec, vec, vec, vec, vec, vec, vec, vec, vec, vec, vec, vec, vec, vec,
	vec, vec, vec, vec, vec, vec, vec, vec, vec, vec, vec, vec, vec, vec, vec, vec,
	vec | imm8, vec | imm8, vec | imm8, vec | imm8, vec, vec, vec, oiVec,
	md | oiRMW | oiRegR | sizeS, md | oiRMR | oiRegR | sizeS, un, un, vec, vec, vec, vec,
	// 80: jcc
	immRel, immRel, immRel, immRel, immRel, immRel, immRel, immRel, immRel, immRel, immRel, immRel, immRel, immRel, immRel, immRel,
	// 90: setcc
	grp | sizeB | oiRMW, grp | sizeB | oiRMW, grp | sizeB | oiRMW, grp | sizeB | oiRMW, grp | sizeB | oiRMW, grp | sizeB | oiRMW,
	grp | sizeB | oiRMW, grp | sizeB | oiRMW, grp | sizeB | oiRMW, grp | sizeB | oiRMW, grp | sizeB | oiRMW, grp | sizeB | oiRMW,
	grp | sizeB | oiRMW, grp | sizeB | oiRMW, grp | sizeB | oiRMW, grp | sizeB | oiRMW,
	// a0: push, pop fs, cpuid, bit tests, shld, gs, rsm, shrd, fences, imul
	0, 0, 0, evgvR | oiBits, evgvM | imm8, evgvM, grp | size0, grp | size0,
	0, 0, 0, evgvM | oiBits, evgvM | imm8, evgvM, grp | size0, gvevM,
	// b0: cmpxchg, far pointers, bit tests, movzx, popcnt, ud1, movsx
	ebgbM, evgvM, md | oiRegW | oiRMR, evgvM | oiBits, md | oiRegW | oiRMR, md | oiRegW | oiRMR,
	md | oiRMR | oiRegW | sizeB, md | oiRMR | oiRegW | sizeW,
	gvevW, nopM, grp | imm8 | rmRW, evgvM | oiBits, gvevW, gvevW, md | oiRMR | oiRegW | sizeB, md | oiRMR | oiRegW | sizeW,
	// c0: xadd, SSE, cmpxchg8b group, bswap
	md | rmRW | regRW | sizeB, md | rmRW | regRW, vec | imm8, md | oiRMW | oiRegR | sizeY, vec | imm8, vec | imm8, vec | imm8, grp | size0,
	0, 0, 0, 0, 0, 0, 0, 0,
	// d0, e0, f0: SSE and MMX
	vec, vec, vec, vec, vec, vec, vec, vec, vec, vec, vec, vec, vec, vec, vec, vec,
	vec, vec, vec, vec, vec, vec, vec, vec, vec, vec, vec, vec, vec, vec, vec, vec,
	vec, vec, vec, vec, vec, vec, vec, vec, vec, vec, vec, vec, vec, vec, vec, nopM,
}
