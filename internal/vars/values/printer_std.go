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
	case "any":
		return stdAny, true
	case "expected":
		return stdExpected, true
	}
	p, ok := wrapperClass(name)
	return p, ok
}

// wrapperClass returns the printer for a class of libstdc++ or libc++ whose members differ in
// their names only.
func wrapperClass(name string) (printer, bool) {
	switch name {
	case "atomic":
		return stdAtomic, true
	case "bitset":
		return stdBitset, true
	case "path", "filesystem::path": // the class alone, and in its namespace
		return stdPath, true
	case "complex":
		return stdComplex, true
	case "error_code", "error_condition":
		return stdErrorCode, true
	case "duration", "chrono::duration":
		return chronoDuration, true
	case "time_point", "chrono::time_point":
		return chronoPoint, true
	}
	return nil, false
}
