package service_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha1"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"iter"
	"mime/multipart"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/internal/service"
	"github.com/corewalk/corewalk/internal/service/objects"
)

const (
	chunkUpload = "/api/0/organizations/a/chunk-upload/"
	assembleDIF = "/api/0/projects/acme/a/files/difs/assemble/"
)

func sha1Of(b []byte) string {
	sum := sha1.Sum(b)
	return hex.EncodeToString(sum[:])
}

// chunks makes a form of chunks; each is called by its digest, unless names has another name for it.
func chunks(t *testing.T, packed bool, names map[string]string, list ...[]byte) (body, kind string) {
	t.Helper()
	var out bytes.Buffer
	form := multipart.NewWriter(&out)
	for _, b := range list {
		sum, field := sha1Of(b), "file"
		if packed {
			var z bytes.Buffer
			w := gzip.NewWriter(&z)
			w.Write(b)
			w.Close()
			b, field = z.Bytes(), "file_gzip"
		}
		if names[sum] != "" {
			sum = names[sum]
		}
		w, err := form.CreateFormFile(field, sum)
		if err != nil {
			t.Fatal(err)
		}
		w.Write(b)
	}
	form.Close()
	return out.String(), form.FormDataContentType()
}

type difState struct {
	State   string   `json:"state"`
	Missing []string `json:"missingChunks"`
	Detail  string   `json:"detail"`
}

// assembled asks for a file to be put together.
func (w *world) assembled(token string, whole []byte, name string, parts ...[]byte) difState {
	w.t.Helper()
	in := map[string]any{sha1Of(whole): map[string]any{"name": name, "debug_id": "00000000-0000-0000-0000-000000000000", "chunks": sums(parts)}}
	b, _ := json.Marshal(in)
	status, text, _ := w.do(token, "POST", assembleDIF, bytes.NewReader(b), "Content-Type", "application/json")
	if status != 200 {
		return difState{State: fmt.Sprint(status), Detail: text}
	}
	var out map[string]difState
	if err := json.Unmarshal([]byte(text), &out); err != nil || len(out) != 1 {
		w.t.Fatalf("%v: %s", err, text)
	}
	return out[sha1Of(whole)]
}

func sums(parts [][]byte) (list []string) {
	for _, p := range parts {
		list = append(list, sha1Of(p))
	}
	return list
}

