/* A block that is used after it was freed: the argument tells how, and whether it was handed out again before. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct entry {
	char *key, *value;
	struct entry *next;
};
struct table {
	struct entry *entries;
	int n;
};

__attribute__((noinline)) static struct entry *lookup(struct table *t, const char *key)
{
	for (struct entry *e = t->entries; e; e = e->next)
		if (!strcmp(e->key, key))
			return e;
	return NULL;
}

static int dropped;
static char *kept;

__attribute__((noinline)) static void drop(struct entry *e)
{
	free(e);
	dropped++;
}

/* What gives the block back has no variable that points to it where free is called last. */
__attribute__((noinline)) static void clear(struct table *t)
{
	struct entry *e = t->entries;
	free(e->value);
	free(e);
}

int main(int argc, char **argv)
{
	struct table *t = calloc(1, sizeof *t);
	struct entry *e = t->entries = calloc(1, sizeof *e);
	e->key = strdup("one");
	e->value = malloc(90);
	drop(malloc(24));
	struct entry *other = calloc(1, sizeof *other);
	free(e->key);
	if (argv[1][0] != 'd')
		free(other);
	clear(t);
	switch (argv[1][0]) {
	case 'f': break;
	case 'r': kept = strdup("text of some length"); break;
	case 'd': drop(e); break;
	}
	printf("%s %p\n", kept ? kept : "", (void *)lookup(t, argc > 2 ? argv[2] : "two"));
	return 0;
}
