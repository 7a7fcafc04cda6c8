// A destructor that crashes while an exception passes through its frame.
//
// The frames that threw are gone from the stack, but their return addresses
// lie in the memory below it still. Expected stack:
//   Journal::~Journal, transfer, main
#include <stdexcept>

namespace bank {

struct Journal {
	volatile int *entries;
	~Journal() { entries[0] = 1; }
};

static int withdraw(int amount)
{
	if (amount > 0)
		throw std::range_error("not enough");
	return amount;
}

static int transfer(int amount)
{
	Journal journal{ nullptr };
	return withdraw(amount) + 1;
}

} // namespace bank

int main(int argc, char **argv)
{
	try {
		return bank::transfer(argc) + argv[0][0];
	} catch (const std::exception &) {
		return 1;
	}
}
