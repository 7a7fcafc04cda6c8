package find

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Of a path of many directories the last ones are looked for.
func TestSourceDepth(t *testing.T) {
	f := New(context.Background(), Options{Search: []string{"/s"}})
	got := slices.Collect(paths(f.Sources(strings.Repeat("d/", 3*maxSourceDepth) + "a.c")))
	if len(got) != maxSourceDepth || got[0] != "/s/"+strings.Repeat("d/", maxSourceDepth-1)+"a.c" || got[len(got)-1] != "/s/a.c" {
		t.Errorf("%d: %q", len(got), got)
	}
}

func TestSources(t *testing.T) {
	maps := []SourceMap{{"/build", "/home/me"}, {"/build/app", "/src/app"}, {`C:\ci`, "/win"}}
	for _, tt := range []struct {
		opts     Options
		recorded string
		want     []string
	}{
		{Options{}, "/build/app/a.c", []string{"/build/app/a.c"}},
		{Options{}, "/build/x/../app/./a.c", []string{"/build/app/a.c"}},
		{Options{}, "a.c", nil},
		{Options{SourceMaps: maps}, "/build/app/a.c", []string{"/src/app/a.c", "/home/me/app/a.c", "/build/app/a.c"}},
		{Options{SourceMaps: maps}, "/build/apple/a.c", []string{"/home/me/apple/a.c", "/build/apple/a.c"}},
		{Options{SourceMaps: maps}, `C:\ci\x\a.cpp`, []string{"/win/x/a.cpp"}},
		{Options{SourceMaps: []SourceMap{{"/build/a.c", "/home/b.c"}, {"/build/a", "/no"}}}, "/build/a.c", []string{"/home/b.c", "/build/a.c"}},
		{Options{SourceMaps: []SourceMap{{"/", "/all"}}}, "/a.c", []string{"/all/a.c", "/a.c"}},
		{Options{Sysroots: []string{"/root1", "/root2"}}, "/usr/a.c", []string{"/root1/usr/a.c", "/root2/usr/a.c"}},
		// No path leaves a sysroot or a search directory.
		{Options{Sysroots: []string{"/root1"}}, "/../../etc/a.c", []string{"/root1/etc/a.c"}},
		{Options{Search: []string{"/s"}}, "../../b/a.c", []string{"/s/b/a.c", "/s/a.c"}},
		{Options{Search: []string{"/s", "/t"}}, "/b/a.c", []string{"/b/a.c", "/s/b/a.c", "/t/b/a.c", "/s/a.c", "/t/a.c"}},
		// What is not a source file by its name.
		{Options{Search: []string{"/s"}}, "/etc/passwd", nil},
		{Options{Search: []string{"/s"}}, "/home/me/.ssh/id_rsa", nil},
		{Options{}, "/etc/app.conf", nil},
		{Options{}, "/dev/stdin", nil},
		{Options{}, "", nil},
		{Options{}, "/a\x00.c", nil},
		{Options{Search: []string{"/s"}, Sysroots: []string{"/r"}, SourceMaps: []SourceMap{{"/", "/all"}}}, "/a\x00.c", nil},
		{Options{}, "/usr/include/c++/12/vector", []string{"/usr/include/c++/12/vector"}},
		{Options{}, "/usr/include/passwd.db", nil},
		{Options{}, "/x/LIB.RS", []string{"/x/LIB.RS"}},
	} {
		var got []string
		for path, given := range New(context.Background(), tt.opts).Sources(tt.recorded) {
			got = append(got, path)
			if given == (path == filepath.Clean(tt.recorded)) {
				t.Errorf("%+v, %s: %s given: %v", tt.opts, tt.recorded, path, given)
			}
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%+v, %s: %q, not %q", tt.opts, tt.recorded, got, tt.want)
		}
	}
}
