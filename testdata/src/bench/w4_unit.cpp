// One of many units with much debug information: standard containers and algorithms
// instantiated over types of its own. N tells the units apart; it has seven digits, so that
// the unit's assembly text becomes another unit by replacing them (see internal/benchpeers).
// VARIANT changes what is instantiated.
#include <algorithm>
#include <deque>
#include <filesystem>
#include <functional>
#include <future>
#include <list>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>
#define CAT2(a, b) a##b
#define CAT(a, b) CAT2(a, b)

namespace CAT(ns, N) {

struct Key {
	int v = N;
	bool operator<(const Key &o) const { return v < o.v; }
	bool operator==(const Key &o) const { return v == o.v; }
};

template <int I> struct Record {
	Key key;
	std::string name;
	std::map<std::string, std::vector<Record<I - 1>>> parts;
	std::unordered_map<int, std::deque<Record<I - 1>>> queues;
	bool operator<(const Record &o) const { return name < o.name; }
};

template <> struct Record<0> {
	Key key;
	std::string name;
	bool operator<(const Record &o) const { return name < o.name; }
};

// Weighted orders records by name and a weight, which is read through a pointer.
struct Weighted {
	const int *weight;
	template <int I> bool operator()(const Record<I> &a, const Record<I> &b) const
	{
		return a.key.v * *weight < b.key.v * *weight || a.name < b.name;
	}
};

template <int I> int use(int x, const int *weight)
{
	Record<I> a;
	a.name = std::to_string(x);
	std::set<Record<I>> set;
	set.insert(a);
	a.parts["k"].push_back({});
	a.queues[x].push_back({});
	std::list<Record<I>> l(3, a);
	l.sort();
	std::vector<Record<I>> v(l.begin(), l.end());
	std::variant<int, Record<I>, std::string> var = a;
	std::function<int(int)> f = [v, x](int y) { return static_cast<int>(v.size()) + x + y; };
	int below = f(static_cast<int>(std::get<1>(var).name.size())) + use<I - 1>(x + 1, weight);
	std::function<int(const int *)> order = [&v](const int *w) {
		std::sort(v.begin(), v.end(), Weighted{w});
		return v.front().key.v;
	};
	return below + order(weight);
}

template <> int use<0>(int x, const int *) { return x; }

} // namespace

int CAT(entry, N)(int x, const int *weight)
{
#if VARIANT % 2
	std::regex re("([a-z]+)([0-9]+)" + std::to_string(x));
	std::smatch m;
	std::string s = "abc123";
	x += std::regex_search(s, m, re);
#endif
	auto later = std::async(std::launch::deferred, [x] { return x * 2; });
	std::filesystem::path p("/tmp");
	return CAT(ns, N)::use<8 + VARIANT>(x, weight) + later.get() + static_cast<int>(p.string().size());
}
