// What a program without a C library needs: an entry that calls main, system
// calls, and signal handlers. One part for each architecture defines
//   START        the instructions of _start, which call main and never return
//   START_CFI    call frame information that says that _start has no caller
//   syscall4     a system call
//   NR_*         numbers of system calls
//   RESTORER     optional: the instructions that a handler returns to, where the
//                program has to bring them
//   KERNEL_STACK, SIGSET_SIZE, SIGNALS_   optional: the members of struct
//                sigaltstack, the bytes of a set of signals, the signals' numbers
//   SIGACTION    optional: the members of the kernel's struct sigaction, where
//                they are not those of asm-generic/signal.h
// All of it is as small as it can be, so that a core and its program are.

#if defined(__aarch64__)

#define START "mov x29, #0\n mov x30, #0\n bl main\n mov x8, #93\n svc #0\n"
#define START_CFI ".cfi_undefined x30\n"
enum { NR_rt_sigaction = 134, NR_sigaltstack = 132, NR_getpid = 172, NR_kill = 129 };

static inline long syscall4(long nr, long a, long b, long c, long d) {
	register long x8 __asm__("x8") = nr;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;
	register long x3 __asm__("x3") = d;
	__asm__ volatile("svc #0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3) : "memory");
	return x0;
}

#elif defined(__arm__)

// The assembler makes .ARM.exidx of its own directives.
#ifdef __thumb__
#define START ".thumb\n .thumb_func\n _start:\n .fnstart\n .cantunwind\n mov r11, #0\n mov lr, #0\n bl main\n mov r7, #1\n svc #0\n .fnend\n"
#else
#define START ".arm\n _start:\n .fnstart\n .cantunwind\n mov r11, #0\n mov lr, #0\n bl main\n mov r7, #1\n svc #0\n .fnend\n"
#endif
#define START_LABEL ""
#define START_CFI ".cfi_undefined lr\n"
// .ARM.exidx refers to the routines of an unwinder that nobody runs.
void __aeabi_unwind_cpp_pr0(void) {}
void __aeabi_unwind_cpp_pr1(void) {}
enum { NR_rt_sigaction = 174, NR_sigaltstack = 186, NR_getpid = 20, NR_kill = 37 };

// r7 may be the frame pointer: it is saved around the call.
static inline long syscall4(long nr, long a, long b, long c, long d) {
	register long r0 __asm__("r0") = a;
	register long r1 __asm__("r1") = b;
	register long r2 __asm__("r2") = c;
	register long r3 __asm__("r3") = d;
	register long ip __asm__("ip") = nr;
	register long keep __asm__("r6");
	__asm__ volatile("mov %1, r7\n mov r7, %2\n svc #0\n mov r7, %1"
			 : "+r"(r0), "=&r"(keep) : "r"(ip), "r"(r1), "r"(r2), "r"(r3) : "memory");
	return r0;
}

#elif defined(__x86_64__)

#define START "xor %ebp, %ebp\n call main\n mov $60, %eax\n syscall\n"
#define START_CFI ".cfi_undefined rip\n"
enum { NR_rt_sigaction = 13, NR_sigaltstack = 131, NR_getpid = 39, NR_kill = 62 };

static inline long syscall4(long nr, long a, long b, long c, long d) {
	register long r10 __asm__("r10") = d;
	long result;
	__asm__ volatile("syscall" : "=a"(result) : "0"(nr), "D"(a), "S"(b), "d"(c), "r"(r10) : "rcx", "r11", "memory");
	return result;
}

#elif defined(__i386__)

#define START "xor %ebp, %ebp\n call main\n mov $1, %eax\n int $0x80\n"
#define START_CFI ".cfi_undefined eip\n"
enum { NR_rt_sigaction = 174, NR_sigaltstack = 186, NR_getpid = 20, NR_kill = 37 };

static inline long syscall4(long nr, long a, long b, long c, long d) {
	long result;
	__asm__ volatile("int $0x80" : "=a"(result) : "0"(nr), "b"(a), "c"(b), "d"(c), "S"(d) : "memory");
	return result;
}

#elif defined(__powerpc__)

// The word at the stack pointer is the back chain, and 0 at its end. The entry of
// ELFv1 is a descriptor, in .opd; of ELFv2, where r12 is on entry.
#if defined(__powerpc64__) && _CALL_ELF != 2
#define START_LABEL ".section .opd, \"aw\"\n .align 3\n _start: .quad .L_start, .TOC.@tocbase, 0\n .previous\n .L_start:\n"
#define START_SIZE ". - .L_start"
#define START_TOC ""
#elif defined(__powerpc64__)
#define START_TOC "addis 2, 12, .TOC. - _start@ha\n addi 2, 2, .TOC. - _start@l\n"
#endif
#ifdef __powerpc64__
#define START START_TOC "li 0, 0\n stdu 1, -64(1)\n std 0, 0(1)\n mtlr 0\n bl main\n nop\n li 0, 1\n sc\n"
#else
#define START "li 0, 0\n stwu 1, -16(1)\n stw 0, 0(1)\n mtlr 0\n bl main\n li 0, 1\n sc\n"
#endif
#define START_CFI ".cfi_undefined 65\n"
enum { NR_rt_sigaction = 173, NR_sigaltstack = 185, NR_getpid = 20, NR_kill = 37 };

static inline long syscall4(long nr, long a, long b, long c, long d) {
	register long r0 __asm__("r0") = nr;
	register long r3 __asm__("r3") = a;
	register long r4 __asm__("r4") = b;
	register long r5 __asm__("r5") = c;
	register long r6 __asm__("r6") = d;
	__asm__ volatile("sc" : "+r"(r0), "+r"(r3), "+r"(r4), "+r"(r5), "+r"(r6)
			 : : "r7", "r8", "r9", "r10", "r11", "r12", "cr0", "ctr", "memory");
	return r3;
}

#elif defined(__s390x__)

#define START "lghi %r14, 0\n aghi %r15, -160\n xc 0(8, %r15), 0(%r15)\n brasl %r14, main\n svc 1\n"
#define START_CFI ".cfi_undefined %r14\n"
enum { NR_rt_sigaction = 174, NR_sigaltstack = 186, NR_getpid = 20, NR_kill = 37 };

static inline long syscall4(long nr, long a, long b, long c, long d) {
	register long r1 __asm__("r1") = nr;
	register long r2 __asm__("r2") = a;
	register long r3 __asm__("r3") = b;
	register long r4 __asm__("r4") = c;
	register long r5 __asm__("r5") = d;
	__asm__ volatile("svc 0" : "+r"(r2) : "r"(r1), "r"(r3), "r"(r4), "r"(r5) : "memory");
	return r2;
}

#elif defined(__riscv)

#define START ".option norelax\n li ra, 0\n li s0, 0\n call main\n li a7, 93\n ecall\n"
#define START_CFI ".cfi_undefined 1\n"
#define SIGACTION void *handler; unsigned long flags; unsigned long mask[1];
enum { NR_rt_sigaction = 134, NR_sigaltstack = 132, NR_getpid = 172, NR_kill = 129 };

static inline long syscall4(long nr, long a, long b, long c, long d) {
	register long a7 __asm__("a7") = nr;
	register long a0 __asm__("a0") = a;
	register long a1 __asm__("a1") = b;
	register long a2 __asm__("a2") = c;
	register long a3 __asm__("a3") = d;
	__asm__ volatile("ecall" : "+r"(a0) : "r"(a7), "r"(a1), "r"(a2), "r"(a3) : "memory");
	return a0;
}

#elif defined(__loongarch__)

#define START "move $ra, $zero\n move $fp, $zero\n bl main\n li.w $a7, 93\n syscall 0\n"
#define START_CFI ".cfi_undefined 1\n"
#define SIGACTION void *handler; unsigned long flags; unsigned long mask[1];
enum { NR_rt_sigaction = 134, NR_sigaltstack = 132, NR_getpid = 172, NR_kill = 129 };

static inline long syscall4(long nr, long a, long b, long c, long d) {
	register long a7 __asm__("$a7") = nr;
	register long a0 __asm__("$a0") = a;
	register long a1 __asm__("$a1") = b;
	register long a2 __asm__("$a2") = c;
	register long a3 __asm__("$a3") = d;
	__asm__ volatile("syscall 0" : "+r"(a0) : "r"(a7), "r"(a1), "r"(a2), "r"(a3)
			 : "$t0", "$t1", "$t2", "$t3", "$t4", "$t5", "$t6", "$t7", "$t8", "memory");
	return a0;
}

#elif defined(__mips__)

// A callee may keep its arguments in sixteen bytes above the stack pointer.
#define START_LABEL ".globl __start\n _start: __start:\n"
#if _MIPS_SIM == _ABIO32
enum { NR_rt_sigaction = 4194, NR_sigaltstack = 4206, NR_getpid = 4020, NR_kill = 4037 };
#define START_STACK "addiu $29, $29, -32\n"
#define START_EXIT "li $2, 4001\n"
#elif _MIPS_SIM == _ABIN32
enum { NR_rt_sigaction = 6013, NR_sigaltstack = 6129, NR_getpid = 6038, NR_kill = 6060 };
#define START_STACK "addiu $29, $29, -32\n"
#define START_EXIT "li $2, 6058\n"
#else
enum { NR_rt_sigaction = 5013, NR_sigaltstack = 5129, NR_getpid = 5038, NR_kill = 5060 };
#define START_STACK "daddiu $29, $29, -32\n"
#define START_EXIT "li $2, 5058\n"
#endif
#define START ".set noreorder\n move $31, $0\n " START_STACK " jal main\n nop\n " START_EXIT " syscall\n .set reorder\n"
#define START_CFI ".cfi_undefined 31\n"
#define SIGACTION unsigned int flags; void *handler; unsigned long mask[16 / sizeof(long)];
#define SIGSET_SIZE 16
#define KERNEL_STACK void *base; unsigned long size; int flags;
#define SA_SIGINFO_ SA_SIGINFO_
enum { SA_SIGINFO_ = 8, SA_ONSTACK_ = 0x08000000, SA_RESTORER_ = 0x04000000, SA_RESETHAND_ = 0x80000000, SA_NODEFER_ = 0x40000000 };
#define SIGNALS_
enum { SIGSEGV_ = 11, SIGUSR1_ = 16, SIGUSR2_ = 17 };

static inline long syscall4(long nr, long a, long b, long c, long d) {
	register long v0 __asm__("$2") = nr;
	register long a0 __asm__("$4") = a;
	register long a1 __asm__("$5") = b;
	register long a2 __asm__("$6") = c;
	register long a3 __asm__("$7") = d;
	__asm__ volatile("syscall" : "+r"(v0), "+r"(a3) : "r"(a0), "r"(a1), "r"(a2)
			 : "$1", "$3", "$8", "$9", "$10", "$11", "$12", "$13", "$14", "$15", "$24", "$25", "hi", "lo", "memory");
	return v0;
}

#elif defined(__m68k__)

#define START "sub.l %fp, %fp\n jsr main\n moveq #1, %d0\n trap #0\n"
#define START_CFI ".cfi_undefined 24\n"
enum { NR_rt_sigaction = 174, NR_sigaltstack = 186, NR_getpid = 20, NR_kill = 37 };

static inline long syscall4(long nr, long a, long b, long c, long d) {
	register long d0 __asm__("d0") = nr;
	register long d1 __asm__("d1") = a;
	register long d2 __asm__("d2") = b;
	register long d3 __asm__("d3") = c;
	register long d4 __asm__("d4") = d;
	__asm__ volatile("trap #0" : "+d"(d0) : "d"(d1), "d"(d2), "d"(d3), "d"(d4) : "memory");
	return d0;
}

#elif defined(__sparc__)

// The kernel writes all windows to the stack before it dumps a process; qemu does so
// only when the program asks for it.
#define write_windows() __asm__ volatile("flushw" : : : "memory")
#define START "mov %g0, %fp\n sub %sp, 192, %sp\n call main\n nop\n mov 1, %g1\n ta 0x6d\n nop\n"
#define START_CFI ".cfi_undefined 15\n"
#define RESTORER "mov 101, %g1\n ta 0x6d\n"
// The code to return to is the fourth argument, less the eight bytes that returns add.
#define sigaction_call(signal, action) syscall5(NR_rt_sigaction, signal, (long)(action), 0, (long)restorer - 8, 8)
#define SA_SIGINFO_ SA_SIGINFO_
enum { SA_SIGINFO_ = 0x200, SA_ONSTACK_ = 1, SA_RESTORER_ = 0, SA_RESETHAND_ = 4, SA_NODEFER_ = 0x20 };
#define SIGNALS_
enum { SIGSEGV_ = 11, SIGUSR1_ = 30, SIGUSR2_ = 31 };
enum { NR_rt_sigaction = 102, NR_sigaltstack = 28, NR_getpid = 20, NR_kill = 37 };

static inline long syscall5(long nr, long a, long b, long c, long d, long e) {
	register long g1 __asm__("g1") = nr;
	register long o0 __asm__("o0") = a;
	register long o1 __asm__("o1") = b;
	register long o2 __asm__("o2") = c;
	register long o3 __asm__("o3") = d;
	register long o4 __asm__("o4") = e;
	__asm__ volatile("ta 0x6d" : "+r"(o0), "+r"(o1) : "r"(g1), "r"(o2), "r"(o3), "r"(o4) : "cc", "memory");
	return o0;
}

static inline long syscall4(long nr, long a, long b, long c, long d) { return syscall5(nr, a, b, c, d, 0); }

#elif defined(__alpha__)

#define START "br $29, 1f\n 1: ldgp $29, 0($29)\n mov 0, $15\n mov 0, $26\n jsr $26, main\n ldgp $29, 0($26)\n ldi $0, 1\n callsys\n"
#define START_CFI ".cfi_undefined 26\n"
#define SIGACTION void *handler; int flags; unsigned long mask[1];
// Without a fifth argument the kernel writes the code to return to.
#define sigaction_call(signal, action) syscall5(NR_rt_sigaction, signal, (long)(action), 0, 8, 0)
#define SA_SIGINFO_ SA_SIGINFO_
enum { SA_SIGINFO_ = 0x40, SA_ONSTACK_ = 1, SA_RESETHAND_ = 0x10, SA_NODEFER_ = 8 };
#define SIGNALS_
enum { SIGSEGV_ = 11, SIGUSR1_ = 30, SIGUSR2_ = 31 };
enum { NR_rt_sigaction = 352, NR_sigaltstack = 235, NR_getpid = 20, NR_kill = 37 };

static inline long syscall5(long nr, long a, long b, long c, long d, long e) {
	register long v0 __asm__("$0") = nr;
	register long a0 __asm__("$16") = a;
	register long a1 __asm__("$17") = b;
	register long a2 __asm__("$18") = c;
	register long a3 __asm__("$19") = d;
	register long a4 __asm__("$20") = e;
	__asm__ volatile("callsys" : "+r"(v0), "+r"(a3) : "r"(a0), "r"(a1), "r"(a2), "r"(a4)
			 : "$1", "$2", "$3", "$4", "$5", "$6", "$7", "$8", "$22", "$23", "$24", "$25", "$27", "$28", "memory");
	return v0;
}

static inline long syscall4(long nr, long a, long b, long c, long d) { return syscall5(nr, a, b, c, d, 0); }

#elif defined(__hppa__)

// The stack grows up; the first 64 bytes below the stack pointer are the caller's.
#define START "ldo 64(%sp), %sp\n ldil L'$global$, %dp\n ldo R'$global$(%dp), %dp\n bl main, %rp\n nop\n ldi 1, %r26\n be,l 0x100(%sr2, %r0), %sr0, %r31\n ldi 1, %r20\n"
#define START_CFI ".cfi_undefined 2\n"
enum { NR_rt_sigaction = 174, NR_sigaltstack = 166, NR_getpid = 20, NR_kill = 37 };

static inline long syscall4(long nr, long a, long b, long c, long d) {
	register long r20 __asm__("r20") = nr;
	register long r26 __asm__("r26") = a;
	register long r25 __asm__("r25") = b;
	register long r24 __asm__("r24") = c;
	register long r23 __asm__("r23") = d;
	register long r28 __asm__("r28");
	__asm__ volatile("be,l 0x100(%%sr2, %%r0), %%sr0, %%r31\n nop"
			 : "=r"(r28) : "r"(r20), "r"(r26), "r"(r25), "r"(r24), "r"(r23) : "r1", "r2", "r29", "r31", "memory");
	return r28;
}

#else
#error "testdata/src/arch/start.h has no part for this architecture"
#endif

#ifndef START_SIZE
#define START_SIZE ". - _start"
#endif
#ifndef START_LABEL
#define START_LABEL "_start:\n"
#endif
// Where _start ends nothing tells in a stripped program: the rest of what a C
// library's takes follows it.
#ifdef NO_TABLES
#define CFI(text) ""
#define START_PAD ".skip 64\n"
#else
#define CFI(text) text
#define START_PAD ""
#endif

__asm__(".text\n .globl _start\n .type _start, %function\n" CFI(".cfi_startproc\n" START_CFI)
	START_LABEL START CFI(".cfi_endproc\n") ".size _start, " START_SIZE "\n" START_PAD);

int main(void);

// own is a function that stays a function with a frame and a call of its own.
#ifdef __clang__
#define own __attribute__((noinline, weak)) // weak: nothing is concluded from the body
#else
#define own __attribute__((noipa))
#endif
// use keeps a variable until here.
#define use(variable) __asm__ volatile("" : : "m"(variable))

#ifndef SIGNALS_
enum { SIGSEGV_ = 11, SIGUSR1_ = 10, SIGUSR2_ = 12 };
#endif
#ifndef SA_SIGINFO_
enum { SA_SIGINFO_ = 4, SA_ONSTACK_ = 0x08000000, SA_RESTORER_ = 0x04000000, SA_RESETHAND_ = 0x80000000, SA_NODEFER_ = 0x40000000 };
#endif
#ifndef SIGACTION
#define SIGACTION void *handler; unsigned long flags; void *restorer; unsigned long mask[8 / sizeof(long)];
#endif

struct kernel_sigaction { SIGACTION };
#ifndef KERNEL_STACK
#define KERNEL_STACK void *base; int flags; unsigned long size;
#endif
#ifndef SIGSET_SIZE
#define SIGSET_SIZE 8
#endif

struct kernel_stack { KERNEL_STACK };

#ifndef sigaction_call
#define sigaction_call(signal, action) syscall4(NR_rt_sigaction, signal, (long)(action), 0, SIGSET_SIZE)
#endif
// write_windows writes register windows, where there are any, to the stack.
#ifndef write_windows
#define write_windows() (void)0
#endif

#ifdef RESTORER
void restorer(void);
// The byte before it is looked up, as after a call: it is not that of _start.
__asm__(".text\n nop\n .globl restorer\n restorer:\n" RESTORER);
#define SET_RESTORER(action) (action).flags |= SA_RESTORER_, (action).restorer = (void *)restorer
#else
#define SET_RESTORER(action) (void)0
#endif

static inline void handle(int signal, void *handler, unsigned long flags) {
	static struct kernel_sigaction action;
	action.handler = handler;
	action.flags = flags;
	SET_RESTORER(action);
	sigaction_call(signal, &action);
}

static inline void send(int signal) { syscall4(NR_kill, syscall4(NR_getpid, 0, 0, 0, 0), signal, 0, 0); }
