package pack

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// make writes a core and a file, and returns their paths.
func files(t *testing.T) (core, file string) {
	t.Helper()
	dir := t.TempDir()
	core, file = filepath.Join(dir, "a core"), filepath.Join(dir, "lib", "libx.so\nü\xff")
	if err := errors.Join(os.WriteFile(core, []byte("the core"), 0o600), os.Mkdir(filepath.Dir(file), 0o700), os.WriteFile(file, []byte("a library"), 0o600)); err != nil {
		t.Fatal(err)
	}
	return core, file
}

func TestWriteAndExtract(t *testing.T) {
	core, file := files(t)
	var a, b bytes.Buffer
	if _, err := Write(&a, "/var/crash/core.42", core, file, []string{file}, fromDisk); err != nil {
		t.Fatal(err)
	}
	if _, err := Write(&b, "/var/crash/core.42", core, file, []string{file}, fromDisk); err != nil || !bytes.Equal(a.Bytes(), b.Bytes()) {
		t.Errorf("packs of the same files differ: %v", err)
	}
	pack := filepath.Join(t.TempDir(), "pack")
	if err := os.WriteFile(pack, a.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	if !Sniff(a.Bytes()[:4]) {
		t.Error("it is not recognised")
	}
	u, err := Extract(t.Context(), pack, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(u.Dump())
	lib, err2 := os.ReadFile(filepath.Join(u.Files(), file))
	if string(got) != "the core" || string(lib) != "a library" || u.Manifest.Name != "core.42" || u.Executable() != filepath.Join(u.Files(), file) {
		t.Errorf("%q, %v; %q, %v; %+v", got, err, lib, err2, u.Manifest)
	}
}

// A made is a pack that somebody made by hand.
type made struct {
	manifest Manifest
	members  map[string]string
	mode     os.FileMode
}

func member(path, content string) Member {
	sum := sha256.Sum256([]byte(content))
	return Member{Path: path, Size: uint64(len(content)), SHA256: hex.EncodeToString(sum[:])}
}

func (m made) write(t *testing.T) string {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	add := func(name string, content []byte) {
		h := &zip.FileHeader{Name: name, Method: zip.Deflate}
		h.SetMode(m.mode)
		w, err := z.CreateHeader(h)
		if err != nil {
			t.Fatal(err)
		}
		w.Write(content)
	}
	for name, content := range m.members {
		add(name, []byte(content))
	}
	list, _ := json.Marshal(m.manifest)
	add(manifestName, list)
	z.Close()
	path := filepath.Join(t.TempDir(), "pack")
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// What a stranger's pack says is checked before it is believed, and nothing gets out of the directory.
func TestHostile(t *testing.T) {
	honest := func() made {
		return made{Manifest{Format: format, Version: version, Core: member("core", "c"), Files: []Member{member("/lib/x", "x")}},
			map[string]string{"core": "c", "files/lib/x": "x"}, 0o644}
	}
	if _, err := Extract(t.Context(), honest().write(t), t.TempDir()); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		change func(*made)
		err    error
	}{
		"another format":    {func(m *made) { m.manifest.Format = "x" }, ErrNotPack},
		"another version":   {func(m *made) { m.manifest.Version = 2 }, ErrNotPack},
		"no core":           {func(m *made) { delete(m.members, "core") }, ErrDamaged},
		"no file":           {func(m *made) { delete(m.members, "files/lib/x") }, ErrDamaged},
		"another content":   {func(m *made) { m.members["core"] = "d" }, ErrDamaged},
		"more content":      {func(m *made) { m.members["core"] = "cc" }, ErrDamaged},
		"another sum":       {func(m *made) { m.manifest.Files[0].SHA256 = m.manifest.Core.SHA256 }, ErrDamaged},
		"too large":         {func(m *made) { m.manifest.Files[0].Size = maxSize }, ErrTooBig},
		"size of all":       {func(m *made) { m.manifest.Files[0].Size = ^uint64(0) }, ErrTooBig},
		"too many":          {func(m *made) { m.manifest.Files = make([]Member, maxFiles+1) }, ErrTooBig},
		"a path upwards":    {func(m *made) { m.manifest.Files[0].Path = "../../x"; m.members["files/../../x"] = "x" }, ErrDamaged},
		"a path of nothing": {func(m *made) { m.manifest.Files[0].Path = "" }, ErrDamaged},
		"the same path":     {func(m *made) { m.manifest.Files = append(m.manifest.Files, m.manifest.Files[0]) }, os.ErrExist},
		"a path below a file": {func(m *made) {
			m.manifest.Files = append(m.manifest.Files, member("/lib/x/y", "y"))
			m.members["files/lib/x/y"] = "y"
		}, nil},
		"links": {func(m *made) { m.mode = os.ModeSymlink | 0o777 }, ErrDamaged},
	} {
		m := honest()
		c.change(&m)
		around := t.TempDir()
		dir := filepath.Join(around, "in")
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if _, err := Extract(t.Context(), m.write(t), dir); err == nil || c.err != nil && !errors.Is(err, c.err) {
			t.Errorf("%s: %v, want %v", name, err, c.err)
		}
		if list, _ := os.ReadDir(around); len(list) != 1 {
			t.Errorf("%s: %v is beside the directory", name, list)
		}
	}
}

// TestBounds: a pack that unpacks to too much is refused before anything is unpacked, and so is one whose list or manifest is too long, or
// whose files are the same bytes.
func TestBounds(t *testing.T) {
	large := made{Manifest{Format: format, Version: version, Core: member("core", strings.Repeat("c", 5000)), Files: []Member{member("/lib/x", strings.Repeat("x", 5000))}},
		map[string]string{"core": strings.Repeat("c", 5000), "files/lib/x": strings.Repeat("x", 5000)}, 0o644}
	path := large.write(t)
	for name, c := range map[string]struct {
		b   bounds
		err error
	}{
		"honest": {bounds{10000, 10000, 1000}, nil}, "size": {bounds{9999, 10000, 1000}, ErrTooBig}, "disk": {bounds{10000, 9999, 1000}, ErrTooBig},
		"list": {bounds{10000, 10000, 100}, ErrTooBig},
	} {
		dir := t.TempDir()
		_, err := c.b.extract(t.Context(), path, dir)
		if !errors.Is(err, c.err) || (err == nil) != (c.err == nil) {
			t.Errorf("%s: %v, want %v", name, err, c.err)
		}
		if list, _ := os.ReadDir(dir); c.err != nil && name != "disk" && len(list) != 0 {
			t.Errorf("%s: %v was unpacked", name, list)
		}
	}
	// The list says another size than the manifest.
	lies := large
	lies.manifest.Files = []Member{{Path: "/lib/x", Size: 4999, SHA256: large.manifest.Files[0].SHA256}}
	dir := t.TempDir()
	if _, err := Extract(t.Context(), lies.write(t), dir); !errors.Is(err, ErrDamaged) {
		t.Error(err)
	}
	if list, _ := os.ReadDir(dir); len(list) != 0 {
		t.Errorf("%v was unpacked", list)
	}
	var m Manifest
	if err := json.Unmarshal([]byte(`{"files":[`+strings.Repeat("{},", maxFiles)+`{}]}`), &m); !errors.Is(err, ErrTooBig) || len(m.Files) > maxFiles {
		t.Errorf("%d files: %v", len(m.Files), err)
	}
	if err := json.Unmarshal([]byte(`{"files":[{"path":"/x"},{"path":"/y"}]}`), &m); err != nil || len(m.Files) != 2 {
		t.Errorf("%d files: %v", len(m.Files), err)
	}
}

// TestOverEachOther: files of a pack that are the same bytes of it are refused: a small one would unpack to much.
func TestOverEachOther(t *testing.T) {
	content := make([]byte, 1<<16)
	for i := range content {
		content[i] = byte(i * i >> 3)
	}
	m := made{Manifest{Format: format, Version: version, Core: member("core", "c"), Files: []Member{member("/a", string(content)), member("/b", string(content))}},
		map[string]string{"core": "c", "files/a": string(content), "files/b": string(content)}, 0o644}
	data, err := os.ReadFile(m.write(t))
	if err != nil {
		t.Fatal(err)
	}
	z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	list := []taking{}
	for _, f := range z.File {
		for range 3 {
			list = append(list, taking{f, f.Name, Member{Path: f.Name, Size: f.UncompressedSize64}})
		}
	}
	if err := limits.check(list, uint64(len(data))); !errors.Is(err, ErrDamaged) {
		t.Error(err)
	}
	if err := limits.check(list[:1], uint64(len(data))); err != nil {
		t.Error(err)
	}
}

// TestFullDisk: what cannot be written is no damage of the pack.
func TestFullDisk(t *testing.T) {
	f, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	disk := uint64(10)
	h := &holes{f: f, disk: &disk}
	if _, err := h.Write([]byte("x")); err == nil || h.err == nil || errors.Is(h.err, ErrTooBig) {
		t.Errorf("%v, %v", err, h.err)
	}
}

// Zeros take no space, and what takes space is bounded.
func TestHoles(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "x"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	disk := uint64(4)
	h := &holes{f: f, disk: &disk}
	for _, s := range []string{"ab", "\x00\x00\x00\x00\x00", "c\x00"} {
		if n, err := h.Write([]byte(s)); n != len(s) || err != nil {
			t.Errorf("%q: %d, %v", s, n, err)
		}
	}
	if got, _ := os.ReadFile(f.Name()); string(got) != "ab\x00\x00\x00\x00\x00c\x00" {
		t.Errorf("%q", got)
	}
	if _, err := h.Write([]byte("d")); !errors.Is(err, ErrTooBig) {
		t.Error(err)
	}
}

func TestNoPack(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x")
	os.WriteFile(path, []byte("PK\x03\x04 and nothing else"), 0o600)
	if _, err := Extract(t.Context(), path, t.TempDir()); !errors.Is(err, ErrNotPack) {
		t.Error(err)
	}
}

// TestExtractStops: a pack whose files are large when they are unpacked is left when the caller no longer waits.
func TestExtractStops(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	path := made{Manifest{Format: format, Version: version, Core: member("core", "c")}, map[string]string{"core": "c"}, 0o644}.write(t)
	cancel()
	if _, err := Extract(ctx, path, t.TempDir()); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

func FuzzExtract(f *testing.F) {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	w, _ := z.Create("core")
	w.Write([]byte("c"))
	w, _ = z.Create(manifestName)
	list, _ := json.Marshal(Manifest{Format: format, Version: version, Core: member("core", "c")})
	w.Write(list)
	z.Close()
	f.Add(b.Bytes())
	f.Fuzz(func(t *testing.T, b []byte) {
		path := filepath.Join(t.TempDir(), "x")
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		Extract(t.Context(), path, t.TempDir())
	})
}
