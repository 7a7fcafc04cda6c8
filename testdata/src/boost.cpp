// Containers and smart pointers of Boost: empty, full, and in one another (libboost-dev, 1.74).
#include <boost/array.hpp>
#include <boost/circular_buffer.hpp>
#include <boost/container/flat_map.hpp>
#include <boost/container/small_vector.hpp>
#include <boost/container/static_vector.hpp>
#include <boost/container/string.hpp>
#include <boost/dynamic_bitset.hpp>
#include <boost/intrusive_ptr.hpp>
#include <boost/optional.hpp>
#include <boost/shared_ptr.hpp>
#include <boost/unordered_map.hpp>
#include <boost/variant.hpp>
#include <boost/variant2/variant.hpp>

namespace bc = boost::container;

struct Node {
	int refs, value;
};

void intrusive_ptr_add_ref(Node *n) { n->refs++; }
void intrusive_ptr_release(Node *n) { n->refs--; }

// Classes with the names of Boost's, and other members.
namespace mine {
struct optional {
	bool m_initialized;
	int m_storage;
};
}
namespace boost {
template <class T> struct scoped_array {
	T *first;
};
}

int main(int argc, char **)
{
	bc::small_vector<int, 4> small{1, 2}, spilled{1, 2, 3, 4, 5}, none;
	bc::static_vector<short, 5> fixed{7, 8};
	bc::flat_map<int, const char *> flat{{1, "one"}, {2, "two"}};
	bc::string text = "short", longer(40, 'x');
	boost::optional<int> some(5), empty;
	boost::optional<int &> ref(argc);
	boost::variant<int, double> var(2.5);
	boost::variant2::variant<int, double> var2(2.5);
	boost::shared_ptr<int> shared(new int(9)), copy = shared, null;
	Node node{0, 42};
	boost::intrusive_ptr<Node> intrusive(&node);
	boost::circular_buffer<int> ring(3), bare;
	for (int i = 0; i < 5; i++)
		ring.push_back(i);
	boost::unordered_map<int, const char *> map, nothing;
	map[1] = "one";
	map[20] = "twenty";
	boost::dynamic_bitset<> bits(10, 0b1011), nobits;
	boost::array<int, 3> array = {{1, 2, 3}};
	bc::small_vector<boost::array<int, 3>, 2> nested{array, array};
	mine::optional other{true, 3};
	boost::scoped_array<int> stranger{&argc};
	*(volatile int *)nullptr = argc;
}
