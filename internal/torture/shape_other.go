package main

func minidumpShape(data []byte) *shape {
	return &shape{fields: words(0, min(len(data), 32<<10), 4, roleNumber, nil), regions: []region{{0, min(len(data), 4096)}}}
}
func peShape(data []byte) *shape {
	return &shape{fields: words(0, min(len(data), 2048), 4, roleNumber, nil)}
}
func pdbShape(data []byte) *shape {
	return &shape{fields: words(0, min(len(data), 64), 4, roleNumber, nil)}
}

// foreignShape is that of a dump of any kind.
func foreignShape(data []byte) *shape {
	if s := coreShape(data); len(s.fields) > 0 {
		return s
	}
	return minidumpShape(data)
}
