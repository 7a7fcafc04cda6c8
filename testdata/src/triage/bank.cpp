// set: unseen
// Accounts, a journal with undo, and workers that post transfers from a queue.
#include <cassert>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <exception>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

class Account {
public:
	Account(int id, long cents) : id_(id), cents_(cents) {}
	int id() const { return id_; }
	long balance() const { return cents_; }

	// bug: overdrawn 2 (policy: post lets the exception out)
	void withdraw(long cents) {
		if (cents > cents_)
			throw std::domain_error("balance too low for this withdrawal");
		cents_ -= cents;
	}
	void deposit(long cents) { cents_ += cents; }
	void set_owner(const std::string *owner) { owner_ = owner; }

	// bug: no-owner 3 (an account may have no owner; initials forgets it)
	std::string initials() const {
		std::string out;
		bool begin = true;
		for (char c : *owner_) {
			if (begin)
				out += c;
			begin = c == ' ';
		}
		return out;
	}

private:
	int id_;
	long cents_;
	const std::string *owner_ = nullptr;
};

class Rule {
public:
	Rule() { instances++; }
	virtual ~Rule() { audit(); }
	virtual bool allows(const Account &, long) const = 0;
	// bug: audit-in-destructor 2 (calls a pure virtual function of an object that is no longer whole)
	void audit() const;
	static int instances;

protected:
	virtual int weight() const = 0;
};
int Rule::instances;

__attribute__((noinline)) void Rule::audit() const {
	if (instances > 1)
		std::printf("weight %d\n", weight());
}

struct Limit : Rule {
	long most;
	explicit Limit(long m) : most(m) {}
	bool allows(const Account &a, long c) const override { return c <= most && a.balance() > 0; }
	int weight() const override { return 2; }
};

struct Both : Rule {
	std::unique_ptr<Rule> l, r;
	bool allows(const Account &a, long c) const override { return l->allows(a, c) && r->allows(a, c); }
	int weight() const override { return 1; }
};

class Bank {
public:
	Account &open(int id, long cents) {
		accounts_.push_back(std::make_unique<Account>(id, cents));
		index_[id] = accounts_.back().get();
		return *accounts_.back();
	}

	Account *account(int id) const {
		auto it = index_.find(id);
		return it == index_.end() ? nullptr : it->second;
	}

	// bug: unknown-payee 2 (transfer does not expect an account that is not there)
	void transfer(int from, int to, long cents) {
		Account *a = account(from), *b = account(to);
		a->withdraw(cents);
		b->deposit(cents);
		journal_.push_back({from, to, cents});
	}

	// bug: undo-nothing 2 (undo of an empty journal is the caller's wish; undo does not ask)
	long undo() {
		Entry e = journal_[journal_.size() - 1];
		journal_.pop_back();
		index_.at(e.from)->deposit(e.cents);
		return e.cents;
	}

	// bug: interest 2 (a divisor that may be zero)
	long interest(int id, int periods) const {
		Account *a = account(id);
		return a ? a->balance() / periods : 0;
	}

	std::size_t entries() const { return journal_.size(); }

	// bug: close-unknown 1 (unordered_map::at of an account that is not there)
	long close(int id) {
		long c = index_.at(id)->balance();
		index_.erase(id);
		return c;
	}

private:
	struct Entry { int from, to; long cents; std::uint64_t pad[64]; };
	std::vector<std::unique_ptr<Account>> accounts_;
	std::unordered_map<int, Account *> index_;
	std::vector<Entry> journal_;
};

// bug: settle-order 2 (an assertion: batches must be sorted; two importers forget it)
static long settle(Bank &b, const std::vector<int> &ids) {
	long sum = 0;
	for (std::size_t i = 0; i < ids.size(); i++) {
		assert(i == 0 || ids[i - 1] <= ids[i]);
		if (Account *a = b.account(ids[i]))
			sum += a->balance();
	}
	return sum;
}

static long import_csv(Bank &b, const char *line) {
	std::vector<int> ids;
	for (char *end; *line; line = *end ? end + 1 : end)
		ids.push_back(int(std::strtol(line, &end, 10)));
	return settle(b, ids);
}

static long import_range(Bank &b, int from, int to) {
	std::vector<int> ids;
	for (int i = from; i > to; i--)
		ids.push_back(i);
	return settle(b, ids) / 2;
}

