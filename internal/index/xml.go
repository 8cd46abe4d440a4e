package index

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
)

// maxElement bounds one entry of a list as it stands in the file; real ones have a few KiB. Decoded it takes at most
// about 16 times as much memory.
const maxElement = 1 << 20

var errLargeElement = errors.New("is larger than 1 MiB")

// eachElement decodes every element of the given name that stands directly inside the root, which must be the only
// one. An error of the input is a *lineError; one of do is returned as it is.
func eachElement[T any](r io.Reader, root, name string, do func(T) error) error {
	in := &bounded{r: r, large: errLargeElement} // each element has a bound of its own
	d := xml.NewDecoder(in)
	const before, inside, after = 0, 1, 2
	at := before
	for {
		in.left = maxElement
		tok, err := d.Token()
		line, _ := d.InputPos()
		switch {
		case errors.Is(err, io.EOF) && at == after:
			return nil
		case errors.Is(err, io.EOF):
			return &lineError{line, errors.New("it ends before <" + root + "> does")}
		case err != nil:
			return faultOf(root, line, err)
		}
		switch t := tok.(type) {
		case xml.EndElement:
			at = after
		case xml.StartElement:
			switch {
			case at == inside && t.Name.Local == name:
				var element T
				if err = d.DecodeElement(&element, &t); err == nil {
					if err := do(element); err != nil {
						return err
					}
				}
			case at == inside:
				err = d.Skip()
			case at == before && t.Name.Local == root:
				at = inside
			default:
				err = fmt.Errorf("<%s> where <%s> should be", t.Name.Local, root)
			}
			if err != nil {
				return faultOf(t.Name.Local, line, err)
			}
		}
	}
}

// faultOf returns an error inside an element, which begins at line.
func faultOf(element string, line int, err error) *lineError {
	if syntax, ok := errors.AsType[*xml.SyntaxError](err); ok {
		return &lineError{syntax.Line, errors.New(syntax.Msg)}
	}
	if errors.Is(err, errLargeElement) {
		err = fmt.Errorf("<%s> %w", element, err)
	}
	return &lineError{line, err}
}

// lineError is a fault in a line of what was read, counted from 1.
type lineError struct {
	line int
	err  error
}

func (e *lineError) Error() string { return fmt.Sprintf("line %d: %v", e.line, e.err) }
func (e *lineError) Unwrap() error { return e.err }
