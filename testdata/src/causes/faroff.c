/* A pointer into a block, and a number that is far too large for it: the sum is bad, and neither part is it. */
#include <stdlib.h>
struct event { int id; };
__attribute__((noinline)) static int id(struct event *e) { return e->id; }
int main(int argc, char **argv)
{
	struct event *list = malloc(64);
	return argc > 9 ? 0 : id((struct event *)((char *)list + (1UL << 45)));
}
