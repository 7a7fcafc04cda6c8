// A handler within a handler, and a crash in the second: the first on the stack
// of touch, a leaf that faults; the second, without SA_SIGINFO, on an alternate
// stack, after kill in the first.
//   crash < on_alternate < signal < on_fault < signal < touch < work < main < _start
#include "start.h"

static char other_stack[16384] __attribute__((aligned(16)));

own int crash(int *at, int value) {
	write_windows(); *at = value;
	return value + 1;
}

own void on_alternate(int number) {
	int seen = number * 100;
	use(seen);
	crash((int *)0, seen);
	use(seen);
}

own double half(int n) { return n * 0.5; }

// Its level is where work's scale was, if in a register: that is in the signal
// frame only.
own void on_fault(int number, void *info, void *context) {
	int seen = number + 1;
	double level = half(number);
	use(seen);
	use(info);
	use(context);
	send(SIGUSR2_);
	use(seen);
	double after = level + seen;
	use(after);
}

own int touch(int *at) { return *at + 1; }

own int work(int n) {
	int before = n * 3;
	double scale = half(n);
	use(before);
	int got = touch((int *)0) + n;
	use(before);
	double after = scale + got;
	use(after);
	return got;
}

int main(void) {
	static struct kernel_stack stack = {.base = other_stack, .size = sizeof other_stack};
	syscall4(NR_sigaltstack, (long)&stack, 0, 0, 0);
	handle(SIGSEGV_, (void *)on_fault, SA_SIGINFO_ | SA_RESETHAND_ | SA_NODEFER_);
	handle(SIGUSR2_, (void *)on_alternate, SA_ONSTACK_);
	return work(5) + 1;
}
