package service_test

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/corewalk/corewalk/internal/service"
	"github.com/corewalk/corewalk/internal/service/store"
	"github.com/corewalk/corewalk/internal/service/store/tables"
	"github.com/corewalk/corewalk/internal/triage/ledger"
	"github.com/corewalk/corewalk/internal/triage/ledger/ledgertest"
)

// How many dumps BenchmarkPage has, and where they stay: to store a million takes half an hour.
var (
	pageDumps = flag.Int("page-dumps", 100_000, "how many dumps a project has in BenchmarkPage")
	pageDir   = flag.String("page-dir", "", "keep the project of BenchmarkPage in this directory, and use what is there")
)

// What the page asks of a project with many dumps in 10,000 groups.
func BenchmarkPage(b *testing.B) {
	var to ledger.Store
	dir := cmp.Or(*pageDir, b.TempDir())
	_, err := os.Stat(filepath.Join(dir, "full"))
	full := err == nil
	w := startIn(b, dir, func(c *service.Config) {
		c.Fresh = time.Second // as it is by default
		open := c.Ledger
		c.Ledger = func(ctx context.Context, project string) (ledger.Store, error) {
			l, err := open(ctx, project)
			to = l
			return l, err
		}
	})
	w.want(200, nil, "GET", "/api/v1/projects/a/groups", "")
	if !full {
		fillPage(b, w, to)
		if err := os.WriteFile(filepath.Join(dir, "full"), nil, 0o600); err != nil {
			b.Fatal(err)
		}
	}
	w.want(200, nil, "GET", "/api/v1/projects/a/groups", "")
	for _, path := range []string{"groups", "groups?has=os:linux", "groups?has=os:linux&has=release:1.8", "groups?has=os:linux&has=channel:beta", "groups?has=session:77", "attributes", "releases", "compare?by=release&a=1.1&b=1.2", "dumps?has=os:linux", "dumps?has=os:linux&has=gpu:gpu+8", "groups?q=function77", "groups?skip=9000", "groups?build=" + fmt.Sprintf("%040d", 7), "groups/" + fmt.Sprintf("%012x", 5), "dumps", "builds"} {
		b.Run(path[:min(len(path), 40)], func(b *testing.B) {
			for b.Loop() {
				status, _, _ := w.do(w.token["a all"], "GET", "/api/v1/projects/a/"+path, nil)
				if status != 200 {
					b.Fatal(status)
				}
			}
		})
	}
}

// fillPage stores what BenchmarkPage asks for.
func fillPage(b *testing.B, w *world, to ledger.Store) {
	ledgertest.Large(b, to, *pageDumps, 10_000)
	began := time.Now()
	one := func(db store.Store, i int) error {
		u := store.Upload{Project: "a", ID: fmt.Sprintf("%032x", i), SHA256: fmt.Sprintf("%064x", i), Name: "core", Received: time.Now().Add(-time.Duration(i) * 20 * time.Second)}
		if _, err := db.AddUpload(b.Context(), u); err != nil {
			return err
		}
		group := i % 10_000
		if i%2 == 0 { // half of all dumps are of ten bugs
			group = 9999 - i/2%10 // which are the first of the list
		}
		attributes := []store.Attribute{{Name: "arch", Value: "x86-64"}, {Name: "channel", Value: []string{"nightly", "beta", "release"}[i%3]}, {Name: "cpu", Value: fmt.Sprint("cpu ", i%40)}, {Name: "gpu", Value: fmt.Sprint("gpu ", i%300)},
			{Name: "module", Value: fmt.Sprint("libc.so.6 ", i%25)}, {Name: "os", Value: []string{"linux", "windows"}[i%2]}, {Name: "os_version", Value: fmt.Sprint("10.", i%30)}, {Name: "release", Value: fmt.Sprint("1.", i%50)}, {Name: "session", Value: fmt.Sprint(i)}}
		return db.Finish(b.Context(), "a", u.ID, store.Result{Group: fmt.Sprintf("%012x", group), Build: fmt.Sprintf("%040d", i%200), Program: "p", Attributes: attributes, Machine: fmt.Sprint(i % 5000)})
	}
	for i := 0; i < *pageDumps; i += 1000 {
		err := w.db.(*tables.DB).Together(b.Context(), func(db store.Store) (err error) {
			for k := range 1000 {
				err = errors.Join(err, one(db, i+k))
			}
			return err
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	for i := range 20 {
		if err := w.db.Decide(b.Context(), "a", fmt.Sprintf("%012x", i), store.Decision{State: store.Fixed, Release: fmt.Sprint("1.", i), At: time.Now()}); err != nil {
			b.Fatal(err)
		}
	}
	b.Logf("stored in %v", time.Since(began))
}

// zeros is as large as a dump may be.
type zeros struct{ left int64 }

func (z *zeros) Read(b []byte) (int, error) {
	n := int(min(int64(len(b)), z.left))
	z.left -= int64(n)
	if n == 0 {
		return 0, io.EOF
	}
	return n, nil
}

// An upload of 1 GiB takes as much memory as one of 1 MiB.
func BenchmarkUpload(b *testing.B) {
	w := start(b, func(c *service.Config) { c.MaxUpload = 2 << 30 })
	for _, size := range []int64{1 << 20, 1 << 30} {
		b.Run(fmt.Sprint(size>>20, "MiB"), func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(size)
			for b.Loop() {
				if status, text, _ := w.do(w.token["a upload"], "POST", "/api/v1/projects/a/dumps", &zeros{size}); status != 202 {
					b.Fatal(status, text)
				}
			}
		})
	}
}
