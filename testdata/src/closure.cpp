// A lambda that captured by reference, of which the compiler made a function with an argument
// for each member of the closure.
//
// Built by g++ with -O2. The lambda adds through a null pointer, to which it has a reference:
// only its caller still has the closure that the reference is from. Expected stack:
//   operator(), each<...>, add_up, main
struct Node {
	long before[2];
	int value;
};

static int numbers[3] = {1, 2, 3};

template <class F> __attribute__((noinline)) static void each(F add)
{
	for (int &n : numbers)
		add(n);
}

__attribute__((noinline)) static int add_up(Node *node)
{
	int sum = 0;

	each([&](int n) __attribute__((noinline)) { sum += node->value + n; });
	return sum;
}

int main()
{
	Node *volatile none = nullptr;

	return add_up(none) + 1;
}
