// What vars.cpp prints when it is compiled with -DSHOW: a line "function.name = value"
// for each variable, from its own values, as corewalk writes them; an address is 0x*.
#ifndef SHOW
#define SHOW_END
#define SHOW_CONTAINERS
#define SHOW_RECORDS
#define SHOW_METHOD
#define SHOW_ARRAYS
#define SHOW_INNER
#define SHOW_NUMBERS
#else
extern "C" __declspec(dllimport) void *GetStdHandle(unsigned long);
extern "C" __declspec(dllimport) int WriteFile(void *, const void *, unsigned long, unsigned long *, void *);
extern "C" __declspec(dllimport) void ExitProcess(unsigned);

static char show_buffer[16384];
static unsigned show_size;

struct Show {
	Show &operator<<(const char *s)
	{
		while (*s)
			show_buffer[show_size++] = *s++;
		return *this;
	}
	Show &operator<<(unsigned long long n)
	{
		if (n >= 10)
			*this << n / 10;
		show_buffer[show_size++] = (char)('0' + n % 10);
		return *this;
	}
	Show &operator<<(long long n) { return n < 0 ? *this << "-" << 0 - (unsigned long long)n : *this << (unsigned long long)n; }
	Show &operator<<(int n) { return *this << (long long)n; }
	Show &operator<<(unsigned n) { return *this << (unsigned long long)n; }
	Show &operator<<(long n) { return *this << (long long)n; }
	Show &operator<<(unsigned long n) { return *this << (unsigned long long)n; }
	// Numbers with at most three digits behind the point.
	Show &operator<<(double d)
	{
		if (d < 0) {
			*this << "-";
			d = -d;
		}
		unsigned long long mills = (unsigned long long)(d * 1000), part = mills % 1000;
		*this << mills / 1000;
		if (part > 0)
			*this << ".";
		for (unsigned long long digit = 100; part > 0; part %= digit, digit /= 10)
			*this << part / digit;
		return *this;
	}
	Show &character(int c)
	{
		char s[] = { (char)c, 0 };
		return *this << c << " '" << s << "'";
	}
	template <class T> Show &list(const T *at, int n)
	{
		*this << "{";
		for (int i = 0; i < n; i++)
			*this << (i ? ", " : "") << at[i];
		return *this << "}";
	}
};
static Show show;
#define SAY(name) (show << "\n" name " = ")

#define SHOW_END                                                                         \
	unsigned long written;                                                           \
	show << "\nstop.where = 0x0\n";                                                  \
	WriteFile(GetStdHandle((unsigned long)-11), show_buffer, show_size, &written, 0); \
	ExitProcess(0);

#define SHOW_CONTAINERS                                                                                   \
	SAY("containers.data") .list(data, 4);                                                            \
	SAY("containers.numbers") << "std::vector of length 3, capacity 4 = ";                            \
	show.list(numbers._Mypair._Myval2._Myfirst, 3);                                                   \
	SAY("containers.large") << "\"" << text << "\"";                                                  \
	SAY("containers.text") << "\"" << text << "\"";                                                   \
	SAY("containers.wide") << "L\"wide\"";                                                            \
	SAY("containers.list") << "std::list of length 2 = {" << first._Myval << ", " << second._Myval << "}"; \
	SAY("containers.map") << "std::map with 2 elements = {[" << leaf._Myval.first << "] = " << leaf._Myval.second << ", [" \
	                      << root._Myval.first << "] = " << root._Myval.second << "}";                \
	SAY("containers.unique") << "std::unique_ptr<int> = {get() = 0x*}";                               \
	SAY("containers.shared") << "std::shared_ptr<int> (use count " << count._Uses << ", weak count " << count._Weaks - 1 << ") = {get() = 0x*}"; \
	SAY("containers.some") << "std::optional<int> = {[contained value] = " << some._Value << "}";     \
	SAY("containers.nothing") << "std::optional<int> [no contained value]";                           \
	SAY("containers.fixed") .list(fixed._Elems, 3);                                                   \
	SAY("containers.view") << "\"longer\"";                                                           \
	SAY("containers.block") .list(block, 4);                                                          \
	SAY("containers.other") .list(other, 4);                                                          \
	SAY("containers.deque") << "std::deque with 4 elements = {" << other[2] << ", " << other[3] << ", " << block[0] << ", " << block[1] << "}"; \
	SAY("containers.tuple") << "std::tuple containing = {[0] = 1, [1] = 2}";                          \
	SAY("containers.given") << "std::vector of length 2, capacity 2 = ";                              \
	show.list(given._Mypair._Myval2._Myfirst, 2);                                                     \
	SAY("containers.name") << "\"" << name._Mypair._Myval2._Bx._Buf << "\"";

