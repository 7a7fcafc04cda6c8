// Containers of Abseil: empty, full, and in one another (libabsl-dev, 20220623).
#include <absl/container/btree_map.h>
#include <absl/container/btree_set.h>
#include <absl/container/fixed_array.h>
#include <absl/container/flat_hash_map.h>
#include <absl/container/inlined_vector.h>
#include <absl/container/node_hash_set.h>
#include <absl/status/statusor.h>
#include <absl/strings/cord.h>
#include <absl/types/optional.h>
#include <absl/types/span.h>
#include <absl/types/variant.h>

int main(int argc, char **)
{
	absl::InlinedVector<int, 4> inside{1, 2}, outside{1, 2, 3, 4, 5};
	absl::flat_hash_map<int, const char *> flat{{1, "one"}, {2, "two"}}, empty;
	absl::node_hash_set<int> nodes;
	for (int i = 0; i < 20; i++)
		nodes.insert(i);
	for (int i = 0; i < 17; i++)
		nodes.erase(i);
	absl::btree_map<int, const char *> map{{1, "one"}, {2, "two"}};
	absl::btree_set<int> set, none;
	for (int i = 0; i < 150; i++)
		set.insert(i);
	absl::string_view view("hello", 4);
	absl::optional<int> some(5), nothing;
	absl::StatusOr<int> ok(7), bad(absl::NotFoundError("no such thing"));
	absl::Status good, cancelled(absl::StatusCode::kCancelled, ""), moved(std::move(cancelled));
	absl::Status broken = absl::InternalError("a message that is longer than sixteen characters");
	std::string longer(700, 'c');
	absl::string_view most(longer);
	absl::Cord small("tiny"), whole(most.substr(0, 60)), tree(most.substr(0, 600));
	tree.Append(absl::Cord(most));
	absl::Span<int> span(outside.data(), 3);
	absl::FixedArray<int, 2> fixed(2, 9), heap(5, 8);
	absl::variant<int, double> number(2.5);
	absl::flat_hash_map<int, absl::InlinedVector<int, 2>> nested{{1, {1, 2, 3}}};
	*(volatile int *)nullptr = argc;
}
