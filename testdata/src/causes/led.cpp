// Dies of what the library's inlined functions read of a container: only what variables lead to tells whose it is. The argument says which.
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

#define APART __attribute__((noinline))

struct Plan { long id, seats; Plan *next; };
struct Hotel { std::map<std::string, Plan *> plans; std::unordered_map<std::string, Plan *> cache; std::unordered_map<int, Plan *> by; };
struct Node { int v; std::weak_ptr<Node> up; Plan *plan; };
struct Timer { std::function<long(long)> f; long n; };
class Store {
	std::deque<Plan *> q;
	std::variant<int, Plan *, std::string> v;
public:
	Store() : q(5), v((Plan *)nullptr) { for (auto &p : q) p = new Plan{}; q[3] = nullptr; }
	APART long at(int i) { return q[i]->seats; }
	APART long held() { return std::get<Plan *>(v)->seats; }
};
Hotel other;

APART long brackets(std::map<std::string, Plan *> &all) { return all["x"]->seats; }
APART long found(Hotel &h, const std::string &who) { return h.plans.find(who)->second->seats; }
APART long hashed(Hotel &h, const std::string &who) { return h.cache.find(who)->second->seats; }
APART long global(const std::string &who) { return other.plans.find(who)->second->seats; }
APART long number(Hotel &h, int who) { return h.by.find(who)->second->seats; }
APART long ended(Hotel &h, const std::string &who) { return h.plans.find(who)->second->seats; }
APART long weak(Node &n) { return n.up.lock()->plan->next->id; }
APART long called(Timer *t) { return t->f(t->n); }
APART long listed(std::list<Plan *> &l) { long s = 0; for (auto it = l.begin(); it != l.end(); ++it) s += (*it)->seats; return s; }
APART long mapped(std::map<int, Plan *> &m) { long s = 0; for (auto &kv : m) s += kv.second->seats; return s; }

int main(int, char **argv)
{
	Hotel h;
	for (int i = 0; i < 6; i++) {
		Plan *p = new Plan{i, 2, nullptr};
		h.plans["n" + std::to_string(i)] = h.cache["n" + std::to_string(i)] = h.by[i] = p;
		p->next = p;
	}
	h.plans["none"] = h.cache["none"] = h.by[33] = nullptr;
	other = h;
	std::map<std::string, Plan *> empty;
	std::string none = "none", nowhere = "nowhere to be found";
	Node n{};
	auto up = std::make_shared<Node>();
	n.up = up;
	Plan *plan = nullptr;
	Timer t{[&](long x) { return plan->seats + x; }, 3};
	Store s;
	std::list<Plan *> l{h.by[1], h.by[2], nullptr};
	std::map<int, Plan *> m{{1, h.by[1]}, {7, nullptr}};
	switch (argv[1][0]) {
	case 'b': return brackets(empty);
	case 'f': return found(h, none);
	case 'h': return hashed(h, none);
	case 'g': return global(none);
	case 'n': return number(h, 33);
	case 'e': return ended(h, nowhere);
	case 'w': return weak(n);
	case 'c': return called(&t);
	case 'q': return s.at(3);
	case 'v': return s.held();
	case 'l': return listed(l);
	case 'm': return mapped(m);
	}
	return 0;
}
