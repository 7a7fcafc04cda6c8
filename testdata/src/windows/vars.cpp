/* Variables of every kind that a PDB tells of, with Microsoft's object model and
   stand-ins for the containers of its library, which have the members of the real
   ones. No library of C starts it: the program begins at start.

   Dies in stop, called by containers, called by records, called by
   shop::Both::method, called by arrays, called by numbers, called by start. */
#include "vars_std.h"
#define NOINLINE __attribute__((noinline))
extern "C" int _fltused = 0;
typedef decltype(sizeof 0) size_t;
extern "C" NOINLINE void *memset(void *to, int c, size_t n)
{
	for (volatile char *at = (volatile char *)to; n > 0; n--)
		*at++ = (char)c;
	return to;
}
extern "C" NOINLINE void *memcpy(void *to, const void *from, size_t n)
{
	const char *source = (const char *)from;
	for (volatile char *at = (volatile char *)to; n > 0; n--)
		*at++ = *source++;
	return to;
}

namespace shop {

enum class Colour : short { red = -1, green = 2 };
enum Flags { none, readable = 1, writable = 2, executable = 4 };
struct Point { int x, y; };
struct Base {
	int side = 4;
	virtual int area() { return side * side; }
	static int count;
};
int Base::count = 3;
struct Left : virtual Base { int left = 1; };
struct Right : virtual Base { int right = 2; };
struct Both : Left, Right {
	int own = 5;
	int method(long long by, const Point &at);
};
struct Bits {
	unsigned a : 3;
	int b : 5;
	long long wide : 40;
	bool on : 1;
};
union Either {
	int whole;
	short half[2];
};
template <typename T> struct Box {
	T held;
	Flags flags;
};
struct Later;
struct Link { Later *to; };
struct Later { int value; Link back; };

} // namespace shop

volatile int sink;
int total = 42;
#include "vars_show.h"

NOINLINE static int stop(volatile int *where)
{
	SHOW_END
	*where = 1;
	return sink;
}

NOINLINE static int containers(const std::vector<int> &given, std::basic_string<char> &name)
{
	int data[] = { 10, 20, 30, 40 };
	std::vector<int> numbers;
	numbers._Mypair._Myval2 = { data, data + 3, data + 4 };
	char text[] = "longer than fits in the string";
	std::basic_string<char> large;
	large._Mypair._Myval2._Bx._Ptr = text;
	large._Mypair._Myval2._Mysize = 30;
	large._Mypair._Myval2._Myres = 31;
	std::basic_string<wchar_t> wide;
	memcpy(wide._Mypair._Myval2._Bx._Buf, L"wide", 10);
	wide._Mypair._Myval2._Mysize = 4;
	wide._Mypair._Myval2._Myres = 7;
	std::list<int> list;
	std::_List_node<int> end, first, second;
	list._Mypair._Myval2 = { &end, 2 };
	end._Next = &first, first._Next = &second, second._Next = &end;
	first._Myval = 7, second._Myval = 8;
	std::map<int, short> map;
	std::_Tree_node<std::pair<int, short>> head, root, leaf;
	map._Mypair._Myval2._Myval2 = { &head, 2 };
	head = { &leaf, &root, &root, 1, 1, { 0, 0 } };
	root = { &leaf, &head, &head, 1, 0, { 5, 50 } };
	leaf = { &head, &root, &head, 1, 0, { 3, 30 } };
	std::unique_ptr<int> unique;
	unique._Mypair._Myval2 = &data[1];
	std::_Ref_count_base count;
	count._Uses = 2, count._Weaks = 3;
	std::shared_ptr<int> shared;
	shared._Ptr = &data[2], shared._Rep = &count;
	std::optional<int> some, nothing;
	some._Value = 6, some._Has_value = true, nothing._Has_value = false;
	std::array<short, 3> fixed;
	fixed._Elems[0] = 1, fixed._Elems[1] = 2, fixed._Elems[2] = 3;
	std::basic_string_view<char> view;
	view._Mydata = text, view._Mysize = 6;
	int block[4] = { 1, 2, 3, 4 }, other[4] = { 5, 6, 7, 8 }, *blocks[2] = { block, other };
	std::deque<int> deque;
	deque._Mypair._Myval2 = { blocks, 2, 6, 4 };
	std::tuple<int, short> tuple;
	tuple._Myfirst._Val = 1;
	((std::tuple<short> &)tuple)._Myfirst._Val = 2;
	SHOW_CONTAINERS
	return stop(nullptr) + *numbers._Mypair._Myval2._Myfirst + (int)large._Mypair._Myval2._Mysize + list._Mypair._Myval2._Myhead->_Myval +
	       map._Mypair._Myval2._Myval2._Myhead->_Color + *unique._Mypair._Myval2 + *shared._Ptr + some._Value + fixed._Elems[1] +
	       view._Mydata[0] + nothing._Has_value + wide._Mypair._Myval2._Bx._Buf[0] + deque._Mypair._Myval2._Map[0][0] +
	       tuple._Myfirst._Val + (int)given._Mypair._Myval2._Myfirst[0] + (int)name._Mypair._Myval2._Mysize;
}

