package tree

import (
	"context"
	"strings"

	"github.com/ambit-run/ambit/changeset"
	"github.com/ambit-run/ambit/fault"
	"github.com/ambit-run/ambit/internal/fsop"
)

// In a git checkout one text may lie with either line end and still be the same
// to git: with core.autocrlf a checkout of the plan's own gets CR LF, while the
// person's file keeps the LF that a program wrote. The outside's form counts.

// likewise gives text the line ends of model, where that has only one kind.
func likewise(text, model string) string {
	lf, crlf := strings.Count(model, "\n"), strings.Count(model, "\r\n")
	switch {
	case lf == 0:
		return text
	case crlf == 0:
		return strings.ReplaceAll(text, "\r\n", "\n")
	case crlf == lf:
		return strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\n", "\r\n")
	}
	return text
}

// onlyLineEnds takes what lies there now for what was there before, if the two
// differ by nothing but their line ends. A text that the plan changed needs no
// such look: its merge gives both sides the same ends.
func (s *survey) onlyLineEnds(ctx context.Context, it *item) error {
	now := it.now.entry()
	if !s.rules.git || it.before == nil || now == nil || it.before.Kind != changeset.File || now.Kind != changeset.File ||
		it.after != nil && it.after.Kind == changeset.File ||
		it.before.Hash == "" || it.before.Hash == now.Hash || max(it.before.Size, now.Size) > mergeLimit {
		return nil
	}
	base, err := s.text(ctx, changeset.Before, it.path, it.before)
	if fault.Is(err, fault.Stale) || fault.Is(err, fault.NotFound) {
		return nil // what it was is gone: decided by the hashes alone
	}
	if err != nil {
		return err
	}
	raw, err := fsop.ReadFile(s.root, it.path, mergeLimit)
	if err != nil {
		return err
	}
	text := string(raw)
	if hashOf(text) != it.now.hash || strings.IndexByte(text, 0) >= 0 || likewise(base, text) != text {
		return nil
	}
	same := *it.before
	same.Size, same.Hash = now.Size, now.Hash
	it.before = &same
	return nil
}
