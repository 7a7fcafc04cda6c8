// Searches that find nothing, inlined into callers that use what they return: LLVM concludes that they find something, and leaves out where they end. The
// argument is the way to die.
#include <cstdlib>
#include <cstring>

struct Owner;
struct Cell {
	int v, w;
	Cell *next;
	Owner *owner;
};
struct Owner {
	int id, cells;
	Cell *first;
};
struct Row {
	Cell *cells[4], *none;
};

static inline Cell *find(Cell *c, int v)
{
	for (; c; c = c->next)
		if (c->v == v)
			return c;
	return nullptr;
}

// It goes from where a pointer is to where the next one is.
static inline Cell *onward(Cell **at, int v)
{
	for (; *at; at = &(*at)->next)
		if ((*at)->v == v)
			return *at;
	return nullptr;
}

static inline Cell *among(Cell *const *all, long n, int v)
{
	for (long i = 0; i < n; i++)
		if (all[i]->v == v)
			return all[i];
	return nullptr;
}

// This one returns no pointer: what it read through is its own mistake.
static inline int sum(const Cell *c, int n)
{
	int all = 0;
	for (int i = 0; i < n; i++, c = c->next)
		all += c->v;
	return all;
}

// This one, too: it returns another kind of pointer.
static inline int *weight(Cell *c, int n)
{
	while (n--)
		c = c->next;
	return &c->w;
}

// It goes from one object to the next, which lie in one array.
static inline Cell *within(Cell *from, long n, int v)
{
	for (Cell *c = from; c != from + n; c++)
		if (c->v == v)
			return c;
	return nullptr;
}

// This one has a function of the library compare.
struct Named {
	const char *name;
	long size;
	int w;
};
static inline Named *called(Named *from, long n, const char *name, long size)
{
	for (Named *c = from; c != from + n; c++)
		if (c->size == size && !memcmp(c->name, name, size))
			return c;
	return nullptr;
}

__attribute__((noinline)) int searched(Cell *c, int v) { return find(c, v)->w + 1; }
__attribute__((noinline)) int followed(Cell **at, int v) { return onward(at, v)->w + 2; }
__attribute__((noinline)) int picked(Row *r, long n, int v) { return among(r->cells, n, v)->w + 3; }
// This one has a pointer of another kind where cells have the next one.
static inline Owner *owner(Cell *c, int n)
{
	while (n--)
		c = c->next;
	return c->owner;
}

// This one has no end in its source.
static inline Cell *endless(Cell *c, int v)
{
	while (c->v != v)
		c = c->next;
	return c;
}

// Who asks whether something was found has a search that ends: the null is in the array.
__attribute__((noinline)) int asked(Row *r, long n, int v)
{
	Cell *c = among(r->cells, n, v);
	return c ? c->w : 0;
}
__attribute__((noinline)) int added(Cell *c, int n) { return sum(c, n) + 4; }
__attribute__((noinline)) int owned(Cell *c, int n) { return owner(c, n)->id + 6; }
__attribute__((noinline)) int kept(Cell *c, int v) { return endless(c, v)->w + 7; }
__attribute__((noinline)) int weighed(Cell *c, int n) { return *weight(c, n) + 5; }

__attribute__((noinline)) int ranged(Cell *from, long n, int v) { return within(from, n, v)->w + 8; }
__attribute__((noinline)) int named(Named *from, long n, const char *name, long size) { return called(from, n, name, size)->w + 9; }
// Who asks whether something was found has a search that ends: what is behind the end was asked for.
__attribute__((noinline)) int askedWithin(Cell *from, long n, int v)
{
	Cell *c = within(from, n, v);
	return c ? c->w : 0;
}

int main(int argc, char **argv)
{
	Cell last = {7, 1, nullptr, nullptr}, first = {2, 3, &last, nullptr}, *head = &first;
	Row row = {{&first, &last, &first, &last}, nullptr};
	switch (argv[1][0]) {
	case 'f': return searched(&first, 100);
	case 'o': return followed(&head, 100);
	case 'a': return picked(&row, argc + 2, 100);
	case 'n': return asked(&row, argc + 3, 100);
	case 's': return added(&first, argc + 8);
	case 'k': return owned(&first, argc + 8);
	case 'e': return kept(&first, 100);
	case 'w': return weighed(&first, argc + 8);
	case 'r': return ranged(static_cast<Cell *>(calloc(4, sizeof(Cell))), 4, 100);
	case 'm': return named(static_cast<Named *>(calloc(4, sizeof(Named))), 4, argv[0], 3 * argc);
	case 'q': return askedWithin(static_cast<Cell *>(calloc(4, sizeof(Cell))), 1L << 40, 100);
	}
	return 0;
}
