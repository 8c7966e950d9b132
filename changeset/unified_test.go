package changeset

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestUnifiedForm pins the format, byte for byte.
func TestUnifiedForm(t *testing.T) {
	t.Parallel()
	before := tree{
		"code.go":   file("package p\n\nfunc A() {\n\ta()\n\tb()\n\tc()\n\td()\n}\n"),
		"gone":      file("x\n"),
		"link":      link("old"),
		"mode.sh":   file("echo\n"),
		"move.txt":  file("same\n"),
		"no-nl":     file("a\nb"),
		"odd\tname": file("1\n"),
		"sp ace":    file("1\n"),
		"turns":     file("text\n"),
		"wide.bin":  file("\x00\x01"),
	}
	after := tree{
		"code.go":   file("package p\n\nfunc A() {\n\ta()\n\tb()\n\tc()\n\te()\n}\n"),
		"crlf":      file("a\r\nb\r\n"),
		"empty":     file(""),
		"link":      link("new"),
		"mode.sh":   prog("echo\n"),
		"moved.txt": file("same\n"),
		"no-nl":     file("a\nb\n"),
		"odd\tname": file("2\n"),
		"sp ace":    file("2\n"),
		"turns":     link("text"),
		"wide.bin":  file("\x00\x02"),
	}
	s, src := compare(before, after)
	DetectRenames(s)
	want := strings.ReplaceAll(`diff --git a/code.go b/code.go
index ae3a48f0fe..c28f6500f5 100644
--- a/code.go
+++ b/code.go
@@ -4,5 +4,5 @@ func A() {
 	a()
 	b()
 	c()
-	d()
+	e()
 }
diff --git a/crlf b/crlf
new file mode 100644
index 0000000000..c30dea8a36
--- /dev/null
+++ b/crlf
@@ -0,0 +1,2 @@
+a~
+b~
diff --git a/empty b/empty
new file mode 100644
index 0000000000..e69de29bb2
diff --git a/gone b/gone
deleted file mode 100644
index 587be6b4c3..0000000000
--- a/gone
+++ /dev/null
@@ -1 +0,0 @@
-x
diff --git a/link b/link
index 489ce0f857..3e5126c4e7 120000
--- a/link
+++ b/link
@@ -1 +1 @@
-old
\ No newline at end of file
+new
\ No newline at end of file
diff --git a/mode.sh b/mode.sh
old mode 100644
new mode 100755
diff --git a/move.txt b/moved.txt
similarity index 100%
rename from move.txt
rename to moved.txt
diff --git a/no-nl b/no-nl
index 0a207c060e..422c2b7ab3 100644
--- a/no-nl
+++ b/no-nl
@@ -1,2 +1,2 @@
 a
-b
\ No newline at end of file
+b
diff --git "a/odd\tname" "b/odd\tname"
index d00491fd7e..0cfbf08886 100644
--- "a/odd\tname"
+++ "b/odd\tname"
@@ -1 +1 @@
-1
+2
diff --git a/sp ace b/sp ace
index d00491fd7e..0cfbf08886 100644
--- a/sp ace`+"\t"+`
+++ b/sp ace`+"\t"+`
@@ -1 +1 @@
-1
+2
# turns: file becomes link
diff --git a/turns b/turns
deleted file mode 100644
index 8e27be7d61..0000000000
--- a/turns
+++ /dev/null
@@ -1 +0,0 @@
-text
diff --git a/turns b/turns
new file mode 120000
index 0000000000..f3a34851d4
--- /dev/null
+++ b/turns
@@ -0,0 +1 @@
+text
\ No newline at end of file
diff --git a/wide.bin b/wide.bin
index bdc955b7b2..8835708590 100644
Binary files a/wide.bin and b/wide.bin differ
`, "~", "\r")
	got := unified(t, s, src, DiffOptions{})
	if got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

// nameGen makes names that hurt: spaces, quotes, newlines, bytes that are no UTF-8.
func nameGen() *rapid.Generator[string] {
	part := rapid.OneOf(
		rapid.SampledFrom([]string{"a", "b", "c", "dir", "x y", " lead", "trail ", "quo\"te", "back\\slash", "new\nline", "tab\t", "cr\r", "\xff\xfe", "é", "日本", "-dash", "a b", "esc\x1b[31m", "\u202egnp", "#", "@@ -1 +1 @@", "diff --git a", "+++ b"}),
		rapid.Map(rapid.SliceOfN(rapid.Byte(), 1, 6), func(b []byte) string {
			s := strings.NewReplacer("/", "_", "\x00", "_").Replace(string(b))
			if s == "." || s == ".." {
				return "dots"
			}
			return s
		}),
	)
	return rapid.Custom(func(t *rapid.T) string {
		n := rapid.IntRange(1, 3).Draw(t, "depth")
		parts := make([]string, n)
		for i := range parts {
			parts[i] = part.Draw(t, "part")
			if IsGitControl(parts[i]) { // git apply refuses .git and its spellings, rightly
				parts[i] = "plain"
			}
		}
		return strings.Join(parts, "/")
	})
}

// textGen makes contents: lines of a small alphabet, so that diffs have something
// to match, with and without the last newline, CRLF, odd bytes.
func textGen() *rapid.Generator[string] {
	l := rapid.SampledFrom([]string{"", "a", "b", "c", "{", "}", "\tindent", "-minus", "+plus", "@@ -1 +1 @@", "--- a/x", "diff --git a/x b/x", "\\ No newline at end of file", "\r", "crlf\r", "\xc3\x28", "\x1b[2J", "# x"})
	return rapid.Custom(func(t *rapid.T) string {
		lines := rapid.SliceOfN(l, 0, 40).Draw(t, "lines")
		text := strings.Join(lines, "\n")
		if rapid.Bool().Draw(t, "newline") && text != "" {
			text += "\n"
		}
		return text
	})
}

func nodeGen() *rapid.Generator[node] {
	return rapid.Custom(func(t *rapid.T) node {
		switch rapid.IntRange(0, 9).Draw(t, "what") {
		case 0:
			return link(rapid.SampledFrom([]string{"a", "../x", "/abs", "with space", "new\nline", "\xff"}).Draw(t, "link"))
		case 1:
			return file("bin\x00" + textGen().Draw(t, "bin"))
		case 2:
			return prog(textGen().Draw(t, "prog"))
		case 3:
			return dirNode()
		}
		return file(textGen().Draw(t, "text"))
	})
}

// treeGen makes a consistent tree: what lies on the way is a folder.
func treeGen() *rapid.Generator[tree] {
	return rapid.Custom(func(t *rapid.T) tree {
		return consistent(rapid.MapOfN(nameGen(), nodeGen(), 0, 8).Draw(t, "tree"))
	})
}

func consistent(t tree) tree {
	out := tree{}
	for _, p := range sortedKeys(t) {
		out[p] = t[p]
	}
	return out.parents()
}

// changed derives a second tree from the first: edits, deletions, moves, kinds.
func changed(t *rapid.T, before tree) tree {
	after := tree{}
	for _, p := range sortedKeys(before) {
		n := before[p]
		switch rapid.IntRange(0, 7).Draw(t, "edit") {
		case 0: // deleted
		case 1:
			after[p] = nodeGen().Draw(t, "other")
		case 2:
			after[nameGen().Draw(t, "moved")] = n
		case 3:
			if n.kind == File {
				n.mode ^= 0o111
			}
			after[p] = n
		case 4:
			if n.kind == File {
				lines := strings.SplitAfter(n.data, "\n")
				i := rapid.IntRange(0, len(lines)-1).Draw(t, "line")
				lines[i] = rapid.SampledFrom([]string{"", "new\n", "new", "x\ny\n"}).Draw(t, "text") + lines[i]
				n.data = strings.Join(lines, "")
			}
			after[p] = n
		default:
			after[p] = n
		}
	}
	for k, v := range rapid.MapOfN(nameGen(), nodeGen(), 0, 3).Draw(t, "new") {
		after[k] = v
	}
	return consistent(after)
}

// TestUnifiedAppliesWithGit: what the diff says is what git makes of it, and back.
func TestUnifiedAppliesWithGit(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		before := treeGen().Draw(rt, "before")
		after := changed(rt, before)
		s, src := compare(before, after)
		if rapid.Bool().Draw(rt, "renames") {
			DetectRenames(s)
		}
		opts := DiffOptions{BinaryPatch: true, Context: rapid.SampledFrom([]int{0, 1, 3, 7}).Draw(rt, "context")}
		patch := unified(t, s, src, opts)
		if !strings.Contains("\n"+patch, "\ndiff --git ") {
			if d := sameTree(contentsOnly(before), contentsOnly(after)); d != "" {
				rt.Fatalf("nothing to apply, but %s", d)
			}
			return
		}
		dir := t.TempDir()
		contentsOnly(before).parents().write(t, dir) // git knows no empty folders
		if err := gitApply(t, dir, []byte(patch)); err != nil {
			rt.Fatalf("%v\n%s", err, patch)
		}
		if d := sameTree(readTree(t, dir), contentsOnly(after)); d != "" {
			rt.Fatalf("%s\n%s", d, patch)
		}
		if err := gitApply(t, dir, []byte(patch), "-R"); err != nil {
			rt.Fatalf("back: %v\n%s", err, patch)
		}
		if d := sameTree(readTree(t, dir), contentsOnly(before)); d != "" {
			rt.Fatalf("back: %s\n%s", d, patch)
		}
	})
}
