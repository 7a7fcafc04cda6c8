package broken

import "testing"

func FuzzBroken(f *testing.F) { f.Fuzz(missing) }
