package debuginfod

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/files/debuginfod/settings"
	"github.com/corewalk/corewalk/internal/files/find"
	"github.com/corewalk/corewalk/internal/format/elffile/elftest"
)

// A directory with a server's layout can be used as a server.
func TestTree(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a b")
	put(t, filepath.Join(dir, "buildid/deadbeef01020304/debuginfo"), elftest.WithID(3, testID, 0), 0o400, 0)
	put(t, filepath.Join(dir, "buildid/deadbeef01020304/executable"), elftest.WithID(3, []byte{1, 2}, 0), 0o400, 0)
	put(t, filepath.Join(dir, "buildid/01020304/debuginfo"), []byte("no file"), 0o400, 0)
	put(t, filepath.Join(dir, "buildid/01020304/executable/x"), nil, 0o400, 0)
	for _, tt := range []struct {
		url, kind string
		id        []byte
		want      string // in the error; "" for a file
		absent    bool
	}{
		{url: "file://" + dir, id: testID},
		{url: "file://localhost" + dir + "/buildid/", id: testID},
		{url: "file://" + strings.ReplaceAll(dir, " ", "%20"), id: testID},
		{url: "file://" + dir, id: testID, kind: find.KindExecutable, want: "file has build-id 0102, want deadbeef01020304"},
		{url: "file://" + dir, id: []byte{1, 2, 3, 4}, want: errNotELF.Error()},
		{url: "file://" + dir, id: []byte{1, 2, 3, 4}, kind: find.KindExecutable, want: "not a regular file"},
		{url: "file://" + dir, id: []byte{4, 4}, want: "not on file://", absent: true},
		{url: "file://" + dir + "/none", id: testID, want: "no such file or directory", absent: true},
	} {
		cfg := configFor(t, tt.url)
		if tt.kind == "" {
			tt.kind = find.KindDebugInfo
		}
		var told []settings.Progress
		cfg.Progress = func(p settings.Progress) { told = append(told, p) }
		path, err := newClient(t, cfg).Fetch(context.Background(), tt.id, tt.kind)
		if tt.want == "" {
			if err != nil || path != filepath.Join(cfg.CacheDir, "deadbeef01020304/debuginfo") {
				t.Errorf("%s: %q, %v", tt.url, path, err)
			}
			if p := told[len(told)-1]; !strings.HasPrefix(p.Server, "file://") || p.Total != int64(len(elftest.WithID(3, testID, 0))) || p.Done != p.Total {
				t.Errorf("%s: progress %+v", tt.url, p)
			}
		} else if err == nil || !strings.Contains(err.Error(), tt.want) || errors.Is(err, fs.ErrNotExist) != tt.absent {
			t.Errorf("%s: %q, %v; want %s", tt.url, path, err, tt.want)
		}
	}
	// A missing directory says nothing about the file. A missing file in an existing
	// directory is recorded, as other clients do.
	for url, miss := range map[string]bool{"file://" + dir + "/none": false, "file://" + dir: true} {
		cfg := configFor(t, url)
		newClient(t, cfg).Fetch(context.Background(), []byte{4, 4}, find.KindDebugInfo)
		if got := cached(t, cfg.CacheDir); (len(got) == 1) != miss {
			t.Errorf("%s: the cache holds %q", url, got)
		}
	}
}

// The same limits apply to a tree's file, and reading stops when nobody needs it any more.
func TestTreeLimits(t *testing.T) {
	dir := t.TempDir()
	put(t, filepath.Join(dir, "buildid/deadbeef01020304/debuginfo"), elftest.WithID(3, testID, 1000), 0o400, 0)
	cfg := configFor(t, "file://"+dir)
	cfg.MaxSize = 999
	if _, err := newClient(t, cfg).Fetch(context.Background(), testID, find.KindDebugInfo); err == nil || !strings.Contains(err.Error(), errSize.Error()) {
		t.Errorf("%v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cfg = configFor(t, "file://"+dir)
	cfg.Progress = func(settings.Progress) { cancel() }
	if _, err := newClient(t, cfg).Fetch(ctx, testID, find.KindDebugInfo); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if got := cached(t, cfg.CacheDir); len(got) != 0 {
		t.Errorf("the cache holds %q", got)
	}
	if _, err := os.Stat(filepath.Join(dir, "buildid/deadbeef01020304/debuginfo")); err != nil {
		t.Error(err)
	}
}
