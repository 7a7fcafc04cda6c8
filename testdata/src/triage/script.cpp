// set: blind
// An interpreter of expressions: nodes with virtual functions, a pool of handles, exceptions.
#include <cassert>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <typeinfo>
#include <vector>

namespace script {

struct EvalError : std::runtime_error {
	int at;
	EvalError(const std::string &what, int at) : std::runtime_error(what), at(at) {}
};

struct Node;
using NodePtr = std::shared_ptr<Node>;

class Scope {
	std::map<std::string, long> names;
	Scope *outer;

public:
	explicit Scope(Scope *outer = nullptr) : outer(outer) {}
	void set(const std::string &n, long v) { names[n] = v; }
	// bug: undefined-name 2 (an error of the script nobody catches)
	long get(const std::string &n) const {
		auto it = names.find(n);
		if (it != names.end())
			return it->second;
		if (outer)
			return outer->get(n);
		throw EvalError("undefined: " + n, (int)n.size());
	}
};

struct Node {
	virtual ~Node() = default;
	virtual long eval(Scope &s) const = 0;
	virtual int depth() const { return 1; }
};

struct Literal final : Node {
	long value;
	explicit Literal(long v) : value(v) {}
	long eval(Scope &) const override { return value; }
};

struct Name final : Node {
	std::string name;
	explicit Name(std::string n) : name(std::move(n)) {}
	long eval(Scope &s) const override { return s.get(name); }
};

template <class Op> struct Binary final : Node {
	NodePtr left, right;
	Binary(NodePtr l, NodePtr r) : left(std::move(l)), right(std::move(r)) {}
	// bug: missing-operand 2
	long eval(Scope &s) const override {
		long a = left->eval(s);
		return Op::apply(a, right->eval(s));
	}
	int depth() const override { return 1 + left->depth(); }
};

struct Add { static long apply(long a, long b) { return a + b; } };
// bug: divide-by-zero 2
struct Div { static long apply(long a, long b) { return a / b; } };

// A pool hands out numbers in place of pointers.
template <class T> class Pool {
	std::vector<std::unique_ptr<T>> slots;

public:
	size_t put(T v) {
		slots.push_back(std::make_unique<T>(std::move(v)));
		return slots.size() - 1;
	}
	void drop(size_t h) { slots[h].reset(); }
	// bug: stale-handle 2 (a handle outlives what it names)
	template <class F> long with(size_t h, F &&f) { return f(*slots[h]); }
};

struct Frame { long line = 0; std::vector<long> args; };
struct Module { std::string name; long loaded = 0; };

long frame_line(Pool<Frame> &p, size_t h) {
	return p.with(h, [](Frame &f) { return f.line += 1; });
}

long module_age(Pool<Module> &p, size_t h, long now) {
	return p.with(h, [now](Module &m) { return now - m.loaded; });
}

// bug: not-a-literal 2 (any node may come, a literal is taken for granted)
long constant(const Node &n) { return dynamic_cast<const Literal &>(n).value; }

long fold(const Binary<Add> &b) { return constant(*b.left) + constant(*b.right); }

// Two that call each other.
// bug: endless-simplify 2
int simplify(const Node &n, int round);

int rewrite(const Node &n, int round) {
	char text[48];
	std::snprintf(text, sizeof text, "%d", round);
	return simplify(n, round + 1) + text[0];
}

int simplify(const Node &n, int round) {
	int volatile d = n.depth();
	return rewrite(n, round) + d;
}

struct Machine {
	std::vector<long> stack;
	std::function<void(long)> trace;

	void require(bool ok, const char *what) {
		if (!ok) {
			std::fprintf(stderr, "machine: %s\n", what);
			std::abort();
		}
	}
	void push(long v) {
		// bug: stack-full 1
		require(stack.size() < 8, "stack full");
		stack.push_back(v);
	}
	long pop() {
		// bug: stack-empty 2
		require(!stack.empty(), "stack empty");
		long v = stack.back();
		stack.pop_back();
		return v;
	}
	long add() {
		long a = pop(), b = pop();
		push(a + b);
		return a + b;
	}
	// bug: no-trace 2
	void step(long v) {
		trace(v);
		stack.push_back(v);
	}
	void run(const std::vector<long> &code) {
		for (long v : code)
			step(v * 2);
	}
};

// bug: throw-in-noexcept 1
struct Report {
	int lines = 0;
	void line(const std::string &s) {
		if (s.empty())
			throw std::invalid_argument("an empty line");
		lines++;
	}
	int close() noexcept {
		line("end");
		line("");
		return lines;
	}
};

// bug: odd-arity 2
void check_arity(size_t want, const std::vector<long> &args) { assert(args.size() % 2 == 0 && args.size() >= want); }

long call2(const std::vector<long> &args) {
	check_arity(2, args);
	return args[0] + args[1];
}

long call4(const std::vector<long> &args) {
	check_arity(4, args);
	return args[0] + args[3];
}

// bug: owned-twice 1
struct Buffer {
	char *text = new char[200];
	~Buffer() { delete[] text; }
};

void copy_buffer() {
	Buffer a;
	a.text[0] = 'a';
	a.text[2] = 0;
	Buffer b = a;
	b.text[1] = 'b';
	std::puts(b.text);
}

} // namespace script

using namespace script;

int main(int argc, char **argv) {
	std::string bug = argc > 1 ? argv[1] : "";
	bool b = argc > 2 && argv[2][0] == 'b';
	Scope globals, locals(&globals);
	globals.set("one", 1);
	auto one = std::make_shared<Literal>(argc > 50 ? 2 : 1);
	auto zero = std::make_shared<Literal>(argc > 50 ? 1 : 0);
	auto x = std::make_shared<Name>("x");
	if (bug == "undefined-name") {
		if (b)
			return (int)locals.get("nobody");
		return (int)Binary<Add>(one, x).eval(locals);
	}
	if (bug == "missing-operand") {
		if (b)
			return (int)Binary<Div>(one, nullptr).eval(globals);
		return (int)Binary<Add>(one, std::make_shared<Binary<Add>>(one, nullptr)).eval(globals);
	}
	if (bug == "divide-by-zero") {
		Binary<Div> d(one, zero);
		if (b)
			return (int)Binary<Add>(one, std::make_shared<Binary<Div>>(d)).eval(globals);
		return (int)d.eval(globals);
	}
	if (bug == "stale-handle") {
		Pool<Frame> frames;
		Pool<Module> modules;
		size_t f = frames.put({}), m = modules.put({"main"});
		frames.drop(f);
		modules.drop(m);
		return b ? (int)module_age(modules, m, argc) : (int)frame_line(frames, f);
	}
	if (bug == "not-a-literal")
		return b ? (int)constant(*x) : (int)fold(Binary<Add>(one, x));
	if (bug == "endless-simplify")
		return b ? rewrite(*one, 5) : simplify(*x, 1);
	Machine m;
	if (bug == "stack-full")
		for (int i = 0; i < 20; i++)
			m.push(i);
	if (bug == "stack-empty") {
		m.push(1);
		return b ? (int)(m.pop() + m.pop()) : (int)m.add();
	}
	if (bug == "no-trace") {
		if (b)
			m.step(5);
		m.run({1, 2, 3});
	}
	if (bug == "throw-in-noexcept") {
		Report r;
		return r.close();
	}
	if (bug == "odd-arity") {
		std::vector<long> args(b ? 5 : 3);
		return b ? (int)call4(args) : (int)call2(args);
	}
	if (bug == "owned-twice")
		copy_buffer();
	return 0;
}
