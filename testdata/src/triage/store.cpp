// set: tune
// A store of records with indexes and visitors.
#include <algorithm>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

struct Record {
	int id = 0;
	std::string name;
	std::unique_ptr<Record> link;
};

template <class T> class Index {
	std::map<T, Record *> entries;

public:
	void add(const T &key, Record *r) { entries[key] = r; }
	// bug: missing-key 2 (lookup throws, nobody catches)
	Record *lookup(const T &key) const {
		auto it = entries.find(key);
		if (it == entries.end())
			throw std::out_of_range("no such key");
		return it->second;
	}
	// bug: peek-null 2 (get may answer nothing)
	Record *get(const T &key) const {
		auto it = entries.find(key);
		return it == entries.end() ? nullptr : it->second;
	}
	int peek(const T &key) const { return get(key)->id + 1; }
};

class Visitor {
public:
	virtual ~Visitor() = default;
	virtual int visit(Record &r) = 0;
};

// bug: no-link 2
class LinkVisitor : public Visitor {
	int sum = 0;

public:
	int visit(Record &r) override { return sum += r.link->id; }
};

struct Store {
	std::vector<Record> records;
	Index<int> by_id;
	Index<std::string> by_name;
	std::function<void(Record &)> on_change;
	Visitor *audit = nullptr;

	explicit Store(int n) : records(n) {
		for (int i = 0; i < n; i++) {
			records[i].id = i;
			records[i].name = "record " + std::to_string(i);
			by_id.add(i, &records[i]);
			by_name.add(records[i].name, &records[i]);
		}
	}
	int walk(Visitor &v) {
		int sum = 0;
		for (auto &r : records)
			sum += v.visit(r);
		return sum;
	}
	// bug: no-listener 2
	void touch(Record &r) {
		r.id++;
		on_change(r);
	}
	void touch_all() {
		std::for_each(records.begin(), records.end(), [this](Record &r) { touch(r); });
	}
	// bug: no-audit 1
	int check() { return audit->visit(records[0]) + 3; }
};

int id_of(const Store &s, int id) { return s.by_id.lookup(id)->id * 2; }
int length_of(const Store &s, const std::string &name) { return (int)s.by_name.lookup(name)->name.size() + 1; }
int peek_number(const Store &s, int n) { return s.by_id.peek(n) + 5; }
int peek_name(const Store &s) { return s.by_name.peek("nobody") + 6; }

// bug: null-compare 2 (pointers that were never set)
void rank(std::vector<Record *> &list) {
	std::sort(list.begin(), list.end(), [](const Record *a, const Record *b) { return a->id < b->id; });
}

int best(Store &s) {
	std::vector<Record *> list;
	for (auto &r : s.records)
		list.push_back(&r);
	list.resize(list.size() + 3);
	rank(list);
	return list[0]->id;
}

int worst(int n) {
	std::vector<Record *> list(n);
	rank(list);
	return list.back()->id;
}

// bug: page-beyond 2
int page(const std::vector<int> &pages, size_t n) { return pages.at(n); }

int last_page(const std::vector<int> &pages) { return page(pages, pages.size()) + 1; }

// bug: endless-chain 2
int chain(const Record &r, int depth) {
	int volatile here = depth;
	int below = r.id >= 0 ? chain(r, depth + 1) : 0;
	return below + here;
}

int total(const Record &r) { return chain(r, 1) + 4; }

} // namespace

int main(int argc, char **argv) {
	std::string bug = argc > 1 ? argv[1] : "";
	bool second = argc > 2 && argv[2][0] == 'b';
	Store s(4);
	LinkVisitor v;
	if (bug == "missing-key")
		return second ? length_of(s, "nobody") : id_of(s, 77);
	if (bug == "peek-null")
		return second ? peek_name(s) : peek_number(s, 55);
	if (bug == "no-link")
		return second ? v.visit(s.records[1]) : s.walk(v);
	if (bug == "no-listener") {
		if (second)
			s.touch(s.records[2]);
		s.touch_all();
	}
	if (bug == "no-audit")
		return s.check();
	if (bug == "null-compare")
		return second ? worst(argc + 20) : best(s);
	if (bug == "page-beyond") {
		std::vector<int> pages(argc);
		return second ? last_page(pages) : page(pages, 100);
	}
	if (bug == "endless-chain")
		return second ? chain(s.records[1], 0) : total(s.records[0]);
	return 0;
}
