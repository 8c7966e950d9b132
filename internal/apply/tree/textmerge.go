package tree

import (
	"context"
	"io"
	"strings"

	"github.com/ambit-run/ambit/changeset"
	"github.com/ambit-run/ambit/fault"
	"github.com/ambit-run/ambit/internal/fsop"
)

// mergeLimit is the largest text that is merged; beyond it a person should look.
const mergeLimit = 4 << 20

// mergeText merges a text that changed on both sides, or makes it a conflict.
func (s *survey) mergeText(ctx context.Context, it *item) error {
	for _, e := range []*changeset.Entry{it.before, it.after, it.now.entry()} {
		if e.Size > mergeLimit {
			it.verdict = conflict("its contents changed on both sides, and it is too large to merge")
			return nil
		}
	}
	base, err := s.text(ctx, changeset.Before, it.path, it.before)
	if fault.Is(err, fault.Stale) || fault.Is(err, fault.NotFound) {
		it.verdict = conflict("its contents changed on both sides, and what they were before is gone")
		return nil
	}
	if err != nil {
		return err
	}
	plan, err := s.text(ctx, changeset.After, it.path, it.after)
	if err != nil {
		return err
	}
	raw, err := fsop.ReadFile(s.root, it.path, mergeLimit)
	if err != nil {
		return err
	}
	now := string(raw)
	if hashOf(now) != it.now.hash {
		it.verdict = conflict("it is being written to")
		return nil
	}
	for _, t := range []string{base, plan, now} {
		if strings.IndexByte(t, 0) >= 0 {
			it.verdict = conflict("its contents changed on both sides, and it is no text")
			return nil
		}
	}
	if s.rules.git {
		base, plan = likewise(base, now), likewise(plan, now)
	}
	merged, ok := changeset.MergeText(base, now, plan)
	if !ok {
		it.verdict = conflict("the same lines changed on both sides")
		return nil
	}
	it.merged = []byte(merged)
	it.result.Size, it.result.Hash = int64(len(merged)), hashOf(merged)
	return nil
}

// text reads one side of the plan and sees to it that it is what was reviewed.
func (s *survey) text(ctx context.Context, side changeset.Side, path string, e *changeset.Entry) (string, error) {
	if err := context.Cause(ctx); err != nil {
		return "", err
	}
	rc, err := s.req.Src.Open(side, path)
	if err != nil {
		return "", err
	}
	defer rc.Close()
	data, err := io.ReadAll(io.LimitReader(rc, mergeLimit+1))
	if err != nil {
		return "", fault.Wrap("", "read "+changeset.Quote(path), err)
	}
	if hashOf(string(data)) != e.Hash {
		return "", notReviewed(path)
	}
	return string(data), nil
}

// notReviewed is the error for contents that are no longer those of the changeset.
func notReviewed(path string) error {
	return fault.New(fault.Stale, "prepare", "%s in the sandbox is no longer what the changeset says", changeset.Quote(path)).
		WithPaths(path).WithHint("look at the changes again and repeat the apply")
}
