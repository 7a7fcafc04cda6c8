package good

import "testing"

func FuzzFine(f *testing.F) { f.Fuzz(func(*testing.T, []byte) {}) }

func FuzzWrong(f *testing.F) {
	f.Add(7)
	f.Fuzz(func(t *testing.T, n int) {
		if n == 7 {
			t.Error("seven")
		}
	})
}

func FuzzSkips(f *testing.F) {
	f.Skip("nothing is tried")
	f.Fuzz(func(*testing.T, []byte) {})
}