// Files that come in chunks are kept where they belong by what they say of themselves, and chunks are removed; what is not what it is called is refused.
func TestDebugFiles(t *testing.T) {
	w := start(t, nil)
	token := w.token["a symbols"]
	elf, err := os.ReadFile(fixture.Get(t, "i386-signal").Binary(t))
	if err != nil {
		t.Fatal(err)
	}
	const id = "2fac2b7de6896b8c04f4c7c98fd3d5128f6fb36d"
	sym := []byte("MODULE Linux x86_64 AB12 shop\nPUBLIC 10 0 f\n")
	send := func(want int, packed bool, names map[string]string, list ...[]byte) string {
		t.Helper()
		body, kind := chunks(t, packed, names, list...)
		status, text, _ := w.do(token, "POST", chunkUpload, strings.NewReader(body), "Content-Type", kind)
		if status != want {
			t.Errorf("chunks: %d %s, want %d", status, text, want)
		}
		return text
	}
	kept := func() (n int) {
		list, err := os.ReadDir(filepath.Join(w.dir, "tmp/chunks/a"))
		if err != nil && !os.IsNotExist(err) {
			t.Error(err)
		}
		return len(list)
	}
	one, two := elf[:5000], elf[5000:]
	if a := w.assembled(token, elf, "signal", one, two); a.State != "not_found" || len(a.Missing) != 2 {
		t.Errorf("nothing was sent: %+v", a)
	}
	send(200, true, nil, one)
	if a := w.assembled(token, elf, "signal", one, two); a.State != "not_found" || fmt.Sprint(a.Missing) != fmt.Sprint(sums([][]byte{two})) {
		t.Errorf("half was sent: %+v", a)
	}
	send(200, false, nil, two)
	if a := w.assembled(token, elf, "../signal", one, two); a.State != "ok" || kept() != 0 {
		t.Errorf("%+v, %d chunks are left", a, kept())
	}
	if got, err := os.ReadFile(filepath.Join(w.dir, "projects/a/symbols/.build-id", id[:2], id[2:])); err != nil || !bytes.Equal(got, elf) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	if a := w.assembled(token, elf, "signal", one, two); a.State != "ok" {
		t.Errorf("it is here: %+v", a)
	}
	if err := os.Remove(filepath.Join(w.dir, "projects/a/symbols/.build-id", id[:2], id[2:])); err != nil {
		t.Fatal(err)
	}
	if a := w.assembled(token, elf, "signal", one, two); a.State != "not_found" {
		t.Errorf("it is not here any more: %+v", a)
	}
	send(200, true, nil, sym)
	if a := w.assembled(token, sym, "anything", sym); a.State != "ok" {
		t.Errorf("%+v", a)
	}
	if _, err := os.Stat(filepath.Join(w.dir, "projects/a/symbols/shop/AB12/shop.sym")); err != nil {
		t.Error(err)
	}

	// What is wrong.
	send(400, true, map[string]string{sha1Of(one): sha1Of(two)}, one)
	send(400, false, map[string]string{sha1Of(one): "../../x"}, one)
	send(400, false, map[string]string{sha1Of(one): strings.ToUpper(sha1Of(one))}, one)
	send(413, true, nil, make([]byte, 8<<20+1))
	if n := kept(); n != 0 {
		t.Errorf("%d chunks that were refused are kept", n)
	}
	for what, c := range map[string]struct {
		whole []byte
		name  string
		parts [][]byte
		want  string
	}{
		"in another order": {elf, "signal", [][]byte{two, one}, "another digest"},
		"no symbols":       {[]byte("text"), "notes.txt", [][]byte{[]byte("text")}, "no ELF file"},
		"cut off":          {one, "signal", [][]byte{one}, "damaged"},
		"too large":        {make([]byte, 1<<20+1), "zeros", [][]byte{make([]byte, 1<<20+1)}, "1048576 bytes"},
	} {
		send(200, false, nil, c.parts...)
		if a := w.assembled(token, c.whole, c.name, c.parts...); a.State != "error" || !strings.Contains(a.Detail, c.want) || kept() != 0 {
			t.Errorf("%s: %+v, %d chunks are left", what, a, kept())
		}
	}
	if a := w.assembled(token, elf, "signal", make([][]byte, 10_001)...); a.State != "error" {
		t.Errorf("many chunks: %+v", a)
	}
	// Chunks that are named again and again are read so often only: a request's files have so many bytes together.
	parts, many := [][]byte{}, map[string]any{}
	for i := range byte(3) {
		parts = append(parts, bytes.Repeat([]byte{i}, 1000))
		many[sha1Of([]byte{i})] = map[string]any{"name": "x", "chunks": sums(slices.Repeat(parts[i:i+1], 1000))}
	}
	send(200, true, nil, parts...)
	b, _ := json.Marshal(many)
	if _, text, _ := w.do(token, "POST", assembleDIF, bytes.NewReader(b), "Content-Type", "application/json"); strings.Count(text, "another digest") != 2 || !strings.Contains(text, "2097152 bytes together") {
		t.Errorf("%s", text)
	}
	// A chunk of another project is no chunk of this one.
	body, kind := chunks(t, false, nil, one, two)
	if status, text, _ := w.do(w.token["b symbols"], "POST", strings.Replace(chunkUpload, "/a/", "/b/", 1), strings.NewReader(body), "Content-Type", kind); status != 200 {
		t.Errorf("%d %s", status, text)
	}
	if a := w.assembled(token, elf, "signal", one, two); a.State != "not_found" {
		t.Errorf("with chunks of another project: %+v", a)
	}
	// What nobody puts together is removed in time, and there is not too much of it.
	send(200, false, nil, one)
	old := time.Now().Add(-2 * time.Hour)
	if err := os.Chtimes(filepath.Join(w.dir, "tmp/chunks/a", sha1Of(one)), old, old); err != nil {
		t.Fatal(err)
	}
	send(200, false, nil, two)
	if a := w.assembled(token, elf, "signal", one, two); fmt.Sprint(a.Missing) != fmt.Sprint(sums([][]byte{one})) {
		t.Errorf("after two hours: %+v", a)
	}
	for i := range byte(2) {
		send(200, false, nil, bytes.Repeat([]byte{i}, 1<<20-10))
	}
	send(429, false, nil, []byte("one more"))
}

// A crowd lists files in one directory that are not there.
type crowd struct {
	objects.Store
	dir string
	n   int
}

