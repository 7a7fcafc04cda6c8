package find

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// tree makes files below a new directory.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// Bare names are looked for beside what was found, by its DT_RUNPATH, and where ld.so.conf
// says; nothing leaves the sysroot.
func TestLoaded(t *testing.T) {
	root := tree(t, map[string]string{
		"etc/ld.so.conf":           "# comment\ninclude ld.so.conf.d/*.conf\ninclude /etc/ld.so.conf\n/opt/last\nrelative\n",
		"etc/ld.so.conf.d/a.conf":  "/opt/a\n/opt/b=libc6 # old\n/../../escape\n/missing\n",
		"etc/ld.so.conf.d/b.other": "/opt/other\n",
		"opt/a/x":                  "", "opt/b/x": "", "opt/last/x": "", "opt/other/x": "", "escape/x": "",
		"usr/lib/x": "", "usr/lib/x86_64-linux-gnu/x": "", "usr/lib/gcc/x": "",
	})
	f := New(context.Background(), Options{Sysroots: []string{root}})
	m := Module{Path: "libx.so.1", BuildID: []byte{1, 2, 3, 4}}
	rel := func() []string {
		var out []string
		for p := range f.Loaded(m) {
			out = append(out, strings.TrimPrefix(p, root))
		}
		return out
	}
	conf := []string{"/opt/a/libx.so.1", "/opt/b/libx.so.1", "/escape/libx.so.1", "/opt/last/libx.so.1", "/usr/lib/libx.so.1", "/usr/lib/x86_64-linux-gnu/libx.so.1"}
	if got := rel(); !slices.Equal(got, conf) {
		t.Errorf("%q", got)
	}
	f.AddLoadPath(root+"/opt/app/bin/app", "$ORIGIN/../lib:${ORIGIN}:/opt/own:$LIB/x:lib::/opt/own")
	f.AddLoadPath(root+"/opt/app/bin/tool", "")
	want := append([]string{"/opt/app/bin/libx.so.1", "/opt/app/lib/libx.so.1", "/opt/own/libx.so.1"}, conf...)
	if got := rel(); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	for range 2 * maxLoadPath {
		f.AddLoadPath(filepath.Join(t.TempDir(), "x"), "")
	}
	if n := len(f.loadPath); n != maxLoadPath {
		t.Errorf("%d directories", n)
	}
	// What is not a bare name, or has no build-id to recognise the file by.
	for _, m := range []Module{{Path: "libx.so.1"}, {Path: "/lib/libx.so.1", BuildID: m.BuildID}, {Path: "../libx.so.1", BuildID: m.BuildID}, {Path: `a\b`, BuildID: m.BuildID},
		{Path: "", BuildID: m.BuildID}, {Path: "..", BuildID: m.BuildID}, {Path: "a\nb", BuildID: m.BuildID}} {
		for p := range f.Loaded(m) {
			t.Errorf("%q: %s", m.Path, p)
		}
	}
}

// Without a sysroot the directories of DT_RUNPATH are this machine's; names that the loader would have to fill in
// are left out.
func TestLoadPath(t *testing.T) {
	f := New(context.Background(), Options{})
	f.AddLoadPath("/opt/app/bin/app", "/opt/own:$ORIGIN/../lib:/usr/$LIB/x:relative")
	if want := []string{"/opt/app/bin", "/opt/own", "/opt/app/lib"}; !slices.Equal(f.loadPath, want) {
		t.Errorf("%q", f.loadPath)
	}
}

// Files that include each other, and many directories, come to an end.
func TestLoaderBounds(t *testing.T) {
	files := map[string]string{"etc/ld.so.conf": strings.Repeat("include /etc/ld.so.conf\n", 1000) + "/lib\n", "lib/x": ""}
	f := New(context.Background(), Options{Sysroots: []string{tree(t, files)}})
	if n := len(f.loaderDirs()); n != 1 {
		t.Errorf("%d directories", n)
	}
}
