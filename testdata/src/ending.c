// A failed assertion whose call lies behind calls of a function that never returns, though nothing declares it: control does not come from there.
//
// Expected place: check, and no other.
#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct parcel { struct parcel *next; };
struct shelf { const char *name; struct parcel *head; int n, total; };
struct depot { struct shelf shelves[4]; int used; } depot;

static void fatal(const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	abort();
}

struct shelf *shelf_at(struct depot *d, int i)
{
	if (i >= d->used)
		fatal("no shelf %d of %d", i, d->used);
	return &d->shelves[i];
}

void load(struct depot *d, int i, int weight)
{
	struct shelf *s = shelf_at(d, i);
	if (s->total + weight > 1000)
		fatal("shelf %s is overloaded by %d", s->name, s->total + weight - 1000);
}

void load_many(struct depot *d, int i, int k, int w)
{
	while (k-- > 0)
		load(d, i, w);
}

void check(struct shelf *s)
{
	int n = 0;
	for (struct parcel *p = s->head; p; p = p->next)
		n++;
	assert(n == s->n && "shelf is counted wrong");
}

static int way;

static void *job(void *v)
{
	struct depot *d = &depot;
	const char *what = v;
	struct shelf *s = &d->shelves[0];
	if (!strcmp(what, "load")) {
		if (way % 2)
			load_many(d, 0, 50, 70);
		else
			load(d, 1, 5000);
		return NULL;
	}
	if (!strcmp(what, "check")) {
		s->n += way ? 3 : -1;
		for (int i = 0; i < d->used; i++)
			check(&d->shelves[i]);
		return NULL;
	}
	return NULL;
}

int main(int argc, char **argv)
{
	way = argc - 1;
	depot.used = 3;
	job(argv[1]);
	return 0;
}
