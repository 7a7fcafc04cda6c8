package rootfs

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// linked are links of which each leads to the next, and the last to a directory; fill is in the text of each.
func linked(n int, fill string) (list []entry) {
	list = append(list, entry{"l0/", ""}, entry{"l0/file", "text"})
	for i := 1; i <= n; i++ {
		list = append(list, entry{fmt.Sprintf("l%d -> %sl%d", i, fill, i-1), ""})
	}
	return list
}

// TestLinksAreBounded: a path leads over forty links as on Linux, and so many steps; what leads further, in a circle or to itself is nothing.
func TestLinksAreBounded(t *testing.T) {
	t.Parallel()
	r := one(t, write(t, t.TempDir()+"/x", archive(t, append(linked(maxLinks+1, ""),
		entry{"self -> self", ""}, entry{"self/below", "not there"}, entry{"ping -> pong/x", ""}, entry{"pong -> ping/x", ""},
		entry{"grows -> grows/grows", ""}, entry{"up -> ..", ""}, entry{"root -> /", ""}, entry{"hard == self", ""})...)))
	want(t, r, fmt.Sprintf("l%d/file", maxLinks), "text")
	for _, path := range []string{fmt.Sprintf("l%d/file", maxLinks+1), "self", "self/x", "ping", "pong/x", "grows", "grows/x", "hard"} {
		want(t, r, path, "")
		if at := r.Resolve(path); at != "" && path != "hard" {
			t.Errorf("%s leads to %q", path, at)
		}
	}
	// As many steps as are allowed, and one more.
	want(t, r, strings.Repeat("root/", maxLinks)+"l0/file", "text")
	want(t, r, strings.Repeat("root/", maxLinks+1)+"l0/file", "")
	want(t, r, strings.Repeat("l0/../", maxSteps/2-1)+"l0/file", "text")
	want(t, r, strings.Repeat("l0/../", maxSteps/2)+"l0/file", "")
}

// TestOutOfRoot: nothing in an image leads out of it: not .., links, hard links, names and whiteouts.
func TestOutOfRoot(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir+"/secret", []byte("of this machine"))
	secret := dir + "/secret"
	r := one(t, write(t, dir+"/x", archive(t, entry{"in", "the image's"}, entry{"abs -> " + secret, ""}, entry{"up -> ../../../../../../../.." + secret, ""},
		entry{"dir -> " + dir, ""}, entry{"hard == ../../" + secret, ""}, entry{"../" + secret + " -> /in", ""}, entry{"x/../../../y", "kept inside"}, entry{"proc -> /proc/self/root" + secret, ""})))
	for _, path := range []string{"up", "abs", secret} { // the image has its own link at that path
		want(t, r, path, "the image's")
	}
	for _, path := range []string{"hard", "dir/nothing", "proc"} {
		want(t, r, path, "")
	}
	want(t, r, "y", "kept inside")
	want(t, r, "../../../y", "kept inside")
	for _, path := range []string{"../..", "/", "..", "dir/../../../.."} {
		if at := r.Resolve(path); strings.Contains(at, "..") {
			t.Errorf("%s leads to %q", path, at)
		}
	}
}

// TestDepthIsBounded: names of an archive have so many bytes and directories; longer ones are left out, alone.
func TestDepthIsBounded(t *testing.T) {
	t.Parallel()
	deep := func(n int) string { return strings.Repeat("d/", n) + "file" }
	long := func(n int) string { return strings.Repeat("n", n) }
	r := one(t, write(t, t.TempDir()+"/x", archive(t, entry{deep(maxDepth), "text"}, entry{"e/" + deep(maxDepth), "left out"}, entry{long(maxName), "text"}, entry{long(maxName + 1), "left out"},
		entry{"to -> " + strings.Repeat("./", (maxName-len("last"))/2) + "last", ""}, entry{"too -> " + strings.Repeat("./", maxName/2) + "last", ""}, entry{"last", "text"})))
	for path, text := range map[string]string{deep(maxDepth): "text", "e/" + deep(maxDepth): "", long(maxName): "text", long(maxName + 1): "", "to": "text", "too": "", "last": "text"} {
		want(t, r, path, text)
	}
}

// TestLongLinksAreCharged: to follow a link costs what its text is long, also where that is dots, for names and for hard links; a path does not
// lead over many long ones.
func TestLongLinksAreCharged(t *testing.T) {
	t.Parallel()
	dots := func(to string) string { return strings.Repeat("./", 1900) + to }
	links := linked(3, dots(""))
	for _, hard := range []bool{false, true} {
		const n = 100
		list := links
		for i := range n {
			name := fmt.Sprintf("l2/%d", i)
			if hard {
				name = fmt.Sprintf("%d == l2/file", i)
			}
			list = append(list, entry{name, ""})
		}
		im := Open(context.Background(), write(t, t.TempDir()+"/x", archive(t, list...)), nil)
		r := im.Roots()[0]
		if spent := maxWork - im.left.work; spent < n*2*3800/linkCost {
			t.Errorf("hard %t: %d units", hard, spent)
		}
		want(t, r, "l2/file", "text")
		want(t, r, "l3/file", "")
	}
}

// TestDocumentsAreFiles: a pipe in place of a document is not waited for, one of more bytes than documents have is not read, and of many images
// of docker save the first are known.
func TestDocumentsAreFiles(t *testing.T) {
	t.Parallel()
	l := newLayout(t)
	m := l.document(map[string]any{"layers": []any{l.blob(archive(t, entry{"x", "text"}))}})
	dir := l.write(map[string]any{"manifests": []any{m}})
	name := filepath.Join(dir, "blobs", "sha256", strings.TrimPrefix(m["digest"].(string), "sha256:"))
	long, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, append(long, bytes.Repeat([]byte(" "), maxJSON)...), 0o644); err != nil {
		t.Fatal(err)
	}
	note(t, noRoots(t, dir), "longer than")
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	if err := mkfifo(name); err != nil {
		t.Skip(err)
	}
	note(t, noRoots(t, dir), "is not a regular file")
}

// TestImagesOfDocker: of many images of docker save the first are known.
func TestImagesOfDocker(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir+"/l.tar", archive(t, entry{"x", "text"}))
	var list []any
	for i := range maxRoots + 3 {
		config := fmt.Sprint(i, ".json")
		write(t, filepath.Join(dir, config), fmt.Appendf(nil, `{"architecture":"a%d"}`, i))
		list = append(list, map[string]any{"Config": config, "Layers": []string{"l.tar"}})
	}
	text, err := json.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	write(t, dir+"/manifest.json", text)
	if n := len(opened(t, t.Context(), dir, all).Roots()); n != maxRoots {
		t.Errorf("%d images", n)
	}
}

// TestHonestSizes: what decompresses to more than is free is read as long as it is made of something.
func TestHonestSizes(t *testing.T) {
	t.Parallel()
	noise := make([]byte, 1<<20)
	chacha := rand.NewChaCha8([32]byte{7})
	chacha.Read(noise)
	im := opened(t, t.Context(), write(t, t.TempDir()+"/x", gz(archive(t, entry{"noise", string(noise)}, entry{"last", "text"}))), func(b *budgets) { b.free = 1 << 10 })
	if roots := im.Roots(); len(roots) != 1 || len(roots[0].List("/")) != 2 || len(im.Notes()) != 0 {
		t.Errorf("%d roots; %q", len(roots), im.Notes())
	}
}
