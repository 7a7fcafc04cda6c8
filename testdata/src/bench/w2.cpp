// A deep recursion that ends in a write through a null pointer; step has four arguments.
// Stack, 12,005 frames: crash, step 12,000 times, main, and three that start it.
#include <cstdlib>
#include <string>

struct Node {
	int depth;
	double weight;
	const Node *parent;
	int *slot;
};

class Tree {
public:
	explicit Tree(const std::string &n) : name(n) {}
	int step(int depth, double weight, const Node *parent, const std::string &label);

private:
	int crash(const Node &node, const std::string &label);

	std::string name;
};

int Tree::crash(const Node &node, const std::string &label)
{
	*node.slot = node.depth + static_cast<int>(label.size());
	return node.depth;
}

int Tree::step(int depth, double weight, const Node *parent, const std::string &label)
{
	Node here = { depth, weight / 2, parent, nullptr };

	if (depth == 1)
		return crash(here, label);
	return step(depth - 1, weight * 0.5 + depth, &here, name) + here.depth;
}

int main(int argc, char **argv)
{
	Tree tree("oak");
	std::string label = "root";

	return tree.step(argc > 1 ? std::atoi(argv[1]) : 11999, 1.0, nullptr, label);
}
