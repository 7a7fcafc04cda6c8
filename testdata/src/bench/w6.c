// One of many builds of a program; N tells them apart, and how it dies: a write through a null
// pointer, an abort, a failed assertion, or a corrupted heap. The functions' names differ, too.
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define CAT2(a, b) a##b
#define CAT(a, b) CAT2(a, b)
#define NAME(x) CAT(x, N)

struct request {
	int id, kind;
	const char *path;
	int *slot;
};

__attribute__((noinline)) static int NAME(reply)(struct request *r)
{
	switch (N % 4) {
	case 0:
		*r->slot = r->id;
		break;
	case 1:
		abort();
	case 2:
		assert(r->slot != NULL);
		break;
	default: {
		char *p = malloc(24);

		free(p + 8);
	}
	}
	return r->id;
}

__attribute__((noinline)) static int NAME(route)(struct request *r, int depth)
{
	if (depth > 0)
		return NAME(route)(r, depth - 1) + 1;
	return NAME(reply)(r) + 1;
}

__attribute__((noinline)) static int NAME(serve)(int id, const char *path)
{
	struct request r = { id, N % 7, path, NULL };

	return NAME(route)(&r, N % 5) + (int)strlen(path);
}

int main(int argc, char **argv)
{
	return NAME(serve)(argc, argv[0]);
}
