// Ways to die, one a program: -DWAY=way_... The stack is that function, middle, main,
// _start.
#include "start.h"

#if defined(__x86_64__)
enum { NR_mprotect = 10, NR_prctl = 157, NR_setrlimit = 160 };
#elif defined(__i386__)
enum { NR_mprotect = 125, NR_prctl = 172, NR_setrlimit = 75 };
#elif defined(__arm__)
enum { NR_mprotect = 125 };
#else
enum { NR_mprotect = 226 };
#endif

static const int constant = 7;
static long numbers[8];
__attribute__((aligned(4096))) static char pages[4 * 4096];

// An index far from a null table.
own void way_far(void) {
	volatile long *table = 0;
	long index = 0x123456;

	__asm__ volatile("" : "+r"(table), "+r"(index));
#if defined(__x86_64__)
	__asm__ volatile("movq $1, (%0, %1, 8)" : : "r"(table), "r"(index) : "memory");
#else
	table[index] = 1;
#endif
}

// What lies in front of a null pointer, as the struct that has it as a member does.
own void way_negative(void) {
	char *member = 0;

	__asm__ volatile("" : "+r"(member));
	numbers[0] = *(volatile long *)(member - sizeof(long));
}

own void way_read_only(void) { *(volatile int *)&constant = 8; }

// A pointer out of memory that was filled when it was freed.
own void way_poison(void) {
	long *filled = numbers;

	for (unsigned i = 0; i < sizeof(long); i++)
		((volatile char *)filled)[i] = (char)0xdd;
	numbers[1] = *(volatile long *)(filled[0] + 16);
}

// One bit of a pointer is another; a second pointer to the same place is right.
own void way_flip(void) {
	long *right = numbers, *wrong = (long *)((unsigned long)numbers ^ 1UL << (sizeof(long) * 8 - 24));

	__asm__ volatile("" : "+r"(right), "+r"(wrong));
	right[1] = *(volatile long *)wrong;
	__asm__ volatile("" : : "r"(right));
}

own void way_misaligned(void) {
#if defined(__x86_64__) || defined(__i386__)
	__asm__ volatile("movaps %%xmm0, (%0)" : : "r"((char *)numbers + 4) : "memory");
#elif defined(__arm__)
	__asm__ volatile("ldm %0, {r2, r3}" : : "r"((char *)numbers + 1) : "r2", "r3");
#endif
}

// The most negative number by -1: the quotient does not fit.
own void way_least(void) {
#ifndef __arm__ // divides by a routine of the C library
	volatile int least = -2147483647 - 1, by = -1;

	numbers[0] = least / by;
#endif
}

// What clang makes of a subscript out of bounds with -fsanitize-trap.
own void way_undefined(void) {
#if defined(__x86_64__) || defined(__i386__)
	__asm__ volatile(".byte 0x67, 0x0f, 0xb9, 0x40, 0x12");
#elif defined(__aarch64__)
	__asm__ volatile("brk #0x5512");
#endif
}

own void way_trap(void) { __builtin_trap(); }

own void way_breakpoint(void) {
#if defined(__x86_64__) || defined(__i386__)
	__asm__ volatile("int3");
#endif
}

own void way_halt(void) {
#if defined(__x86_64__) || defined(__i386__)
	__asm__ volatile("hlt");
#endif
}

// A filter that kills for every system call but those to come here.
own void way_seccomp(void) {
#if defined(__x86_64__) || defined(__i386__)
	struct { unsigned short code; unsigned char yes, no; unsigned value; } filter[] = {
		{0x20, 0, 0, 0},          // the number of the system call
		{0x15, 0, 1, NR_getpid},  // is it that?
		{0x06, 0, 0, 0x80000000}, // kill the process
		{0x06, 0, 0, 0x7fff0000}, // allow
	};
	struct { unsigned short length; void *filter; } program = {4, filter};

	syscall4(NR_prctl, 38, 1, 0, 0); // PR_SET_NO_NEW_PRIVS
	syscall4(NR_prctl, 22, 2, (long)&program, 0); // PR_SET_SECCOMP, SECCOMP_MODE_FILTER
	syscall4(NR_getpid, 0, 0, 0, 0);
#endif
}

// A page without permissions between pages in use.
own void way_guard(void) {
	syscall4(NR_mprotect, (long)(pages + 4096), 4096, 0, 0);
	pages[4096 - 1] = 1;
	numbers[0] = *(volatile char *)(pages + 4096);
}

// An instruction whose second half is on a page that is not executable.
own void way_run_out(void) {
	static const unsigned char load[] = {0x48, 0xb8, 1}; // mov rax, ...

	syscall4(NR_mprotect, (long)pages, 4096, 7, 0);
	for (unsigned i = 0; i < sizeof load; i++)
		pages[4096 - sizeof load + i] = (char)load[i];
	((void (*)(void))(pages + 4096 - sizeof load))();
	numbers[0] = 1;
}

own void way_null_call(void) {
	void (*volatile nothing)(void) = 0;

	nothing();
	numbers[0] = 1;
}

// The address that mmap answers when it fails.
own void way_minus_one(void) {
	volatile char *mapped = (volatile char *)-1L;

	__asm__ volatile("" : "+r"(mapped));
	numbers[0] = *mapped;
}

// More processor time than is allowed.
own void way_time(void) {
#if defined(__x86_64__) || defined(__i386__)
	unsigned long limit[2] = {1, 3};

	syscall4(NR_setrlimit, 0, (long)limit, 0, 0);
	for (;;)
		(*(volatile long *)numbers)++;
#endif
}

static void send_again(int signal) {
	handle(signal, 0, 0);
	send(signal);
}

// A handler sends the signal once more, to die of it.
own void way_again(void) {
	handle(SIGSEGV_, (void *)send_again, 0);
	*(volatile int *)(numbers[2] + 4) = 1;
}

own int middle(int depth) {
	use(depth);
	WAY();
	return depth + (int)numbers[1];
}

int main(void) {
	int got = middle(3);

	use(got);
	return got;
}
