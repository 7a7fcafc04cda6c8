package subject

import "testing"

func TestNameStamp(t *testing.T) {
	const boot = "0123456789abcdef0123456789abcdef"
	for name, want := range map[string]string{
		"core.nginx.33." + boot + ".4242.1763820000000000":       "1763820000000000",
		"core.nginx.33." + boot + ".4242.1763820000000000.zst":   "1763820000000000",
		"core.my.app.x.0." + boot + ".4242.1763820000000000.lz4": "1763820000000000",
		"core.nginx.33." + boot + ".4242.1763820000":             "",
		"core.nginx.33." + boot[1:] + ".4242.1763820000000000":   "",
		"core.nginx.www." + boot + ".4242.1763820000000000":      "",
		"notcore.nginx.33." + boot + ".4242.1763820000000000":    "",
		"core.4242": "", "core": "", "": "",
	} {
		if got := nameStamp(name); got != want {
			t.Errorf("%s: %q", name, got)
		}
	}
}
