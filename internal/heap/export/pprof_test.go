package export

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/internal/stranger"
)

// TestPprof: pprof itself reports what the profile has. The go command builds it first, of many packages.
func TestPprof(t *testing.T) {
	fixture.Long(t)
	goTool, err := exec.LookPath("go")
	if err != nil {
		t.Skip("not compared: go is not installed (Debian: golang-go)")
	}
	file := filepath.Join(t.TempDir(), "heap.pb.gz")
	if err := os.WriteFile(file, write(t, WritePprof, shop(t)), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		want []string
	}{
		{[]string{"-top", "-nodefraction=0"}, []string{`File: server`, `Type: inuse_space`, `Time: 2026-11-20`, `core.4242 of server`,
			`Showing nodes accounting for 20.97kB, 100% of 20.97kB total`, `8.79kB 41.91% 41.91% +8.79kB 41.91% +untyped, more than 8 KiB`,
			`0 +0% .* 6.93kB 33.04% +\(unreached\)`, `0.06kB .* 5.16kB .* std::vector<Item, std::allocator<Item> >`, `4kB .* std::vector<long>`}},
		{[]string{"-top", "-nodefraction=0", "-sample_index=inuse_objects"}, []string{`Showing nodes accounting for 12, 100% of 12 total`, `3 25.00% .* 3 25.00% +Node`}},
		{[]string{"-peek=Order", "-unit=b"}, []string{`5196B +100% \| +std::vector<Item, std::allocator<Item> >\n +96B +0.45% .* 5196B .* \| Order\n +5000B .* \| +char\[\]`}},
	} {
		cmd := exec.Command(goTool, append(append([]string{"tool", "pprof"}, c.args...), file)...)
		cmd.Env = append(os.Environ(), "TZ=UTC", "PPROF_BINARY_PATH="+t.TempDir())
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("pprof %v: %v\n%s", c.args, err, out)
		}
		for _, w := range c.want {
			if !regexp.MustCompile(w).Match(out) {
				t.Errorf("pprof %v does not say %s:\n%s", c.args, w, out)
			}
		}
	}
}

func unzip(t testing.TB, b []byte) []byte {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	b, err = io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestPprofBounded: of many stacks the rest is below other owners, and hostile names are in no profile as they are.
func TestPprofBounded(t *testing.T) {
	all := write(t, WritePprof, many(t, 5000))
	few := write(t, func(ctx context.Context, w io.Writer, h *Heap) error { return writePprof(ctx, w, h, 3) }, many(t, 5000))
	if !bytes.Contains(unzip(t, few), []byte(otherOwners)) || bytes.Contains(unzip(t, all), []byte(otherOwners)) {
		t.Error("what is too much is not below other owners")
	}
	out := unzip(t, write(t, WritePprof, hostile(t)))
	for _, s := range stranger.Parts[:12] {
		if len(s) > 1 && bytes.Contains(out, []byte(s)) {
			t.Errorf("%q is in the profile", s)
		}
	}
	if len(out) > 20_000 {
		t.Errorf("%d bytes", len(out))
	}
}