NOINLINE static int records(shop::Both &both, shop::Point p, shop::Box<shop::Box<short>> *nested, shop::Link link)
{
	shop::Bits bits = { 5, -3, 78187493530, true };
	shop::Either either = { 131073 };
	struct Own {
		int first;
		union {
			int whole;
			char tag;
		};
	} own = { p.x, 'x' };
	int shop::Point::*field = &shop::Point::y;
	int (shop::Both::*method)(long long, const shop::Point &) = &shop::Both::method;
	shop::Base *base = &both;
	int data[] = { 1, 2 };
	std::vector<int> given;
	given._Mypair._Myval2 = { data, data + 2, data + 2 };
	std::basic_string<char> name;
	memcpy(name._Mypair._Myval2._Bx._Buf, "short", 6);
	name._Mypair._Myval2._Mysize = 5;
	name._Mypair._Myval2._Myres = 15;
	SHOW_RECORDS
	int got = containers(given, name);
	return got + (int)bits.wide + bits.a + either.half[0] + own.first + p.*field + (both.*method)(1, p) + base->area() + nested->held.held +
	       link.to->value;
}

NOINLINE int shop::Both::method(long long by, const Point &at)
{
	Box<Box<short>> nested = { { 6, writable }, readable };
	Later later = { (int)by, { &later } };
	SHOW_METHOD
	return records(*this, at, &nested, { &later }) + own;
}

NOINLINE static int arrays(int n, int *first)
{
	int plain[5] = { n, 2, 3, 4, 5 };
	short grid[2][3] = { { 1, 2, 3 }, { 4, 5, 6 } };
	char text[16] = "fixed \"text\"", none[4] = "";
	wchar_t wide[6] = L"wide";
	double reals[3] = { 0.5, -1.25, n + 0.75 };
	shop::Point points[2] = { { 1, 2 }, { 3, n } };
	int same[40] = { 0 };
	shop::Both both;
	same[39] = n;
	SHOW_ARRAYS
	sink = plain[n % 5] + grid[1][n % 3] + text[n] + none[n & 3] + wide[n] + (int)reals[n & 1] + same[n];
	int got = both.method(n, points[1]);
	return got + *first + plain[1] + grid[0][n & 1] + text[0] + none[0] + wide[0] + (int)reals[n & 1] + points[0].x + same[n];
}

NOINLINE static int numbers(int argc, unsigned char uc, double given, float single)
{
	signed char sc = (signed char)(argc - 6);
	char ch = 'P' + (char)argc;
	short sh = (short)(-300 * argc);
	unsigned short us = (unsigned short)(60000 + argc);
	long lo = -1912275965 + argc;
	unsigned long ul = 4000000000u + (unsigned)argc;
	long long big = -78187493530 * argc;
	unsigned long long ubig = 18000000000000000000ull + (unsigned)argc;
	bool yes = argc == 1;
	wchar_t wc = L'w';
	char16_t c16 = u'q';
	shop::Colour colour = argc ? shop::Colour::red : shop::Colour::green;
	shop::Flags flags = (shop::Flags)(argc + 4);
	const volatile int constant = 12;
	const int fixed = 99;
	int *pointer = &total, *const never = nullptr;
	decltype(nullptr) null = nullptr;
	int (*call)(int, int *) = arrays;
	int &reference = argc, **indirect = &pointer;
	static int kept = 88;
	const char local[] = "pointed at", *string = local;
	float half = single / 2;
	if (argc > 0) {
		int argc = uc + 1, inner = argc * 2;
		sink = inner;
		SHOW_INNER
		for (int i = argc; i < argc + 3; i++)
			sink = sink + i;
		SHOW_NUMBERS
		sink = call(3, &inner) + argc;
	}
	return sc + ch + sh + us + lo + (int)ul + (int)big + (int)ubig + yes + wc + c16 + (int)colour + flags + constant + fixed + *pointer +
	       (never == null) + reference + **indirect + kept++ + string[1] + (int)half + (int)given;
}

extern "C" __declspec(dllimport) int abs(int);

extern "C" int start(void)
{
	volatile int one = abs(-1);
	return numbers(one, 200, 2.75, 5.0f);
}
