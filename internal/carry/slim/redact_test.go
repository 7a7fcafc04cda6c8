package slim

import "testing"

func TestTells(t *testing.T) {
	for _, c := range []struct {
		path, linked string
		want         bool
	}{
		{"/usr/lib/x86_64-linux-gnu/libc.so.6", "/lib/x86_64-linux-gnu/libc.so.6", true},
		{"/usr/lib/x86_64-linux-gnu/libz.so.1.2.13", "/lib/x86_64-linux-gnu/libz.so.1", true},
		{"/usr/lib/x86_64-linux-gnu/blas/libblas.so.3.11", "/lib/x86_64-linux-gnu/libblas.so.3", true},
		{"/usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2", "/lib64/ld-linux-x86-64.so.2", true},
		{"/opt/jdk-17/lib/libjvm.so", "/opt/jdk/./lib/libjvm.so", true},
		{"/opt/plain.so", "/opt/secret.so", false},
		{"/opt/plain.so", "/home/secret/plain.so", false},
		{"/opt/a/b/plain.so", "/opt/b/a/plain.so", false},
		{"/opt/plain.so", "/opt/plain.so.secret", false},
		{"/usr/lib/plain.so", "/usr/lib/secret/plain.so", false},
	} {
		if got := tells(c.path, c.linked); got != c.want {
			t.Errorf("%s tells %s: %v", c.path, c.linked, got)
		}
	}
}
