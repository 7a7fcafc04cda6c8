/* Constants that functions are called with, and that are no texts: each has a byte that is a letter, and ends with a zero. */
#include <stdlib.h>
struct setting { char name[8]; int level; };
struct slice { const int *from; const int *bounds; };
static const int codes[] = {'A', 0}, bounds[] = {'C', 0};
static const struct setting quiet = {"quiet", 3};
static const char *const names[] = {"one", "two"};
static const unsigned char raw[] = {1, 'R', 2, 0};
__attribute__((noinline)) static void stop(const int *list, const struct setting *how, const char *const *all, const void *r, struct slice s, const char *why)
{
	if (list[0] + how->level + *all[0] + *(const char *)r + s.from[0])
		abort();
	__asm__ volatile("" : : "r"(why));
}
int main(int argc, char **argv)
{
	struct slice s = {codes, bounds};
	stop(codes, &quiet, names, raw, s, argv[0]);
	return argc;
}
