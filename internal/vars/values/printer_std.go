package values

// Classes of libstdc++ (GCC 5 to 15; the layouts are part of its ABI).

// stdClass returns the printer for a class by its name in std, without template arguments.
func stdClass(name string) (printer, bool) {
	switch name {
	case "basic_string":
		return stdString, true
	case "basic_string_view":
		return stdStringView, true
	case "vector":
		return stdVector, true
	case "array":
		return stdArray, true
	case "deque":
		return stdDeque, true
	case "list":
		return stdList, true
	case "forward_list":
		return stdForwardList, true
	case "map", "multimap", "set", "multiset":
		return stdTree, true
	case "unordered_map", "unordered_multimap", "unordered_set", "unordered_multiset":
		return stdHash, true
	case "initializer_list":
		return stdInitializerList, true
	case "span":
		return stdSpan, true
	case "optional":
		return stdOptional, true
	case "variant":
		return stdVariant, true
	case "tuple":
		return stdTuple, true
	case "unique_ptr":
		return stdUniquePtr, true
	case "shared_ptr", "weak_ptr":
		return stdSharedPtr, true
	case "function":
		return stdFunction, true
	case "stack", "queue", "priority_queue":
		return stdAdapter, true
	}
	return nil, false
}
