// An exception that nobody catches, thrown below frames that clean up.
//
// Expected stack:
//   <libc>..., abort, <libstdc++>..., std::terminate, __cxa_throw,
//   parse, Loader<int>::load, run, main
#include <stdexcept>
#include <string>

struct Guard {
	int &count;
	~Guard() { count--; }
};

static int guards;

static int parse(const std::string &text)
{
	if (text.empty())
		throw std::runtime_error("empty text");
	return static_cast<int>(text.size());
}

template <typename T> struct Loader {
	T load(const std::string &text)
	{
		Guard guard{ ++guards };
		return static_cast<T>(parse(text));
	}
};

static int run(const char *text)
{
	Loader<int> loader;
	return loader.load(text);
}

int main(int argc, char **argv)
{
	return run(argc > 1 ? argv[1] : "");
}
