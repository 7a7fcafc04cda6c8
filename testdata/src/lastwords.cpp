// Programs that std::terminate ends: chosen by the first argument.
//
//   nested    a class of our own with an exception nested in it, thrown on through a
//             std::exception_ptr out of a function that promises not to
//   several   a class with std::exception as its second base
//   system    std::system_error
//   fixed     std::bad_alloc, whose text is in the library
//   pointer   a const char *
//   string    a std::string
//   number    a long
//   other     a class that is no std::exception
//   thread    a thread that nobody has joined: no exception
//   pure      a call of a pure virtual function
//
// Expected stack: <libc>..., abort, the run-time library, std::terminate, ...,
// the function named after the argument, main
#include <cstring>
#include <exception>
#include <new>
#include <stdexcept>
#include <string>
#include <system_error>
#ifdef THREADS
#include <thread>
#endif

struct Config : std::exception {
	std::string text;
	explicit Config(std::string t) : text(std::move(t)) {}
	const char *what() const noexcept override { return text.c_str(); }
};

struct Counted {
	virtual ~Counted() = default;
	int count = 7;
};

struct Several : Counted, std::out_of_range {
	using std::out_of_range::out_of_range;
};

struct Other {
	int a = 1;
};

static std::exception_ptr failure()
{
	try {
		try {
			throw std::out_of_range("key 'port' is missing");
		} catch (...) {
			std::throw_with_nested(Config("cannot read the configuration"));
		}
	} catch (...) {
		return std::current_exception();
	}
}

__attribute__((noinline)) static void nested() noexcept { std::rethrow_exception(failure()); }
__attribute__((noinline)) static void several() { throw Several("index 9 of 3"); }
__attribute__((noinline)) static void system_() { throw std::system_error(ENOENT, std::generic_category(), "open"); }
__attribute__((noinline)) static void fixed() { throw std::bad_alloc(); }
__attribute__((noinline)) static void pointer() { throw "just text"; }
__attribute__((noinline)) static void string() { throw std::string("a string that is longer than what fits inside"); }
__attribute__((noinline)) static void number() { throw -42L; }
__attribute__((noinline)) static void other() { throw Other(); }

#ifdef THREADS
__attribute__((noinline)) static void thread() { std::thread t([] { for (volatile int i = 0; i < 1; i++) {} }); }
#else
static void thread() {}
#endif

struct Shape {
	Shape() { init(); }
	void init() { area(); }
	virtual int area() = 0;
	virtual ~Shape() = default;
};

struct Square : Shape {
	int area() override { return 4; }
};

__attribute__((noinline)) static void pure() { Square s; }

int main(int argc, char **argv)
{
	struct {
		const char *name;
		void (*run)();
	} ways[] = { { "nested", nested }, { "several", several }, { "system", system_ }, { "fixed", fixed }, { "pointer", pointer },
		     { "string", string }, { "number", number }, { "other", other }, { "thread", thread }, { "pure", pure } };

	for (auto &w : ways)
		if (argc > 1 && strcmp(argv[1], w.name) == 0)
			w.run();
	return 0;
}
