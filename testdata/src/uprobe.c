// A function whose end is traced: its return address is that of a page of the kernel's that can be run and not read. The program makes such a page
// itself. With an argument, the function is called at two places of its caller.
#define _GNU_SOURCE
#include <sys/mman.h>

struct node {
	long value;
	struct node *next;
};

static void *page;

__attribute__((noinline)) long last(struct node *p) { return p->next->value; }

__attribute__((noinline)) long traced(struct node *p, int k) {
	void *volatile *slot = (void *volatile *)__builtin_frame_address(0) + 1;
	slot[0] = page;
	long r = last(p) + k;
	return r * 2;
}

__attribute__((noinline)) long once(struct node *p, int k) {
	long r = traced(p, k) + k;
	return r * 3;
}

__attribute__((noinline)) long twice(struct node *p, int k) {
	long r = k > 99 ? traced(p, k + 1) * 5 : 0;
	r += traced(p, k) + k;
	return r * 3;
}

int main(int argc, char **argv) {
	struct node n = {argc, 0};
	page = mmap(0, 4096, PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return (int)(argc > 1 ? twice(&n, argc) + 1 : once(&n, argc) + 1);
}
