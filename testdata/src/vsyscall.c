// A bad pointer for a call that the kernel carries out at a fixed address.
typedef long (*call)(void *, void *);

__attribute__((noinline)) long ask(void *where) {
	call gettimeofday = (call)0xffffffffff600000UL;
	return gettimeofday(where, 0) + 1;
}

int main(void) { return (int)ask((void *)0x10) + 1; }
