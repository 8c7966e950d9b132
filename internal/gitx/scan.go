package gitx

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
)

// maxRecord bounds one NUL-terminated record: a path of PATH_MAX with its mode
// and ids is far below; anything longer is not git's output.
const maxRecord = 1 << 20

// SplitZ splits NUL-terminated output into records.
func SplitZ(b []byte) []string {
	if len(b) == 0 {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(b), "\x00"), "\x00")
}

func scanZ(r io.Reader, fn func(string) error) error {
	br := bufio.NewReaderSize(r, 64<<10)
	var rec []byte
	for {
		part, err := br.ReadSlice(0)
		rec = append(rec, part...)
		switch {
		case err == nil:
			if err := fn(string(rec[:len(rec)-1])); err != nil {
				return err
			}
			rec = rec[:0]
		case errors.Is(err, bufio.ErrBufferFull):
			if len(rec) > maxRecord {
				return fmt.Errorf("read git's output: a record over %d bytes", maxRecord)
			}
		case errors.Is(err, io.EOF):
			if len(rec) > 0 {
				return fmt.Errorf("read git's output: cut off after %q", rec)
			}
			return nil
		default:
			return fmt.Errorf("read git's output: %w", err)
		}
	}
}
