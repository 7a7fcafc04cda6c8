// Reasons to end the program: written before, or the line alone; texts of a length of their own that are overrun; a list that is shorter than somebody counted.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct node { long id; struct node *next; };
static struct label { char *name; long uses; } door;

__attribute__((noinline)) static void spoken(long n)
{
	if (n > 3) {
		fprintf(stderr, "too many doors\n");
		abort();
	}
	if (n < 0) {
		fprintf(stderr, "door %ld is below ground\n", n);
		fflush(stderr);
		abort();
	}
	puts("open");
}

__attribute__((noinline)) static void silent(long n)
{
	if (n == 1)
		abort();
	puts("one");
	if (n == 2)
		abort();
}

__attribute__((noinline)) static void maybe(long n)
{
	if (n > 1)
		fputs("more than one lift\n", stderr);
	if (n)
		abort();
}

static void halt(void) { abort(); }

__attribute__((noinline)) static void loud(long n)
{
	if (n)
		fputs("going down\n", stderr), halt();
	puts("up");
}

static void fail(const char *why)
{
	fprintf(stderr, "lift stopped: %s\n", why);
	abort();
}

__attribute__((noinline)) static void lift(const char *why)
{
	if (why[0] == '7')
		fail(why);
	puts(why);
}

__attribute__((noinline, noreturn)) static void end(long n)
{
	if (n == 1)
		abort();
	puts("two");
	abort();
}

static struct node *next_of(struct node *n) { return n->next; }

__attribute__((noinline)) static long last(struct node *n, long count)
{
	for (long i = 0; i < count; i++)
		n = next_of(n);
	return n->id;
}

__attribute__((noinline)) static void rename_label(struct label *l, const char *from)
{
	l->name = malloc(strlen(from) / 2);
	strcpy(l->name, from);
	l->uses++;
}

int main(int argc, char **argv)
{
	long n = atol(argv[2]);
	static struct node list[2] = { { 1, &list[1] }, { 2, NULL } };
	switch (argv[1][0]) {
	case 's': spoken(n); break;
	case 'q': silent(n); break;
	case 'm': maybe(n); break;
	case 'o': loud(n); break;
	case 'n': end(n);
	case 'f': lift(argv[2]); break;
	case 'l': return last(list, n);
	case 't': {
		char *text = malloc(n + 1);
		memset(text, 'x', n);
		text[n] = 0;
		rename_label(&door, text);
		free(malloc(4000));
		free(text);
		free(door.name);
	}
	}
	return 0;
}
