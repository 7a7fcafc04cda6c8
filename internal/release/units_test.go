package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/fixture"
)

// unitsHere returns the units of deploy/systemd, with programs that are there in place of corewalk's, in a directory.
func unitsHere(t *testing.T) (dir string, names []string) {
	t.Helper()
	dir = t.TempDir()
	paths, _ := filepath.Glob("../../deploy/systemd/*.service")
	if len(paths) < 4 {
		t.Fatalf("units: %q", paths)
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		text = regexp.MustCompile(`/usr/bin/corewalkd?\b`).ReplaceAll(text, []byte("/bin/true"))
		name := strings.Replace(filepath.Base(path), "@.", "@one.", 1)
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
			t.Fatal(err)
		}
		names = append(names, name)
	}
	return dir, names
}

// systemd finds no fault with the units, and little that a service could do if it were taken over.
func TestUnits(t *testing.T) {
	fixture.Tools(t)
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("systemd-analyze is not installed (Debian: systemd)")
	}
	dir, names := unitsHere(t)
	for _, name := range names {
		out, err := exec.Command(analyze, "verify", "--man=no", "--recursive-errors=no", filepath.Join(dir, name)).CombinedOutput()
		if err != nil || len(out) > 0 {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
		if name == "corewalk-handle.service" { // it changes core_pattern, as root
			continue
		}
		out, err = exec.Command(analyze, "security", "--offline=yes", "--no-pager", filepath.Join(dir, name)).CombinedOutput()
		if err != nil {
			t.Logf("%s: %v", name, err) // older ones know no --offline
			continue
		}
		m := regexp.MustCompile(`Overall exposure level for \S+: ([0-9.]+)`).FindSubmatch(out)
		if m == nil {
			t.Errorf("%s: no level in\n%s", name, out)
			continue
		}
		if level, _ := strconv.ParseFloat(string(m[1]), 64); level > 2 {
			t.Errorf("%s: exposure %s of 10", name, m[1])
		}
	}
}

// The flags of units, the container and compose.yaml are those of the programs, and the directories of a unit are its own.
func TestUnitFlags(t *testing.T) {
	page, err := os.ReadFile("../../docs/reference/flags.md")
	if err != nil {
		t.Fatal(err)
	}
	paths, _ := filepath.Glob("../../deploy/systemd/*")
	flag := regexp.MustCompile(`(?m)\s(--[a-z][a-z-]+)`)
	n := 0
	for _, path := range append(paths, "../../deploy/Containerfile") {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(path, ".sh") || strings.HasSuffix(path, ".service") && !strings.Contains(string(text), "ExecStart=/usr/bin/corewalk") {
			continue
		}
		for line := range strings.Lines(string(text)) {
			if !strings.Contains(line, "corewalk") && !strings.Contains(line, "_FLAGS=") || strings.HasPrefix(line, "COPY ") {
				continue
			}
			for _, m := range flag.FindAllStringSubmatch(line, -1) {
				if n++; m[1] != "--help" && !strings.Contains(string(page), "`"+m[1]) {
					t.Errorf("%s: there is no flag %s", path, m[1])
				}
			}
		}
	}
	if n < 10 {
		t.Errorf("%d flags", n)
	}
}

// Prometheus reads the alerts, and they fire when they should: monitoring/alerts_test.yaml has series and what is to come of them.
func TestAlerts(t *testing.T) {
	fixture.Tools(t)
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("promtool is not installed (Debian: prometheus)")
	}
	if out, err := exec.Command(promtool, "check", "rules", "../../deploy/monitoring/alerts.yaml").CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	if out, err := exec.Command(promtool, "test", "rules", "../../deploy/monitoring/alerts_test.yaml").CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	rules, err := os.ReadFile("../../deploy/monitoring/alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	tests, err := os.ReadFile("../../deploy/monitoring/alerts_test.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`alert: (\w+)`).FindAllSubmatch(rules, -1) {
		if !strings.Contains(string(tests), "alertname: "+string(m[1])+"\n") {
			t.Errorf("%s has no test", m[1])
		}
	}
}
