package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func TestPackageVersion(t *testing.T) {
	for have, want := range map[string]string{
		"1.2.3": "1.2.3", "1.2.3-dirty": "1.2.3+dirty", "1.2.3-4-gabc": "1.2.3+4.gabc", "1.2.0-rc.1": "1.2.0~rc.1", "1.2.0-rc.1-4-gabc-dirty": "1.2.0~rc.1+4.gabc.dirty",
		"0.9.0-gaaaa0123": "0.9.0+gaaaa0123", "0.9.0-alpha": "0.9.0~alpha",
	} {
		if got := packageVersion(have); got != want {
			t.Errorf("%s: %s, want %s", have, got, want)
		}
	}
	dpkg, err := exec.LookPath("dpkg")
	if err != nil {
		return
	}
	sorted := []string{"1.2.0-rc.1", "1.2.0-rc.2", "1.2.0-rc.2-3-gabc", "1.2.0", "1.2.0-1-gabc", "1.2.0-10-g012", "1.2.1"}
	for i := range sorted[1:] {
		if err := exec.Command(dpkg, "--compare-versions", packageVersion(sorted[i]), "lt", packageVersion(sorted[i+1])).Run(); err != nil {
			t.Errorf("%s is not before %s: %v", sorted[i], sorted[i+1], err)
		}
	}
}

// What a package has beside the programs is in the sources.
func TestPackagedFiles(t *testing.T) {
	for _, u := range units {
		if _, err := os.Stat(filepath.Join("../..", u.Source)); err != nil {
			t.Error(err)
		}
	}
	names, _ := filepath.Glob("../../deploy/systemd/*.service")
	for _, name := range names {
		found := false
		for _, u := range units {
			found = found || filepath.Base(u.Path) == filepath.Base(name)
		}
		if !found {
			t.Errorf("no package has %s", name)
		}
	}
}

// packagesCan says whether the module that makes packages can be had here.
func packagesCan(t *testing.T, root string) bool {
	cmd := exec.Command("go", "-C", packager, "list", "-deps", ".")
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "GOFLAGS=")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Logf("no packages are made: %v\n%.300s", err, out)
		return false
	}
	return true
}

// checkPackages: two releases have the same packages; dpkg installs the one into an empty root, where its program runs, and rpm lists the other.
func checkPackages(t *testing.T, dirs [2]string, version string) {
	t.Helper()
	if runtime.GOARCH != "amd64" || runtime.GOOS != "linux" {
		t.Log("the packages of this system are not installed")
		return
	}
	deb, rpm := "corewalk_"+version+"_amd64.deb", "corewalk-"+version+"-1.x86_64.rpm"
	sums, err := os.ReadFile(filepath.Join(dirs[0], "SHA256SUMS"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{deb, rpm} {
		a, err := os.ReadFile(filepath.Join(dirs[0], name))
		if err != nil {
			t.Fatal(err)
		}
		if b, err := os.ReadFile(filepath.Join(dirs[1], name)); err != nil || !bytes.Equal(a, b) {
			t.Errorf("%s differs: %d and %d bytes, %v", name, len(a), len(b), err)
		}
		if !strings.Contains(string(sums), "  "+name+"\n") {
			t.Errorf("no sum of %s:\n%s", name, sums)
		}
	}
	have := []string{"/usr/bin/corewalk", "/usr/bin/corewalkd", "/usr/share/man/man1/corewalk.1.gz", "/usr/share/man/man1/corewalkd.1.gz",
		"/usr/share/bash-completion/completions/corewalk", "/usr/share/fish/vendor_completions.d/corewalk.fish", "/usr/share/doc/corewalk/copyright", "/usr/share/doc/corewalk/LICENSES"}
	for _, u := range units {
		have = append(have, u.Path)
	}
	if _, err := exec.LookPath("dpkg"); err != nil {
		t.Log("dpkg is not installed: no package is")
	} else {
		root := t.TempDir()
		for _, name := range []string{"info", "updates"} {
			if err := os.MkdirAll(filepath.Join(root, "var/lib/dpkg", name), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(filepath.Join(root, "var/lib/dpkg/status"), nil, 0o644); err != nil {
			t.Fatal(err)
		}
		dpkg := func(args ...string) {
			args = append([]string{"--root=" + root, "--log=" + filepath.Join(root, "log"), "--force-not-root", "--force-script-chrootless"}, args...)
			cmd := exec.Command("dpkg", args...)
			cmd.Env = append(os.Environ(), "PATH="+os.Getenv("PATH")+":/usr/sbin:/sbin")
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
		}
		dpkg("-i", filepath.Join(dirs[0], deb))
		for _, path := range append(have, "/usr/share/zsh/vendor-completions/_corewalk") {
			if st, err := os.Stat(filepath.Join(root, path)); err != nil || st.Size() == 0 {
				t.Errorf("%s: %v", path, err)
			}
		}
		for _, program := range programs {
			out, err := exec.Command(filepath.Join(root, "usr/bin", program), "version").CombinedOutput()
			if err != nil || !strings.HasPrefix(string(out), "corewalk "+version+" (go") {
				t.Errorf("%s: %v: %s", program, err, out)
			}
			if os.Getuid() == 0 { // nothing else is there, as in the container
				cmd := exec.Command("/usr/bin/"+program, "version")
				cmd.Dir, cmd.SysProcAttr = "/", inRoot(root)
				if out, err := cmd.CombinedOutput(); err != nil {
					t.Errorf("%s in an empty root: %v: %s", program, err, out)
				}
			}
		}
		dpkg("--purge", "corewalk")
		if _, err := os.Stat(filepath.Join(root, "usr/bin/corewalk")); err == nil {
			t.Error("the program is there after the package was removed")
		}
	}
	if _, err := exec.LookPath("rpm"); err != nil {
		t.Log("rpm is not installed: nothing reads that package")
		return
	}
	out, err := exec.Command("rpm", "--dbpath", t.TempDir(), "-qp", "--nosignature", "--qf", "[%{FILEMODES:perms} %{FILEUSERNAME} %{FILENAMES}\n]", filepath.Join(dirs[0], rpm)).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, path := range append(have, "/usr/share/zsh/site-functions/_corewalk") {
		if !strings.Contains(string(out), " root "+path+"\n") {
			t.Errorf("the rpm has no %s:\n%s", path, out)
		}
	}
	if !strings.Contains(string(out), "-rwxr-xr-x root /usr/bin/corewalk\n") {
		t.Errorf("%s", out)
	}
	if out, err := exec.Command("rpm", "--dbpath", t.TempDir(), "-Kv", "--nosignature", filepath.Join(dirs[0], rpm)).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
