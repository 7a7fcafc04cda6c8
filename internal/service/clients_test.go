package service_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/fixture"
)

// fromNPM returns a directory with packages that npm has, or skips the test.
func fromNPM(t *testing.T, packages ...string) string {
	t.Helper()
	for _, tool := range []string{"npm", "node"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("%s is not installed (Debian: npm): %s is not tried", tool, packages[0])
		}
	}
	cmd := exec.CommandContext(t.Context(), "npm", append([]string{"install", "--silent", "--no-audit", "--no-fund", "--ignore-scripts", "--force"}, packages...)...)
	cmd.Dir = t.TempDir()
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Skipf("npm cannot fetch %s: %v %s", packages[0], err, out)
	}
	return cmd.Dir
}

// tusSource sends a file in parts with a client that ends after two of them, and with another that goes on where the first was.
const tusSource = `
import * as tus from "tus-js-client";
import { readFileSync } from "node:fs";
const [endpoint, token, file, refused] = process.argv.slice(2), bytes = readFileSync(file);
const options = { endpoint, headers: { Authorization: "Bearer " + token }, chunkSize: 100000, retryDelays: null,
  metadata: { filename: "core ü.dmp", version: "1.2" } };
const failed = (e) => { console.log(refused ? "refused " + e.originalResponse?.getStatus() : e); process.exit(refused ? 0 : 1); };
const first = new tus.Upload(bytes, { ...options, onError: failed, onChunkComplete: async (size, sent) => {
  if (sent < 200000) return;
  await first.abort();
  const again = new tus.Upload(bytes, { ...options, uploadUrl: first.url, onError: failed, onProgress: (n) => { if (!again.from) console.log("from " + (again.from = n)); },
    onSuccess: () => console.log("done") });
  again.start();
} });
first.start();
`

// TestTusJS has the client of tus send a dump in parts, break off, and go on. npm has it.
func TestTusJS(t *testing.T) {
	fixture.Long(t)
	dir := fromNPM(t, "tus-js-client@4.3.1")
	w := start(t, nil)
	content := append([]byte("group g1 build b1 "), bytes.Repeat([]byte("0123456789"), 45_000)...)
	for name, b := range map[string][]byte{"upload.mjs": []byte(tusSource), "dump": content} {
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	send := func(token, refused string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "node", "upload.mjs", w.url+"/api/v1/projects/a/uploads/", token, "dump", refused)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return string(out)
	}
	if out := send(w.token["a upload"], ""); !strings.Contains(out, "done") || strings.Contains(out, "from 0\n") {
		t.Errorf("it does not go on where it was: %s", out)
	}
	sum := sha256.Sum256(content)
	id := hex.EncodeToString(sum[:])[:32]
	d := w.analysed(id)
	if d.Group != "g1" || d.Name != "core ü.dmp" || d.Annotations["version"] != "1.2" {
		t.Errorf("%+v", d)
	}
	if out := send(w.token["a read"], "refused"); strings.TrimSpace(out) != "refused 403" {
		t.Errorf("a token that may not upload: %s", out)
	}
}
