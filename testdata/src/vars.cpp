// Variables of the kinds that C++ and its library add.
//
// Dies in stop, called by containers, called by owners, called by
// Holder<int>::method, called by main.
#include <array>
#include <cstdint>
#include <deque>
#include <forward_list>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <queue>
#include <set>
#include <stack>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <variant>
#include <vector>

namespace shop {

enum class Colour : unsigned char { red, green };
enum Size { small, large };

struct Base {
	virtual ~Base() = default;
	virtual int area() const { return side; }
	int side = 4;
	static int count;
	static constexpr int limit = 10;
};
int Base::count = 3;

struct Left : virtual Base { int left = 1; };
struct Right : virtual Base { int right = 2; };
struct Both : Left, Right {
	int own = 5;
	int method(long) { return own; }
};

struct Plain {
	int a;
	double b;
	Colour c;
};

struct Empty {};

} // namespace shop

using Text = std::string;
#include "vars_show.hpp"
[[gnu::noinline]] static int stop(volatile int *p, const std::string &why)
{
	*p = why[0];
	return *p;
}

template <typename T> [[gnu::noinline]] static int containers(const std::vector<T> &given, std::string_view view)
{
	std::vector<std::string> words{"one", "a somewhat longer word than fits", ""};
	std::vector<bool> bits{true, false, true};
	std::vector<std::vector<int>> nested{{1, 2}, {}, {3}};
	std::array<int, 3> fixed{7, 8, 9};
	std::map<std::string, int> ages{{"ann", 31}, {"bob", 42}, {"cy", 7}};
	std::set<int> primes{2, 3, 5, 7, 11};
	std::multimap<int, char> many{{1, 'a'}, {1, 'b'}};
	std::unordered_map<int, std::string> table{{4, "four"}};
	std::unordered_set<std::string> seen{"x"};
	std::deque<int> line;
	std::list<double> reals{0.5, 1.5};
	std::forward_list<int> single{1, 2};
	std::stack<int> pile;
	std::vector<int> none;
	std::wstring wide = L"wide";
	std::u16string utf16 = u"sixteen";
	std::pair<int, std::string> pair{1, "second"};

	for (int i = 0; i < 200; i++)
		line.push_back(i);
	for (int i = 0; i < 20; i++)
		line.pop_front();
	pile.push(3); SHOW_CONTAINERS
	return stop(nullptr, words[0]) + given.size() + view.size() + bits.size() + nested.size() + fixed[0] + ages.size() +
	       primes.size() + many.size() + table.size() + seen.size() + line.size() + reals.size() + none.size() +
	       wide.size() + utf16.size() + pair.first + pile.size() + !single.empty();
}

[[gnu::noinline]] static int owners(shop::Both &both, const shop::Plain &plain, shop::Both &&moved)
{
	auto unique = std::make_unique<int>(17);
	auto shared = std::make_shared<shop::Plain>(shop::Plain{1, 2.5, shop::Colour::green});
	std::shared_ptr<shop::Plain> second = shared, nobody;
	std::weak_ptr<shop::Plain> weak = shared;
	std::optional<int> some = 5, nothing;
	std::optional<std::string> text = "held";
	std::variant<int, std::string, double> choice = std::string("chosen");
	std::tuple<int, std::string, double> triple{1, "two", 3.0};
	std::tuple<> unit;
	shop::Colour colour = shop::Colour::green;
	shop::Size size = shop::large;
	int shop::Plain::*field = &shop::Plain::a;
	int (shop::Both::*method)(long) = &shop::Both::method;
	shop::Base *base = &both;
	shop::Empty empty;
	std::nullptr_t null = nullptr;
	auto lambda = [&plain, size](int x) { return plain.a + size + x; };
	std::function<int(int)> callable = lambda;
	char16_t c16 = u'q';
	char32_t c32 = U'r';
	char8_t c8 = u8's';
	bool no = false;
	std::unique_ptr<int[]> block(new int[2]{1, 2});

	std::vector<int> numbers{1, 2, 3};
	numbers.reserve(4); SHOW_OWNERS
	return containers(numbers, "viewed") + *unique + shared.use_count() + second->a + weak.use_count() + *some +
	       nothing.has_value() + text->size() + choice.index() + std::get<0>(triple) + int(colour) + size + plain.*field +
	       (both.*method)(1) + base->side + (null == nullptr) + callable(1) + c16 + c32 + c8 + no + moved.own +
	       (nobody == nullptr) + sizeof(empty) + sizeof(unit) + block[0];
}

template <typename T> struct Holder {
	T value;
	std::string name;

	[[gnu::noinline]] int method(int by)
	{
		shop::Both both;
		shop::Plain plain{by, 0.5, shop::Colour::red};
		const int &ref = by; SHOW_METHOD
		return owners(both, plain, shop::Both()) + ref + value;
	}
};

int main(int argc, char **argv)
{
	Holder<int> holder{argc, "holder"};
	SHOW_MAIN
	return holder.method(argc + 1) + argv[0][0];
}
