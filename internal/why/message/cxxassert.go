package message

// libraryChecks are the functions that the C++ standard libraries call when they detect misuse: libstdc++ with
// _GLIBCXX_ASSERTIONS, hardened libc++. They print their arguments and store them nowhere.
var libraryChecks = []string{"std::__glibcxx_assert_fail", "std::__replacement_assert", "std::__1::__libcpp_verbose_abort", "std::__libcpp_verbose_abort"}

// libraryCheck reports a failed check of the C++ library, named after the function that called the check.
func (p *Process) libraryCheck() Words {
	check := ""
	for i := range p.Stack {
		if check != "" && len(p.Stack[i].Names) == 0 {
			break
		}
		for _, name := range p.Stack[i].Names {
			if check != "" {
				return Words{Reason: "C++ library assertion failed in " + name, Source: "the call to " + check,
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
	return Words{Reason: "C++ library assertion failed", Source: "the call to " + check, Cause: FailedAssertion}
}
