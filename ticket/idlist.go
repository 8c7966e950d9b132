package ticket

import (
	"strings"
	"unicode/utf8"
)

// idRef is one id, or range of ids, in a dependency clause.
type idRef struct {
	text       string   // without decoration; "#12" keeps its mark
	ends       *idRange // set if it is a range of labels
	start, end int      // place in the text, with decoration
}

// idList reads ids separated by commas, "and" or "&" from s[i:], up to the first
// that accept refuses; nil accepts all. open reports that the text ends where an
// id should stand: behind the keyword or a separator.
func idList(s string, i int, accept func(idRef) bool) (refs []idRef, open bool) {
	for {
		j := skipSpace(s, i)
		if j == len(s) {
			return refs, true
		}
		ref, ok := oneID(s, j)
		if !ok {
			return refs, false
		}
		ref = extendRange(s, ref)
		if accept != nil && !accept(ref) {
			return refs, false
		}
		// A remark in brackets between two ids belongs to the list.
		if after, ok := remark(s, skipSpace(s, ref.end)); ok {
			if _, sep := separator(s, after); sep || skipSpace(s, after) == len(s) {
				ref.end = after
			}
		}
		refs = append(refs, ref)
		next, ok := separator(s, ref.end)
		if !ok {
			return refs, false
		}
		i = next
	}
}

// separator reads what stands between two ids.
func separator(s string, i int) (next int, ok bool) {
	i = skipSpace(s, i)
	if i == len(s) || isLetter(s[i]) && s[i]|0x20 != 'a' || s[i] == ')' {
		return i, false
	}
	for _, sep := range [...]string{",", ";", "、", "，", "&", "+", "/"} {
		if strings.HasPrefix(s[i:], sep) {
			i += len(sep)
			ok = true
			break
		}
	}
	j := skipSpace(s, i)
	if hasPrefixFold(s[j:], "and") && j+3 < len(s) && (s[j+3] == ' ' || s[j+3] == '\t') && (ok || j > 0 && (s[j-1] == ' ' || s[j-1] == '\t')) {
		return j + 3, true
	}
	if hasPrefixFold(s[j:], "and") && j+3 == len(s) {
		return len(s), true
	}
	return i, ok
}

// remark reads "(…)" without brackets in it.
func remark(s string, i int) (after int, ok bool) {
	if i >= len(s) || s[i] != '(' {
		return i, false
	}
	j := strings.IndexAny(s[i+1:], "()")
	if j < 0 || s[i+1+j] != ')' {
		return i, false
	}
	return i + j + 2, true
}

// oneID reads an id at s[i:]: bare, in backticks, bold, as a link, after "task" or
// "step", or #12.
func oneID(s string, i int) (idRef, bool) {
	ref := idRef{start: i}
	if i == len(s) {
		return ref, false
	}
	if c := s[i] | 0x20; c == 't' || c == 's' {
		for _, w := range [...]string{"tasks ", "task ", "steps ", "step "} {
			if hasPrefixFold(s[i:], w) {
				i = skipSpace(s, i+len(w))
				break
			}
		}
	}
	open := i
	for i < len(s) && strings.IndexByte("*_`[", s[i]) >= 0 {
		i++
	}
	decor := s[open:i]
	from := i
	if i < len(s) && s[i] == '#' {
		i++
	}
	slash := -1
	for i < len(s) && (inID[s[i]] || s[i] == '/' && i > from || s[i] == '#' && slash > 0) {
		if s[i] == '/' {
			slash = i
		}
		i++
	}
	token := s[from:i]
	several := false // T024/T025
	if slash >= 0 && !strings.Contains(token, "#") {
		first, ok := firstOfSeveral(token)
		if !ok {
			return ref, false // a path, or a/b; but owner/repo#12 is an id
		}
		token, several = first, true
	}
	for token != "" && !isLetter(token[len(token)-1]) && !isDigit(token[len(token)-1]) {
		token = token[:len(token)-1]
	}
	i = from + len(token)
	bare := strings.TrimPrefix(token, "#")
	if bare == "" || !isLetter(bare[0]) && !isDigit(bare[0]) {
		return ref, false
	}
	if token[0] == '#' && strings.Trim(bare, "0123456789") != "" {
		return ref, false // a tag
	}
	// Close in the order opposite to opening.
	for k := len(decor) - 1; k >= 0; k-- {
		want := decor[k]
		if want == '[' {
			want = ']'
		}
		if i >= len(s) || s[i] != want {
			return ref, false
		}
		i++
		if want == ']' {
			if after, ok := remark(s, i); ok { // the target of a link
				i = after
			}
		}
	}
	if decor == "" && i < len(s) && !several {
		// Behind a bare id nothing may stand that makes it part of something longer.
		if c := s[i]; c == '(' || c == '/' || c == '@' || c == '=' || c == '`' || c == '\'' || isLetter(c) || isDigit(c) {
			return ref, false
		}
		if s[i] == ':' && i+1 < len(s) && s[i+1] != ' ' {
			return ref, false
		}
	}
	ref.text, ref.end = token, i
	return ref, true
}

// firstOfSeveral returns the first of labels with slashes between them.
func firstOfSeveral(token string) (string, bool) {
	for part := range strings.SplitSeq(strings.TrimRight(token, "._-"), "/") {
		if l, ok := parseLabel(part); !ok || l.family == "" { // 1/2 is a half
			return "", false
		}
	}
	first, _, _ := strings.Cut(token, "/")
	return first, true
}

// inID holds the bytes of a bare id.
var inID = func() (t [256]bool) {
	for c := range 256 {
		t[c] = isLetter(byte(c)) || isDigit(byte(c)) || c == '.' || c == '_' || c == '-'
	}
	return t
}()

// looksLikeID reports whether a word can be meant as an id where nobody has
// declared it: it has a digit, hyphen, underscore or point in it, and is not the
// name of a file.
func looksLikeID(s string) bool {
	return strings.ContainsAny(s, "0123456789-_.") && !looksLikeFile(s)
}

// looksLikeFile reports whether a word ends like a file: "after plan.md is written".
func looksLikeFile(s string) bool {
	stem, ext := s, ""
	if i := strings.LastIndexByte(s, '.'); i > 0 {
		stem, ext = s[:i], s[i+1:]
	}
	letters := func(s string) bool { return strings.IndexFunc(s, func(r rune) bool { return !isLetter(byte(r)) }) < 0 }
	return len(ext) >= 1 && len(ext) <= 5 && letters(ext) && strings.IndexFunc(stem, func(r rune) bool { return isLetter(byte(r)) }) >= 0
}

// isNumber reports whether s is digits only, or digits and points.
func isNumber(s string) (number, dotted bool) {
	if strings.Trim(s, "0123456789.") != "" || s == "" {
		return false, false
	}
	return true, strings.Contains(s, ".")
}

func skipSpace(s string, i int) int {
	for i < len(s) {
		if s[i] == ' ' || s[i] == '\t' {
			i++
			continue
		}
		if strings.HasPrefix(s[i:], "\u00a0") || strings.HasPrefix(s[i:], "\u3000") {
			_, n := utf8.DecodeRuneInString(s[i:])
			i += n
			continue
		}
		break
	}
	return i
}
