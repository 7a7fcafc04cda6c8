// Nulls that a loop, a condition or a conditional move could have changed, but did not: what the null was before is known.
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))

struct node { struct node *next; long number; };
struct page { const char *title, *note; struct node *first; };

volatile long sink;

// words is given a null: the loop never moved it on.
static long words(const char *text)
{
	long n = 0;
	for (const char *p = text; *p; p++)
		n += *p == ' ';
	return n + 1;
}

NOINLINE static long heading(struct page *g)
{
	return words(g->title) * 2;
}

// The last of a list, which there must be: the loop goes on only where a next one is.
NOINLINE static long last(const struct node *n)
{
	while (n->next)
		n = n->next;
	return n->number;
}

NOINLINE static long closing(struct page *g)
{
	return last(g->first) + 1;
}

// The title is taken only where there is one, so it was the note.
NOINLINE static long either(struct page *g)
{
	return words(g->title ? g->title : g->note) * 3;
}

// Here nobody asks: the null is one of the list, not what came in.
NOINLINE static long sum(const struct node *n, long count)
{
	long s = 0;
	for (long i = 0; i < count; i++, n = n->next)
		s += n->number;
	return s;
}

NOINLINE static long adding(struct page *g)
{
	return sum(g->first, 3) + 1;
}

// What is called reads through the pointer each time, which its caller does not show.
NOINLINE static long peek(const char *p)
{
	sink++;
	return *p;
}

NOINLINE static long peeking(struct page *g)
{
	long n = 0;
	for (const char *p = g->title; peek(p); p++)
		n++;
	return n;
}

// Another thread, which might have changed the list.
static void *waiting(void *none)
{
	pause();
	return none;
}

NOINLINE static long shared(struct page *g)
{
	pthread_t t;
	pthread_create(&t, NULL, waiting, NULL);
	return last(g->first) + 2;
}

// A number may well become 0 in a loop.
NOINLINE static long shares(long low, long high)
{
	long s = 0;
	for (long i = low; i < high; i++)
		s += 1000 / i;
	return s;
}

NOINLINE static long sharing(long low)
{
	return shares(low - 3, low + 3) + 1;
}

int main(int argc, char **argv)
{
	static struct node two, one = {&two, 1};
	static struct page page;
	struct page *volatile g = &page;
	char way = argc > 1 ? argv[1][0] : 'w';
	if (way == 's')
		g->first = &one;
	switch (way) {
	case 'w': sink = heading(g); break;
	case 'l': sink = closing(g); break;
	case 'e': sink = either(g); break;
	case 'c': sink = peeking(g); break;
	case 't': sink = shared(g); break;
	case 'd': sink = sharing(argc - 2); break;
	case 's': sink = adding(g); break;
	}
	return 0;
}
