// A recursion that ends in a write through a null pointer.
//
// The depth is the first argument. With 12 the stack of the dead thread is
//   crash, step x12, main
// where the outermost step has depth 12 and the innermost has depth 1.
#include <stdlib.h>

struct node {
	int depth;
	int *slot;
};

static int crash(struct node *n)
{
	*n->slot = n->depth;
	return n->depth;
}

static int step(int depth, int total)
{
	struct node here = { depth, NULL };
	int sum = total + depth;

	if (depth == 1)
		return crash(&here);
	return step(depth - 1, sum) + here.depth;
}

int main(int argc, char **argv)
{
	int depth = argc > 1 ? atoi(argv[1]) : 12;

	return step(depth, 0);
}
