package message

import "testing"

// TestFortranWords: messages are made of the arguments of the call.
func TestFortranWords(t *testing.T) {
	const where, format, name = fakeBase, fakeBase + 0x100, fakeBase + 0x200
	for _, tc := range []struct {
		what, function, format string
		args                   []uint64 // from the first on
		message, reason        string
		cause                  Cause
	}{
		{"a check", "_gfortran_runtime_error_at", "Index '%ld' of array '%s' above %d%%", []uint64{where, format, ^uint64(0), name, 1<<32 + 5},
			"At line 7\nFortran runtime error: Index '-1' of array 'mass' above 5%", "Fortran runtime error: Index '-1' of array 'mass' above 5%", Abort},
		{"the library's own name", "_gfortrani_runtime_error", "unit %u", []uint64{format, 1<<32 + 9}, "Fortran runtime error: unit 9", "Fortran runtime error: unit 9", Abort},
		{"no arguments", "_gfortran_runtime_error_at", "x", nil, "", "Fortran runtime error", Abort},
		{"an argument that is not known", "_gfortran_runtime_error_at", "x %d", []uint64{where, format}, "", "Fortran runtime error", Abort},
		{"another conversion", "_gfortran_runtime_error_at", "x %g", []uint64{where, format, 1}, "", "Fortran runtime error", Abort},
		{"no conversion", "_gfortran_runtime_error_at", "x %", []uint64{where, format, 1}, "", "Fortran runtime error", Abort},
		{"a text in no memory", "_gfortran_runtime_error_at", "x %s", []uint64{where, format, 8}, "", "Fortran runtime error", Abort},
		{"no format", "_gfortran_runtime_error_at", "\x01", []uint64{where, format}, "", "Fortran runtime error", Abort},
		{"no memory left", "_gfortran_os_error_at", "Error allocating %lu bytes", []uint64{where, format, 99}, "", "At line 7: Error allocating 99 bytes", OutOfMemory},
		{"a number", "_gfortran_error_stop_numeric", "", []uint64{1<<32 - 3}, "ERROR STOP -3", "ERROR STOP -3", Abort},
		{"a text", "_gfortran_error_stop_string", "", []uint64{name, 2}, "ERROR STOP ma", "ERROR STOP ma", Abort},
		{"a text too long", "_gfortran_error_stop_string", "", []uint64{name, 1 << 40}, "", "ERROR STOP", Abort},
		{"an ordinary end", "_gfortran_stop_string", "", []uint64{name, 2}, "", "", Abort},
		{"a function of the program", "runtime_error_at", "x", []uint64{where, format}, "", "", Abort},
		{"input and output", "_gfortran_generate_error", "", []uint64{fakeBase + 0x300, 2, name}, "At line 12 of file mass\nFortran runtime error: mass", "Fortran runtime error: mass", Abort},
		{"the end of a file", "_gfortran_generate_error", "", []uint64{fakeBase + 0x300, 1<<32 - 1, 0}, "At line 12 of file mass\nFortran runtime error: End of file", "Fortran runtime error: End of file", Abort},
		{"of a unit, whose file is not known", "_gfortran_generate_error", "", []uint64{fakeBase + 0x340, 2, name}, "Fortran runtime error: mass", "Fortran runtime error: mass", Abort},
		{"of a unit that the library chose, which it does not write", "_gfortran_generate_error", "", []uint64{fakeBase + 0x360, 2, name}, "At line 12 of file mass\nFortran runtime error: mass", "Fortran runtime error: mass", Abort},
		{"the end of a record", "_gfortran_generate_error", "", []uint64{8, ^uint64(1), 0}, "Fortran runtime error: End of record", "Fortran runtime error: End of record", Abort},
		{"another error without a text", "_gfortran_generate_error", "", []uint64{8, 5000, 0}, "", "Fortran runtime error", Abort},
		{"of which the place is not known", "_gfortran_generate_error", "", []uint64{8, 2, name}, "Fortran runtime error: mass", "Fortran runtime error: mass", Abort},
	} {
		m := make(fakeMemory, 0x400)
		copy(m, "At line 7")
		copy(m[0x100:], tc.format)
		copy(m[0x200:], "mass")
		m.put(0x308, name, 12)
		m.put(0x340, 5<<32, name, 12)
		m.put(0x360, 0xfffffff6<<32, name, 12)
		p := m.process(nil)
		p.Stack = []Frame{{Names: []string{"abort"}}, {Names: []string{tc.function}}, {Names: []string{"main"}}}
		p.Windows = true // nothing is read of frames
		p.Argument = func(frame, n int, direct bool) (uint64, bool) {
			if frame != 2 || direct || n >= len(tc.args) {
				return 0, false
			}
			return tc.args[n], true
		}
		if w := fortranWords(p); w.Message != tc.message || w.Reason != tc.reason || w.Cause != tc.cause {
			t.Errorf("%s: %q, %q, cause %d, want %q, %q, %d", tc.what, w.Message, w.Reason, w.Cause, tc.message, tc.reason, tc.cause)
		}
	}
}
