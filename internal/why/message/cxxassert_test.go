package message

import "testing"

func TestLibraryCheck(t *testing.T) {
	for _, tc := range []struct {
		stack [][]string
		want  string
	}{
		{[][]string{{"abort"}, {"std::__glibcxx_assert_fail"}, {"std::vector<int>::operator[]", "pick"}, {"main"}}, "std::vector<int>::operator[]"},
		{[][]string{{"abort"}, {"std::__replacement_assert", "std::vector<int>::front", "pick"}, {"main"}}, "std::vector<int>::front"},
		{[][]string{{"abort"}, {"std::__glibcxx_assert_fail"}, {}, {"main"}}, "?"},
		{[][]string{{"abort"}, {"std::__glibcxx_assert_fail"}}, "?"},
		{[][]string{{"abort"}, {"main"}}, ""},
	} {
		p := &Process{}
		for _, names := range tc.stack {
			p.Stack = append(p.Stack, Frame{Names: names})
		}
		w := cxxWords(p)
		if tc.want == "" {
			if w.Reason != "" {
				t.Errorf("%v: got %q", tc.stack, w.Reason)
			}
			continue
		}
		if tc.want == "?" { // its caller has no name
			if w.Reason != "C++ library assertion failed" || w.Assertion != nil {
				t.Errorf("%v: got %q, %+v", tc.stack, w.Reason, w.Assertion)
			}
			continue
		}
		if want := "C++ library assertion failed in " + tc.want; w.Reason != want || w.Cause != FailedAssertion || w.Assertion == nil || w.Assertion.Function != tc.want {
			t.Errorf("%v: got %q, want %q", tc.stack, w.Reason, want)
		}
	}
}
