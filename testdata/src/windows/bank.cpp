/* C++: values of the library, inlined calls, exceptions.

     bank fault      Ledger::post < Account::add (inlined) < transfer < main: null write
     bank uncaught   parse throws, nobody catches: on_terminate < std::terminate
     bank caught     settle throws through a frame with a destructor, transfer_back
                     catches, and faults in its handler */
#include <cstring>
#include <exception>
#include <stdexcept>
#include <string>
#include <vector>

#define NOINLINE __attribute__((noinline))

static volatile int sink;
static int *volatile nowhere;

struct Entry {
	std::string text;
	int amount;
};

class Ledger {
public:
	NOINLINE void post(const Entry &e)
	{
		entries.push_back(e);
		int *where = nowhere;
		sink = (int)entries.size();
		*where = e.amount;
		sink = 2;
	}
	std::vector<Entry> entries;
};

class Account {
public:
	explicit Account(std::string name) : owner(std::move(name)) {}
	inline __attribute__((always_inline)) void add(int amount)
	{
		total += amount;
		ledger.post(Entry{owner, amount});
		total++;
	}
	std::string owner;
	Ledger ledger;
	long long total = 0;
};

NOINLINE int transfer(const std::string &from, std::vector<int> amounts)
{
	Account account(from + "'s account, a long name");
	for (int a : amounts)
		account.add(a);
	return (int)account.total;
}

NOINLINE int parse(const std::string &text)
{
	if (text.size() > 3)
		throw std::runtime_error("cannot read " + text);
	return (int)text.size();
}

struct Journal {
	~Journal() { sink = 3; }
	int written = 0;
};

NOINLINE int settle(int n)
{
	Journal journal;
	journal.written = n;
	return parse(std::string(n, 'x')) + journal.written;
}

NOINLINE int transfer_back(int n)
{
	try {
		return settle(n) + 1;
	} catch (const std::exception &e) {
		sink = (int)std::strlen(e.what());
		*nowhere = sink;
		return sink;
	}
}

static void on_terminate()
{
	sink = 1;
	__asm__ volatile("int3");
	for (;;)
		sink = 2;
}

int main(int argc, char **argv)
{
	std::string mode = argc > 1 ? argv[1] : "";
	std::set_terminate(on_terminate);
	int got = 0;
	if (mode == "fault")
		got = transfer("Ada", {3, 4, 5});
	else if (mode == "uncaught")
		got = settle(10);
	else if (mode == "caught")
		got = transfer_back(12);
	sink = got;
	return got;
}
