package index

// This file walks XML as a stream with bounds: no element is held whole, and none may be so large that it had to be.

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
)

// Bounds of what one token, and the nesting of elements, may be.
const (
	maxToken = 1 << 20
	maxDepth = 32
)

var errLargeToken = errors.New("an element or a text is larger than 1 MiB")

// rationed ends the input when more than its ration is read before the next one is handed out.
type rationed struct {
	r    io.Reader
	left int
}

func (r *rationed) Read(p []byte) (int, error) {
	if r.left <= 0 {
		return 0, errLargeToken
	}
	n, err := r.r.Read(p[:min(len(p), r.left)])
	r.left -= n
	return n, err
}

type xmlReader struct {
	in  *rationed
	dec *xml.Decoder
}

func newXML(r io.Reader) *xmlReader {
	in := &rationed{r: r, left: maxToken}
	return &xmlReader{in: in, dec: xml.NewDecoder(in)}
}

// walk calls visit for every element and text inside the root, which must have the given name. path holds the names from
// the root to the element that the token belongs to. An error of the input is a *lineError.
func (x *xmlReader) walk(root string, visit func(path []string, tok xml.Token) error) error {
	var path []string
	rooted := false
	for {
		x.in.left = maxToken
		tok, err := x.dec.Token()
		line, _ := x.dec.InputPos()
		switch {
		case errors.Is(err, io.EOF) && rooted && len(path) == 0:
			return nil
		case errors.Is(err, io.EOF):
			return &lineError{line, errors.New("it ends before <" + root + "> does")}
		case err != nil:
			return &lineError{line, plainXML(err)}
		}
		switch t := tok.(type) {
		case xml.StartElement:
			if len(path) == 0 && (rooted || t.Name.Local != root) {
				return &lineError{line, fmt.Errorf("<%s> where <%s> should be", t.Name.Local, root)}
			}
			rooted = true
			if path = append(path, t.Name.Local); len(path) > maxDepth {
				return &lineError{line, errors.New("elements are nested too deeply")}
			}
			if err := visit(path, t); err != nil {
				return err
			}
		case xml.EndElement:
			if err := visit(path, t); err != nil {
				return err
			}
			path = path[:len(path)-1]
		case xml.CharData:
			if len(path) > 0 {
				if err := visit(path, t); err != nil {
					return err
				}
			}
		}
	}
}

// plainXML drops the line from a syntax error: it is said elsewhere.
func plainXML(err error) error {
	var syntax *xml.SyntaxError
	if errors.As(err, &syntax) {
		return errors.New(syntax.Msg)
	}
	return err
}

// lineError is a fault in line, counted from 1, of what was read.
type lineError struct {
	line int
	err  error
}

func (e *lineError) Error() string { return fmt.Sprintf("line %d: %v", e.line, e.err) }
func (e *lineError) Unwrap() error { return e.err }
