package livestate

import "testing"

func TestLockHolder(t *testing.T) {
	const locks = `1: POSIX  ADVISORY  WRITE 708 00:15:1171 0 EOF
1: -> POSIX  ADVISORY  WRITE 900 00:15:1171 0 EOF
2: FLOCK  ADVISORY  WRITE 711 00:15:1200 0 EOF
2: -> FLOCK  ADVISORY  WRITE 901 00:15:1200 0 EOF
2: -> FLOCK  ADVISORY  WRITE 900 00:15:1200 0 EOF
3: OFDLCK ADVISORY  WRITE -1 00:15:1201 0 EOF
3: -> OFDLCK ADVISORY  WRITE 900 00:15:1201 0 EOF
4:
`
	for _, c := range []struct {
		pid  int
		file string
		want int
	}{
		{900, "00:15:1171", 708}, {900, "00:15:1200", 711}, {901, "00:15:1171", 0}, {900, "00:15:1201", 0}, {708, "00:15:1171", 0},
	} {
		if got := lockHolder([]byte(locks), c.pid, c.file); got != c.want {
			t.Errorf("process %d, %s: %d, want %d", c.pid, c.file, got, c.want)
		}
	}
}
