// An exception that nothing catches, with a handler of the program (std::set_terminate) that prints something else.
// Dies of SIGABRT: abort, on_terminate, std::terminate, __cxa_throw, read_row, main.
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <stdexcept>

[[gnu::noinline]] static int read_row(int n) {
	if (n > 0)
		throw std::out_of_range("row");
	return n;
}

static void on_terminate() {
	std::fputs("the server ends\n", stderr);
	std::abort();
}

int main(int argc, char **) {
	std::set_terminate(on_terminate);
	return read_row(argc);
}
