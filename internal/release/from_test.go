package release

func (f From) String() string {
	if name := map[From]string{FromFolder: "folder", FromParent: "parent"}[f]; name != "" {
		return name
	}
	return "name"
}
