// An object that is used after it was deleted, by the text at its beginning.
#include <cstdio>
#include <string>
#include <vector>

struct Node {
	std::string name;
	std::vector<Node *> kids;
	Node *parent = nullptr;
	explicit Node(const char *n) : name(n) {}
};
static std::vector<Node *> all;

__attribute__((noinline)) static void show()
{
	for (auto *n : all)
		std::printf("%s %zu\n", n->name.c_str(), n->kids.size());
}

int main(int argc, char **argv)
{
	for (int i = 0; i < 3; i++)
		all.push_back(new Node(argv[argc - 1]));
	delete all[argc];
	show();
	return 0;
}
