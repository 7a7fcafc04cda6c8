//go:build linux

#include "textflag.h"

// func capture(c *selfContext, buf *byte, size uintptr) uintptr
//
// See self_amd64.s. The caller's frame record lies below its SP.
TEXT ·capture(SB), NOSPLIT|NOFRAME, $0-32
	MOVD	c+0(FP), R0
	MOVD	buf+8(FP), R1
	MOVD	size+16(FP), R2
	MOVD	RSP, R3
	MOVD	R3, 0(R0)
	MOVD	R29, 8(R0)
	MOVD	g, 16(R0)
	SUB	$16, R3, R4
	MOVD	R4, 24(R0)
	MOVD	8(g), R5		// stack.hi
	MOVD	R5, 32(R0)
	MOVD	0(g), R6		// stack.lo
	MOVD	$0, R7
	CMP	R6, R4
	BLO	done			// on another stack than the goroutine's
	CMP	R5, R4
	BHS	done
	SUB	R4, R5, R7
	MOVD	R7, R8
	CMP	R2, R8
	BLS	copy
	MOVD	R2, R8
copy:
	CMP	$8, R8
	BLO	done
	MOVD.P	8(R4), R9
	MOVD.P	R9, 8(R1)
	SUB	$8, R8
	B	copy
done:
	MOVD	R7, ret+24(FP)
	RET
