// Dies of what a member of a class returned: operators and functions of the library's classes and of others. The argument says which.
#include <map>
#include <memory>
#include <new>
#include <set>
#include <string>
#include <tuple>
#include <variant>
#include <vector>

#define APART __attribute__((noinline))

struct Box { int a, b; };

struct Matrix {
	Box *box;
	APART Matrix &operator*(Matrix &o) { return o; }
	APART Matrix &operator*() { return *this; }
};
APART Matrix &operator*(Matrix &m, int) { return m; }

struct Raw { long words[2]; };
struct Hermit { long id; std::vector<Box *> lone; };
static Hermit hermit;

struct Handle {
	Box *box;
	APART Box *operator*() { return box; }
};

struct Inner {
	Box *box;
	APART Box *operator->() { return box; }
};
struct Outer {
	Inner inner;
	APART Inner operator->() { return inner; }
};

struct Passing {
	Inner inner;
	APART Inner &operator->() { return inner; }
};

namespace mine {
struct _Part {
	Box *box;
	APART Box *operator->() { return box; }
};
}
struct Whole { mine::_Part part; };

struct Deep {
	Box *box;
	APART Deep &operator[](long) { return *this; }
};

namespace mine {
struct vector {
	std::vector<Box *> items;
	APART Box *&back() { return items.back(); }
};
}

template <class T> struct Table {
	T *rows[8];
	APART T *&operator[](long i) { return rows[i]; }
};
struct Sheet : Table<Box> { int n; };

struct Shelf { int n; std::vector<Box *> list; };

std::vector<Box *> shelf(3);
APART std::vector<Box *> made() { return std::vector<Box *>(2); }

APART int times(Matrix &m, Matrix &n) { return (m * n).box->b; }
APART int scaled(Matrix &m) { return (m * 3).box->b; }
APART int self(Matrix &m) { return (*m).box->b; }
APART int handle(Handle &h) { return (*h)->b; }
APART int proxy(Outer &o) { return o->b; }
APART int wrapped(mine::vector &v) { return v.items.back()->b; }
APART int own(mine::vector &v) { return v.back()->b; }
APART int row(Sheet &s, long i) { return s[i * 2 + 1]->b; }
APART int keyed(std::map<std::string, Box *> &m, const std::string &k) { return m[k]->b; }
APART int temporary() { return made().front()->b; }
APART int pointed(std::vector<Box *> *v) { return v->at(1)->b; }
APART int global() { return shelf.back()->b; }
APART int within(std::vector<Shelf> &all, int i) { return all[i].list.back()->b; }
APART int first(std::map<int, Shelf> &all) { auto it = all.begin(); return it->second.list.front()->b; }
APART int passing(Passing &o) { return o->b; }
APART int part(Whole &w) { return w.part->b; }
APART int literal(std::map<std::string, Box *> &m) { return m["a key that is too long for the object itself"]->b; }
APART int rack(Shelf *racks, int i) { return racks[i].list.back()->b; }
APART int nested(std::vector<std::vector<Box *>> &rows) { auto it = rows.begin(); return (*it).back()->b; }
APART int deep(Deep &d) { return d[0][1][2][3][4][5][6][7][8][9].box->b; }
APART int moved(std::vector<Box *> &v)
{
	auto it = v.begin();
	Box *&r = *it;
	++it;
	return r->b;
}

struct Linked { Linked *next; int b; };

// Twin returns an object of its own class, which is not it.
struct Twin {
	Box *box;
	APART Twin other(int) { return Twin{nullptr}; }
	APART Box *operator->() { return box; }
};

APART int recast(Twin &t, int k) { return ((Inner &)(const Twin &)t.other(k))->b; }

struct Nest {
	struct Egg { Inner inner; };
	Box *box;
	APART Egg egg() { return Egg{{nullptr}}; }
	APART operator int() { return 0; }
};
APART int laid(Nest &n) { return n.egg().inner->b; }
APART int converted(Nest &n, int k) { return k / n; }

