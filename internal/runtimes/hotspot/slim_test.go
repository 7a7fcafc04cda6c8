package hotspot_test

import (
	"path/filepath"
	"testing"

	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/internal/fixture/slimmed"
)

// TestSlimWithoutFile: a slim core has what is needed of the virtual machine's files.
func TestSlimWithoutFile(t *testing.T) {
	fixture.Long(t)
	for _, home := range homes(t) {
		t.Run(filepath.Base(home), func(t *testing.T) {
			dir := t.TempDir()
			_ = fixture.Dies(dir, filepath.Join(home, "bin/java"), "-Xmx64m", "-XX:+CreateCoredumpOnCrash", "-cp", compiled(t, home), "Frames", "all").Run()
			slimmed.Check(t, fixture.CoreIn(t, dir), "java", "libjvm", 20)
		})
	}
}
