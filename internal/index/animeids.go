package index

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/anivault/anivault/internal/lang"
)

// IDs are what other catalogues call an anime; 0 where they are not known to have it.
type IDs struct{ AniDB, AniList, MAL int }

// idNumber is a number, or the same as text; anything else counts as absent.
type idNumber int

// UnmarshalJSON reads a number or its text.
func (n *idNumber) UnmarshalJSON(text []byte) error {
	*n = idNumber(number(strings.Trim(string(text), `"`)))
	return nil
}

// readAnimeIDs yields every row with AniDB's id and another one: a JSON array of objects, as Fribb's anime-list-full.json is. All
// other fields are passed over.
func readAnimeIDs(r io.Reader, yield func(IDs) error) error {
	in := &bounded{r: r, large: errLargeElement} // each row has a bound of its own
	in.left = maxElement
	d := json.NewDecoder(in)
	if start, err := d.Token(); err != nil || start != json.Delim('[') {
		return errors.Join(errUnknown, err)
	}
	for n := 1; d.More(); n++ {
		in.left = maxElement
		var row struct {
			AniDB   idNumber `json:"anidb_id"`
			AniList idNumber `json:"anilist_id"`
			MAL     idNumber `json:"mal_id"`
		}
		if err := d.Decode(&row); err != nil {
			return fmt.Errorf("row %d: %w", n, err)
		}
		if row.AniDB == 0 || row.AniList == 0 && row.MAL == 0 {
			continue
		}
		if err := yield(IDs{int(row.AniDB), int(row.AniList), int(row.MAL)}); err != nil {
			return err
		}
	}
	if _, err := d.Token(); err != nil {
		return lang.Error("it ends before its list does: %w", err)
	}
	return nil
}

// idsRecord is the record of an anime's ids.
func idsRecord(ids IDs) record {
	return record{bucketIDs, idKey(ids.AniDB), idKey(ids.AniList, ids.MAL)}
}

// readIDs reads what idsRecord wrote.
func readIDs(value []byte) (anilist, mal int, ok bool) {
	if len(value) != 8 {
		return 0, 0, false
	}
	return idOf(value[:4]), idOf(value), true
}
