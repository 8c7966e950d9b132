package changeset

import (
	"encoding/json"
	"strings"
	"unicode/utf8"
)

// Names and link texts are bytes; JSON strings are not. Where one is no UTF-8,
// its field holds a readable form with U+FFFD and a field of the same name with
// _base64 behind it holds the exact bytes, which reading prefers.

// exact returns the readable form of a byte string and, where that loses
// something, the bytes.
func exact(s string) (readable string, raw []byte) {
	if utf8.ValidString(s) {
		return s, nil
	}
	return strings.ToValidUTF8(s, "\uFFFD"), []byte(s)
}

// orRaw undoes exact.
func orRaw(readable string, raw []byte) string {
	if len(raw) > 0 {
		return string(raw)
	}
	return readable
}

type plainChange Change // without the methods, to avoid recursion

type jsonChange struct {
	plainChange
	Path64 []byte `json:"path_base64,omitempty"`
	From64 []byte `json:"from_base64,omitempty"`
}

// MarshalJSON keeps paths that are no UTF-8 exactly.
func (c Change) MarshalJSON() ([]byte, error) {
	j := jsonChange{plainChange: plainChange(c)}
	j.Path, j.Path64 = exact(c.Path)
	j.From, j.From64 = exact(c.From)
	return json.Marshal(j)
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (c *Change) UnmarshalJSON(data []byte) error {
	var j jsonChange
	if err := json.Unmarshal(data, &j); err != nil {
		return err
	}
	*c = Change(j.plainChange)
	c.Path, c.From = orRaw(j.Path, j.Path64), orRaw(j.From, j.From64)
	return nil
}

type plainEntry Entry

type jsonEntry struct {
	plainEntry
	Link64 []byte `json:"link_base64,omitempty"`
	// Xattrs64 holds those attributes whose value is no UTF-8, by name; names are text.
	Xattrs64 map[string][]byte `json:"xattrs_base64,omitempty"`
}

// MarshalJSON keeps link texts and attribute values that are no UTF-8 exactly.
func (e Entry) MarshalJSON() ([]byte, error) {
	j := jsonEntry{plainEntry: plainEntry(e)}
	j.Link, j.Link64 = exact(e.Link)
	j.Xattrs = nil
	for k, v := range e.Xattrs {
		if j.Xattrs == nil {
			j.Xattrs = make(map[string]string, len(e.Xattrs))
		}
		readable, raw := exact(v)
		j.Xattrs[k] = readable
		if raw != nil {
			if j.Xattrs64 == nil {
				j.Xattrs64 = map[string][]byte{}
			}
			j.Xattrs64[k] = raw
		}
	}
	return json.Marshal(j)
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (e *Entry) UnmarshalJSON(data []byte) error {
	var j jsonEntry
	if err := json.Unmarshal(data, &j); err != nil {
		return err
	}
	*e = Entry(j.plainEntry)
	e.Link = orRaw(j.Link, j.Link64)
	for k, raw := range j.Xattrs64 {
		e.Xattrs[k] = string(raw)
	}
	return nil
}

type jsonSkip struct {
	Path   string `json:"path"`
	Reason string `json:"reason"`
	Path64 []byte `json:"path_base64,omitempty"`
}

// MarshalJSON keeps a path that is no UTF-8 exactly.
func (s Skip) MarshalJSON() ([]byte, error) {
	p, raw := exact(s.Path)
	return json.Marshal(jsonSkip{Path: p, Path64: raw, Reason: s.Reason})
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (s *Skip) UnmarshalJSON(data []byte) error {
	var j jsonSkip
	if err := json.Unmarshal(data, &j); err != nil {
		return err
	}
	s.Path, s.Reason = orRaw(j.Path, j.Path64), j.Reason
	return nil
}

type plainSet Set

type jsonSet struct {
	plainSet
	Changes []Change `json:"changes"` // shadows the embedded one: never null
	Root64  []byte   `json:"root_base64,omitempty"`
	// Drift64 is parallel to Drift; only there when one of its paths is no UTF-8.
	Drift64 [][]byte `json:"drift_base64,omitempty"`
}

// MarshalJSON keeps paths that are no UTF-8 exactly and renders no changes as [].
func (s Set) MarshalJSON() ([]byte, error) {
	j := jsonSet{plainSet: plainSet(s), Changes: s.Changes}
	if j.Changes == nil {
		j.Changes = []Change{}
	}
	j.Root, j.Root64 = exact(s.Root)
	j.Drift = nil
	odd := false
	for _, p := range s.Drift {
		readable, raw := exact(p)
		odd = odd || raw != nil
		j.Drift = append(j.Drift, readable)
	}
	if odd {
		for _, p := range s.Drift {
			j.Drift64 = append(j.Drift64, []byte(p))
		}
	}
	return json.Marshal(j)
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (s *Set) UnmarshalJSON(data []byte) error {
	var j jsonSet
	if err := json.Unmarshal(data, &j); err != nil {
		return err
	}
	*s = Set(j.plainSet)
	s.Changes = j.Changes
	s.Root = orRaw(j.Root, j.Root64)
	for i := range j.Drift64 {
		if i < len(s.Drift) {
			s.Drift[i] = string(j.Drift64[i])
		}
	}
	return nil
}
