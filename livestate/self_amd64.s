//go:build linux

#include "textflag.h"

// func capture(c *selfContext, buf *byte, size uintptr) uintptr
//
// Between reading the registers and the last byte of the copy nothing else runs on
// this goroutine: assembly is not preempted, and calls nothing that could move the
// stack. It answers how many bytes there are, and copies as many as fit.
TEXT ·capture(SB), NOSPLIT|NOFRAME, $0-32
	MOVQ	(TLS), R8		// g: stack.lo, stack.hi
	MOVQ	c+0(FP), DX
	MOVQ	buf+8(FP), DI
	MOVQ	size+16(FP), BX
	LEAQ	8(SP), SI		// SP without the return address
	MOVQ	SI, 0(DX)
	MOVQ	BP, 8(DX)
	MOVQ	R14, 16(DX)
	MOVQ	SI, 24(DX)
	MOVQ	8(R8), R9
	MOVQ	R9, 32(DX)
	XORQ	AX, AX
	CMPQ	SI, 0(R8)
	JCS	done			// on another stack than the goroutine's
	CMPQ	SI, R9
	JCC	done
	MOVQ	R9, AX
	SUBQ	SI, AX
	MOVQ	AX, CX
	CMPQ	CX, BX
	JLS	copy
	MOVQ	BX, CX
copy:
	SHRQ	$3, CX
	CLD
	REP
	MOVSQ
done:
	MOVQ	AX, ret+24(FP)
	RET
