// Dies of an element of a container or of a smart pointer that holds nothing. The argument says which.
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#define APART __attribute__((noinline))

struct Box { int a, b; };
struct Owner { int z; std::unique_ptr<Box> box; std::shared_ptr<Box> shared; };

APART int unique(Owner &o) { return o.box->b; }
APART int shared(Owner &o) { return o.shared->b; }
APART int local(int c) { std::unique_ptr<Box> p; if (c > 5) p.reset(new Box); return p->b; }
APART int element(std::vector<std::unique_ptr<Box>> &v, int i) { return v[i]->b; }
APART int ended(std::list<Box *> &l) { auto it = l.end(); return (*it)->b; }
APART int back(std::vector<Box *> &v) { return v.back()->b; }
APART int singular(std::set<int>::iterator it) { return *it; }
APART int size(std::list<Box *> &l, int total) { return total / (int)l.size(); }
APART int stepped(std::list<Box *> &l) { auto it = l.begin(); ++it; return (*it)->b; }
APART int mapped(std::map<long, Box *> &m) { return m[7]->b; }
APART int found(std::map<long, Box *> &m) { auto it = m.find(7); return it->second->b; }
APART int last(std::vector<std::vector<Box *>> &v, int i) { return v[i].back()->b; }
APART int option(std::optional<Box *> &o) { return (*o)->b; }
int few[4];
APART int indexed(std::list<Box *> &l) { return few[l.size()]; }

int main(int argc, char **argv)
{
	int c = argc - 1; // 1
	Owner o;
	std::vector<std::unique_ptr<Box>> four(4);
	std::list<Box *> l;
	std::vector<Box *> none;
	std::map<long, Box *> by;
	std::vector<std::vector<Box *>> nested(4, std::vector<Box *>(2));
	std::optional<Box *> some = nullptr;
	switch (argv[1][0]) {
	case 'u': return unique(o);
	case 's': return shared(o);
	case 'l': return local(c);
	case 'v': return element(four, c + 1);
	case 'e': return ended(l);
	case 'b': return back(none);
	case 'i': return singular(std::set<int>::iterator());
	case 'S': l = {new Box, nullptr}; return stepped(l);
	case 'm': return mapped(by);
	case 'f': by[7] = nullptr; return found(by);
	case 'L': return last(nested, c + 1);
	case 'o': return option(some);
	case 'x': ((size_t *)&l)[2] = (size_t)c << 40; return indexed(l);
	case 'd': return size(l, c * 9);
	}
	return 0;
}
