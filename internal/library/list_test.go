package library

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

func TestReadList(t *testing.T) {
	long := strings.Repeat("가", 200_000)
	tests := []struct {
		name, in string
		null     bool
		want     []string
	}{
		{"lines", "a\nb\n", false, []string{"a", "b"}},
		{"no last line end", "a\nb", false, []string{"a", "b"}},
		{"CRLF", "a\r\nb\r\n", false, []string{"a", "b"}},
		{"only one carriage return goes", "a\r\r\n", false, []string{"a\r"}},
		{"empty lines", "a\n\n\r\nb\n\n", false, []string{"a", "", "", "b", ""}},
		{"invalid UTF-8", "\xff\xfea\n\x80\n", true, []string{"\xff\xfea\n\x80\n"}},
		{"invalid UTF-8 in lines", "a\xff\n\x80\n", false, []string{"a\xff", "\x80"}},
		{"NUL", "a\x00b\nc\r\x00\x00d", true, []string{"a", "b\nc\r", "", "d"}},
		{"a NUL in lines stays", "a\x00b\n", false, []string{"a\x00b"}},
		{"byte order mark", "\ufeffa\n\ufeffb\n", false, []string{"a", "\ufeffb"}},
		{"spaces stay", " a \n#b\n", false, []string{" a ", "#b"}},
		{"long", long + "\n" + long, false, []string{long, long}},
		{"as long as may be", strings.Repeat("x", MaxLine) + "\n", false, []string{strings.Repeat("x", MaxLine)}},
		{"nothing", "", false, nil},
		{"one line end", "\n", false, []string{""}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, r := range []io.Reader{
				strings.NewReader(tt.in), iotest.OneByteReader(strings.NewReader(tt.in)),
				iotest.DataErrReader(strings.NewReader(tt.in)),
			} {
				var got []string
				err := ReadList(r, tt.null, func(s string) error { got = append(got, s); return nil })
				if err != nil || !slices.Equal(got, tt.want) {
					t.Errorf("%v, %.200q", err, got)
				}
			}
		})
	}
}

func TestListsThatCannotBeRead(t *testing.T) {
	boom := errors.New("boom")
	keep := func(string) error { return nil }
	if err := ReadList(iotest.ErrReader(boom), false, keep); !errors.Is(err, boom) {
		t.Error(err)
	}
	calls := 0
	if err := ReadList(strings.NewReader("a\nb\n"), false, func(string) error { calls++; return boom }); !errors.Is(err,
		boom) || calls != 1 {
		t.Error(err, calls)
	}
	for _, in := range []string{"\xff\xfea\x00", "\xfe\xff\x00a"} {
		if err := ReadList(strings.NewReader(in), false, keep); !errors.Is(err, ErrUTF16) {
			t.Error(err)
		}
	}
	if err := ReadList(strings.NewReader("a\n"+strings.Repeat("x", MaxLine+1)+"\n"), false, keep); err == nil ||
		!strings.Contains(err.Error(), "entry 2") {
		t.Error(err)
	}
}

func FuzzReadList(f *testing.F) {
	f.Add([]byte("a\r\nb\n\nc"), false)
	f.Add([]byte("a\x00b\nc\x00"), true)
	f.Add([]byte("\xef\xbb\xbfa\n"), false)
	f.Fuzz(func(t *testing.T, in []byte, null bool) {
		var got [][]byte
		err := ReadList(bytes.NewReader(in), null, func(s string) error {
			got = append(got, []byte(s))
			return nil
		})
		if err != nil {
			return
		}
		if null {
			want := bytes.Split(in, []byte{0})
			if last := len(want) - 1; len(want[last]) == 0 {
				want = want[:last]
			}
			if !slices.EqualFunc(want, got, bytes.Equal) {
				t.Fatalf("got %q, want %q", got, want)
			}
			return
		}
		for _, b := range got {
			if bytes.Contains(b, []byte("\n")) || !bytes.Contains(in, b) {
				t.Fatalf("%q is no line of %q", b, in)
			}
		}
	})
}
