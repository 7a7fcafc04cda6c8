// set: held-out
// A graph of tasks: planning, costs, printing.
#include <cstring>
#include <iostream>
#include <list>
#include <memory>
#include <numeric>
#include <set>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <vector>

namespace tasks {

struct CycleError : std::runtime_error {
	using std::runtime_error::runtime_error;
};

class Cost {
public:
	virtual ~Cost() = default;
	virtual double of(int n) const = 0;
};

class Linear : public Cost {
	const double *factor;

public:
	explicit Linear(const double *f) : factor(f) {}
	// bug: no-factor 2
	double of(int n) const override { return *factor * n; }
};

struct Node {
	std::string name;
	int weight = 1;
	std::vector<std::shared_ptr<Node>> next;
	std::shared_ptr<Cost> cost;
	int state = 0;
};

using NodePtr = std::shared_ptr<Node>;

template <class Node, class F> void each(const std::vector<Node> &list, F f) {
	for (auto &n : list)
		f(n);
}

class Plan {
	std::vector<NodePtr> nodes;
	std::unordered_map<std::string, NodePtr> names;

public:
	NodePtr add(const std::string &name) {
		auto n = std::make_shared<Node>();
		n->name = name;
		nodes.push_back(n);
		return names[name] = n;
	}
	// bug: no-cost 2 (nodes without a cost are allowed)
	double price(const NodePtr &n) const { return n->cost->of(n->weight); }
	double total() const {
		return std::accumulate(nodes.begin(), nodes.end(), 0.0, [this](double s, const NodePtr &n) { return s + price(n); });
	}
	// bug: cycle-thrown 2
	void order(const NodePtr &n, std::list<std::string> &out) {
		if (n->state == 1)
			throw CycleError("cycle at " + n->name);
		n->state = 1;
		for (auto &m : n->next)
			order(m, out);
		n->state = 2;
		out.push_front(n->name);
	}
	std::list<std::string> order_all() {
		std::list<std::string> out;
		each(nodes, [&](const NodePtr &n) {
			if (n->state != 2)
				order(n, out);
		});
		return out;
	}
	// bug: weigh-loop 2
	int weigh(const Node &n) { return n.weight + weigh_next(n); }
	int weigh_next(const Node &n) {
		char label[48];
		std::snprintf(label, sizeof label, "%s", n.name.c_str());
		int sum = (int)std::strlen(label);
		for (auto &m : n.next)
			sum += weigh(*m);
		return sum;
	}
	// bug: unknown-name 2
	Node &named(const std::string &name) { return *names.at(name); }
	int weight(const std::string &name) { return named(name).weight + 1; }
	// bug: gap-in-list 2 (next may hold empty pointers)
	int lightest(const Node &n) const {
		int best = 1000;
		each(n.next, [&](const NodePtr &m) { best = std::min(best, m->weight); });
		return best;
	}
	int lightest_of_all() const {
		int best = 1000;
		for (auto &n : nodes)
			best = std::min(best, lightest(*n) + 1);
		return best;
	}
};

// bug: title-null 1 (main's own: there is no title)
// bug: label-null 1 (label does not expect a null)
std::string quote(const char *s) { return '"' + std::string(s) + '"'; }

std::string label(const Node &n, const char *suffix) { return n.name + quote(suffix); }

std::string title(const char *text) {
	std::string s = quote(text);
	return s + "\n";
}

} // namespace tasks

int main(int argc, char **argv) {
	using namespace tasks;
	std::string bug = argc > 1 ? argv[1] : "";
	bool second = argc > 2 && argv[2][0] == 'b';
	Plan plan;
	auto a = plan.add("a"), b = plan.add("b");
	if (bug == "no-factor") {
		a->cost = std::make_shared<Linear>(nullptr);
		b->cost = a->cost;
		return (int)(second ? plan.total() : plan.price(a));
	}
	if (bug == "no-cost")
		return (int)(second ? plan.price(b) : plan.total());
	if (bug == "cycle-thrown") {
		a->next = {b};
		b->next = {a};
		std::list<std::string> out;
		if (second)
			plan.order(a, out);
		return (int)plan.order_all().size();
	}
	if (bug == "weigh-loop") {
		a->next = {b};
		b->next = {a};
		return second ? plan.weigh_next(*b) : plan.weigh(*a);
	}
	if (bug == "unknown-name")
		return second ? plan.weight("z") : plan.named("y").weight;
	if (bug == "gap-in-list") {
		a->next.resize(argc);
		return second ? plan.lightest_of_all() : plan.lightest(*a);
	}
	if (bug == "title-null")
		std::cout << title(argc > 9 ? "x" : nullptr);
	if (bug == "label-null")
		std::cout << label(*a, argc > 9 ? "x" : nullptr);
	return 0;
}
