// Nulls of which only what the compiler tells of the moment of a call, or the types, say that they are its argument; and two reasons to
// end the program that one function has. The argument is the way to die.
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

struct Town {
	const char *name;
	int zip;
};
struct Parcel {
	long weight, size;
	Town *to;
};
struct Tape {
	long frames;
};
struct Track {
	int length() const { return (int)tape->frames / rate; }
	int deep() const { return (int)album->tape->frames / rate; }
	const Track *peek() const { return album; }
	int rate;
	Track *album;
	Tape *tape;
};
struct Cell {
	int v;
	Cell *next;
};
struct Line {
	Cell *first;
};
static volatile long sink;

static int zone(const Town &t) { return t.zip / 1000 + t.name[0]; }
static int between(const Town *a, const Town *b) { return a->zip - b->zip; }

__attribute__((noinline)) int label(const Parcel &p) { return zone(*p.to) + 1; }
__attribute__((noinline)) int apart(const Parcel *p, const Parcel *q) { return between(p->to, q->to) + 1; }
__attribute__((noinline)) int albums(Track *const *list, long at) { return list[at]->album->length() * 2; }
// The inlined functions read the null themselves here, whoever else did.
__attribute__((noinline)) int whole(Track *const *list, long at) { return list[at]->deep() * 2; }
__attribute__((noinline)) int joined(Track *const *list, long at) {
	sink = list[at]->peek() == nullptr;
	return list[at]->deep() * 2;
}

// LLVM leaves out of the search that it ends, since its caller uses what it finds. The other walk does not look for its end itself.
static Cell *search(const Line *l, int v) {
	for (Cell *c = l->first; c; c = c->next)
		if (c->v == v) return c;
	return nullptr;
}
static Cell *last(const Line *l) {
	Cell *c = l->first;
	while (c->next) c = c->next;
	return c;
}
__attribute__((noinline)) int found(const Line *l, int v) { return search(l, v)->v * 2; }
__attribute__((noinline)) int end(const Line *l) { return last(l)->v * 2; }

// A function of the library meets the null that such a search came to.
struct Stop {
	char name[8];
	Stop *side[2];
};
static Stop *stopAt(Stop *s, const char *name) {
	while (s) {
		int c = strcmp(name, s->name);
		if (c == 0) break;
		s = s->side[c > 0];
	}
	return s;
}
__attribute__((noinline)) int reached(Stop *first, const char *name) { return stopAt(first, name)->name[1] * 2; }
// This one does not look for its end itself.
static int farthest(Stop *s, const char *name) {
	int n = 0;
	for (; strcmp(name, s->name) != 0; n++) s = s->side[0];
	return n;
}
__attribute__((noinline)) int beyond(Stop *first, const char *name) { return farthest(first, name) + 1; }

// Arrays are searched, too, of which LLVM compares the first element apart.
struct Page {
	int n;
	struct {
		const char *name, *value;
	} tags[6];
};
static const char *tagged(const Page *p, const char *name) {
	for (int i = 0; i < p->n; i++)
		if (strcmp(p->tags[i].name, name) == 0) return p->tags[i].value;
	return nullptr;
}
__attribute__((noinline)) int tag(const Page *p, const char *name) { return tagged(p, name)[0] + 1; }
static int tagAt(const Page *p, const char *name) {
	int i = 0;
	while (strcmp(p->tags[i].name, name) != 0) i++;
	return i;
}
__attribute__((noinline)) int tagsBefore(const Page *p, const char *name) { return tagAt(p, name) * 2; }

static const char *firstTag(const Page *p, const char *name) { return strcmp(p->tags[0].name, name) == 0 ? p->tags[0].value : nullptr; }
__attribute__((noinline)) int listed(const Page *p, const char *const *list, const char *name) {
	int n = 0;
	for (; strcmp(*list, name) != 0; list++) n++;
	return (firstTag(p, name) != nullptr) + n;
}

static void ensure(bool ok, const char *what) {
	if (!ok) {
		fprintf(stderr, "not so: %s\n", what);
		abort();
	}
}
static void halt() { abort(); }
__attribute__((noinline)) void ensured(long n) { ensure(n < 2, "n is small"); }
__attribute__((noinline)) void halted(long n) {
	fprintf(stderr, "%ld: %s\n", n, "goodbye");
	halt();
}

// The format is the same in all calls: compilers leave it out of them.
__attribute__((noinline)) static void quit(const char *format, ...) {
	va_list list;
	va_start(list, format);
	vfprintf(stderr, format, list);
	va_end(list);
	abort();
}
__attribute__((noinline)) void cook(long n, const char *what) {
	switch (n % 4) {
	case 0: printf("fry %s\n", what); break;
	case 1: printf("boil %s\n", what); break;
	default: quit("nobody cooks %s in way %ld", what, n);
	}
}

__attribute__((noinline)) static void fail(const char *format, long n) {
	fprintf(stderr, format, n);
	abort();
}
__attribute__((noinline)) long check(long n) {
	if (n > 9000) fail("parcel of %ld grams is too heavy\n", n);
	if (n < 1) fail("parcel of %ld grams is nothing\n", n);
	return n;
}

int main(int, char **argv) {
	Town town = {"Bern", 3000};
	Parcel good = {1, 2, &town}, lost = {1, 2, nullptr};
	Track track = {1, nullptr, nullptr}, *list[] = {&track, &track};
	Page blank = {0, {}}, page = {0, {}};
	if (argv[1][0] == 'g') page.tags[0].name = page.tags[1].name = "near";
	const char *names[] = {"near", "far"};
	Stop stop = {"near", {nullptr, nullptr}};
	Cell cell = {1, nullptr};
	Line line = {&cell}, empty = {nullptr};
	switch (argv[1][0]) {
	case 'o': return reached(&stop, "far");
	case 'b': return beyond(&stop, "far");
	case 'f': return tag(&page, "far");
	case 'g': page.n = 2; return tag(&page, "far");
	case 'i': return tagsBefore(&blank, "far");
	case 'r': return listed(&blank, names, "far");
	case 'v': cook(argv[1][0], names[0]); break;
	case 'p': ensured(argv[1][0]); break;
	case 'q': halted(argv[1][0]); break;
	case 's': return found(&line, argv[1][0]);
	case 'e': return end(&empty);
	case 'l': return label(lost);
	case 'a': return apart(&good, &lost);
	case 't': return albums(list, argv[1][0] == 't');
	case 'w': return whole(list, argv[1][0] == 'w');
	case 'j': return joined(list, argv[1][0] == 'j');
	case 'h': return check(10000 + atol(argv[1]));
	case 'n': return check(atol(argv[1]));
	}
	return 0;
}