#define SHOW_RECORDS                                                                                      \
	SAY("records.p") << "{x = " << p.x << ", y = " << p.y << "}";                                     \
	SAY("records.nested") << "0x*";                                                                   \
	SAY("records.link") << "{to = 0x*}";                                                              \
	SAY("records.bits") << "{a = " << bits.a << ", b = " << bits.b << ", wide = " << (long long)bits.wide << ", on = true}"; \
	SAY("records.either") << "{whole = " << either.whole << ", half = ";                              \
	show.list(either.half, 2) << "}";                                                                 \
	SAY("records.own") << "{first = " << own.first << ", whole = " << own.whole << ", tag = ";        \
	show.character(own.tag) << "}";                                                                   \
	SAY("records.field") << "&shop::Point::y";                                                        \
	SAY("records.method") << "0x* <shop::Both::method>";                                              \
	SAY("records.base") << "0x*";                                                                     \
	SAY("records.data") .list(data, 2);                                                               \
	SAY("records.given") << "std::vector of length 2, capacity 2 = ";                                 \
	show.list(data, 2);                                                                               \
	SAY("records.name") << "\"short\"";

#define SHOW_METHOD                                                                                       \
	SAY("method.this") << "0x*";                                                                      \
	SAY("method.by") << by;                                                                           \
	SAY("method.at") << "@0x*: {x = " << at.x << ", y = " << at.y << "}";                             \
	SAY("method.nested") << "{held = {held = " << nested.held.held << ", flags = shop::writable}, flags = shop::readable}"; \
	SAY("method.later") << "{value = " << later.value << ", back = {to = 0x*}}";

#define SHOW_ARRAYS                                                                                       \
	SAY("arrays.n") << n;                                                                             \
	SAY("arrays.first") << "0x*";                                                                     \
	SAY("arrays.plain") .list(plain, 5);                                                              \
	SAY("arrays.grid") << "{";                                                                        \
	show.list(grid[0], 3) << ", ";                                                                    \
	show.list(grid[1], 3) << "}";                                                                     \
	SAY("arrays.text") << "\"fixed \\\"text\\\"\"";                                                   \
	SAY("arrays.none") << "\"\"";                                                                     \
	SAY("arrays.wide") << "L\"wide\"";                                                                \
	SAY("arrays.reals") .list(reals, 3);                                                              \
	SAY("arrays.points") << "{{x = 1, y = 2}, {x = 3, y = " << points[1].y << "}}";                   \
	SAY("arrays.same") .list(same, 40);                                                               \
	SAY("arrays.both") << "{<shop::Left> = {<shop::Base> = {__vfptr = 0x*, side = " << both.side << ", static count = " << shop::Base::count \
	                   << "}, left = " << both.left << "}, <shop::Right> = {right = " << both.right << "}, own = " << both.own << "}";

#define SHOW_INNER                                                                                        \
	SAY("numbers.argc") << argc;                                                                      \
	SAY("numbers.inner") << inner;

#define SHOW_NUMBERS                                                                                      \
	SAY("numbers.argc") << reference;                                                                 \
	SAY("numbers.uc") << uc << " '\\310'";                                                            \
	SAY("numbers.given") << given;                                                                    \
	SAY("numbers.single") << (double)single;                                                          \
	SAY("numbers.sc") << sc << " '\\373'";                                                            \
	SAY("numbers.ch") .character(ch);                                                                 \
	SAY("numbers.sh") << sh;                                                                          \
	SAY("numbers.us") << us;                                                                          \
	SAY("numbers.lo") << lo;                                                                          \
	SAY("numbers.ul") << ul;                                                                          \
	SAY("numbers.big") << big;                                                                        \
	SAY("numbers.ubig") << ubig;                                                                      \
	SAY("numbers.yes") << (yes ? "true" : "false");                                                   \
	SAY("numbers.wc") << (int)wc << " L'w'";                                                          \
	SAY("numbers.c16") << (int)c16 << " u'q'";                                                        \
	SAY("numbers.colour") << (colour == shop::Colour::red ? "shop::red" : "shop::green");             \
	SAY("numbers.flags") << "(shop::readable | shop::executable)";                                    \
	SAY("numbers.constant") << constant;                                                              \
	SAY("numbers.fixed") << fixed;                                                                    \
	SAY("numbers.pointer") << "0x* <total>";                                                          \
	SAY("numbers.never") << "0x0";                                                                    \
	SAY("numbers.null") << "0x0";                                                                     \
	SAY("numbers.call") << "0x* <arrays>";                                                            \
	SAY("numbers.reference") << "@0x*: " << reference;                                                \
	SAY("numbers.indirect") << "0x*";                                                                 \
	SAY("numbers.kept") << kept;                                                                      \
	SAY("numbers.local") << "\"" << local << "\"";                                                    \
	SAY("numbers.string") << "0x* \"" << string << "\"";                                              \
	SAY("numbers.half") << (double)half;
#endif
