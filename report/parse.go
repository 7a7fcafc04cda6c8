package report

import (
	"encoding/json"
	"errors"
	"fmt"
)

// ErrSchema is wrapped by ParseJSON's error for a document of another schema.
var ErrSchema = errors.New("not a report of schema " + Schema)

// ParseJSON reads a report that WriteJSON wrote. It ignores unknown keys. A path that was not UTF-8 stays the text that
// JSON has; its bytes are in the field beside it. The error wraps ErrSchema if data is
// JSON of another kind; other errors are those of encoding/json.
func ParseJSON(data []byte) (*Report, error) {
	var head struct {
		Schema string `json:"schema"`
	}
	if err := json.Unmarshal(data, &head); err != nil {
		return nil, fmt.Errorf("report: %w", err)
	}
	if head.Schema != Schema {
		return nil, fmt.Errorf("schema %q: %w", head.Schema, ErrSchema)
	}
	r := new(Report)
	if err := json.Unmarshal(data, r); err != nil {
		return nil, fmt.Errorf("report: %w", err)
	}
	return r, nil
}
