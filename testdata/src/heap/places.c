// One bug of the heap that is noticed at many places: the first argument is the bug, the second the place.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct guest {
	char *name;
	struct guest *next;
	long stays;
	long room;
};
struct guest *kept;

__attribute__((noinline)) void rename_guest(struct guest *g, const char *name) { strcpy(g->name, name); } // does not look at the length
__attribute__((noinline)) void forget(char *p) { free(p); }
__attribute__((noinline)) void leave(char *p) { free(p); }
__attribute__((noinline)) void clean(char *p) { free(p); }
__attribute__((noinline)) char *grow(char *p) { return realloc(p, 3000); }
__attribute__((noinline)) char *shrink(char *p) { return realloc(p, 9); }
__attribute__((noinline)) char *widen(char *p) { return realloc(p, 90); }
__attribute__((noinline)) long stays(struct guest *g) { return g->next->stays; }
__attribute__((noinline)) void move(struct guest *g) { g->next->room = 7; }
__attribute__((noinline)) long rooms(struct guest *g) {
	long n = 0;
	for (; g; g = g->next)
		n += g->room;
	return n;
}

int main(int argc, char **argv)
{
	char way = argv[2][0];
	long n = 0;
	struct guest *g = calloc(1, sizeof *g);
	g->name = malloc(24);
	g->next = kept = calloc(1, sizeof *g);
	char *p[4];
	for (int i = 0; i < 4; i++)
		p[i] = malloc(2000);
	if (!strcmp(argv[1], "freed")) {
		memset(kept, 0x55, sizeof *kept);
		free(kept);
		switch (way) {
		case 'a': return stays(kept);
		case 'b': move(kept); break;
		case 'c': return rooms(kept);
		case 'd': free(kept); break;
		}
		return 0;
	}
	free(kept);
	char *q = malloc(32);
	char *small = malloc(24), *other = malloc(argv[1][0] == 'w' ? 72 : 24);
	char *r = malloc(2100);
	g->name = argv[1][0] == 'w' ? other : small;
	rename_guest(g, argv[1][0] == 'w' ? "a name that is far longer than what there is room for, which are no more than these 72" :
		"a name that is far longer than 24 bytes, which goes on in what is next to it");
	switch (way) {
	case 'a': forget(r); break;
	case 'b': leave(r); break;
	case 'c': clean(other); free(small); free(q); forget(r); break;
	case 'd': r = grow(r); break;
	case 'e': r = shrink(r); break;
	case 'f': other = widen(other); forget(r); break;
	case 'g': forget(p[3]); r = realloc(r, 60000); break;
	}
	printf("%ld %p\n", n, r);
	return 0;
}