func (c *crowd) List(ctx context.Context, dir string) iter.Seq2[objects.Listed, error] {
	if dir != c.dir {
		return c.Store.List(ctx, dir)
	}
	return func(yield func(objects.Listed, error) bool) {
		for i := range c.n {
			if !yield(objects.Listed{Key: fmt.Sprintf("%s/%d/AB/x.sym", dir, i), Size: 1, Changed: time.Now()}, nil) {
				return
			}
		}
	}
}

// Of chunks, of files that are put together, and of those that are listed there are not too many.
func TestManySymbols(t *testing.T) {
	c := &crowd{}
	w := start(t, func(config *service.Config) {
		c.Store = config.Objects
		config.Objects = c
	})
	token := w.token["a symbols"]
	send := func(n int) int {
		list := make([][]byte, n)
		for i := range list {
			list[i] = []byte{byte(i), 'x'}
		}
		body, kind := chunks(t, false, nil, list...)
		status, _, _ := w.do(token, "POST", chunkUpload, strings.NewReader(body), "Content-Type", kind)
		return status
	}
	for n, want := range map[int]int{64: 200, 65: 400} {
		if status := send(n); status != want {
			t.Errorf("%d chunks in a request: %d, want %d", n, status, want)
		}
	}
	for n, want := range map[int]int{9_999: 200, 10_000: 429} {
		if c.dir, c.n = "tmp/chunks/a", n; send(1) != want {
			t.Errorf("one more than %d chunks is not answered %d", n, want)
		}
	}
	for n, want := range map[int]int{256: 200, 257: 400} {
		files := map[string]any{}
		for i := range n {
			files[fmt.Sprintf("%040x", i)] = map[string]any{"name": "x", "chunks": []string{sha1Of(nil)}}
		}
		b, _ := json.Marshal(files)
		if status, text, _ := w.do(token, "POST", assembleDIF, bytes.NewReader(b), "Content-Type", "application/json"); status != want {
			t.Errorf("%d files: %d %.100s, want %d", n, status, text, want)
		}
	}
	for _, n := range []int{20_000, 20_001} {
		var list struct {
			Stored []struct{ Path string }
			Files  int
			More   bool
		}
		c.dir, c.n = "projects/a/symbols", n
		if w.want(200, &list, "GET", "/api/v1/projects/a/symbols/stored", ""); len(list.Stored) != 500 || list.Files != 20_000 || list.More != (n > 20_000) {
			t.Errorf("%d files: %d are shown of %d, more: %t", n, len(list.Stored), list.Files, list.More)
		}
	}
}

// TestSentryCLI has Sentry's own client send symbols. npm has it, as a package with the program in it.
func TestSentryCLI(t *testing.T) {
	fixture.Long(t)
	dir := fromNPM(t, "@sentry/cli-linux-x64@3.8.0")
	w := start(t, func(c *service.Config) { c.MaxUpload = 64 << 20 })
	files := filepath.Join(dir, "files")
	if err := os.Mkdir(files, 0o700); err != nil {
		t.Fatal(err)
	}
	elf, err := os.ReadFile(fixture.Get(t, "i386-signal").Binary(t))
	if err != nil {
		t.Fatal(err)
	}
	large := bytes.Buffer{} // of three chunks
	large.WriteString("MODULE Linux x86_64 000102030405060708090A0B0C0D0E0F0 large\n")
	for i := 0; large.Len() < 17<<20; i++ {
		fmt.Fprintf(&large, "PUBLIC %x 0 function_%d\n", 16*i, i)
	}
	for name, b := range map[string][]byte{"signal": elf, "large.sym": large.Bytes()} {
		if err := os.WriteFile(filepath.Join(files, name), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	upload := func(token string) (string, error) {
		cmd := exec.CommandContext(t.Context(), filepath.Join(dir, "node_modules/@sentry/cli-linux-x64/bin/sentry-cli"), "debug-files", "upload", "--wait", "-o", "a", "-p", "a", files)
		cmd.Env = []string{"SENTRY_URL=" + w.url + "/", "SENTRY_AUTH_TOKEN=" + token, "HOME=" + dir, "PATH=/usr/bin:/bin"}
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	for range 2 { // the second time nothing is sent
		if out, err := upload(w.token["a symbols"]); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	for _, p := range []string{".build-id/2f/ac2b7de6896b8c04f4c7c98fd3d5128f6fb36d", "large/000102030405060708090A0B0C0D0E0F0/large.sym"} {
		if _, err := os.Stat(filepath.Join(w.dir, "projects/a/symbols", p)); err != nil {
			t.Error(err)
		}
	}
	if out, err := upload(w.token["a read"]); err == nil {
		t.Errorf("a token without the scope symbols: %s", out)
	}
}
