package dwarfvars

import "github.com/corewalk/corewalk/internal/format/pdb"

// CodeView's numbers of registers (CV_HREG_e in
// https://github.com/microsoft/microsoft-pdb/blob/master/include/cvconst.h), and DWARF's numbers
// of the same registers.

// A codeviewRun is a range of registers with consecutive numbers.
type codeviewRun struct {
	first, count pdb.Register
	off, size    uint8
	reg          func(i uint64) uint64
}

func findRun(runs []codeviewRun, reg pdb.Register) (registerPart, bool) {
	for i := range runs {
		if r := &runs[i]; reg-r.first < r.count { // not below first, either
			return registerPart{reg: r.reg(uint64(reg - r.first)), off: r.off, size: r.size}, true
		}
	}
	return registerPart{}, false
}

// from returns DWARF numbers that count up from first.
func from(first uint64) func(uint64) uint64 { return func(i uint64) uint64 { return first + i } }

// of returns DWARF numbers from a list.
func of(list ...uint64) func(uint64) uint64 { return func(i uint64) uint64 { return list[i] } }

// codeviewX86 are the registers of 32-bit x86: al to bh, ax to di, eax to edi, st0 to
// st7, mm0 to mm7, xmm0 to xmm7.
func codeviewX86(reg pdb.Register) (registerPart, bool) {
	return findRun([]codeviewRun{
		{1, 4, 0, 1, from(0)}, {5, 4, 1, 1, from(0)}, {9, 8, 0, 2, from(0)}, {17, 8, 0, 4, from(0)},
		{128, 8, 0, 10, from(11)}, {146, 8, 0, 8, from(29)}, {154, 8, 0, 16, from(21)},
	}, reg)
}

// codeviewAMD64 are the registers of x86-64: those of x86 with the same numbers, then xmm8 to
// xmm15, sil to spl, rax to r15, r8b, r8w, r8d and so on, ymm0 to ymm15.
func codeviewAMD64(reg pdb.Register) (registerPart, bool) {
	low := of(0, 2, 1, 3, 7, 6, 4, 5) // ax, cx, dx, bx, sp, bp, si, di
	return findRun([]codeviewRun{
		{1, 4, 0, 1, low}, {5, 4, 1, 1, low}, {9, 8, 0, 2, low}, {17, 8, 0, 4, low},
		{128, 8, 0, 10, from(33)}, {146, 8, 0, 8, from(41)}, {154, 8, 0, 16, from(17)}, {252, 8, 0, 16, from(25)},
		{324, 4, 0, 1, of(4, 5, 6, 7)},
		{328, 8, 0, 8, of(0, 3, 2, 1, 4, 5, 6, 7)}, {336, 8, 0, 8, from(8)},
		{344, 8, 0, 1, from(8)}, {352, 8, 0, 2, from(8)}, {360, 8, 0, 4, from(8)},
		{368, 16, 0, 32, from(17)},
	}, reg)
}

// codeviewARM64 are w0 to w30, x0 to x30 and sp; b, h, s, d and q registers.
func codeviewARM64(reg pdb.Register) (registerPart, bool) {
	if reg == 41 || reg == 82 { // wzr, zr
		return registerPart{size: 8, zero: true}, true
	}
	return findRun([]codeviewRun{
		{10, 31, 0, 4, from(0)}, {50, 32, 0, 8, from(0)},
		{100, 32, 0, 4, from(64)}, {140, 32, 0, 8, from(64)}, {180, 32, 0, 16, from(64)},
	}, reg)
}

// registerPair returns the two registers of a pair that holds 64 bits on 32-bit x86.
func registerPair(reg pdb.Register) (hi, lo uint64, ok bool) {
	const eax, ecx, edx, ebx = 0, 1, 2, 3
	switch reg {
	case 212:
		return edx, eax, true
	case 213:
		return edx, ecx, true
	case 214:
		return edx, ebx, true
	case 215:
		return eax, ecx, true
	case 216:
		return eax, ebx, true
	case 217:
		return ecx, ebx, true
	}
	return 0, 0, false
}
