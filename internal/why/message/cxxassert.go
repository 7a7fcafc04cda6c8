package message

// libraryChecks are the functions that the standard libraries of C++ call where they
// find that they are used wrongly: libstdc++ with _GLIBCXX_ASSERTIONS, libc++ hardened.
// They print their arguments and keep them nowhere.
var libraryChecks = []string{"std::__glibcxx_assert_fail", "std::__replacement_assert", "std::__1::__libcpp_verbose_abort", "std::__libcpp_verbose_abort"}

// libraryCheck tells which function of the library found something wrong: the one that
// called.
func (p *Process) libraryCheck() Words {
	check := ""
	for i := range p.Stack {
		if check != "" && len(p.Stack[i].Names) == 0 {
			break
		}
		for _, name := range p.Stack[i].Names {
			if check != "" {
				return Words{Reason: "assertion of the C++ library failed in " + name, Source: "the call of " + check,
					Cause: FailedAssertion, Assertion: &Assertion{Function: name}}
			}
			for _, known := range libraryChecks {
				if name == known {
					check = name
				}
			}
		}
	}
	if check == "" {
		return Words{}
	}
	return Words{Reason: "assertion of the C++ library failed", Source: "the call of " + check, Cause: FailedAssertion}
}
