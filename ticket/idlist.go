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
	tag        bool     // "#T1": an id only if the ticket knows it
	loose      bool     // nothing but a blank stands before it: the same
	passed     span     // a remark behind it that was not read
}

// idList reads ids separated by commas, "and", "or", "&" from s[i:], up to the
// first that accept refuses; nil accepts all, and then ids have to be separated.
// open reports that the text ends where an id should stand: behind the keyword or a
// separator. What stands in brackets behind an id belongs to the list if it is one.
func idList(s string, i int, accept func(idRef) bool) (refs []idRef, open bool) {
	loose := false
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
		ref.loose = loose
		if accept != nil && !accept(ref) || accept == nil && ref.tag {
			return refs, false
		}
		// A remark in brackets between two ids belongs to the list.
		if more, after := inBrackets(s, skipSpace(s, ref.end), accept); len(more) > 0 {
			refs = append(append(refs, ref), more...)
			ref.end = after
		} else {
			if after > 0 {
				if _, sep := separator(s, after); sep || skipSpace(s, after) == len(s) {
					ref.passed = span{skipSpace(s, ref.end), after}
					ref.end = after
				}
			}
			refs = append(refs, ref)
		}
		next, ok := separator(s, ref.end)
		if after, either := alternative(s, next); either { // also behind a comma
			next, ok = after, true
		}
		loose = !ok
		if loose && (accept == nil || next == ref.end || next == len(s)) {
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
	if hasPrefixFold(s[j:], "and") && j+3 < len(s) && (s[j+3] == ' ' || s[j+3] == '\t') && (ok || j > 0 && (s[j-1] == ' ' || s[j-1] == '\t' || s[j-1] == '(')) {
		return j + 3, true
	}
	if hasPrefixFold(s[j:], "and") && j+3 == len(s) {
		return len(s), true
	}
	return i, ok
}

// inBrackets reads a list of ids in brackets, "(and T3)". after is behind the
// bracket, 0 where there is none.
func inBrackets(s string, i int, accept func(idRef) bool) (refs []idRef, after int) {
	after, ok := remark(s, i)
	if !ok {
		return nil, 0
	}
	if accept == nil {
		return nil, after
	}
	inner := s[:after-1]
	from, sep := separator(inner, i+1)
	if !sep {
		from, _ = alternative(inner, i+1)
	}
	// What stands in brackets has to be of this ticket: "(2024)" is no id.
	refs, _ = idList(inner, from, func(r idRef) bool { r.loose = true; return accept(r) })
	if n := len(refs); n == 0 || strings.Trim(inner[throughDoneWords(inner, refs[n-1].end):], " \t.,;") != "" {
		return nil, after
	}
	refs[len(refs)-1].end = after
	return refs, after
}

// alternative reads "or" and "then" between two ids: a step that waits for one of
// two waits for both.
func alternative(s string, i int) (next int, ok bool) {
	j := skipSpace(s, i)
	for _, w := range [...]string{"or", "then", "and/or", "plus"} {
		if hasPrefixFold(s[j:], w) && (j > i || j > 0 && (s[j-1] == '(' || s[j-1] == ' ')) {
			if k := j + len(w); k == len(s) || s[k] == ' ' || s[k] == '\t' {
				return k, true
			}
		}
	}
	return i, false
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
	if mayLead[s[i]] {
		for _, w := range [...]string{"both ", "either ", "all of ", "tasks ", "task ", "steps ", "step "} {
			if hasPrefixFold(s[i:], w) {
				i = skipSpace(s, i+len(w))
			}
		}
	}
	for _, q := range [...][2]string{{`"`, `"`}, {"'", "'"}, {"“", "”"}, {"‘", "’"}, {"„", "“"}, {"«", "»"}, {"「", "」"}} {
		if inner, ok := strings.CutPrefix(s[i:], q[0]); ok {
			end := strings.Index(inner, q[1])
			if end < 0 || end > maxIDBytes {
				return ref, false
			}
			in, ok := oneID(inner[:end], 0)
			if !ok || in.end != end || in.start != 0 {
				return ref, false
			}
			ref.text, ref.tag, ref.end = in.text, in.tag, i+len(q[0])+end+len(q[1])
			return ref, true
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
		token, ref.tag = bare, true // a tag, unless a task is called that
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

// mayLead holds the bytes that words before ids begin with.
var mayLead = func() (t [256]bool) {
	for _, c := range []byte("tTsSbBeEaA") {
		t[c] = true
	}
	return t
}()

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