APART int found(std::map<int, Box *> &m, int k) { return m.find(k)->second->b; }
APART int least(std::set<Box *> &s) { return (*s.begin())->b; }
APART int second(std::tuple<int, Box *> &t) { return std::get<1>(t)->b; }
APART int either(std::variant<int, Box *> &v) { return std::get<Box *>(v)->b; }
APART int shared(std::shared_ptr<Linked> p) { return p->next->b; }
APART int apart(std::vector<int> &v, int k) { return k % v.size(); }
APART int twin(Twin &t, int k) { return t.other(k)->b; }

// Objects in memory that is declared as another type.
alignas(16) static char room[64];
APART int built() { return ((std::vector<Box *> *)room)->back()->b; }
APART int laidOut(Box *box) {
	alignas(16) char space[64];
	((std::vector<Box *> &)*new (space) std::vector<Box *>{box}).back();
	return (*(std::vector<Box *> *)space).back()->b;
}
APART int recastOf(std::vector<Raw> &raw) { return ((Inner &)raw.back()).operator->()->b; }
APART Hermit *seek(int) { return &hermit; }
APART int sought() { return seek(1)->lone.back()->b; }

int main(int, char **argv)
{
	std::map<int, Box *> numbered = {{4, nullptr}};
	std::set<Box *> set = {nullptr};
	std::tuple<int, Box *> pair(1, nullptr);
	std::variant<int, Box *> variant((Box *)nullptr);
	std::vector<int> empty;

	Box box = {1, 2};
	Matrix m = {&box}, n = {nullptr};
	Handle h = {nullptr};
	Outer o = {{nullptr}};
	mine::vector v = {std::vector<Box *>(2)};
	Sheet s = {};
	std::vector<Shelf> all(2, Shelf{3, std::vector<Box *>(1)});
	std::map<int, Shelf> ordered = {{4, all[0]}};
	Passing q = {{nullptr}};
	Deep nowhere = {nullptr};
	Whole whole = {{nullptr}};
	std::vector<std::vector<Box *>> rows(1, std::vector<Box *>(1));
	std::map<std::string, Box *> by;
	std::vector<Box *> two = {nullptr, &box}, none(2);
	switch (argv[1][0]) {
	case 'm': return times(m, n);
	case 'c': return scaled(n);
	case 's': return self(n);
	case 'h': return handle(h);
	case 'p': return proxy(o);
	case 'w': return wrapped(v);
	case 'o': return own(v);
	case 'r': return row(s, 1);
	case 'k': return keyed(by, "x");
	case 't': return temporary();
	case 'n': return pointed(&none);
	case 'g': return global();
	case 'D': return deep(nowhere);
	case 'q': return passing(q);
	case 'u': return part(whole);
	case 'K': return literal(by);
	case 'j': return rack(all.data(), 1);
	case 'e': return nested(rows);
	case 'i': return within(all, 1);
	case 'f': return first(ordered);
	case 'x': return moved(two);
	case 'F': return found(numbered, 4);
	case 'L': return least(set);
	case 'T': return second(pair);
	case 'V': return either(variant);
	case 'P': return shared(std::make_shared<Linked>(Linked{nullptr, 3}));
	case 'S': return apart(empty, 7);
	case 'N': { Nest nest = {&box}; return laid(nest); }
	case 'C': { Nest nest = {&box}; return converted(nest, 3); }
	case 'B': new (room) std::vector<Box *>{nullptr}; return built();
	case 'G': return laidOut(nullptr);
	case 'Q': { std::vector<Raw> raw(1); return recastOf(raw); }
	case 'J': hermit.lone.push_back(nullptr); return sought();
	case 'R': { Twin t = {&box}; return recast(t, 1); }
	case 'W': { Twin t = {&box}; return twin(t, 1); }
	}
	return 0;
}
