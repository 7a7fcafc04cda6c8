// Nulls that functions are given which compilers inline into their callers. The argument is the way to die.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

struct Cell {
	int v, w;
	Cell *next;
};
struct Town {
	std::string name;
	int zip;
};
struct Parcel {
	long weight, size;
	Town *to;
};
typedef std::map<std::string, Parcel *> Parcels;

static inline int value(const Cell *c) { return c->v * 3 + 1; }
static inline Cell *find(Cell *c, int v) {
	for (; c; c = c->next)
		if (c->v == v) return c;
	return nullptr;
}
static inline long weigh(const Parcel *p) { return p->size + 1; }
static inline Parcel *get(Parcels &all, const std::string &name) {
	auto at = all.find(name);
	return at == all.end() ? nullptr : at->second;
}
static inline int zone(const Town *t) { return t->zip / 1000; }
static inline int further(const Cell *c) { return c->next->w / 3; }

__attribute__((noinline)) int searched(Cell *c, int v) { return value(find(c, v)) + c->w; }
__attribute__((noinline)) long loaded(Parcels &all, const char *name) { return weigh(get(all, name)) + 1; }
__attribute__((noinline)) long near(std::vector<Parcel *> &all) {
	std::sort(all.begin(), all.end(), [](Parcel *a, Parcel *b) { return zone(a->to) < zone(b->to); });
	return all[0]->size;
}
// The callee itself reads the null here.
__attribute__((noinline)) int read(Cell *c) { return further(c) + 1; }

__attribute__((noinline, cold)) void note(Cell *, int n) { fprintf(stderr, "%d\n", n); }
// The null is not the one that it was called with, and is used in code that is put aside.
__attribute__((noinline)) int walked(Cell *p, int n) {
	int sum = 0;
	for (int i = 0; i < n; i++) {
		sum += p->v;
		p = p->next;
		if (__builtin_expect(sum > 5, 0)) note(p, p->w);
	}
	return sum;
}

// Which leaves by a jump: what walked was called with, nothing tells.
__attribute__((noinline)) int stroll(Cell *p, int n) { return walked(p->v > 1 ? p : nullptr, n); }

int main(int, char **argv) {
	Cell last = {7, 1, nullptr}, first = {2, 3, &last};
	Town town = {"x", 2345};
	Parcels parcels;
	std::vector<Parcel *> all;
	for (int i = 0; i < 20; i++) all.push_back(new Parcel{i, i, i == 7 ? nullptr : &town});
	switch (argv[1][0]) {
	case 's': return searched(&first, 100);
	case 'l': return loaded(parcels, argv[1]);
	case 'z': return near(all);
	case 'r': return read(&last);
	case 'w': return stroll(&first, 5);
	}
	return 0;
}
