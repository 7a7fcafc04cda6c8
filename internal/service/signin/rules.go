package signin

import (
	"fmt"
	"slices"
	"strings"
)

// A Rule lets people into a project.
type Rule struct {
	Project string
	Scopes  []string
	// Claim is what has to be Value, or to have it in a list: "email" is one that was verified, and @DOMAIN is any in a domain. Parts of a claim are named with points.
	Claim, Value string
}

// ParseRule reads PROJECT:SCOPE,SCOPE:CLAIM=VALUE. Whether there are such scopes and such a project is not looked at.
func ParseRule(text string) (r Rule, err error) {
	project, rest, ok := strings.Cut(text, ":")
	scopes, is, also := strings.Cut(rest, ":")
	// Names of claims may be URLs; values have no such need.
	i := strings.LastIndexByte(is, '=')
	if !ok || !also || i <= 0 || i == len(is)-1 || project == "" || scopes == "" {
		return r, fmt.Errorf("%.80q: must be PROJECT:SCOPE,SCOPE:CLAIM=VALUE, such as shop:read,triage:groups=developers", text)
	}
	return Rule{project, strings.Split(scopes, ","), is[:i], is[i+1:]}, nil
}

func (r *Rule) takes(claims map[string]any) bool {
	if r.Claim == "email" {
		address := email(claims)
		if domain, ok := strings.CutPrefix(r.Value, "@"); ok {
			i := strings.LastIndexByte(address, '@')
			return i > 0 && same(address[i+1:], domain)
		}
		return same(address, r.Value)
	}
	switch is := find(claims, r.Claim).(type) {
	case string:
		return is == r.Value
	case bool:
		return is && r.Value == "true"
	case []any:
		return slices.Contains(is, any(r.Value))
	}
	return false
}

// same reports whether two addresses are the same but for the case of ASCII letters: others that fold to these, such as the sign of the kelvin, are longer.
func same(a, b string) bool { return len(a) == len(b) && strings.EqualFold(a, b) }

// find returns a claim by its name, or by those of what it is in.
func find(claims map[string]any, name string) any {
	if v, ok := claims[name]; ok {
		return v
	}
	for i := range len(name) { // names may have points themselves
		if name[i] != '.' {
			continue
		}
		if in, ok := claims[name[:i]].(map[string]any); ok {
			if v := find(in, name[i+1:]); v != nil {
				return v
			}
		}
	}
	return nil
}
