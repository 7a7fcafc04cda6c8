package report

import "testing"

// TestMappedAgain: what a process mapped once more of a module is not counted as another one.
func TestMappedAgain(t *testing.T) {
	node := Module{Path: "/bin/node", BuildID: "01", Status: ModuleMissing}
	for want, list := range map[string][]Module{
		"0 of 1 matched by build-id, 1 missing":                  {node, {Path: "/bin/node", Status: ModuleMissing}},
		"1 of 1 matched by build-id":                             {{Path: "/bin/node", Status: ModuleNoID}, {Path: "/bin/node", BuildID: "01", Status: ModuleMatched}},
		"0 of 2 matched by build-id, 2 missing":                  {node, {Path: "/bin/other", Status: ModuleMissing}},
		"0 of 3 matched by build-id, 3 missing":                  {node, {Status: ModuleMissing}, {Path: "/bin/node", BuildID: "02", Status: ModuleMissing}},
		"0 of 2 matched by build-id, 1 missing, 1 without an id": {{Path: "/a", Status: ModuleMissing}, {Path: "/a", Status: ModuleNoID}},
	} {
		if got := moduleSum(list); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
