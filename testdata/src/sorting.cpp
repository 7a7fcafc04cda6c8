// A comparator that crashes inside std::sort, optimised.
//
// Built with -O2: the comparator and the library's templates are inlined into
// one another several deep. Expected stack: Record::key (inlined), ByKey's
// operator() (inlined), frames of std::sort's machinery (most inlined),
// rank, main
#include <algorithm>
#include <vector>

struct Record {
	const volatile int *rank;
	int key() const { return *rank; }
};

struct ByKey {
	bool operator()(const Record &a, const Record &b) const { return a.key() < b.key(); }
};

static __attribute__((noipa)) int rank(std::vector<Record> &records)
{
	std::sort(records.begin(), records.end(), ByKey());
	return records[0].key();
}

int main(int argc, char **argv)
{
	static int ranks[8] = { 5, 3, 8, 1, 9, 2, 7, argc };
	std::vector<Record> records;
	for (int &r : ranks)
		records.push_back(Record{ &r });
	records[6].rank = nullptr;
	return rank(records) + argv[0][0];
}
