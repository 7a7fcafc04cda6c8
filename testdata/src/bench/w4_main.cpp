// Dies in the comparison function of a sort, deep in one of many units; eight threads wait.
// Stack: the comparison (inlined), a sort of the standard library (inlined), a lambda, a
// std::function, use<1>, use<2> and so on, entryN, handle, main.
#include <condition_variable>
#include <cstdio>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

#define CAT2(a, b) a##b
#define CAT(a, b) CAT2(a, b)
int CAT(entry, FIRST)(int, const int *);
int CAT(entry, CRASH)(int, const int *);

namespace {

struct Request {
	std::string name;
	std::vector<int> values;
	const int *weight;
};

std::mutex lock;
std::condition_variable wake;
int waiting, done;

void wait_for_end(int id)
{
	std::unique_lock<std::mutex> l(lock);
	waiting++;
	wake.wait(l, [id] { return done > id; });
}

__attribute__((noinline)) int handle(const Request &r, const std::map<std::string, std::function<int(int, const int *)>> &handlers)
{
	int sum = 0;
	for (int v : r.values)
		sum += handlers.at(r.name)(v, r.weight);
	return sum;
}

} // namespace

int main()
{
	std::map<std::string, std::function<int(int, const int *)>> handlers = {
		{"first", CAT(entry, FIRST)}, {"second", CAT(entry, CRASH)}};
	std::vector<std::thread> threads;
	const int one = 1;
	for (int i = 0; i < 8; i++)
		threads.emplace_back(wait_for_end, i);
	for (int n = 0; n < 8; usleep(100000)) {
		std::lock_guard<std::mutex> l(lock);
		n = waiting;
	}
	int sum = handle({"first", {1}, &one}, handlers);
	sum += handle({"second", {2, 3}, nullptr}, handlers);
	std::printf("%d\n", sum);
	return 0;
}
