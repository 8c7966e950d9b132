package ticket

import (
	"strings"

	"github.com/yuin/goldmark/ast"
)

// The shells a step's command may be written for.
const (
	ShellSh   = "sh"
	ShellBash = "bash"
)

// fence reads a fenced block: a command if it stands under a task and says sh,
// bash or console; GitHub's task list; else text.
func (r *reader) fence(reg *region, n *ast.FencedCodeBlock, at place) {
	info := ""
	if n.Info != nil {
		info = strings.TrimSpace(string(n.Info.Segment.Value(reg.text)))
	}
	language, _, _ := strings.Cut(info, " ")
	language = strings.ToLower(language)
	lines := n.Lines()
	if at.task == 0 && language == "[tasklist]" && lines.Len() > 0 {
		sub := parseRegion(r.src, reg.base+lines.At(0).Start, reg.base+lines.At(lines.Len()-1).Stop)
		r.unfinished(sub)
		for c := sub.root.FirstChild(); c != nil; c = c.NextSibling() {
			if list, ok := c.(*ast.List); ok {
				r.list(sub, list, at)
			}
		}
		return
	}
	runs := language == ShellSh || language == ShellBash || language == "console"
	if at.task > 0 && runs {
		r.command(reg, n, at.task, language)
		return
	}
	line, column := r.src.at(reg.base + max(n.Pos(), 0))
	switch {
	case at.task > 0 && (language == "shell" || language == "zsh" || language == "shell-session"):
		r.rep.note(line, column, finding{
			summary: "a block `" + language + "` is not the step's command",
			hint:    "write `sh` or `bash` for a script, `console` for lines that start with `$ `",
		})
	case at.task == 0 && runs && r.followsTask(n):
		r.rep.note(line, column, finding{
			summary: "this block belongs to no step",
			detail:  "it is not indented under the task above it, so it is not that step's command",
			hint:    "indent the whole block to where the task's text begins",
		})
	}
	r.verbatim(reg, n, at, "```"+info, "```")
	r.markAll(reg, n, reasonFence)
}

// followsTask reports whether a top-level block comes right behind a list that
// ends with a task.
func (r *reader) followsTask(n ast.Node) bool {
	prev, ok := n.PreviousSibling().(*ast.List)
	if !ok || len(r.t.Tasks) == 0 {
		return false
	}
	line, _ := r.src.at(r.src.body + prev.LastChild().Pos())
	return r.t.Tasks[len(r.t.Tasks)-1].Line >= line
}

// command adds a block to the command of a task. Several blocks run one after the
// other; one for bash makes the whole a bash script.
func (r *reader) command(reg *region, n *ast.FencedCodeBlock, task int, language string) {
	line, column := r.src.at(reg.base + max(n.Pos(), 0))
	script := strings.Trim(reg.blockText(n), "\n")
	reg.blockLines(n, func(offset int) {
		at, _ := r.src.at(offset)
		r.marks.use(at)
	})
	if language == "console" {
		script = prompted(script)
	}
	if strings.TrimSpace(script) == "" {
		what := "the command block is empty"
		if language == "console" {
			what = "no line of the console block starts with `$ `"
		}
		r.rep.warn(line, column, finding{summary: what, detail: "the step gets no command from it"})
		return
	}
	if language != "console" && allPrompted(script) {
		r.rep.warn(line, column, finding{
			summary: "every line of the command starts with `$ `",
			detail:  "a shell would look for a program named $",
			hint:    "mark the block `console`, or remove the signs",
		})
	}
	t := &r.t.Tasks[task-1]
	if t.Command == "" {
		t.Shell, t.CommandLine = ShellSh, line
	} else {
		t.Command += "\n"
	}
	t.Command += script
	if language == ShellBash {
		t.Shell = ShellBash
	}
}

// prompted returns the commands of a console transcript: the lines behind `$ `,
// and those that continue one.
func prompted(text string) string {
	var out []string
	continued := false
	for line := range strings.SplitSeq(text, "\n") {
		cmd, ok := strings.CutPrefix(strings.TrimLeft(line, " \t"), "$ ")
		switch {
		case ok:
			out = append(out, cmd)
		case continued:
			out = append(out, strings.TrimPrefix(line, "> "))
		default:
			continue
		}
		continued = strings.HasSuffix(line, `\`)
	}
	return strings.Join(out, "\n")
}

func allPrompted(script string) bool {
	for line := range strings.SplitSeq(script, "\n") {
		if strings.TrimSpace(line) != "" && !strings.HasPrefix(line, "$ ") {
			return false
		}
	}
	return true
}
