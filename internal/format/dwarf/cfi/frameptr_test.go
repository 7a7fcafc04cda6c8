package cfi

import "testing"

func TestEHFramePtr(t *testing.T) {
	cfg := Config{AddrSize: 8}
	// Version 1; pcrel sdata4 pointer, udata4 count, datarel sdata4 table.
	hdr := []byte{1, 0x1b, 0x03, 0x3b, 0x10, 0x01, 0, 0}
	if got, ok := EHFramePtr(hdr, 0x2000, cfg); !ok || got != 0x2000+4+0x110 {
		t.Errorf("EHFramePtr = %#x, %v; want 0x2114", got, ok)
	}
	for name, bad := range map[string][]byte{
		"empty": nil, "another version": {2, 0x1b, 3, 0x3b, 0, 0, 0, 0}, "omitted": {1, 0xff, 3, 0x3b, 0, 0, 0, 0}, "cut": {1, 0x1b, 3, 0x3b, 0},
	} {
		if got, ok := EHFramePtr(bad, 0x2000, cfg); ok {
			t.Errorf("%s: EHFramePtr = %#x", name, got)
		}
	}
}
