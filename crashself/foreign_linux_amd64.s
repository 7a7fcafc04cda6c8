#include "textflag.h"

// caught is the handler of fatal signals in programs with C code. On a thread that Go does not know, its runtime restores
// the default action and has the signal sent again, without a word. So this one tells the watcher, and waits until that has
// taken the core. Then, and on all other threads, Go's own handler has the signal.
//
// The registers are those of a function that C calls: DI is the signal, SI its siginfo, DX the interrupted registers.
TEXT ·caught(SB), NOSPLIT|NOFRAME, $0-0
	MOVQ	(TLS), AX	// g
	MOVQ	DI, R12
	TESTQ	AX, AX
	JNZ	handler
	MOVQ	SI, R13
	MOVQ	DX, R14
	MOVQ	$2, R15
again:	// the pipe has room for one: the second one waits
	MOVQ	·foreignPipe(SB), DI
	LEAQ	·foreignText(SB), SI
	MOVQ	$41, DX
	MOVQ	$1, AX	// write
	SYSCALL
	DECQ	R15
	JNZ	again
	MOVQ	R12, DI
	MOVQ	R13, SI
	MOVQ	R14, DX
handler:
	LEAQ	·handlers(SB), CX
	MOVQ	(CX)(R12*8), CX
	JMP	CX

// func caughtPC() uintptr
TEXT ·caughtPC(SB), NOSPLIT, $0-8
	LEAQ	·caught(SB), AX
	MOVQ	AX, ret+0(FP)
	RET
