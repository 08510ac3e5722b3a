package tools

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/loop"
)

//go:embed read.md
var readDoc string

const (
	// wholeBytes is how large a file may be for a read that names no lines.
	wholeBytes = 10 << 20
	// sniffBytes is how much of a file is looked at to tell text from binary.
	sniffBytes = 8 << 10
	// blobScheme marks a path that names a kept output.
	blobScheme = "blob:"
)

type readArgs struct {
	Path   string `json:"path" jsonschema:"description=file or blob:HASH"`
	Offset int    `json:"offset,omitempty" jsonschema:"minimum=1,description=first line (default 1)"`
	Limit  int    `json:"limit,omitempty" jsonschema:"minimum=1"`
}

func readTool() builtin {
	return builtin{
		info:     loop.Info{Spec: spec("read", readDoc), Effect: plan.EffectReplay},
		purpose:  Inspect,
		describe: described(describeRead),
		open:     opens((*Set).runRead),
	}
}

// describeRead shows the lines that are read as :10-60.
func describeRead(_ string, a readArgs) Call {
	c := describePath(a.Path)
	first := max(a.Offset, 1)
	switch {
	case a.Limit != 0:
		c.Detail = fmt.Sprintf(":%d-%d", first, first+a.Limit-1)
	case a.Offset != 0:
		c.Detail = fmt.Sprintf(":%d-", first)
	}
	return c
}

func (s *Set) runRead(ctx context.Context, a readArgs, _ loop.Input) (loop.Result, error) {
	if hash, ok := strings.CutPrefix(a.Path, blobScheme); ok {
		return s.readBlob(ctx, hash, a)
	}
	name, problem := s.rel(a.Path)
	if problem != "" {
		return loop.Failed(problem), nil
	}
	f, info, err := openRegular(s.root, name)
	if err != nil {
		return s.explain(ctx, name, err), nil
	}
	defer f.Close() //nolint:errcheck // only read from
	if info.Size() > wholeBytes && a.Offset == 0 && a.Limit == 0 {
		return loop.Failed(
			fmt.Sprintf("%s has %s; give offset and limit to page through it, or grep it for what you need",
				show(name), sizeText(info.Size())),
		), nil
	}
	// A file that is being appended to is read as far as it was when opened.
	in := bufio.NewReaderSize(untilDone{ctx, io.LimitReader(f, info.Size())}, int(min(info.Size(), 64<<10)))
	if head, _ := in.Peek(sniffBytes); binary(head) {
		return loop.Failed(fmt.Sprintf("%s is binary (%s, %s); read shows text only",
			show(name), http.DetectContentType(head), sizeText(info.Size()))), nil
	}
	hash := sha256.New()
	p := newPager(a.Offset, a.Limit)
	if _, err := io.Copy(io.MultiWriter(hash, p), in); err != nil {
		if ctx.Err() != nil {
			return loop.Result{}, fmt.Errorf("read: %w", ctx.Err())
		}
		return s.explain(ctx, name, err), nil
	}
	res := p.result(show(name))
	if !res.Error {
		sum := hex.EncodeToString(hash.Sum(nil))
		s.note(name, sum)
		res.Files = map[string]string{name: sum}
	}
	return res, nil
}

// readBlob pages through a kept output. It is no file, so nothing is noted.
func (s *Set) readBlob(ctx context.Context, hash string, a readArgs) (loop.Result, error) {
	if s.cfg.Blob == nil {
		return loop.Failed("there are no kept outputs here; read takes the path of a file"), nil
	}
	data, err := s.cfg.Blob(ctx, hash)
	if ctx.Err() != nil {
		return loop.Result{}, fmt.Errorf("read: %w", ctx.Err())
	}
	if err != nil {
		return loop.Failed(fmt.Sprintf("the kept output %s%s cannot be read: %v", blobScheme, show(hash), err)), nil
	}
	p := newPager(a.Offset, a.Limit)
	if _, err := p.Write(data); err != nil {
		return loop.Result{}, fmt.Errorf("read %s%s: %w", blobScheme, hash, err)
	}
	return p.result("the output"), nil
}

// result is the page as a tool's result. Source names the thing that was paged.
func (p *pager) result(source string) loop.Result {
	p.end()
	switch {
	case p.line == 0:
		return loop.Result{Output: "(" + source + " is empty)"}
	case p.first > p.line:
		return loop.Failed(fmt.Sprintf("%s has %s; offset %d is past the end",
			source, count(p.line, "line", "lines"), p.first))
	}
	return loop.Result{Output: p.out.String() + p.notes()}
}

// binary reports whether the beginning of a file says that it is not text.
func binary(head []byte) bool {
	return bytes.IndexByte(head[:min(len(head), sniffBytes)], 0) >= 0
}

// untilDone reads until its context ends.
type untilDone struct {
	ctx context.Context //nolint:containedctx // a reader has no other way to be told
	r   io.Reader
}

func (u untilDone) Read(b []byte) (int, error) {
	if err := u.ctx.Err(); err != nil {
		return 0, err
	}
	return u.r.Read(b) //nolint:wrapcheck // a reader passes on io.EOF as it is
}