class Worker {
public:
	explicit Worker(Bank &b) : bank_(b), thread_([this] { loop(); }) {}
	void post(std::function<void(Bank &)> job) {
		{
			std::lock_guard<std::mutex> lock(mutex_);
			jobs_.push_back(std::move(job));
		}
		ready_.notify_one();
	}
	void join() {
		post({});
		thread_.join();
	}

private:
	void loop() {
		for (;;) {
			std::unique_lock<std::mutex> lock(mutex_);
			ready_.wait(lock, [this] { return !jobs_.empty(); });
			auto job = std::move(jobs_.front());
			jobs_.pop_front();
			lock.unlock();
			if (!job)
				return;
			job(bank_);
		}
	}
	Bank &bank_;
	std::mutex mutex_;
	std::condition_variable ready_;
	std::deque<std::function<void(Bank &)>> jobs_;
	std::thread thread_;
};

// Both give statements an account, which must be there.
static std::string statement(const Account *a, int month) {
	char buf[64];
	std::snprintf(buf, sizeof buf, "%d: %ld in %d", a->id(), a->balance(), month);
	return buf;
}

// bug: statement-of-closed 1 (it should have skipped closed accounts)
static std::size_t yearly(const Bank &b, int id) {
	std::size_t n = 0;
	for (int m = 1; m <= 12; m++)
		n += statement(b.account(id), m).size();
	return n;
}

// bug: statement-of-guest 1 (guests have no account)
static int send(const Bank &b, const std::string &address, int id) {
	std::string s = statement(id ? b.account(id) : nullptr, 1);
	return std::printf("to %s: %s\n", address.c_str(), s.c_str());
}

// bug: nested-quotes 2 (deep recursion of a parser on its input)
static const char *parse(const char *s, long &sum) {
	char buf[64];
	std::snprintf(buf, sizeof buf, "%c", *s);
	while (*s && *s != ')') {
		if (*s == '(')
			s = parse(s + 1, sum);
		else
			sum += *s++ - buf[0];
		if (*s == ')')
			s++;
	}
	return s;
}

int main(int argc, char **argv) {
	const std::string bug = argc > 1 ? argv[1] : "";
	const char path = argc > 2 ? *argv[2] : 'a';
	Bank b;
	Account &one = b.open(1, 500);
	b.open(2, 100);
	if (bug == "overdrawn") {
		if (path == 'a')
			b.transfer(1, 2, 100000);
		Worker w(b);
		w.post([](Bank &k) { k.account(2)->withdraw(777); });
		w.join();
	}
	if (bug == "no-owner") {
		if (path == 'a')
			return int(one.initials().size());
		if (path == 'b') {
			Worker w(b);
			w.post([](Bank &k) { std::puts(k.account(2)->initials().c_str()); });
			w.join();
		}
		std::list<Account *> all{&one};
		std::string s;
		for (Account *a : all)
			s += a->initials() + ",";
		return int(s.size());
	}
	if (bug == "audit-in-destructor") {
		auto both = std::make_unique<Both>();
		both->l = std::make_unique<Limit>(argc);
		both->r = std::make_unique<Limit>(argc * 2);
		if (path == 'a')
			both->l.reset();
		else
			both.reset();
	}
	if (bug == "unknown-payee") {
		if (path == 'a')
			b.transfer(1, 9, 10);
		Worker w(b);
		w.post([argc](Bank &k) { k.transfer(1, argc + 50, 5); });
		w.join();
	}
	if (bug == "undo-nothing") {
		if (path == 'b')
			b.transfer(1, 2, 3), b.undo();
		return int(b.undo());
	}
	if (bug == "interest") {
		if (path == 'a')
			return int(b.interest(1, argc - 3));
		long sum = 0;
		for (int p = 2; p >= 0; p--)
			sum += b.interest(2, p);
		return int(sum);
	}
	if (bug == "close-unknown")
		return int(b.close(argc + 7));
	if (bug == "settle-order")
		return int(path == 'a' ? import_csv(b, "1,2,1") : import_range(b, argc + 3, 0));
	if (bug == "statement-of-closed") {
		b.close(2);
		return int(yearly(b, 2));
	}
	if (bug == "statement-of-guest")
		return send(b, "guest@example.org", argc - 3);
	if (bug == "nested-quotes") {
		long sum = 0;
		std::string deep(path == 'a' ? 90000 : 120000, '(');
		if (path == 'b')
			deep = "1+2-(3)" + deep;
		parse(deep.c_str(), sum);
		return int(sum);
	}
	return 0;
}
