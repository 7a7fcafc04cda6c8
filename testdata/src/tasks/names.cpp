// Three threads that wait for each other, and two behind them: the locks are parts of a global, of an array in it, and
// of what a pointer leads to. Another waits for one that only a computed address leads to.
#include <chrono>
#include <cstdlib>
#include <mutex>
#include <pthread.h>
#include <shared_mutex>
#include <thread>
#include <vector>

struct account {
	std::mutex m;
	int n;
};

struct registry {
	std::shared_mutex rw;
	account a[2];
	account *last;
};

static registry reg;
static pthread_mutex_t *locks;

static void nap(int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }

static void transfer(account *from, account *to)
{
	std::lock_guard<std::mutex> g(from->m);
	nap(50);
	std::scoped_lock h(to->m); // the circle
	from->n--;
	to->n++;
}

int main()
{
	reg.last = new account;
	std::vector<std::thread> v;
	account *all[] = {&reg.a[0], &reg.a[1], reg.last};
	for (int i = 0; i < 3; i++)
		v.emplace_back(transfer, all[i], all[(i + 1) % 3]);
	v.emplace_back([] {
		nap(100);
		std::unique_lock l(reg.rw);
		std::lock_guard g(reg.a[1].m);
	});
	v.emplace_back([] {
		nap(200);
		std::shared_lock l(reg.rw);
	});
	locks = static_cast<pthread_mutex_t *>(calloc(2, sizeof(pthread_mutex_t)));
	pthread_mutex_lock(&locks[1]);
	v.emplace_back([] { pthread_mutex_lock(&locks[1]); });
	nap(400);
	abort();
}
