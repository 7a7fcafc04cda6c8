package find

import "testing"

// Files of stores are known by where they lie; other files are not.
func TestStoredAt(t *testing.T) {
	for file, want := range map[string]string{
		"/s/.build-id/ab/cdef.debug":                "buildid/abcdef/debuginfo",
		"/s/.build-id/ab/cdef":                      "buildid/abcdef/executable",
		"/c/abcdef/debuginfo":                       "buildid/abcdef/debuginfo",
		"/c/abcdef/executable":                      "buildid/abcdef/executable",
		"/s/app.pdb/0123456789abcdef1/app.pdb":      "app.pdb/0123456789ABCDEF1/app.pdb",
		"/s/shop/0123456789ABCDEF0/shop.sym":        "shop/0123456789ABCDEF0/shop.sym",
		"/s/gpu.dll/5f5e100012000/gpu.dll":          "gpu.dll/5F5E100012000/gpu.dll",
		"":                                          "",
		"/bin/shop":                                 "",
		"/0123456789abcdef/shop":                    "", // nothing names it
		"0123456789abcdef/shop":                     "",
		"/usr/lib/debug/usr/bin/shop.debug":         "",
		"/usr/lib/debug/.build-id/ab/cdef.debug":    "", // the machine's own
		"/root2/usr/lib/debug/.build-id/ab/cdef":    "",
		"/srv/debug/.build-id/ab/cdef.debug":        "buildid/abcdef/debuginfo",
		"/s/.build-id/ab/shop.debug":                "", // no identifier
		"/s/.build-id/abc/cdef":                     "", // another layout
		"/home/ada/bed/shop":                        "", // a directory whose name could be hexadecimal
		"/srv/build/deadbeef0/debuginfo/shop.debug": "",
	} {
		if got := StoredAt(file); got != want {
			t.Errorf("%s: %q, want %q", file, got, want)
		}
	}
}
