// 24 threads, each with eight frames that have containers of several kinds as local variables;
// one crashes.
#include <atomic>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <unistd.h>
#include <unordered_map>
#include <variant>
#include <vector>

enum class Kind { none, buy, sell };

struct Order {
	int id = 0;
	Kind kind = Kind::none;
	double price = 0;
	std::string name;
	std::vector<int> lots;
	std::optional<std::string> note;
};

static std::atomic<int> ready;
enum { workers = 24, depth = 8 };

static int rest(int id, int *slot)
{
	if (id == 0)
		*slot = id;
	ready++;
	for (;;)
		pause();
}

static int visit(int id, int level, const std::shared_ptr<Order> &last, std::map<std::string, int> &counts)
{
	int primes[] = {2, 3, 5, 7, 11, 13};
	char text[32] = "a short text";
	Order order{id * 100 + level, Kind::sell, level * 1.5, "order " + std::to_string(id), {1, 2, 3, level}, std::nullopt};
	std::vector<Order> orders(3, order);
	std::map<std::string, std::vector<int>> index = {{"one", {1}}, {"two", {1, 2}}, {"three", {1, 2, 3}}};
	std::unordered_map<int, std::string> names = {{1, "eins"}, {2, "zwei"}};
	std::set<std::string> seen = {"a", "b", "c"};
	std::list<double> prices = {1.25, 2.5, level * 2.0};
	std::deque<int> queue(20, level);
	std::optional<Order> best = order;
	std::variant<int, std::string, double> value = "a variant's string";
	std::unique_ptr<Order> own = std::make_unique<Order>(order);
	std::shared_ptr<Order> shared = std::make_shared<Order>(orders[1]);
	std::pair<int, const char *> pair(level, text);
	const Order &reference = orders.back();
	unsigned long long mask = 0xfeedfacecafebeefULL >> level;
	bool deepest = level == depth;

	counts["level " + std::to_string(level)] = primes[level % 6];
	if (deepest)
		return rest(id, nullptr) + static_cast<int>(mask);
	return visit(id, level + 1, shared, counts) + reference.id + pair.first + (last ? last->id : 0) + static_cast<int>(queue.size());
}

static void worker(int id)
{
	std::map<std::string, int> counts;
	visit(id, 1, nullptr, counts);
}

int main()
{
	std::vector<std::thread> threads;
	for (int id = 1; id < workers; id++)
		threads.emplace_back(worker, id);
	while (ready < workers - 1)
		usleep(1000);
	usleep(200000);
	worker(0);
	return 0;
}
